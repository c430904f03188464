package project

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/locks"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
	"aiflow/reqmeta/folder"
	"aiflow/runs"
)

// Survey is a project looked over at one moment. It comes about in three steps: collect
// reads what is there, repair puts right what a killed command left half done, and Select
// and Obstacle judge, as Facts say, when they are asked.
type Survey struct {
	// What was collected.
	Folder   *folder.Folder
	Locks    []locks.Entry   // every lock file, as Facts know of it
	Found    []*runs.Stage   // finished runs without a record, as their branches tell
	Branches func() Branches // the work branches, which git is asked for once

	// What was repaired.
	Notes  []Note
	Unsure error // why git could not say what has been merged

	// How it is judged.
	Facts     choose.Facts
	Fresh     bool // what was interrupted is not to go on; set before anything is judged
	Elsewhere bool // another machine may do it; what this one lacks is not asked

	p        *Project
	held     map[locks.Key]locks.Entry
	withRuns map[string]bool
	branches map[string]bool // local ones that begin as work branches do, and what is in their way

	mu         sync.Mutex // of latest and unreadable
	latest     map[string]*runs.Stage
	unreadable map[string]error // newest runs that a newer program wrote

	baseChoice func() baseChoice
	missing    map[string]bool // bases that are not there
	obstacles  func() *obstacles
	waiting    map[string]*runs.Stage     // finished runs that wait to be merged, by branch
	beyond     map[string]map[string]bool // branches on which runs were landed -> commits that are not checked out
	undone     map[string]map[string]bool // these branches -> requests that are there and not done
}

// Survey reads the project's state. What a killed command left half done is
// put right on the way (see Note); where that cannot be written it is judged
// as if it were. Fault: REQUESTS_DIR_NOT_FOUND.
func (p *Project) Survey(ctx context.Context) (*Survey, error) {
	s, err := p.Look(ctx)
	if err == nil {
		s.repair(ctx)
	}
	return s, err
}

// HasRequests is REQUESTS_DIR_NOT_FOUND where there is no folder of requests:
// what takes a lock asks first, so that nothing is made in a stranger's folder.
func (p *Project) HasRequests() error {
	if dir := p.Path(p.RequestsDir()); !isDir(dir) {
		return naming(fault.New(fault.RequestsDirNotFound, "path", dir), p.Env.Dir, p.Dir)
	}
	return nil
}

// Look is Survey for those who must not change anything: what is half done is
// shown as it is.
func (p *Project) Look(ctx context.Context) (*Survey, error) {
	folder, err := p.Requests()
	if err != nil {
		return nil, err
	}
	return p.LookWith(ctx, folder)
}

// Requests reads the request files. Fault: REQUESTS_DIR_NOT_FOUND.
func (p *Project) Requests() (*folder.Folder, error) {
	if p.Read != nil {
		return p.Read()
	}
	f, err := cache(p).Load(p.Dir, p.RequestsDir(), p.Config.Paths.Ignore...)
	if err == nil {
		f.Beside(p.Config.Paths.DoneDirs)
	}
	if missing, ok := fault.As(err); ok && missing.Code == fault.RequestsDirNotFound {
		naming(missing, p.Env.Dir, p.Dir)
	}
	return f, err
}

// LookWith is Look for those who have read the request files already.
func (p *Project) LookWith(ctx context.Context, folder *folder.Folder) (*Survey, error) {
	s := &Survey{Folder: folder, p: p, latest: map[string]*runs.Stage{}, unreadable: map[string]error{}, waiting: map[string]*runs.Stage{}}
	if err := s.collect(ctx); err != nil {
		return nil, err
	}
	return s, s.prepareFacts(ctx)
}

// collect reads the locks, which requests have runs, and the work branches.
func (s *Survey) collect(ctx context.Context) (err error) {
	s.Branches = sync.OnceValue(func() Branches { return WorkBranches(ctx, s.p) })
	if s.Locks, s.held, err = liveLocks(s.p); err != nil {
		return err
	}
	if s.withRuns, err = runs.ListRequestsWithRuns(s.p.Dir, s.p.RunsDir()); err != nil {
		return err
	}
	s.find(ctx)
	return nil
}

// prepareFacts tells the rules of package choose what they ask of a project. What costs
// something is found out when they ask.
func (s *Survey) prepareFacts(ctx context.Context) (err error) {
	if s.Facts.Undone, err = unmergedDone(ctx, s); err != nil {
		return err
	}
	if err := s.StartFrom(ctx, ""); err != nil {
		return err
	}
	if e, ok := s.held[locks.Queue()]; ok {
		s.Facts.Queue = holder(e)
	}
	s.Facts.Concerned = slices.Collect(maps.Keys(s.withRuns))
	for key := range s.held {
		s.Facts.Concerned = append(s.Facts.Concerned, key.ID)
	}
	s.Stacks(s.p.Config.AutoRun.Stack)
	if len(s.held) > 0 {
		s.Facts.Locked = s.locked
	}
	if len(s.withRuns) > 0 {
		s.Facts.LatestRun = func(id string) *choose.LatestRun { return s.latestRun(ctx, id) }
		s.Facts.Merge = mergeCommands(ctx, s)
	}
	return nil
}

// Select decides what is next.
func (s *Survey) Select() choose.Result { return choose.Select(s.Folder, s.Facts) }

// liveLocks are all lock files of a project, and by their keys those whose holder lives.
// Who this process is, is asked only where there are some to judge.
func liveLocks(p *Project) (all []locks.Entry, live map[locks.Key]locks.Entry, err error) {
	live = map[locks.Key]locks.Entry{}
	entries, err := os.ReadDir(p.Path(p.Config.Paths.LocksDir))
	if errors.Is(err, fs.ErrNotExist) || err == nil &&
		!slices.ContainsFunc(entries, func(e fs.DirEntry) bool { _, ok := locks.KeyOf(e.Name()); return ok }) {
		return nil, live, nil
	}
	all, err = p.Locks().List()
	for _, e := range all {
		if key, ok := locks.KeyOf(e.Path); ok && e.Live {
			live[key] = e
		}
	}
	return all, live, err
}

func (s *Survey) locked(id string) *choose.Holder {
	e, ok := s.held[locks.Request(id)]
	if !ok || e.Verdict == locks.Mine {
		return nil
	}
	return holder(e)
}

func holder(e locks.Entry) *choose.Holder {
	r := e.Record
	return &choose.Holder{
		RunID: r.RunID, Host: r.Host, Hostname: r.Hostname, PID: r.PID,
		Since: r.CreatedAt, Until: r.ExpiresAt, Unreadable: e.Problem != nil,
	}
}

// Latest is the newest run of a request, nil when it never ran or its record
// is lost.
func (s *Survey) Latest(id string) *runs.Stage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.withRuns[id] {
		return nil
	}
	if st, ok := s.latest[id]; ok {
		return st
	}
	st, err := runs.Latest(s.p.Dir, s.p.RunsDir(), id)
	s.latest[id] = st
	if err != nil {
		s.unreadable[id] = err
	}
	return st
}

// Unreadable is why the newest run of a request cannot be judged: a newer
// program wrote its record. A record that is merely broken is as good as lost.
func (s *Survey) Unreadable(id string) error {
	s.Latest(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unreadable[id]
}

// RunBeforeRename is a run that is finished and not merged, or waits, of a request whose file
// is gone and which had r's title: r has no run and was probably renamed. nil is none.
func RunBeforeRename(ctx context.Context, s *Survey, r *reqmeta.Request) *runs.Stage {
	if s.withRuns[r.ID] {
		return nil
	}
	begun := newest(s.branches, s.p.Config.Git.WorkBranchPrefix) // what has no branch has nothing to lose, and is not read
	for _, id := range slices.Sorted(maps.Keys(s.withRuns)) {
		if begun[id] == "" || s.Folder.Index(id) >= 0 {
			continue
		}
		st := s.Latest(id)
		if st == nil || st.DroppedAt != nil || st.Title != r.Title() {
			continue
		}
		if st.State != runs.Done || st.Unmerged() && s.Branches().Has(st.Git.WorkBranch) {
			return st
		}
	}
	return nil
}

// RenameFacts are the facts of such a run.
func RenameFacts(r *reqmeta.Request, st *runs.Stage) fault.Facts {
	return fault.NewFacts("id", r.ID, "name", st.RequestID, "run_id", st.RunID, "state", st.State,
		"back", "mv "+proc.Word(r.Path)+" "+proc.Word(st.Artifacts.RequestPath))
}

func (s *Survey) latestRun(ctx context.Context, id string) *choose.LatestRun {
	st := s.Latest(id)
	if err := s.Unreadable(id); err != nil {
		return &choose.LatestRun{State: string(runs.NeedsInput), ReasonCode: fault.CodeOf(err)}
	}
	if st == nil {
		return nil
	}
	return LatestRun(ctx, s, st)
}

// LatestRun is what the newest run of a request means for what is next.
func LatestRun(ctx context.Context, s *Survey, st *runs.Stage) *choose.LatestRun {
	r := &choose.LatestRun{RunID: st.RunID, State: string(st.State), WorkBranch: st.Git.WorkBranch, Stacked: len(st.Git.StackedOn) > 0}
	if st.Error != nil {
		r.ReasonCode = st.Error.ReasonCode
	}
	if !st.State.Ended() {
		r.On = st.Git.Below()
	}
	if there := s.Branches; st.Unmerged() && st.Git.WorkBranch != "" && there().Has(st.Git.WorkBranch) {
		there, stale := there(), s.p.StaleOn(st, there())
		s.waiting[st.Git.WorkBranch] = st
		r.Unmerged, r.Stale, r.Again = true, stale.On, stale.Again
		if failed := LandFailed(ctx, s.p, st, there); failed != nil {
			r.Fails = failed.Into
		}
		if l := st.Landed; l != nil && hasLanded(ctx, s, st) {
			r.Landed = l.Into
		}
	}
	return r
}

// hasLanded asks git once for each branch what it has beyond what is checked out, and which
// requests it has that are not done there: whose landing may have been reverted.
func hasLanded(ctx context.Context, s *Survey, st *runs.Stage) bool {
	l := st.Landed
	commits, asked := s.beyond[l.Into]
	if !asked {
		if s.beyond == nil {
			s.beyond, s.undone = map[string]map[string]bool{}, map[string]map[string]bool{}
		}
		commits = map[string]bool{}
		out, _ := s.p.Git().Ask(ctx, "rev-list", "refs/heads/"+l.Into, "^HEAD", "--") // a branch that is gone has nothing
		for _, commit := range strings.Fields(string(out)) {
			commits[commit] = true
		}
		there, done := statusesAt(ctx, s.p, "refs/heads/"+l.Into, s.withRuns)
		maps.DeleteFunc(there, func(id string, _ bool) bool { return done[id] })
		s.beyond[l.Into], s.undone[l.Into] = commits, there
	}
	return commits[l.Commit] && !(s.undone[l.Into][st.RequestID] && doneAt(ctx, s.p, l.Commit, st.Artifacts.RequestPath))
}

// Branches are work branches and where they are; nil is not known, which counts as
// all of them: a finished run is not repeated by mistake.
type Branches map[string]string

// Has reports whether a branch is there.
func (b Branches) Has(branch string) bool { return b == nil || b[branch] != "" }

// Moved reports whether a branch is there and not where it was.
func (b Branches) Moved(branch, was string) bool {
	return b[branch] != "" && was != "" && b[branch] != was
}

// WorkBranches asks git once for all of them.
func WorkBranches(ctx context.Context, p *Project) Branches {
	return branches(ctx, p, "refs/heads/"+strings.TrimSuffix(p.Config.Git.WorkBranchPrefix, "/"))
}

// Heads are all branches, by which it changes what is merged, and the one that is checked out.
func Heads(ctx context.Context, p *Project) (all Branches, here string) {
	return branches(ctx, p, "refs/heads"), checkedOut(ctx, p)
}

func branches(ctx context.Context, p *Project, below string) Branches {
	refs, err := p.Git().Refs(ctx, below)
	if err != nil {
		return nil
	}
	found := Branches{}
	for _, ref := range refs {
		found[strings.TrimPrefix(ref.Name, "refs/heads/")] = ref.Commit
	}
	return found
}
