package stage

import (
	"bytes"
	"context"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"aiflow/internal/fault"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/edit"
	"aiflow/runs"
)

// Create records a new run. Nothing is recorded before the base is known.
func Create(ctx context.Context, run *Run) error {
	if _, err := run.Router(); err != nil {
		return err
	}
	dirty := lookForDirty(ctx, run)
	if run.strict() {
		if err := refuseDirty(ctx, run, dirty); err != nil {
			return err
		}
	}
	wanted := run.Survey.BaseOf(run.Request)
	base, commit, err := run.Repo.ResolveBase(ctx, wanted)
	if err != nil {
		return err
	}
	if wanted != "" {
		run.Tell(Event{Kind: BaseTold, RequestID: run.Request.ID, What: base, Title: run.Survey.Here()})
	}
	if run.Replaces != nil && len(run.Replaces.Git.StackedOn) > 0 {
		run.Survey.Stacks(true) // one that takes its place begins as it did
	}
	stacked := run.Survey.StackOf(ctx, run.Request)
	commit, err = stackBase(ctx, run, commit, stacked)
	if err != nil {
		return err
	}
	if err := record(run, base, commit, stacked); err != nil {
		return err
	}
	if !run.strict() {
		warnDirty(run, dirty)
	}
	return nil
}

// stackBase is the commit from which a run starts that stands on others.
func stackBase(ctx context.Context, run *Run, base string, on []runs.StackedOn) (string, error) {
	if len(on) == 0 {
		return base, nil
	}
	if len(on) == 1 && len(run.Request.Meta.DependsOn) == 1 { // what else it needs is in the base
		base = on[0].Commit
	}
	commit, stuck, files, err := run.Repo.Together(ctx, base, runs.Commits(on), run.Project.Path(run.Project.WorktreesDir())+"/_stack-"+run.Request.ID)
	if err == nil && len(files) > 0 {
		return "", project.StackConflict(on, stuck, files)
	}
	for _, o := range on {
		run.Tell(Event{Kind: StackTold, RequestID: run.Request.ID, What: o.RequestID, Title: o.Branch})
	}
	return commit, err
}

// record writes the run's first stage.json and the request as it is taken.
func record(run *Run, base, commit string, stacked []runs.StackedOn) error {
	now := run.Project.Now().UTC()
	before := ""
	if ids, err := runs.ListRuns(run.Project.Dir, run.Project.RunsDir(), run.Request.ID); err == nil && len(ids) > 0 {
		before = ids[0]
	}
	runID := runs.NewRunIDAfter(before, now, run.Project.RandomHex(1)[0])
	run.Stage = runs.NewStage(run.Request.ID, runID, run.Request.Title(), now)
	run.Stage.CountProcess(run.Lease.Record().BootID)
	run.Stage.Git.BaseBranch, run.Stage.Git.BaseCommit, run.Stage.Git.StackedOn = base, commit, stacked
	id, _ := runs.ParseRunID(runID)
	run.Stage.Git.WorkBranch = BranchName(run, id.Time)
	run.Stage.Git.Workspace = NewWorkspace(run, run.Request.ID)
	run.Stage.Artifacts.RequestPath = run.Request.Path
	run.Dir = run.Project.Run(run.Request.ID, runID)
	run.Repo = run.Repo.Marked(run.Mark())
	if run.Replaces != nil {
		run.Stage.Replaces = run.Replaces.RunID
	}
	NoteLocks(run)
	if err := run.MayWrite(); err != nil {
		return err
	}
	if err := run.Dir.Create(); err != nil {
		return err
	}
	run.At("folder")
	if err := run.Save(); err != nil {
		return err
	}
	run.At("begun")
	if err := linkReplaced(run); err != nil && (run.Replans || fault.Has(err, fault.LockLost)) {
		return err
	} else if err != nil {
		run.Tell(Event{Kind: Warned, What: run.InWords(err)}) // who begins anew may have taken the old record away
	}
	for _, l := range []*locks.Lease{run.Lease, run.Slot, run.Queue} {
		if l == nil {
			continue
		}
		if err := l.SetRun(runID); err != nil {
			return err
		}
	}
	return nil
}

// linkReplaced writes the new run's name into the one that it replaces. The
// new run already names the old one, so a crash in between loses no link.
func linkReplaced(run *Run) error {
	old := run.Replaces
	if old == nil {
		return nil
	}
	old.ReplacedBy = run.Stage.RunID
	if run.Replans {
		old.AddEvent(run.Project.Now(), runs.EventReplanned, old.CurrentStepID, "")
	}
	if err := run.Project.Run(old.RequestID, old.RunID).SaveStage(old); err != nil {
		return err
	}
	return closeReplaced(run)
}

// closeReplaced says in the report and the errors of the run that this one takes
// the place of that it did. It is done again when this one ends: a crash may have
// come between.
func closeReplaced(run *Run) error {
	if run.Stage.Replaces == "" {
		return nil
	}
	st, err := run.Project.Run(run.Request.ID, run.Stage.Replaces).LoadStage()
	if err != nil || st.ReplacedBy != run.Stage.RunID {
		return nil // gone, or not linked yet
	}
	return Reworded(run.Other(st), runs.Advise(st, nil, runs.Now{}))
}

// Reworded writes what can be done about a run that is closed into its errors and
// its report.
func Reworded(run *Run, list []fault.Advice) error {
	if errs, err := run.Dir.LoadErrors(); err == nil {
		if err := run.Dir.SaveErrors(errs.Reworded(run.Words.Fault, list)); err != nil {
			return err
		}
	}
	old := *run
	old.Stage = run.Stage.Reworded(run.Words.Fault, list)
	return old.saveReport()
}

// BranchName is the work branch of a run that begins at that time.
func BranchName(run *Run, at time.Time) string {
	return run.Project.Config.Git.WorkBranchPrefix + run.Request.ID + "/" + at.Format("20060102-150405")
}

// NewWorkspace is where a request is worked on, relative to the project.
func NewWorkspace(run *Run, id string) string {
	if run.InPlace() {
		return "."
	}
	return path.Join(run.Project.WorktreesDir(), id)
}

// NoteLocks records who holds what, and whose lock was taken over (seed 000
// section 8).
func NoteLocks(run *Run) {
	now, ttl := run.Project.Now(), run.Project.Config.Limits.LockTTLSec
	run.Stage.Locks.Request = lockNote(run, run.Lease, ttl)
	run.Stage.Locks.Queue = lockNote(run, run.Queue, ttl)
	for _, l := range []*locks.Lease{run.Lease, run.Queue} {
		if l == nil {
			continue
		}
		if old, ok := l.Recovered(); ok {
			e := run.Stage.AddEvent(now, runs.EventLockRecovered, "", fault.LockStaleRecovered)
			e.Detail = map[string]string{"pid": strconv.Itoa(old.PID), "run_id": old.RunID, "hostname": old.Hostname}
			run.Tell(Event{Kind: LockTaken, What: old.RunID, Count: old.PID})
		}
	}
}

// lockNote names the lock's file as seen from the project, which may be moved.
func lockNote(run *Run, l *locks.Lease, ttl int) *runs.Lock {
	if l == nil {
		return nil
	}
	r, name := l.Record(), l.Path()
	if rel, err := filepath.Rel(run.Project.Dir, name); err == nil && filepath.IsLocal(rel) {
		name = filepath.ToSlash(rel)
	}
	return &runs.Lock{
		Path: name, Held: true, AcquiredAt: &r.CreatedAt, TTLSec: ttl,
		Holder: &runs.Holder{PID: r.PID, Host: r.Host, Hostname: r.Hostname},
	}
}

// Begin takes a new run from its first record to its plan.
func Begin(ctx context.Context, run *Run) error {
	if err := run.saveReport(); err != nil {
		return err
	}
	if err := MarkRunning(run); err != nil {
		return err
	}
	if err := openWorkspace(ctx, run); err != nil {
		return err
	}
	if err := makePlan(ctx, run); err != nil {
		return err
	}
	return Steps(ctx, run)
}

// MarkRunning sets the request's status in the checkout and remembers how the
// file looks then, so that its earlier bytes can come back.
func MarkRunning(run *Run) error {
	if run.InPlace() && run.Stage.HasCommit(runs.RecordStep) {
		return nil // the branch that is checked out has it as done
	}
	p := run.Project
	if err := NeverRunning(run); err != nil {
		return err
	}
	if err := run.Dir.SaveRequest(run.Text); err != nil {
		return err
	}
	running, now := map[string]string{"status": reqmeta.Running}, p.Now()
	after, err := edit.SetValues(run.Request, run.Text, running, now)
	if err != nil {
		return err
	}
	run.Stage.Artifacts.RequestRunning = project.Fingerprint(after)
	if err := run.Save(); err != nil {
		return err
	}
	run.At("before_running")
	_, err = edit.Replace(p.Env.Disk, p.Dir, run.Request.Path, func(there []byte) ([]byte, error) {
		if same, err := edit.GiveBack(run.Request, there, run.Text, "status", "updated_at"); err == nil && bytes.Equal(same, run.Text) {
			return after, nil
		}
		return edit.SetValues(run.Request, there, running, now) // somebody changed it since it was read
	}, p.Suffix())
	if err != nil {
		return err
	}
	run.At("running")
	return nil
}

// NeverRunning sees to it that what the request file goes back to does not say
// running: a run whose record was lost may have left it like that, and so may a
// commit that was made while one ran.
func NeverRunning(run *Run) (err error) {
	if run.Request.Parse(run.Text).Meta.Status == reqmeta.Running {
		run.Text, err = edit.SetValues(run.Request, run.Text, map[string]string{"status": reqmeta.Ready}, run.Project.Now())
	}
	return err
}
