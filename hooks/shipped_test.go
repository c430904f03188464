package hooks

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const shippedDir = "../testdata/hooks/shipped"

func gitPath(t *testing.T) string {
	t.Helper()
	p, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// shippedParams are the files that are kept of each version. A path with all
// kinds of characters is part of them.
func shippedParams() map[string]params {
	all := map[string]params{}
	for _, hook := range Names() {
		for _, where := range []place{placeNew, placeAdded, placeChained} {
			for _, miss := range []IfMissing{Block, Pass} {
				p := params{hook: hook, place: where, bin: `/opt/it's "mine"/日本/aiflow-hook`, miss: miss}
				all[hook+"."+string(where)+"."+string(miss)] = p
			}
		}
	}
	return all
}

// The text that we ship today is the one that is kept under today's version:
// a changed text needs a new version. AIFLOW_UPDATE=1 writes the files of a
// version that has none yet.
func TestTodaysTextIsKept(t *testing.T) {
	dir := filepath.Join(shippedDir, strconv.Itoa(Version))
	for name, p := range shippedParams() {
		path := filepath.Join(dir, name)
		kept, err := os.ReadFile(path)
		if os.IsNotExist(err) && os.Getenv("AIFLOW_UPDATE") != "" {
			kept = []byte(wholeFile(p))
			err = os.WriteFile(path, kept, 0o644)
		}
		if err != nil || string(kept) != wholeFile(p) {
			t.Errorf("%s is not what is shipped (%v)", path, err)
		}
	}
}

func TestEveryShippedTextIsUpgraded(t *testing.T) {
	files, err := filepath.Glob(shippedDir + "/*/*")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := parse(data)
		if err != nil || b == nil || !b.pristine || strconv.Itoa(b.version) != filepath.Base(filepath.Dir(path)) {
			t.Errorf("%s is not recognised: %+v %v", path, b, err)
			continue
		}
		upgradeOne(t, b, data)
	}
}

func upgradeOne(t *testing.T, b *block, data []byte) {
	t.Helper()
	n := newBench(t)
	n.put(n.hook(b.hook), string(data), 0o755)
	n.install(n.options())
	want := wholeFile(params{hook: b.hook, place: b.place, bin: n.bin, miss: b.miss})
	if got, _ := os.ReadFile(n.hook(b.hook)); string(got) != want {
		t.Errorf("%s %s %s: became\n%s", b.hook, b.place, b.miss, got)
	}
}

// The text passes dash's and bash's own check, is LF only, and ASCII around
// the path.
func TestTextsAreShell(t *testing.T) {
	for name, p := range shippedParams() {
		text := wholeFile(p)
		for _, shell := range []string{"sh", "bash"} {
			cmd := exec.Command(shell, "-n")
			cmd.Stdin = strings.NewReader(text)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v %s", name, err, out)
			}
		}
		if rest := strings.ReplaceAll(text, "日本", ""); strings.ContainsFunc(rest, func(r rune) bool { return r > 126 || r == '\r' }) {
			t.Errorf("%s holds other characters", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, p := range shippedParams() {
		f.Add([]byte(wholeFile(p)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := parse(data)
		if err != nil || b == nil {
			return
		}
		if len(b.without(data)) != len(data)-(b.end-b.start) || string(b.with(data, string(data[b.start:b.end]))) != string(data) {
			t.Error("cutting is not exact")
		}
	})
}

func FuzzInsertAndTakeAway(f *testing.F) {
	f.Add("#!/bin/sh\nexit 0\n", "/bin/x'y")
	f.Fuzz(func(t *testing.T, text, bin string) {
		if !isSh([]byte(text)) || strings.Contains(text, "aiflow hook") || strings.Contains(bin, "aiflow hook") {
			return
		}
		whole := insert([]byte(text), render(params{hook: PreCommit, place: placeAdded, bin: bin, miss: Block}))
		b, err := parse(whole)
		if err != nil || b == nil || !b.pristine || b.bin != bin || string(b.without(whole)) != text {
			t.Errorf("%q %q: %+v %v", text, bin, b, err)
		}
	})
}
