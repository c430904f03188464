package server

import (
	"io/fs"
	"os"
	"syscall"
)

// stamp tells two states of a file apart.
type stamp struct {
	inode uint64
	mtime int64
	size  int64
}

func stampOf(fi fs.FileInfo, err error) stamp {
	if err != nil {
		return stamp{}
	}
	s := stamp{mtime: fi.ModTime().UnixNano(), size: fi.Size()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		s.inode = st.Ino
	}
	return s
}

// stampFile is the zero stamp for a file that is not there.
func stampFile(path string) stamp { return stampOf(os.Lstat(path)) }
