package locks

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"aiflow/internal/fault"
)

func TestCase04RealFullDisk(t *testing.T) {
	dir := smallDisk(t)
	w := newWorld(t)
	w.dir = filepath.Join(dir, "locks")
	m := w.process(1)
	l := take(t, m)
	fill(t, dir)
	if err := l.Renew(); err == nil {
		t.Skip("the last block could not be used up")
	} else {
		wantCode(t, err, fault.DiskFull)
	}
	if err := l.Check(); err != nil {
		t.Errorf("a full disk lost the lease: %v", err)
	}
	_, err := m.Acquire(t.Context(), Request("RQ-2"), Ask{})
	wantCode(t, err, fault.DiskFull)
	release(t, l)
	if got := w.names(); len(got) != 0 {
		t.Errorf("left over: %v", got)
	}
}

// smallDisk mounts a file system of 64 KiB; skips where one may not.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("cannot mount: ", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "fill"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 512))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

func TestReadOnlyDirectory(t *testing.T) {
	w := newWorld(t)
	take(t, w.process(1))
	other, err := w.process(1).Acquire(t.Context(), Request("RQ-2"), Ask{})
	if err != nil {
		t.Fatal(err)
	}
	release(t, other)
	readOnly(t, w.dir)
	m := w.process(2)
	refused(t, m) // who has it is worth more than that it could not be written
	_, err = m.Acquire(t.Context(), Request("RQ-2"), Ask{})
	f := wantCode(t, err, fault.PathNotWritable)
	if !strings.HasPrefix(f.Facts["path"], w.dir) {
		t.Errorf("path %q", f.Facts["path"])
	}
	wantVerdict(t, m, Held, true)
	if all, err := m.List(); err != nil || len(all) != 1 {
		t.Errorf("list %v, %v", all, err)
	}
}

func readOnly(t *testing.T, dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
		return
	}
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		t.Skip("cannot mount: ", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
		t.Skip("cannot mount: ", err)
	}
}
