package gitops

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

func TestDiskTrouble(t *testing.T) {
	git := func(said string) error {
		return &gitcmd.Failure{Args: []string{"commit"}, ExitStatus: 128, Stderr: said}
	}
	for name, c := range map[string]struct {
		err  error
		want fault.Code
		path string
	}{
		"object":       {git("fatal: unable to write loose object file: No space left on device\n"), fault.DiskFull, "/x"},
		"index":        {git("fatal: sha1 file '/r/.git/index.lock' write error. Out of diskspace"), fault.DiskFull, "/x"},
		"quota":        {git("error: could not write to 'a': Disk quota exceeded"), fault.DiskFull, "/x"},
		"our own":      {&fs.PathError{Op: "write", Path: "/y", Err: syscall.ENOSPC}, fault.DiskFull, "/x"},
		"a hook":       {git("tests: No space left on device in /var/lib/other\n"), "", ""}, // / is not nearly full
		"no reason":    {git("error: unable to write file f8\n"), "", ""},
		"read-only":    {git("fatal: Unable to create '/r/.git/index.lock': Read-only file system\n"), fault.PathNotWritable, "/r/.git/index.lock"},
		"objects":      {git("error: insufficient permission for adding an object to repository database .git/objects\n"), fault.PathNotWritable, "/x"},
		"denied":       {&fs.PathError{Op: "mkdir", Path: "/y", Err: syscall.EACCES}, fault.PathNotWritable, "/x"},
		"hook denied":  {git("make: ./run: Permission denied\n"), "", ""},
		"refused":      {git("hook says no\n"), "", ""},
		"another kind": {errors.New("No space left on device"), "", ""},
	} {
		if c.want == "" && nearlyFull("/") {
			continue
		}
		if code, path := diskTrouble(c.err, "/x"); code != c.want || path != c.path {
			t.Errorf("%s: %q %q, want %q %q", name, code, path, c.want, c.path)
		}
	}
}
