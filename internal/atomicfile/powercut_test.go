package atomicfile_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiflow/internal/atomicfile"
	"aiflow/internal/atomicfile/powercut"
)

var seeds = flag.Int("seeds", 200, "how many power cuts after each operation")

// history is what some writes of one file did, and after which operation each
// had returned.
type history struct {
	path string
	ops  []powercut.Op
	told []int // told[i]: operations when the write of version i returned
}

func version(i int) string { return strings.Repeat(fmt.Sprintf("version %d\n", i), 20) }

// written writes versions 1 to 3 over version 0.
func written(t *testing.T, o atomicfile.Options) *history {
	t.Helper()
	h := &history{path: filepath.Join(t.TempDir(), "file"), told: []int{0}}
	if err := os.WriteFile(h.path, []byte(version(0)), 0o644); err != nil {
		t.Fatal(err)
	}
	disk := powercut.Record(atomicfile.OS{}, func(op powercut.Op) { h.ops = append(h.ops, op) })
	for i := 1; i <= 3; i++ {
		o.TempSuffix = fmt.Sprint(i)
		if err := atomicfile.Write(disk, h.path, []byte(version(i)), o); err != nil {
			t.Fatal(err)
		}
		h.told = append(h.told, len(h.ops))
	}
	return h
}

// judge cuts the power after every operation, n times each, and gives what is
// wrong with what is left: a file that is no version, and one older than a
// version that the writer was told was written.
func (h *history) judge(t *testing.T, ops []powercut.Op, n int) (torn, lost int) {
	t.Helper()
	before := func(path string) ([]byte, bool) { return []byte(version(0)), path == h.path }
	for after := range len(ops) + 1 {
		for seed := range n {
			rng := rand.New(rand.NewPCG(uint64(after), uint64(seed)))
			left := powercut.Cut(ops[:after], before, func(string) bool { return false }, rng)
			data, touched := left[h.path]
			if !touched {
				continue
			}
			switch got := versionOf(data); {
			case got < 0:
				torn++
			case got < h.toldBy(after):
				lost++
			}
		}
	}
	return torn, lost
}

func versionOf(data []byte) int {
	for i := range 4 {
		if string(data) == version(i) {
			return i
		}
	}
	return -1
}

func (h *history) toldBy(op int) int {
	last := 0
	for i, n := range h.told {
		if n <= op {
			last = i
		}
	}
	return last
}

func TestPowerCutLeavesTheOldOrTheNewFile(t *testing.T) {
	h := written(t, atomicfile.Options{})
	if torn, lost := h.judge(t, h.ops, *seeds); torn > 0 || lost > 0 {
		t.Errorf("%d torn, %d lost after they were written", torn, lost)
	}
}

// TestPowerCutFindsWhatIsNotSynced is the control: without either sync, files
// are torn or lost.
func TestPowerCutFindsWhatIsNotSynced(t *testing.T) {
	h := written(t, atomicfile.Options{})
	if torn, _ := h.judge(t, powercut.Without(h.ops, powercut.Sync), *seeds); torn == 0 {
		t.Error("no torn file without a sync of the file")
	}
	dirless := &history{path: h.path, ops: powercut.Without(h.ops, powercut.SyncDir)}
	for i := range h.told {
		dirless.told = append(dirless.told, i*len(dirless.ops)/3)
	}
	if torn, lost := dirless.judge(t, dirless.ops, *seeds); torn > 0 || lost == 0 {
		t.Errorf("%d torn, %d lost without a sync of the directory", torn, lost)
	}
	volatile := written(t, atomicfile.Options{Volatile: true})
	if torn, lost := volatile.judge(t, volatile.ops, *seeds); torn == 0 || lost == 0 {
		t.Errorf("%d torn, %d lost of volatile files", torn, lost)
	}
}
