package cmd

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aiflow/internal/atomicfile/powercut"
	"aiflow/runs"
)

var cutSeeds = flag.Int("crash.cuts", 3, "how many power cuts after each file operation, in the model")

// outage is what one process did to files, and how they were before it.
type outage struct {
	w      *world
	ops    []powercut.Op
	before string // a copy of the folder
	res    ran
	cache  map[string][]byte
}

// recorded runs a command whose file operations are written down.
func (w *world) withRecord(name string, args []string, env ...string) *outage {
	w.t.Helper()
	o := &outage{w: w, before: filepath.Join(w.t.TempDir(), "before"), cache: map[string][]byte{}}
	if out, err := exec.Command("cp", "-a", w.dir, o.before).CombinedOutput(); err != nil {
		w.t.Fatalf("cp: %v %s", err, out)
	}
	file := filepath.Join(w.t.TempDir(), "record")
	o.res = w.run(name, args, append(env, "AIFLOW_FAILPOINT_RECORD="+file)...)
	ops, err := powercut.Read(file)
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	o.ops = ops
	return o
}

// was is a path in the copy, "" for what is outside of the folder.
func (o *outage) was(path string) string {
	rel, err := filepath.Rel(o.w.dir, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		return ""
	}
	return filepath.Join(o.before, rel)
}

func (o *outage) old(path string) ([]byte, bool) {
	if data, known := o.cache[path]; known {
		return data, data != nil
	}
	data, _ := os.ReadFile(o.was(path))
	o.cache[path] = data
	return data, data != nil
}

func (o *outage) made(dir string) bool {
	was := o.was(dir)
	if was == "" {
		return false
	}
	_, err := os.Lstat(was)
	return err != nil
}

// written is what a file was, one version after the other.
type written struct {
	versions [][]byte // nil: it was not there
	safe     int      // the last one whose name was synced
}

// files follows the files through the operations.
func (o *outage) files(ops []powercut.Op) map[string]*written {
	now, all := map[string][]byte{}, map[string]*written{}
	of := func(path string) *written {
		if all[path] == nil {
			data, _ := o.old(path)
			all[path] = &written{versions: [][]byte{data}}
		}
		return all[path]
	}
	add := func(path string, data []byte) {
		of(path).versions = append(of(path).versions, data)
		now[path] = data
	}
	for _, op := range ops {
		switch op.Do {
		case powercut.Create:
			now[op.Path] = []byte{}
		case powercut.Write:
			now[op.Path] = append(bytes.Clone(now[op.Path]), op.Data...)
		case powercut.Rename, powercut.Link:
			add(op.To, now[op.Path])
		case powercut.Remove:
			add(op.Path, nil)
		case powercut.SyncDir:
			for path, w := range all {
				if filepath.Dir(path) == op.Path {
					w.safe = len(w.versions) - 1
				}
			}
		}
	}
	return all
}

// mayTear says which files need not be whole after a power cut: locks name
// processes that are gone, a step's own patch is in its commit, stage.json has
// the record before it beside it, the guard is written anew by each command,
// and the session's record, logs and what stands among them are for those who
// look.
func mayTear(path string) bool {
	base := filepath.Base(path)
	switch {
	case isTemp(base), strings.HasSuffix(base, ".lock.json"), base == "stage.json", base == "stage.json.prev", base == "autorun.json":
		return true
	case strings.Contains(path, "/.aiflow/cache/"), strings.Contains(path, "/tmp/guard/"), strings.Contains(path, "/logs/"):
		return true
	}
	return strings.HasSuffix(base, ".patch") && !strings.Contains(base, ".attempt")
}

// due is what must be left when the power is cut after some operations.
type due struct {
	o      *outage
	ops    []powercut.Op
	files  map[string]*written
	stages map[string]*runs.Stage
}

func (o *outage) due(ops []powercut.Op) *due {
	d := &due{o, ops, o.files(ops), map[string]*runs.Stage{}}
	for path := range d.files {
		if filepath.Base(path) == "stage.json" {
			d.stages[path] = acknowledged(ops, path)
		}
	}
	return d
}

// cut is a power cut; of a program that forgot the operations in without.
func (d *due) cut(seed int, without ...string) powercut.Left {
	ops := d.ops
	for _, do := range without {
		ops = powercut.Without(ops, do)
	}
	return powercut.Cut(ops, d.o.old, d.o.made, rand.New(rand.NewPCG(uint64(len(ops)), uint64(seed))))
}

// wrong says what is wrong with what a power cut left.
func (d *due) wrong(left powercut.Left) []string {
	found := d.lostStages(left)
	for path, data := range left {
		f := d.files[path]
		if f == nil || mayTear(path) {
			continue
		}
		if !oneOf(f.versions, data) {
			found = append(found, fmt.Sprintf("torn: %s (%d bytes)", path, len(data)))
		} else if !oneOf(f.versions[f.safe:], data) {
			found = append(found, "lost: the new "+path)
		}
	}
	return found
}

func oneOf(versions [][]byte, data []byte) bool {
	for _, v := range versions {
		if (v == nil) == (data == nil) && bytes.Equal(v, data) {
			return true
		}
	}
	return false
}

// lostStages compares what is left of each record with the last one after
// which the run went on and which said something new.
func (d *due) lostStages(left powercut.Left) []string {
	var found []string
	for path, want := range d.stages {
		got := decoded(left[path])
		if got == nil {
			prev, touched := left[path+".prev"]
			if !touched {
				prev, _ = d.o.old(path + ".prev")
			}
			got = decoded(prev)
		}
		if want != nil && (got == nil || got.Seq < want.Seq) {
			found = append(found, fmt.Sprintf("lost: record %d of %s", want.Seq, path))
		}
	}
	return found
}

// acknowledged is the last record that said more than those before it and
// after which something else was done.
func acknowledged(ops []powercut.Op, path string) *runs.Stage {
	var want *runs.Stage
	said, now := "", map[string][]byte{}
	for i, op := range ops {
		switch op.Do {
		case powercut.Create:
			delete(now, op.Path)
		case powercut.Write:
			now[op.Path] = append(now[op.Path], op.Data...)
		case powercut.Rename:
			if op.To != path || !wentOn(ops[i+1:], path) {
				continue
			}
			if s := decoded(now[op.Path]); s != nil && says(s) != said {
				said, want = says(s), s
			}
		}
	}
	return want
}

// wentOn says whether something else was done than what belongs to the save.
func wentOn(rest []powercut.Op, path string) bool {
	for _, op := range rest {
		if op.Do != powercut.SyncDir && op.To != path+".prev" && !strings.Contains(op.To, ".stage.json.prev.") {
			return true
		}
	}
	return false
}

func decoded(data []byte) *runs.Stage {
	s, err := runs.Decode(data)
	if err != nil {
		return nil
	}
	return s
}

// says is what a record must not lose: the plan, what is done, how it ended.
func says(s *runs.Stage) string {
	settled := 0
	for _, step := range s.Steps {
		if step.Status.Settled() {
			settled++
		}
	}
	ended := ""
	if s.State.Ended() {
		ended = string(s.State)
	}
	return fmt.Sprint(s.RunID, len(s.Steps), settled, len(s.Git.Commits), ended, s.ReplacedBy)
}

// outages are undisturbed stories of several commands.
func outages(t *testing.T) map[string]*outage {
	t.Helper()
	l, f := threeSteps(t), failing(t)
	all := map[string]*outage{}
	w := l.world(t)
	w.run("aiflow-run", []string{l.request}, "AIFLOW_FAILPOINT=at.step_command:2")
	all["goes on"] = w.withRecord("aiflow-run", []string{l.request})
	w = f.world(t)
	all["fails"] = w.withRecord("aiflow-run", []string{f.request})
	all["again"] = w.withRecord("aiflow-run", []string{"resume", "--mode", "retry_step", f.request})
	all["anew"] = w.withRecord("aiflow-run", []string{"resume", "--mode", "replan", f.request})
	all["auto"] = l.world(t).withRecord("aiflow-run", []string{"auto"})
	return all
}

// TestPowerCutAnywhere cuts the power after every file operation of several
// commands, in the model of what disks promise. The controls leave out one kind
// of sync and must be caught.
func TestPowerCutAnywhere(t *testing.T) {
	cuts := 0
	for name, o := range outages(t) {
		if len(o.ops) < 40 || o.res.killed {
			t.Fatalf("%s: only %d operations: %s", name, len(o.ops), o.res)
		}
		t.Run(name, func(t *testing.T) {
			caught := map[string]int{}
			for n := range len(o.ops) + 1 {
				due := o.due(o.ops[:n])
				for seed := range *cutSeeds {
					cuts++
					for _, s := range due.wrong(due.cut(seed)) {
						t.Errorf("operation %d, seed %d: %s", n, seed, s)
					}
					for _, sync := range []string{powercut.Sync, powercut.SyncDir} {
						caught[sync] += len(due.wrong(due.cut(seed, sync)))
					}
				}
			}
			for _, sync := range []string{powercut.Sync, powercut.SyncDir} {
				if caught[sync] == 0 {
					t.Errorf("without %s nothing is wrong", sync)
				}
			}
		})
	}
	t.Logf("%d power cuts", cuts)
}

// TestPowerCutGoesOn kills a run, takes from the disk what was not synced, and
// runs the request again.
func TestPowerCutGoesOn(t *testing.T) {
	l := threeSteps(t)
	points := l.chosen(t, 2)
	for i, point := range points {
		seeds := []int{i}
		if *everyPoint {
			seeds = []int{1, 2, 3}
		} else if i%14 != 0 {
			continue
		}
		for _, seed := range seeds {
			t.Run(fmt.Sprintf("%s/%d", point, seed), func(t *testing.T) {
				t.Parallel()
				l.world(t).powerCut(point, seed)
			})
		}
	}
}

func (w *world) powerCut(point string, seed int) {
	o := w.withRecord("aiflow-run", []string{w.request}, "AIFLOW_FAILPOINT="+point)
	o.res.diedAt(w.t, point)
	due := o.due(o.ops)
	left := due.cut(seed)
	for _, s := range due.wrong(left) {
		w.t.Error(s)
	}
	done := map[string]bool{}
	for _, s := range due.stages {
		for i := 0; s != nil && i < len(s.Git.Commits); i++ {
			done[s.Git.Commits[i].StepID] = true
		}
	}
	if err := left.Apply(); err != nil {
		w.t.Fatal(err)
	}
	w.looks("after the power cut")
	w.freeTornLocks()
	again := []string{w.request}
	if w.allDone() { // a run by hand would do the request once more
		again = []string{"auto"}
	}
	res := w.run("aiflow-run", again)
	if res.status != 0 {
		w.t.Fatalf("run again: %s", res)
	}
	// A name that was removed may come back: a temporary file, a lock that was
	// released. Who needs it next takes such a lock; doctor removes both.
	for _, back := range append(w.temps(), w.glob(".aiflow/locks/name.*.lock.json")...) {
		_ = os.Remove(back)
	}
	w.settled()
	for step, n := range w.sideCounts() {
		if done[step] && n != 1 {
			w.t.Errorf("%s was recorded as done and done %d times", step, n)
		}
	}
	w.twiceAtMost()
	if w.t.Failed() {
		w.t.Logf("run again: %s", res)
	}
}

// freeTornLocks does by hand what time would do: a lock that cannot be read is
// taken for one that is held until it is old.
func (w *world) freeTornLocks() {
	for _, path := range w.glob(".aiflow/locks/*.lock.json") {
		data, err := os.ReadFile(path)
		if err != nil || json.Valid(data) {
			continue
		}
		args := []string{"release", "--queue", "--force"}
		base := strings.TrimSuffix(filepath.Base(path), ".lock.json")
		if id, ok := strings.CutPrefix(base, "request."); ok {
			args = []string{"release", "--request", id, "--force"}
		} else if name, ok := strings.CutPrefix(base, "name."); ok {
			args = []string{"release", "--name", name, "--force"}
		} else if number, ok := strings.CutPrefix(base, "slot."); ok {
			args = []string{"release", "--slot", number, "--force"}
		}
		if res := w.run("aiflow-lock", args); res.status != 0 {
			w.t.Errorf("release by hand: %s", res)
		}
	}
}
