package gitops

import (
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// What git says when the disk fails it. Where a write fails it often leaves out
// why, or notices only that the message is gone; a hook may say such things
// about another disk than ours.
var (
	saysFull    = lazily(`(?m)^(?:fatal|error): .*(?:No space left on device|Disk quota exceeded|Out of diskspace)`)
	hintsAtFull = lazily(`(?m)No space left on device|Disk quota exceeded|^(?:fatal|error): .*(?:unable to (?:write|create)|couldn't write|could not write|failed to write|write error)|^Aborting commit due to empty commit message`)
	saysDenied  = lazily(`(?m)^(?:fatal|error): .*(?:Permission denied|Read-only file system|insufficient permission)`)
	hintsDenied = lazily(`(?m)^(?:fatal|error): .*unable to create`)
	quotedPath  = lazily(`'(/[^'\n]+)'`)
)

// lazily compiles an expression when it is first asked for, not at every start.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// diskTrouble tells whether the disk is what failed: DISK_FULL or
// PATH_NOT_WRITABLE, and where; "" is neither.
func diskTrouble(err error, dir string) (code fault.Code, path string) {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fault.DiskFull, dir
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EROFS):
		return fault.PathNotWritable, dir
	}
	if gitcmd.Exit(err) <= 0 {
		return "", ""
	}
	said := gitcmd.Stderr(err)
	switch {
	case saysFull().MatchString(said), hintsAtFull().MatchString(said) && nearlyFull(dir):
		return fault.DiskFull, dir
	case saysDenied().MatchString(said):
		if m := quotedPath().FindStringSubmatch(saysDenied().FindString(said)); m != nil {
			dir = m[1]
		}
		return fault.PathNotWritable, dir
	case hintsDenied().MatchString(said):
		if err := unix.Access(there(dir), unix.W_OK); errors.Is(err, unix.EACCES) || errors.Is(err, unix.EROFS) {
			return fault.PathNotWritable, dir
		}
	}
	return "", ""
}

// Unwritable is where git cannot write in a repository what every commit is made of; "" for nowhere.
func Unwritable(common string) string {
	for _, name := range []string{"", "objects", "refs", "refs/heads"} {
		path := filepath.Join(common, filepath.FromSlash(name))
		if err := unix.Access(path, unix.W_OK); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return path
		}
	}
	return ""
}

// there is path, or the next folder above it that exists.
func there(path string) string {
	for path != "" && path != "/" && !exists(path) {
		path = filepath.Dir(path)
	}
	return path
}

// dirAmong is dir, or the absolute path among the facts of a fault.
func dirAmong(dir string, pairs []any) string {
	for i := 0; dir == "" && i+1 < len(pairs); i += 2 {
		if path, ok := pairs[i+1].(string); ok && pairs[i] == "path" && filepath.IsAbs(path) {
			return path
		}
	}
	return dir
}

// little is what may be free on a disk that was full a moment ago: git takes
// back what it could not finish.
const little = 1 << 30

func nearlyFull(dir string) bool {
	var st unix.Statfs_t
	if dir == "" || unix.Statfs(there(dir), &st) != nil {
		return false
	}
	free := uint64(st.Bavail) * uint64(st.Bsize)
	return free < little && free < uint64(st.Blocks)*uint64(st.Bsize)/4 || st.Files > 0 && st.Ffree == 0
}
