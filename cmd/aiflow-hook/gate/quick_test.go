package gate

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func (r *repo) quick() Options {
	o := r.options()
	o.Place = Place{GitDir: filepath.Join(r.dir, ".git"), Index: filepath.Join(r.dir, ".git/index")}
	return o
}

// touched is what git itself says about the commit.
func (r *repo) touched(o Options) bool {
	r.t.Helper()
	changes, err := staged(r.t.Context(), o)
	if err != nil {
		r.t.Fatal(err)
	}
	return slices.ContainsFunc(changes, func(c change) bool {
		isState := slices.ContainsFunc(o.StateDirs, func(dir string) bool { return strings.HasPrefix(c.path, dir+"/") })
		return !isState || c.newMode != 0
	})
}

// Whatever happens in a repository: "untouched" is never said where git sees a
// change, and is said often enough to be worth having.
func TestUntouchedAgreesWithGit(t *testing.T) {
	const walks, steps = 3, 30
	said, clean := 0, 0
	for seed := range uint64(walks) {
		r := newRepo(t)
		rnd := rand.New(rand.NewPCG(seed, 1))
		for i := range 3 {
			r.put(fmt.Sprintf("requests/RQ-%d.md", i), requestText(fmt.Sprintf("RQ-%d", i), "ready"))
		}
		r.put("src/f", "x")
		r.git("add", ".")
		r.git("commit", "-q", "-m", "start")
		var did []string
		for step := range steps {
			did = append(did, r.stumble(rnd, step))
			if rnd.IntN(4) > 0 {
				r.git("write-tree") // as git commit does before its hook
			}
			quick, touched := untouched(r.quick()), r.touched(r.quick())
			if quick && touched {
				t.Fatalf("seed %d: git sees a change after %v", seed, did)
			}
			if !touched {
				clean++
			}
			if quick {
				said++
			}
		}
	}
	if said < 10 {
		t.Errorf("said %d times, true %d times", said, clean)
	}
}

func (r *repo) stumble(rnd *rand.Rand, step int) string {
	request := fmt.Sprintf("requests/RQ-%d.md", rnd.IntN(5))
	ops := []struct {
		name string
		do   func()
	}{
		{"src", func() { r.put("src/f", fmt.Sprint(step)); r.git("add", "src") }},
		{"src", func() { r.put(fmt.Sprint("src/", step), "x"); r.git("add", "src") }},
		{"commit", func() { r.git("commit", "-q", "--allow-empty", "-m", "x") }},
		{"commit", func() { r.git("commit", "-q", "--allow-empty", "-m", "x") }},
		{"commit", func() { r.git("commit", "-q", "--allow-empty", "-m", "x") }},
		{"request", func() { r.put(request, requestText("RQ", fmt.Sprint(step))); r.git("add", "requests") }},
		{"remove", func() { r.git("rm", "-q", "-f", "--cached", "--ignore-unmatch", request) }},
		{"remove all", func() { r.git("rm", "-q", "-r", "-f", "--cached", "--ignore-unmatch", "requests") }},
		{"not staged", func() { r.put(request, fmt.Sprint(step)) }},
		{"intent", func() {
			r.put(fmt.Sprintf("requests/N-%d.md", step), "x")
			r.git("add", "-N", fmt.Sprintf("requests/N-%d.md", step))
		}},
		{"reset", func() { r.git("reset", "-q") }},
		{"version", func() { r.git("update-index", "--index-version", fmt.Sprint(2+rnd.IntN(3))) }},
		{"gc", func() { r.git("gc", "-q") }},
		{"state", func() { r.put("runs/x", fmt.Sprint(step)); r.git("add", "-f", "runs") }},
		{"no state", func() { r.git("rm", "-q", "-r", "-f", "--cached", "--ignore-unmatch", "runs") }},
		{"branch", func() { r.git("checkout", "-q", "-f", "-B", "b") }},
		{"executable", func() { r.git("update-index", "--chmod=+x", "src/f") }},
	}
	op := ops[rnd.IntN(len(ops))]
	op.do()
	return op.name
}

// Where the plain way does not lead, nothing is certain.
func TestUntouchedGivesUp(t *testing.T) {
	for name, change := range map[string]func(r *repo){
		"packed":      func(r *repo) { r.git("gc", "-q") },
		"packed ref":  func(r *repo) { r.git("pack-refs", "--all") },
		"split index": func(r *repo) { r.git("update-index", "--split-index") },
		"replaced":    func(r *repo) { r.git("commit", "-q", "--allow-empty", "-m", "x"); r.git("replace", "--graft", "HEAD") },
		"state":       func(r *repo) { r.put("runs/x", "x"); r.git("add", "-f", "runs"); r.git("write-tree") },
		"torn index": func(r *repo) {
			path := filepath.Join(r.dir, ".git/index")
			data, err := os.ReadFile(path)
			if err != nil {
				r.t.Fatal(err)
			}
			if err := os.WriteFile(path, data[:len(data)-30], 0o644); err != nil {
				r.t.Fatal(err)
			}
		},
	} {
		r := newRepo(t)
		r.put("requests/RQ-1.md", requestText("RQ-1", "ready"))
		r.git("add", ".")
		r.git("commit", "-q", "-m", "start")
		if !untouched(r.quick()) {
			t.Errorf("%s: not certain before", name)
		}
		change(r)
		if untouched(r.quick()) {
			t.Errorf("%s: certain", name)
		}
	}
}

func FuzzIndexTree(f *testing.F) {
	r := newRepo(f)
	r.put("requests/RQ-1.md", "x")
	r.put("src/a/b", "x")
	r.git("add", ".")
	r.git("commit", "-q", "-m", "start")
	for _, version := range []string{"2", "3", "4"} {
		r.git("update-index", "--index-version", version)
		data, err := os.ReadFile(filepath.Join(r.dir, ".git/index"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(_ *testing.T, data []byte) { indexTree(data) })
}
