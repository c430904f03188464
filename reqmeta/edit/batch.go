package edit

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"path/filepath"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/reqmeta"
)

// NewFile is a request file that was made elsewhere; Name is its name in the
// requests folder.
type NewFile struct {
	Name string
	Data []byte
}

// CreateAll writes new request files that become durable together: first all
// bytes, then all names, then the folder, each synced once. Killed in between it
// leaves whole files. A name that exists is left as it is: its error stands at
// the file's place in failed.
func CreateAll(disk atomicfile.Disk, root, requestsDir string, files []NewFile, suffix string) (failed []error, err error) {
	dir := filepath.Join(root, requestsDir)
	failed = make([]error, len(files))
	written := make([]string, 0, len(files))
	defer func() {
		for _, name := range written {
			if name != "" {
				_ = disk.Remove(name)
			}
		}
	}()
	bulk, together := disk.(interface{ SyncAll(dir string) error })
	for _, f := range files {
		tmp := filepath.Join(dir, "."+f.Name+atomicfile.TempMark+suffix)
		file, err := disk.Create(tmp, 0o666)
		if err == nil {
			written = append(written, tmp)
			if _, err = file.Write(f.Data); err == nil && !together {
				err = file.Sync()
			}
			err = cmp.Or(err, file.Close())
		}
		if err != nil {
			return nil, fault.NotWritable(err, path.Join(filepath.ToSlash(requestsDir), f.Name))
		}
	}
	if together {
		if err := bulk.SyncAll(dir); err != nil {
			return nil, fault.NotWritable(err, requestsDir)
		}
	}
	for i, f := range files {
		switch err := publish(disk, written[i], filepath.Join(dir, f.Name)); {
		case err == nil:
			written[i] = ""
		case errors.Is(err, fs.ErrExist):
			failed[i] = alreadyThere(path.Join(filepath.ToSlash(requestsDir), f.Name), "id", reqmeta.Stem(f.Name))
		default:
			failed[i] = fault.NotWritable(err, path.Join(filepath.ToSlash(requestsDir), f.Name))
		}
	}
	return failed, disk.SyncDir(dir)
}

// Scalar writes text as a value of a head that every reader of YAML takes for
// that text.
func Scalar(key, text string) string { return scalarText(key, text, 0) }
