package runs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
)

func stagePath(d *Dir) string { return filepath.Join(d.Path, "stage.json") }

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

// stage.json.prev is the last record that was synced: with links at once, else
// as soon as stage.json may be torn.
func TestSaveKeepsTheRecordBefore(t *testing.T) {
	for _, noLinks := range []bool{false, true} {
		d := newDirOn(t, &faulty{noLinks: noLinks}, t.TempDir())
		s := stageAt(t, 1)
		save := func(prev, copied int) {
			t.Helper()
			must(t, d.SaveStage(s))
			if noLinks {
				prev = copied
			}
			data, err := os.ReadFile(stagePath(d) + ".prev")
			if prev == 0 && missing(err) {
				return
			}
			got, err := Decode(data)
			if err != nil || got.Seq != prev {
				t.Errorf("no links %v, seq %d: prev %+v %v", noLinks, s.Seq, got, err)
			}
		}
		save(1, 0)
		save(1, 1) // progress only
		save(1, 1) // progress only
		s.Git.Commits = append(s.Git.Commits, Commit{StepID: "S01"})
		save(4, 1) // 2 and 3 may be torn, 1 is not
		s.Git.Commits = append(s.Git.Commits, Commit{StepID: "S02"})
		save(5, 4)
		got, err := d.LoadStage()
		if err != nil || got.Seq != 5 || got.FellBack {
			t.Errorf("%+v %v", got, err)
		}
		if left := temps(t, d); len(left) != 0 {
			t.Errorf("left over: %v", left)
		}
	}
}

func temps(t *testing.T, d *Dir) []string {
	t.Helper()
	var left []string
	entries, err := os.ReadDir(d.Path)
	must(t, err)
	for _, e := range entries {
		if atomicfile.IsTemp(e.Name()) {
			left = append(left, e.Name())
		}
	}
	return left
}

// Only what must outlive a power cut is synced: file and directory.
func TestSyncs(t *testing.T) {
	disk := &faulty{}
	d, s := newDirOn(t, disk, t.TempDir()), stageAt(t, 1)
	disk.syncs = 0
	save := func(want int, what string) {
		t.Helper()
		must(t, d.SaveStage(s))
		if disk.syncs != want {
			t.Errorf("%s: %d directory syncs, want %d", what, disk.syncs, want)
		}
	}
	save(1, "first")
	s.Progress.Message = "x"
	save(1, "progress")
	s.Agent = &Agent{PID: 1}
	must(t, s.Move(Testing, at(20)))
	save(1, "state")
	s.Git.Commits = append(s.Git.Commits, Commit{StepID: "S01"})
	save(2, "commit")
	must(t, s.Finish(at(21), ""))
	save(3, "step")
	save(3, "nothing")
	must(t, s.Fail(at(22), NewError(fault.New(fault.DoctorFailed))))
	save(4, "end")
	if files := strings.Count(strings.Join(disk.ops, " "), "create write sync close rename link rename syncdir"); files != 4 {
		t.Errorf("%d whole synced writes in %v", files, disk.ops)
	}
}

func TestTornRecordAtEveryLength(t *testing.T) {
	d, s := newDir(t), NewStage(reqID, runID, "A title", t0)
	must(t, d.SaveStage(s))
	must(t, d.SaveStage(s))
	whole := readFile(t, stagePath(d))
	for n := len(whole) - 1; n >= 0; n-- {
		must(t, os.Truncate(stagePath(d), int64(n)))
		got, err := d.LoadStage()
		if n == len(whole)-1 { // only the last newline is gone
			if err != nil || got.FellBack || got.Seq != 2 {
				t.Errorf("length %d: %+v %v", n, got, err)
			}
			continue
		}
		if err != nil || !got.FellBack || got.Seq != 1 {
			t.Fatalf("length %d: %+v %v", n, got, err)
		}
		if readFile(t, stagePath(d)) != whole[:n] {
			t.Fatal("reading changed the file")
		}
	}
}

func TestTornRecordWithoutAnotherIsAFault(t *testing.T) {
	d := newDir(t)
	must(t, d.SaveStage(NewStage(reqID, runID, "A title", t0)))
	whole := readFile(t, stagePath(d))
	for n := len(whole) - 2; n >= 0; n-- {
		must(t, os.Truncate(stagePath(d), int64(n)))
		_, err := d.LoadStage()
		f, _ := fault.As(err)
		if reasonOf(err) != "STAGE_UNREADABLE torn" || f.Facts["path"] != "runs/RQ-1/"+runID+"/stage.json" {
			t.Fatalf("length %d: %v", n, err)
		}
	}
}

// The record that a fall-back came from must not push the good one out of
// stage.json.prev.
func TestSaveAfterFallingBack(t *testing.T) {
	d, s := newDir(t), stageAt(t, 2)
	must(t, d.SaveStage(s))
	must(t, d.SaveStage(s))
	must(t, os.WriteFile(stagePath(d), []byte("{"), 0o644))
	got, err := d.LoadStage()
	must(t, err)
	must(t, d.SaveStage(got))
	prev, err := Decode([]byte(readFile(t, stagePath(d)+".prev")))
	if err != nil || prev.Seq != 1 {
		t.Errorf("prev: %+v %v", prev, err)
	}
	if now, err := d.LoadStage(); err != nil || now.FellBack || now.Seq != 2 {
		t.Errorf("%+v %v", now, err)
	}
}

func TestNewerAndForeignRecordsAreRefused(t *testing.T) {
	for reason, change := range map[string][2]string{
		"newer":   {`"version": "1.0"`, `"version": "2.0"`},
		"foreign": {`"request_id": "RQ-1"`, `"request_id": "RQ-2"`},
	} {
		d, s := newDir(t), stageAt(t, 2)
		must(t, d.SaveStage(s))
		must(t, d.SaveStage(s))
		text := strings.Replace(readFile(t, stagePath(d)), change[0], change[1], 1)
		must(t, os.WriteFile(stagePath(d), []byte(text), 0o644))
		if got, err := d.LoadStage(); reasonOf(err) != "STAGE_UNREADABLE "+reason {
			t.Errorf("%s: %+v %v", reason, got, err)
		}
		if readFile(t, stagePath(d)) != text {
			t.Errorf("%s: the file changed", reason)
		}
		if st, err := Latest(d.Root, "runs", reqID); st != nil || (err != nil) != (reason == "newer") {
			t.Errorf("%s: Latest gives %+v %v", reason, st, err)
		}
	}
}

func TestSaveRefusesAForeignRecord(t *testing.T) {
	d := newDir(t)
	if err := d.SaveStage(NewStage("RQ-2", runID, "", t0)); reasonOf(err) != "INTERNAL_ERROR foreign_record" {
		t.Error(err)
	}
	if _, err := os.Stat(stagePath(d)); !missing(err) {
		t.Error("something was written")
	}
}

func TestOldRecordIsUpgradedAndKept(t *testing.T) {
	d := newDir(t)
	old := `{"request_id":"RQ-1","run_id":"` + runID + `","state":"INIT","started_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}`
	must(t, os.WriteFile(stagePath(d), []byte(old), 0o644))
	s, err := d.LoadStage()
	must(t, err)
	must(t, d.SaveStage(s))
	if got := readFile(t, stagePath(d)+".prev"); got != old {
		t.Errorf("the original is %s", got)
	}
	if got := readFile(t, stagePath(d)); !strings.Contains(got, `"version": "1.0"`) {
		t.Errorf("not upgraded: %s", got)
	}
}

// Killed or failing at each point of a save, the record is the old one or the
// new one, whole, and a second try succeeds.
func TestEveryWritePoint(t *testing.T) {
	for _, mode := range []faulty{{}, {forever: true}, {dead: true}, {noLinks: true}, {noLinks: true, dead: true}} {
		points := pointsOfASave(t, mode)
		for at := 1; at <= points; at++ {
			failAt(t, mode, at)
		}
		if want := 8; !mode.noLinks && points != want {
			t.Errorf("a save has %d points, want %d", points, want)
		}
	}
}

func pointsOfASave(t *testing.T, mode faulty) int {
	t.Helper()
	disk := mode
	d, s := newDirOn(t, &disk, t.TempDir()), stageAt(t, 2)
	must(t, d.SaveStage(s))
	disk.n, disk.ops = 0, nil
	must(t, s.Finish(at(30), ""))
	must(t, d.SaveStage(s))
	return disk.n
}

func failAt(t *testing.T, mode faulty, point int) {
	t.Helper()
	disk := mode
	d, s := newDirOn(t, &disk, t.TempDir()), stageAt(t, 2)
	must(t, d.SaveStage(s))
	must(t, d.SaveStage(s))
	s.Git.Commits = append(s.Git.Commits, Commit{StepID: "S02"})
	must(t, d.SaveStage(s))
	disk.n, disk.at = 0, point
	must(t, s.Finish(at(30), ""))
	err := d.SaveStage(s)
	what := fmt.Sprintf("%+v point %d", mode, point)
	if err == nil {
		if mode.forever || mode.dead {
			t.Errorf("%s: no error", what)
		}
	} else if fault.CodeOf(err) != fault.StageWriteFailed || s.Seq != 3 {
		t.Errorf("%s: %v, seq %d", what, err, s.Seq)
	}
	got, lerr := d.LoadStage()
	if lerr != nil || got.FellBack || got.Seq != 3 && got.Seq != 4 {
		t.Errorf("%s: %+v %v", what, got, lerr)
	}
	if left := temps(t, d); len(left) > 1 || len(left) > 0 && !mode.dead {
		t.Errorf("%s: left over %v", what, left)
	}
	disk.at = 0
	must(t, d.SaveStage(s))
	if got, err := d.LoadStage(); err != nil || got.Steps[1].Status != StepDone || got.FellBack {
		t.Errorf("%s, second try: %+v %v", what, got, err)
	}
}

func TestFullDiskSaysSo(t *testing.T) {
	err := writeFault(&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, "p")
	if reasonOf(err) != "STAGE_WRITE_FAILED disk_full" {
		t.Error(err)
	}
}

func TestOddThingsInPlaceOfTheRecord(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"directory": func(p string) error { return os.Mkdir(p, 0o755) },
		"fifo":      func(p string) error { return syscall.Mkfifo(p, 0o644) },
		"symlink":   func(p string) error { return os.Symlink("/dev/zero", p) },
		"dangling":  func(p string) error { return os.Symlink("nowhere", p) },
	} {
		d := newDir(t)
		must(t, make(stagePath(d)))
		if s, err := d.LoadStage(); fault.CodeOf(err) != fault.StageUnreadable {
			t.Errorf("%s: %+v %v", name, s, err)
		}
	}
}

func TestIdsCannotLeaveTheFolder(t *testing.T) {
	root := t.TempDir()
	for _, id := range []string{"", ".", "..", "../x", "a/b", "/etc"} {
		d := OpenDir(atomicfile.OS{}, root, "runs", id, runID, suffixes())
		if err := d.Create(); fault.CodeOf(err) != fault.RunsDirCreateFailed {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := d.LoadStage(); fault.CodeOf(err) != fault.RunNotFound {
			t.Errorf("%q: %v", id, err)
		}
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 0 {
		t.Errorf("made %v %v", left, err)
	}
}

// Readers beside a writer see whole records whose seq never goes back, links
// or not.
func TestReadersNeverSeeAMix(t *testing.T) {
	for _, noLinks := range []bool{false, true} {
		d := newDirOn(t, &faulty{noLinks: noLinks}, t.TempDir())
		s := stageAt(t, 2)
		must(t, d.SaveStage(s))
		ctx, stop := context.WithCancel(context.Background())
		var readers sync.WaitGroup
		for range 3 {
			readers.Go(func() { watch(ctx, t, d) })
		}
		for i := range 100 {
			s.Git.Commits = append(s.Git.Commits[:0], make([]Commit, i/25)...)
			s.Title = strings.Repeat(fmt.Sprint(i%10), 1+i%5000)
			s.Progress.Message = s.Title
			must(t, d.SaveStage(s))
		}
		stop()
		readers.Wait()
	}
}

func watch(ctx context.Context, t *testing.T, d *Dir) {
	last := 0
	for ctx.Err() == nil {
		s, err := d.LoadStage()
		switch {
		case err != nil:
			t.Error(err)
			return
		case s.FellBack || s.Seq < last || s.Seq > 1 && s.Title != s.Progress.Message:
			t.Errorf("seq %d after %d, fell back %v", s.Seq, last, s.FellBack)
			return
		}
		last = s.Seq
	}
}

func TestPlanAndErrorsOnDisk(t *testing.T) {
	d, s := newDir(t), stopped(t, fault.UnitTestFailed)
	if _, err := d.LoadPlan(); fault.CodeOf(err) != fault.RunNotFound {
		t.Error(err)
	}
	must(t, d.SavePlan(planWithCriteria()))
	p, err := d.LoadPlan()
	if err != nil || len(p.Steps) != 3 || p.Context.AcceptanceCriteria[1].Given != "a" {
		t.Errorf("%+v %v", p, err)
	}
	must(t, d.SaveErrors(NewErrors(s, Testing, Evidence{}, nil)))
	e, err := d.LoadErrors()
	if err != nil || !agree(e, s) || e.Status != "needs_input" || *e.Evidence.FailedStepID != "S02" || e.Evidence.FailedAtStage != Testing {
		t.Errorf("%+v %v", e, err)
	}
	must(t, d.RemoveErrors())
	must(t, d.RemoveErrors())
	if _, err := d.LoadErrors(); fault.CodeOf(err) != fault.RunNotFound {
		t.Error(err)
	}
}

func TestLogsAndPatches(t *testing.T) {
	d := newDir(t)
	for want, got := range map[string]string{
		"logs/runner.log":                   LogName(LogRunner, "", 0),
		"logs/step-3.log":                   LogName(LogStep, "S03", 2),
		"logs/implementer.S01.attempt2.log": LogName(LogImplementer, "S01", 2),
		"logs/planner.attempt1.log":         LogName(LogPlanner, "", 1),
		"logs/tests/e2e.S02.attempt1.log":   LogName(LogE2E, "S02", 1),
		"patches/S01.patch":                 PatchName("S01", 0),
		"patches/S01.attempt4.patch":        PatchName("S01", 4),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	must(t, d.AppendLog(LogUnit, "S01", 1, []byte("a")))
	must(t, d.AppendLog(LogUnit, "S01", 1, []byte("b\n")))
	if got := readFile(t, d.LogPath(LogUnit, "S01", 1)); got != "ab\n" {
		t.Errorf("log is %q", got)
	}
	name, err := d.SavePatch("S01", 2, []byte("diff"))
	if err != nil || name != "runs/RQ-1/"+runID+"/patches/S01.attempt2.patch" || readFile(t, filepath.Join(d.Root, name)) != "diff" {
		t.Errorf("%s %v", name, err)
	}
}

func TestReportOnDisk(t *testing.T) {
	d, s := newDir(t), stageAt(t, 1)
	must(t, d.RenderReport(s, planWithCriteria(), ReportFacts{}, words))
	path := filepath.Join(d.Path, "report.md")
	ticked := edit(t, readFile(t, path), "- [ ] AC-01", "- [x] AC-01")
	must(t, os.WriteFile(path, []byte(ticked), 0o644))
	before, err := os.Stat(path)
	must(t, err)
	must(t, d.RenderReport(s, planWithCriteria(), ReportFacts{}, words))
	after, err := os.Stat(path)
	must(t, err)
	if readFile(t, path) != ticked || !os.SameFile(before, after) {
		t.Error("a report with nothing new was written again")
	}
	must(t, os.Remove(path))
	must(t, os.Mkdir(path, 0o755))
	if err := d.RenderReport(s, nil, ReportFacts{}, words); fault.CodeOf(err) != fault.StageUnreadable {
		t.Errorf("a report that cannot be read was replaced: %v", err)
	}
}

func TestListsOfRuns(t *testing.T) {
	root := t.TempDir()
	if all, err := ListRequestsWithRuns(root, "runs"); err != nil || len(all) != 0 {
		t.Errorf("%v %v", all, err)
	}
	if s, err := Latest(root, "runs", reqID); s != nil || err != nil {
		t.Errorf("%v %v", s, err)
	}
	for _, id := range []string{"RUN-20261127-143255-1e2407", "20261127-143256-abcdef", "RUN-20261128-000000-000000", "RUN-20251127-143255-short", "notes", "RUN-x"} {
		must(t, os.MkdirAll(filepath.Join(root, "runs", reqID, id), 0o755))
	}
	ids, err := ListRuns(root, "runs", reqID)
	want := []string{"RUN-20261128-000000-000000", "20261127-143256-abcdef", "RUN-20261127-143255-1e2407", "RUN-20251127-143255-short"}
	if err != nil || !slices.Equal(ids, want) {
		t.Errorf("%v %v", ids, err)
	}
	if all, err := ListRequestsWithRuns(root, "runs"); err != nil || len(all) != 1 || !all[reqID] {
		t.Errorf("%v %v", all, err)
	}
	if id, err := FindRun(root, "runs", "20261127-143256-abcdef"); err != nil || id != reqID {
		t.Errorf("%s %v", id, err)
	}
	if _, err := FindRun(root, "runs", "../RQ-1"); fault.CodeOf(err) != fault.RunNotFound {
		t.Error(err)
	}
}

func TestLatestPassesOverWhatCannotBeRead(t *testing.T) {
	root := t.TempDir()
	for i, id := range []string{"RUN-20261127-000001-000000", "RUN-20261127-000002-000000", "RUN-20261127-000003-000000"} {
		d := OpenDir(atomicfile.OS{}, root, "runs", reqID, id, suffixes())
		must(t, d.Create())
		s := NewStage(reqID, id, fmt.Sprint(i), t0)
		must(t, d.SaveStage(s))
	}
	newest := filepath.Join(root, "runs", reqID, "RUN-20261127-000003-000000", "stage.json")
	if s, err := Latest(root, "runs", reqID); err != nil || s.Title != "2" {
		t.Errorf("%+v %v", s, err)
	}
	must(t, os.WriteFile(newest, []byte("{"), 0o644))
	if s, err := Latest(root, "runs", reqID); err != nil || s.Title != "1" {
		t.Errorf("%+v %v", s, err)
	}
}
