package edit

import (
	"errors"
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
