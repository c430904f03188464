package server

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"aiflow/internal/fault"
)

// TestNoRoomForAnAnswer: a child that printed nothing has crashed, unless the
// disk that its answer was to go to is full.
func TestNoRoomForAnAnswer(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("cannot mount: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	c := &child{out: filepath.Join(dir, "run.json")}
	if err := os.WriteFile(c.out, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.result(); !fault.Has(err, fault.ProcessCrashed) {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "fill"), make([]byte, 1<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	if _, err := c.result(); !fault.Has(err, fault.DiskFull) {
		t.Fatal(err)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, ".room-*")); len(names) > 0 {
		t.Fatal(names)
	}
}
