package hooks

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"aiflow/internal/atomicfile"
)

// File is one hook file as it is on the disk.
type File struct {
	Path   string
	Exists bool
	Link   string // target, when the file itself is a symbolic link
	Mode   fs.FileMode
	Data   []byte // of the target, when it is a link that leads somewhere
	Err    error  // it exists but cannot be read, or is no file
}

// same reports whether nothing changed between two looks.
func (f File) same(g File) bool {
	return f.Exists == g.Exists && f.Link == g.Link && f.Mode == g.Mode && bytes.Equal(f.Data, g.Data)
}

// Folder is everything that Plan needs to know.
type Folder struct {
	Repo
	NotDir   bool // Dir is there and is no folder
	Writable bool
	Hooks    map[string]File // by hook name, in Dir
	Asides   map[string]File // moved aside by us
	Legacy   map[string]File // moved aside by pre-commit, which still runs them
	Old      map[string]File // moved aside by lefthook, which does not run them
	Default  *Folder         // the repository's own hooks folder, when git looks in another
	Callers  map[string]File // files of hook managers that may call us, by path
}

// Read looks at the files.
func Read(r Repo) Folder {
	f := Folder{Repo: r}
	if r.Dir != "" {
		f.Hooks, f.Asides = readAll(r.Dir, ""), readAll(r.Dir, AsideSuffix)
		f.Legacy, f.Old = readAll(r.Dir, ".legacy"), readAll(r.Dir, ".old")
		f.Writable, f.NotDir = writable(r.Dir)
	}
	f.Callers = readCallers(r)
	if own := r.defaultDir(); r.Dir != own {
		d := Read(Repo{Top: r.Top, CommonDir: r.CommonDir, Dir: own})
		f.Default = &d
	}
	return f
}

func readAll(dir, suffix string) map[string]File {
	files := map[string]File{}
	for _, name := range Names() {
		files[name] = readFile(filepath.Join(dir, name+suffix))
	}
	return files
}

func readFile(path string) File {
	f := File{Path: path}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return f
	}
	f.Exists = true
	if err != nil {
		f.Err = err
		return f
	}
	f.Mode = info.Mode()
	if info.Mode()&fs.ModeSymlink != 0 {
		f.Link, _ = os.Readlink(path)
		f.Data, _ = atomicfile.ReadPlain(path)
		return f
	}
	f.Data, f.Err = atomicfile.ReadPlain(path)
	return f
}

// writable looks at dir or, when it is not there yet, at the folder above it
// that would have to take it.
func writable(dir string) (ok, notDir bool) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return false, true
	}
	for err != nil && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
		info, err = os.Stat(dir)
	}
	return err == nil && info.IsDir() && unix.Access(dir, unix.W_OK|unix.X_OK) == nil, false
}

func readCallers(r Repo) map[string]File {
	var paths []string
	for _, name := range []string{
		"lefthook.yml", ".lefthook.yml", "lefthook.yaml", ".lefthook.yaml", "lefthook-local.yml", ".lefthook-local.yml",
		"lefthook.toml", "lefthook.json", ".config/lefthook.yml", ".pre-commit-config.yaml",
	} {
		paths = append(paths, filepath.Join(r.Top, name))
	}
	for _, hook := range Names() {
		if r.Husky {
			paths = append(paths, filepath.Join(filepath.Dir(r.Dir), hook))
		}
	}
	files := map[string]File{}
	for _, path := range paths {
		if f := readFile(path); f.Exists && f.Err == nil {
			files[path] = f
		}
	}
	return files
}
