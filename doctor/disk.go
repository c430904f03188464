package doctor

import (
	"context"
	"strconv"

	"golang.org/x/sys/unix"
)

// Space is the room of a file system.
type Space struct {
	Free, Total   uint64 // bytes
	Files, FilesN uint64 // free and total file entries; total 0: not counted
}

const (
	littleSpace = 1 << 30  // less is a warning
	noSpace     = 64 << 20 // less is a failure: a run would stop in the middle
	fewFiles    = 1000
)

func checkDisk(_ context.Context, x *examiner) {
	ask := x.Space
	if ask == nil {
		ask = func(path string) (Space, error) {
			var s unix.Statfs_t
			err := unix.Statfs(path, &s)
			size := uint64(s.Bsize) //nolint:unconvert // int32 on some platforms
			return Space{Free: uint64(s.Bavail) * size, Total: s.Blocks * size, Files: uint64(s.Ffree), FilesN: s.Files}, err
		}
	}
	s, err := ask(x.p.Dir)
	if err != nil {
		x.pass("disk_space", "unknown", Evidence{"cause": err.Error()})
		return
	}
	seen := Evidence{"free_bytes": s.Free, "total_bytes": s.Total, "free_files": s.Files}
	free := strconv.FormatUint(s.Free>>20, 10)
	switch {
	case s.Free < noSpace:
		x.fail("disk_space", "full", seen, "free", free)
	case s.FilesN > 0 && s.Files < fewFiles:
		x.fail("disk_space", "files", seen, "count", s.Files)
	case s.Free < littleSpace:
		x.warn("disk_space", "little", seen, "free", free)
	default:
		x.pass("disk_space", "ok", seen, "free", free)
	}
}
