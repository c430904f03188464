package hooks

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
)

// failing is a disk whose n-th operation fails, and every one after it.
type failing struct {
	OS
	left *int
}

var errDisk = errors.New("disk")

func (f failing) spent() error {
	if *f.left--; *f.left < 0 {
		return errDisk
	}
	return nil
}

func (f failing) Create(path string, perm fs.FileMode) (atomicfile.File, error) {
	if err := f.spent(); err != nil {
		return nil, err
	}
	return f.OS.Create(path, perm)
}

func (f failing) Rename(from, to string) error {
	if err := f.spent(); err != nil {
		return err
	}
	return f.OS.Rename(from, to)
}

func (f failing) Link(from, to string) error {
	if err := f.spent(); err != nil {
		return err
	}
	return f.OS.Link(from, to)
}

func (f failing) SyncDir(dir string) error {
	if err := f.spent(); err != nil {
		return err
	}
	return f.OS.SyncDir(dir)
}

// Wherever the disk fails, the stranger's hook still runs, and a second try
// or uninstalling puts everything in order.
func TestDiskFails(t *testing.T) {
	for _, text := range []string{"#!/bin/sh\necho theirs >>\"$LOG\"\n", "#!/usr/bin/perl\nopen(F,'>>',$ENV{LOG});print F \"theirs\\n\"\n"} {
		failures := 0
		for n := range 8 {
			b := newBench(t)
			b.put(b.hook(PreCommit), text, 0o755)
			before := snapshot(t, b.hook(""))
			left := n
			if err := Apply(failing{left: &left}, "test", Plan(b.folder(), b.options())[:1]); err != nil {
				failures++
			}
			b.commit()
			if got := b.logged(); !strings.Contains(got, "theirs") {
				t.Errorf("after %d operations theirs does not run: %s", n, got)
			}
			b.install(b.options())
			b.uninstall(b.options())
			if got := snapshot(t, b.hook("")); got != before {
				t.Errorf("after %d operations:\n%s", n, got)
			}
		}
		if failures < 3 || failures == 8 {
			t.Errorf("%d failures", failures)
		}
	}
}

func TestChangedMeanwhile(t *testing.T) {
	b := newBench(t)
	actions := Plan(b.folder(), b.options())
	b.put(b.hook(PreCommit), "#!/bin/sh\n", 0o755)
	err := Apply(OS{}, "test", actions)
	if fault.CodeOf(err) != fault.Conflict {
		t.Errorf("got %v", err)
	}
	if data, _ := os.ReadFile(b.hook(PreCommit)); string(data) != "#!/bin/sh\n" {
		t.Error("overwritten")
	}
}
