package edit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/reqmeta"
)

func TestSwap(t *testing.T) {
	dir := t.TempDir()
	yes := func() error { return nil }
	put(t, dir, "a.md", "old")
	lost := errors.New("lost")
	if err := Swap(atomicfile.OS{}, dir, "a.md", []byte("old"), []byte("new"), "x", func() error { return lost }); !errors.Is(err, lost) {
		t.Fatal(err)
	}
	if err := Swap(atomicfile.OS{}, dir, "a.md", []byte("other"), []byte("new"), "x", yes); !fault.Has(err, fault.Conflict) {
		t.Fatal(err)
	}
	if err := Swap(atomicfile.OS{}, dir, "b.md", nil, []byte("new"), "x", yes); !fault.Has(err, fault.RequestNotFound) {
		t.Fatal(err)
	}
	if got := get(t, dir, "a.md"); got != "old" {
		t.Fatal(got)
	}
	if err := Swap(atomicfile.OS{}, dir, "a.md", []byte("old"), []byte("new"), "x", yes); err != nil {
		t.Fatal(err)
	}
	if got := get(t, dir, "a.md"); got != "new" {
		t.Fatal(got)
	}
}

// What is written while Replace works out its bytes is not lost, and a link stays one.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "b.md", "old")
	if err := os.MkdirAll(filepath.Join(dir, "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../b.md", filepath.Join(dir, "in", "a.md")); err != nil {
		t.Fatal(err)
	}
	seen := ""
	after, err := Replace(atomicfile.OS{}, dir, "in/a.md", func(now []byte) ([]byte, error) {
		seen += string(now) + ";"
		if string(now) == "old" {
			put(t, dir, "b.md", "of a person")
		}
		return append(bytes.Clone(now), '!'), nil
	}, "x")
	if err != nil || string(after) != "of a person!" || get(t, dir, "b.md") != "of a person!" || seen != "old;of a person;" {
		t.Fatal(err, string(after), get(t, dir, "b.md"), seen)
	}
	if fi, err := os.Lstat(filepath.Join(dir, "in", "a.md")); err != nil || fi.Mode()&os.ModeSymlink == 0 {
		t.Fatal(err, fi.Mode())
	}
	for path, want := range map[string]fault.Code{"none.md": fault.RequestNotFound, "out.md": fault.PathNotWritable} {
		_ = os.Symlink(t.TempDir(), filepath.Join(dir, "out.md"))
		if _, err := Replace(atomicfile.OS{}, dir, path, func([]byte) ([]byte, error) { return nil, nil }, "x"); !fault.Has(err, want) {
			t.Error(path, err)
		}
	}
}

func TestRenewed(t *testing.T) {
	now := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	for in, want := range map[string]string{
		"---\nstatus: ready\nupdated_at: 2025-01-01 # x\n---\nbody\n": "---\nstatus: ready\nupdated_at: 2026-02-03 # x\n---\nbody\n",
		"---\nstatus: ready\n---\nbody\n":                             "---\nstatus: ready\n---\nbody\n",
		"---\nupdated_at: 2025-01-01\nupdated_at: 2025-01-01\n---\n":  "---\nupdated_at: 2025-01-01\nupdated_at: 2025-01-01\n---\n",
		"---\nupdated_at: 2025-01-01\n":                               "---\nupdated_at: 2025-01-01\n",
		"":                                                            "",
	} {
		if got := string(Renewed(reqmeta.New("requests/a.md"), []byte(in), now)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
