package fault

import (
	"fmt"
	"syscall"
	"testing"
)

// A full disk is never told as a missing right, wherever it is noticed.
func TestFullDisk(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, fmt.Errorf("write x: %w", syscall.EDQUOT)} {
		if got := Wrap(cause, PathNotWritable, "path", "p"); got.Code != DiskFull || got.Facts["path"] != "p" {
			t.Errorf("%v: %v", cause, got)
		}
	}
	if got := Wrap(syscall.EACCES, PathNotWritable); got.Code != PathNotWritable {
		t.Errorf("%v", got)
	}
}
