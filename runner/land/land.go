// Package land takes finished branches over onto another one, one at a time: each is
// merged onto the branch as it is by then in a workspace of its own, tested there,
// and the branch advances by compare-and-swap. It also says what would come of it.
//
// It does not run requests, does not write a request's file, does not push, and moves
// no branch but forward. What a person has not committed is git's to protect.
package land

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/runs"
)

// Lander lands runs of one project.
type Lander struct {
	Project *project.Project
	Text    runs.Text // of reports
	Words   runs.Words
	Hurry   <-chan struct{} // closed: no more grace
	Observe func(Event)     // nil is nobody
	// Point is told of the places between two writes where a crash matters; nil
	// but in builds for tests.
	Point func(name string)
}

// Options say what is landed, and where.
type Options struct {
	Names  []string      // runs or requests; none: all that is finished
	Into   string        // "": the branch checked out in the main checkout
	Method gitops.Method // "": merge
	Wait   time.Duration // for another landing onto the same branch
}

// Event is one thing that happened. Its sentence is "land.event_<kind>".
type Event struct {
	Kind string // taking, testing, landed, left_out, again, setup, only_kept, old_steps
	Item Item
	What string
}

// Item is a finished run, and what it became on the branch.
type Item struct {
	RequestID string `json:"request_id"`
	RunID     string `json:"run_id"`
	Branch    string `json:"branch"`
	Commit    string `json:"commit,omitempty"`
	OnBase    string `json:"on_base,omitempty"` // of WithoutRequest: the base of the run, which has the request's file and is not checked out
}

// Left is a run that was left out, and why. Files and With are of a conflict.
type Left struct {
	Item
	Err   error
	Files []string
	With  string // the request that it collides with; "" where none is known
}

// Result is what a landing came to.
type Result struct {
	Into           string
	Method         gitops.Method
	Test           string // what judged: land, unit, or ""
	From           string // where the branch was
	To             string // where it is
	Landed         []Item
	Already        []Item // had been, before this landing
	LeftOut        []Left
	WithoutRequest []Item // finished, and their requests' files are not, or not once, among the requests
}

// Err is the first reason why something was left out.
func (r Result) Err() error {
	if len(r.LeftOut) == 0 {
		return nil
	}
	return r.LeftOut[0].Err
}

// landTries is how often a run is taken over anew because somebody moved the branch.
const landTries = 5

// landing is one command at work.
type landing struct {
	*Lander
	o           Options
	repo        *gitops.Repo
	advanceRepo *gitops.Repo // the same, for what is let finish should the landing die: a checkout that goes forward
	survey      *project.Survey
	lease       *locks.Lease
	result      Result

	ws            *gitops.Workspace
	cleanAt       string          // the commit at which the workspace stands clean, "" when it does not
	ready         bool            // tests can run in it
	known         map[string]bool // bases that are in the branch's history
	unlanded      map[string]bool // requests that wait and are not landed
	askedFor      map[string]bool // requests that were named
	assumedLanded []string        // runs that a forecast takes as landed
	finished      []*runs.Stage
	lockName      string // of its workspace and its lock
}

// Land lands what can be landed. Its error is about the whole; what was left out
// and why is in the result, which tells what was done also beside an error.
// Faults: LOCK_HELD, BASE_BRANCH_NOT_FOUND, NOTHING_TO_DO and those of git.
func (l *Lander) Land(ctx context.Context, o Options) (Result, error) {
	s, err := l.begin(ctx, o)
	if err != nil {
		return Result{}, err
	}
	if s.lease, err = l.Project.Locks().Acquire(ctx, locks.Named(s.lockName), locks.Ask{Wait: o.Wait}); err != nil {
		return Result{}, err
	}
	defer func() { _ = s.lease.Release() }()
	ctx = s.lease.Context()
	proc.EndStrays(s.mark(), 0, 0)
	proc.AwaitStrays(ctx, goesMark(s), s.Project.Git().Timeout)
	if err := s.readProject(ctx, l.Project.Survey); err != nil {
		return Result{}, err
	}
	wasHalf, err := s.settleInterrupted(ctx)
	if err == nil && wasHalf {
		err = s.readProject(ctx, l.Project.Survey) // its files said otherwise before
	}
	if err != nil {
		return s.result, err
	}
	todo, err := s.choose(ctx)
	if err != nil {
		return s.result, err
	}
	err = s.landAll(ctx, todo)
	// Also what a landing left that died when all had landed.
	err = errors.Join(err, s.repo.DropScratch(context.WithoutCancel(ctx), s.path(project.LandScratch)))
	if to, ok, e := s.repo.BranchTip(ctx, s.result.Into); e == nil && ok {
		s.result.To = to
	}
	return s.result, err
}

// begin finds the branch.
func (l *Lander) begin(ctx context.Context, o Options) (*landing, error) {
	s, err := l.open(ctx, o)
	if err == nil {
		err = s.findBranch(ctx, s.repo)
	}
	if err != nil {
		return nil, err
	}
	s.lockName = locks.NameFor(project.LandLock, s.result.Into)
	s.repo, s.advanceRepo = s.repo.Marked(s.mark()), s.repo.Marked(goesMark(s))
	return s, nil
}

// open opens the repository.
func (l *Lander) open(ctx context.Context, o Options) (*landing, error) {
	p := l.Project
	if o.Method == "" {
		o.Method = gitops.Merge
	}
	repo, err := gitops.Open(ctx, p.Git(), p.Dir)
	if err != nil {
		return nil, err
	}
	repo.WorktreesDir, repo.WorkPrefix = p.WorktreesDir(), p.Config.Git.WorkBranchPrefix
	s := &landing{Lander: l, o: o, repo: repo, known: map[string]bool{}, unlanded: map[string]bool{}, askedFor: map[string]bool{}}
	s.result.Method = o.Method
	s.result.Test, _ = p.Config.LandTest()
	return s, nil
}

// readProject reads the project as it is once nobody else lands on the branch.
func (s *landing) readProject(ctx context.Context, survey func(context.Context) (*project.Survey, error)) (err error) {
	if s.survey, err = survey(ctx); err != nil {
		return err
	}
	tip, ok, err := s.repo.BranchTip(ctx, s.result.Into)
	if err != nil || !ok {
		return errors.Join(err, noInto(s.result.Into))
	}
	s.result.From, s.result.To = tip, tip
	return s.readFinished(false)
}

func noInto(into string) error {
	f := fault.New(fault.BaseBranchNotFound, "missing", into, "into", into)
	if gitops.ValidBranch(into) {
		f.Facts["make"] = proc.Word(into)
	}
	return f
}

// findBranch finds the branch to land on.
func (s *landing) findBranch(ctx context.Context, repo *gitops.Repo) error {
	into := s.o.Into
	if into == "" {
		h, err := repo.Head(ctx)
		if err != nil {
			return err
		}
		if into = h.Branch; into == "" {
			if err := gitops.Interrupted(ctx, repo); err != nil {
				return err
			}
		}
	}
	if err := CheckInto(repo, into); err != nil {
		return err
	}
	s.result.Into = into
	if _, ok, err := repo.BranchTip(ctx, into); err != nil || ok {
		return err
	}
	if h, err := repo.Head(ctx); err == nil && h.Unborn {
		return gitops.NoCommit(repo, h)
	}
	return noInto(into)
}

// CheckInto refuses what no landing may move: no name, a work branch, and the name
// that would stand in the way of all of these. Fault: USAGE_ERROR.
func CheckInto(repo *gitops.Repo, into string) error {
	if into == "" || strings.HasPrefix(into, repo.WorkPrefix) || into == strings.TrimSuffix(repo.WorkPrefix, "/") {
		return fault.New(fault.UsageError, "reason", "land_into", "name", into, "cause_key", "land.no_branch")
	}
	return nil
}

// mark is in the environment of what a landing starts, by which it is found should
// the landing die.
func (s *landing) mark() string { return "AIFLOW_LANDING=" + numberOf(s) }

func goesMark(s *landing) string { return "AIFLOW_LANDING_GOES=" + numberOf(s) }

func numberOf(s *landing) string {
	sum := sha256.Sum256([]byte(s.Project.Path(s.Project.Config.Paths.LocksDir) + "\x00" + s.lockName))
	return hex.EncodeToString(sum[:8])
}

// readFinished reads the newest finished runs, of all requests; to restack also those that
// wait for a person to move them.
func (s *landing) readFinished(restacks bool) error {
	s.finished = nil
	ids, err := runs.ListRequestsWithRuns(s.Project.Dir, s.Project.RunsDir())
	if err != nil {
		return err
	}
	for _, st := range s.survey.Found {
		if !ids[st.RequestID] {
			s.finished = append(s.finished, st)
		}
	}
	for id := range ids {
		if st := s.survey.Latest(id); st != nil && st.DroppedAt == nil && (st.State == runs.Done || restacks && st.RestackStopped()) {
			s.finished = append(s.finished, st)
		}
	}
	slices.SortFunc(s.finished, func(a, b *runs.Stage) int { // what was finished first comes first
		if a.EndedAt != nil && b.EndedAt != nil && !a.EndedAt.Equal(*b.EndedAt) {
			return a.EndedAt.Compare(*b.EndedAt)
		}
		return strings.Compare(a.RunID, b.RunID)
	})
	return nil
}

// settleInterrupted records what a landing that died had landed. What it had begun to write into
// the checkout is undone; it says whether there was such a thing.
func (s *landing) settleInterrupted(ctx context.Context) (wasHalf bool, err error) {
	for i, st := range s.finished {
		st, err := settleMove(ctx, s, st)
		if err != nil {
			return wasHalf, err
		}
		if s.finished[i] = st; st.Landing == nil {
			continue
		}
		tip, ok, err := s.repo.BranchTip(ctx, st.Landing.Into)
		if err != nil {
			return wasHalf, err
		}
		there := false
		if ok {
			there, err = s.repo.IsAncestor(ctx, st.Landing.Commit, tip)
		}
		if ok && err == nil && !there { // a commit that is gone was never landed
			half, err := gitops.UndoHalfway(ctx, s.repo, st.Landing.Into, st.Landing.Commit)
			if err != nil {
				return wasHalf, err
			}
			wasHalf = wasHalf || half
		}
		now, err := s.record(ctx, st, there)
		if err != nil {
			return wasHalf, err
		}
		if s.finished[i] = now; there && now.Landed.Into == s.result.Into {
			s.result.Already = append(s.result.Already, Item{RequestID: st.RequestID, RunID: st.RunID, Branch: st.Git.WorkBranch, Commit: now.Landed.Commit})
		}
	}
	return wasHalf, nil
}

// landAll lands one after the other.
func (s *landing) landAll(ctx context.Context, todo []*runs.Stage) error {
	for _, st := range todo {
		item := Item{RequestID: st.RequestID, RunID: st.RunID, Branch: st.Git.WorkBranch}
		already, err := s.landOne(ctx, st, &item)
		switch {
		case err == nil && already:
			s.result.Already = append(s.result.Already, item)
		case err == nil:
			s.result.Landed = append(s.result.Landed, item)
			s.tell(Event{Kind: "landed", Item: item})
			warnSteps(s, st, item)
			warnKept(ctx, s, st, item)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !concernsOneRun(err):
			return err
		default:
			left := s.leftOut(item, err)
			s.result.LeftOut = append(s.result.LeftOut, left)
			s.tell(Event{Kind: "left_out", Item: item})
			continue
		}
		delete(s.unlanded, st.RequestID)
	}
	return nil
}

// warnSteps tells that the request asks for other steps by now than those that land.
func warnSteps(s *landing, st *runs.Stage, item Item) {
	r := s.survey.Folder.Unique(st.RequestID)
	if r == nil || !r.Valid() {
		return
	}
	if plan, err := s.Project.Run(st.RequestID, st.RunID).LoadPlan(); err == nil && project.OldSteps(st, plan, r) {
		s.tell(Event{Kind: "old_steps", Item: item, What: runs.Fresh(st)})
	}
}

// warnKept names what was landed of another repository that nobody else has by now: a
// branch holds only the name of its commit.
func warnKept(ctx context.Context, s *landing, st *runs.Stage, item Item) {
	dir := s.Project.Run(st.RequestID, st.RunID)
	only, _ := s.repo.OnlyKept(ctx, filepath.Join(dir.Path, runs.KeptDir), st.Git.BaseCommit, "")
	for _, name := range only {
		s.tell(Event{Kind: "only_kept", Item: item, What: dir.RelPath(runs.KeptDir) + "/" + name})
	}
}

// concernsOneRun: the reason is one run's, and others can still land.
func concernsOneRun(err error) bool {
	if _, ok := asCollision(err); ok {
		return true
	}
	switch fault.CodeOf(err) {
	case fault.LandTestFailed, fault.TestTimeout, fault.LandRefused, fault.LandOtherBase, fault.LandBaseMoved, fault.DependsNotDone,
		fault.GitCommitFailed, fault.RunInProgress, fault.NothingToDo, fault.StackConflict, fault.StackStale:
		return true
	}
	return false
}

func (s *landing) tell(e Event) {
	if s.Observe != nil {
		s.Observe(e)
	}
}

// At passes a place where a test may stop the program.
func (s *landing) At(name string) {
	if s.Point != nil {
		s.Point(name)
	}
}

// path is where the landing works; no request has such a name.
func (s *landing) path(begins string) string {
	return filepath.Join(s.Project.Path(s.Project.WorktreesDir()), begins+strings.TrimPrefix(s.lockName, project.LandLock+"-"))
}
