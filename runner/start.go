package runner

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/edit"
	"aiflow/runs"
)

// claimed is a request whose lock is held and which may run.
type claimed struct {
	id           string
	lease, queue *locks.Lease // queue: nil outside of auto-runs
	slot         *locks.Lease
	repo         func() (*gitops.Repo, error)
}

// start runs a claimed request: it goes on with the run that was interrupted,
// or begins a new one. ctx ends when the lease is lost.
func (r *Runner) start(ctx context.Context, o Options, s *project.Survey, c claimed) (Outcome, error) {
	req, err := s.Folder.Get(c.id)
	if err != nil {
		return Outcome{}, err
	}
	r.sweepLocks(ctx)
	r.Project.SweepTemps(s.Folder)
	repo, err := c.repo()
	if err != nil {
		return Outcome{}, err
	}
	j := &job{Runner: r, opts: o, repo: repo, survey: s, req: req, lease: c.lease, queue: c.queue, slot: c.slot}
	r.tell(Event{Kind: Chosen, RequestID: c.id, Title: req.Title()})
	last := s.Latest(c.id)
	if err := s.Unreadable(c.id); err != nil && !o.Fresh {
		return Outcome{}, err
	}
	if last != nil && !last.State.Ended() && !o.Fresh {
		return j.resumeInterrupted(ctx, last)
	}
	if last != nil && !o.Fresh {
		if out, ok := j.finishLate(ctx, last); ok {
			return out, nil
		}
		if err := j.mendsThere(ctx, last); err != nil {
			return Outcome{}, err
		}
	}
	return j.fresh(ctx, last)
}

// sweepLocks clears away locks whose time is over and whose holder is gone. It
// never stops a run.
func (r *Runner) sweepLocks(ctx context.Context) {
	if m, err := r.Project.Locks(); err == nil {
		_, _ = m.SweepExpired(ctx)
	}
}

// fresh begins a new run. Nothing is recorded before the base is known.
func (j *job) fresh(ctx context.Context, last *runs.Stage) (Outcome, error) {
	if _, err := j.routes(); err != nil {
		return Outcome{}, err
	}
	dirty := j.dirtyAhead(ctx)
	if j.strict() {
		if err := j.refuseDirty(dirty()); err != nil {
			return Outcome{}, err
		}
	}
	wanted := j.survey.BaseOf(j.req)
	base, commit, err := j.repo.ResolveBase(ctx, wanted)
	if err != nil {
		return Outcome{}, err
	}
	if wanted != "" {
		j.tell(Event{Kind: BaseTold, RequestID: j.req.ID, What: base, Title: j.survey.Here()})
	}
	if j.text, err = os.ReadFile(j.Project.Path(j.req.Path)); err != nil {
		return Outcome{}, fault.Wrap(err, fault.RequestNotFound, "id", j.req.ID, "path", j.req.Path)
	}
	j.text = j.unblocked(ctx, last, j.text)
	if last != nil && last.State != runs.Done {
		j.replaces = last
	}
	if err := j.record(base, commit); err != nil {
		return Outcome{}, err
	}
	if !j.strict() {
		j.warnDirty(dirty())
	}
	if last != nil {
		j.hear(j.Project.Run(last.RequestID, last.RunID))
		j.leaveBehind(ctx, last)
	}
	return j.drive(ctx, j.begin)
}

// record writes the run's first stage.json and the request as it is taken.
func (j *job) record(base, commit string) error {
	now := j.Project.Now().UTC()
	before := ""
	if ids, err := runs.ListRuns(j.Project.Dir, j.Project.RunsDir(), j.req.ID); err == nil && len(ids) > 0 {
		before = ids[0]
	}
	runID := runs.NewRunIDAfter(before, now, j.Project.RandomHex(1)[0])
	j.stage = runs.NewStage(j.req.ID, runID, j.req.Title(), now)
	j.stage.Worked(j.lease.Record().BootID)
	j.stage.Git.BaseBranch, j.stage.Git.BaseCommit = base, commit
	id, _ := runs.ParseRunID(runID)
	j.stage.Git.WorkBranch = j.branchName(id.Time)
	j.stage.Git.Workspace = j.workspaceOf(j.req.ID)
	j.stage.Artifacts.RequestPath = j.req.Path
	j.dir = j.Project.Run(j.req.ID, runID)
	j.repo = j.repo.Marked(j.mark())
	j.stage.Artifacts.ReportMD = j.dir.RelPath("report.md")
	j.stage.Artifacts.LogsDir = j.dir.RelPath("logs")
	if j.replaces != nil {
		j.stage.Replaces = j.replaces.RunID
	}
	j.noteLocks()
	if err := j.held(); err != nil {
		return err
	}
	if err := j.dir.Create(); err != nil {
		return err
	}
	j.at("folder")
	if err := j.save(); err != nil {
		return err
	}
	j.at("begun")
	if err := j.linkReplaced(); err != nil && (j.replans || fault.Has(err, fault.LockLost)) {
		return err
	} else if err != nil {
		j.tell(Event{Kind: Warned, What: j.inWords(err)}) // who begins anew may have taken the old record away
	}
	for _, l := range []*locks.Lease{j.lease, j.slot, j.queue} {
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
func (j *job) linkReplaced() error {
	old := j.replaces
	if old == nil {
		return nil
	}
	if err := j.held(); err != nil {
		return err
	}
	old.ReplacedBy = j.stage.RunID
	if j.replans {
		old.AddEvent(j.Project.Now(), runs.EventReplanned, old.CurrentStepID, "")
	}
	if err := j.Project.Run(old.RequestID, old.RunID).SaveStage(old); err != nil {
		return err
	}
	return j.closeReplaced()
}

// closeReplaced says in the report and the errors of the run that this one takes
// the place of that it did. It is done again when this one ends: a crash may have
// come between.
func (j *job) closeReplaced() error {
	if j.stage.Replaces == "" {
		return nil
	}
	dir := j.Project.Run(j.req.ID, j.stage.Replaces)
	st, err := dir.LoadStage()
	if err != nil || st.ReplacedBy != j.stage.RunID {
		return nil // gone, or not linked yet
	}
	plan, _ := dir.LoadPlan()
	old := &job{Runner: j.Runner, req: j.req, stage: st, dir: dir, plan: plan, lease: j.lease}
	return old.reworded(runs.Advise(st, nil, runs.Now{}))
}

// reworded writes what can be done about a run that is closed into its errors and
// its report.
func (j *job) reworded(list []fault.Advice) error {
	if err := j.held(); err != nil {
		return err
	}
	if errs, err := j.dir.LoadErrors(); err == nil {
		if err := j.dir.SaveErrors(errs.Reworded(j.Words.Fault, list)); err != nil {
			return err
		}
	}
	old := *j
	old.stage = j.stage.Reworded(j.Words.Fault, list)
	return old.saveReport()
}

func (j *job) branchName(at time.Time) string {
	return j.Project.Config.Git.WorkBranchPrefix + j.req.ID + "/" + at.Format("20060102-150405")
}

// workspaceOf is where a request is worked on, relative to the project.
func (j *job) workspaceOf(id string) string {
	if j.inPlace() {
		return "."
	}
	return path.Join(j.Project.WorktreesDir(), id)
}

// noteLocks records who holds what, and whose lock was taken over (seed 000
// section 8).
func (j *job) noteLocks() {
	now, ttl := j.Project.Now(), j.Project.Config.Limits.LockTTLSec
	j.stage.Locks.Request = j.lockNote(j.lease, ttl)
	j.stage.Locks.Queue = j.lockNote(j.queue, ttl)
	for _, l := range []*locks.Lease{j.lease, j.queue} {
		if l == nil {
			continue
		}
		if old, ok := l.Recovered(); ok {
			e := j.stage.AddEvent(now, runs.EventLockRecovered, "", fault.LockStaleRecovered)
			e.Detail = map[string]string{"pid": strconv.Itoa(old.PID), "run_id": old.RunID, "hostname": old.Hostname}
			j.tell(Event{Kind: LockTaken, What: old.RunID, Count: old.PID})
		}
	}
}

// lockNote names the lock's file as seen from the project, which may be moved.
func (j *job) lockNote(l *locks.Lease, ttl int) *runs.Lock {
	if l == nil {
		return nil
	}
	r, name := l.Record(), l.Path()
	if rel, err := filepath.Rel(j.Project.Dir, name); err == nil && filepath.IsLocal(rel) {
		name = filepath.ToSlash(rel)
	}
	return &runs.Lock{
		Path: name, Held: true, AcquiredAt: &r.CreatedAt, TTLSec: ttl,
		Holder: &runs.Holder{PID: r.PID, Host: r.Host, Hostname: r.Hostname},
	}
}

// begin takes a new run from its first record to its plan.
func (j *job) begin(ctx context.Context) error {
	if err := j.saveReport(); err != nil {
		return err
	}
	if err := j.markRunning(); err != nil {
		return err
	}
	if err := j.openWorkspace(ctx); err != nil {
		return err
	}
	if err := j.makePlan(ctx); err != nil {
		return err
	}
	return j.steps(ctx)
}

// markRunning sets the request's status in the checkout and remembers how the
// file looks then, so that its earlier bytes can come back.
func (j *job) markRunning() error {
	if j.inPlace() && j.stage.HasCommit(runs.RecordStep) {
		return nil // the branch that is checked out has it as done
	}
	p := j.Project
	if err := j.held(); err != nil {
		return err
	}
	if err := j.neverRunning(); err != nil {
		return err
	}
	if err := j.dir.SaveRequest(j.text); err != nil {
		return err
	}
	after, err := edit.SetValues(j.req.Path, j.text, map[string]string{"status": reqmeta.Running}, p.Now())
	if err != nil {
		return err
	}
	j.stage.Artifacts.RequestRunning = project.Fingerprint(after)
	if err := j.save(); err != nil {
		return err
	}
	j.at("before_running")
	if err := j.held(); err != nil {
		return err
	}
	if err := edit.Replace(p.Env.Disk, p.Dir, j.req.Path, after, p.Suffix()); err != nil {
		return err
	}
	j.at("running")
	return nil
}
