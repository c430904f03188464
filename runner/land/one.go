package land

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/internal/term"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/runner/agent"
	"aiflow/runs"
)

// collision is a conflict, before it is known whom to tell.
type collision struct {
	files  []string
	with   string // request, or ""
	other  string // the commit, in words
	byHand string // the command with which a person resolves it
	base   string // of a new run that would not meet it; "" is the usual one
}

func (c *collision) Error() string { return "conflict in " + strings.Join(c.files, ", ") }

func asCollision(err error) (*collision, bool) { return errors.AsType[*collision](err) }

func (c *collision) fault(into string, i Item) error {
	const most = 5
	names := strings.Join(c.files[:min(len(c.files), most)], ", ")
	if over := len(c.files) - most; over > 0 {
		names += " (+" + strconv.Itoa(over) + ")"
	}
	f := fault.New(fault.LandConflict, "request_id", i.RequestID, "run_id", i.RunID, "branch", i.Branch, "into", into, "files", names, "by_hand", c.byHand, "anew", "aiflow run "+i.RequestID)
	if c.base != "" {
		f.Facts["anew"] += " --base " + proc.Word(c.base)
	}
	if c.with != "" {
		f.Facts["with"] = c.with
	} else if c.other != "" {
		f.Facts["commit"] = c.other
	}
	return f
}

// landOne lands a run: already says that it was on the branch when its turn came.
func (s *landing) landOne(ctx context.Context, st *runs.Stage, item *Item) (already bool, err error) {
	if err := s.mayLand(ctx, st); err != nil {
		return false, err
	}
	for try := range landTries {
		if try > 0 {
			s.tell(Event{Kind: "again", Item: *item})
		}
		from, ok, err := s.repo.BranchTip(ctx, s.result.Into)
		if err != nil || !ok {
			return false, errors.Join(err, noInto(s.result.Into))
		}
		tip, ok, err := s.repo.BranchTip(ctx, st.Git.WorkBranch)
		if err != nil {
			return false, err
		}
		if in, err := s.landedMeanwhile(ctx, st, from); err != nil || in {
			return true, err
		}
		if !ok {
			return false, nothing(st, "no_branch")
		}
		if err := s.onBase(ctx, st, from); err != nil {
			return false, err
		}
		if s.o.Method != gitops.Merge { // a merge tells by itself
			if err := refuseEmpty(ctx, s, st, from, tip); err != nil {
				return false, err
			}
		}
		commit, err := s.takeOver(ctx, st, *item, from, tip)
		if err != nil {
			return false, err
		}
		err = s.advance(ctx, st, tip, from, commit)
		if errors.Is(err, gitops.ErrMoved) {
			s.cleanAt = ""
			continue
		}
		item.Commit = commit
		return false, err
	}
	return false, baseMoved(st, "into", s.result.Into, "count", landTries)
}

// mayLand refuses what stands on something that waits and was not landed.
func (s *landing) mayLand(ctx context.Context, st *runs.Stage) error {
	if is := project.StaleNow(ctx, s.Project, st, s.assumedLanded...); is.On != "" {
		f := fault.New(fault.StackStale, "request_id", st.RequestID, "run_id", st.RunID, "on", is.On)
		if is.Again {
			f.Facts["name"] = st.RunID
		}
		return f
	}
	for _, id := range needs(s, st) {
		if id != st.RequestID && (s.unlanded[id] || wasRejected(ctx, s, id)) {
			f := waitsFor(st, id)
			if below := landWith(s, st); below != "" {
				f.Facts["land"] = below
			}
			return f
		}
	}
	return nil
}

func baseMoved(st *runs.Stage, more ...any) error {
	return fault.New(fault.LandBaseMoved, append(more, "request_id", st.RequestID, "run_id", st.RunID)...)
}

// landWith is the command that lands a run that was named together with the finished
// ones which it waits for and which were not; "" where that would not help.
func landWith(s *landing, st *runs.Stage) string {
	var names []string
	var add func(of *runs.Stage)
	add = func(of *runs.Stage) {
		for _, id := range needs(s, of) {
			if below := s.survey.Latest(id); s.unlanded[id] && !s.askedFor[id] && below != nil && !slices.Contains(names, id) && id != st.RequestID {
				names = append(names, id)
				add(below)
			}
		}
	}
	if add(st); len(names) == 0 {
		return ""
	}
	command := "aiflow land " + strings.Join(append(names, st.RequestID), " ")
	if s.o.Into != "" {
		command += " --into " + proc.Word(s.o.Into)
	}
	if s.o.Method != gitops.Merge {
		command += " --method " + string(s.o.Method)
	}
	return command
}

func waitsFor(st *runs.Stage, id string) *fault.Error {
	return fault.New(fault.DependsNotDone, "request_id", st.RequestID, "run_id", st.RunID, "value", id)
}

// wasRejected: a person dropped what was made of a request, or reverted it on the branch, and
// it is not done otherwise.
func wasRejected(ctx context.Context, s *landing, id string) bool {
	r, last := s.survey.Folder.Unique(id), s.survey.Latest(id)
	return r != nil && !r.SaysOver() && last != nil && (last.DroppedAt != nil || s.survey.TakenBack(ctx, s.result.From, id))
}

// landedMeanwhile: somebody has taken the run over since the landing began.
func (s *landing) landedMeanwhile(ctx context.Context, st *runs.Stage, from string) (bool, error) {
	if from == s.result.From || from == s.result.To {
		return false, nil
	}
	in, err := s.Project.LandedIn(ctx, from, []*runs.Stage{st})
	return in[st.RunID], err
}

// onBase refuses a run that would bring what others have committed where it began.
func (s *landing) onBase(ctx context.Context, st *runs.Stage, from string) error {
	base := st.Git.BaseCommit
	if s.o.Method == gitops.Rebase || base == "" || s.known[base] || len(st.Git.StackedOn) > 0 {
		return nil
	}
	in, err := s.repo.IsAncestor(ctx, base, from)
	if err == nil && in {
		s.known[base] = true
		return nil
	}
	f := fault.Wrap(err, fault.LandOtherBase, "request_id", st.RequestID, "run_id", st.RunID, "base", st.Git.BaseBranch,
		"commit", term.ShortHash(base), "into", s.result.Into, "branch", st.Git.WorkBranch)
	if _, ok, err := s.repo.BranchTip(ctx, st.Git.BaseBranch); err == nil && ok && st.Git.BaseBranch != s.result.Into {
		f.Facts["elsewhere"] = st.Git.BaseBranch
	}
	return f
}

// refuseEmpty refuses a branch that has nothing which the other one lacks, and of which nobody
// knows that it was landed: a person moved it.
func refuseEmpty(ctx context.Context, s *landing, st *runs.Stage, from, tip string) error {
	in, err := s.repo.IsAncestor(ctx, tip, from)
	if err != nil || !in {
		return err
	}
	return addsNothing(s, st)
}

func addsNothing(s *landing, st *runs.Stage) error {
	return nothing(st, "adds_nothing", "branch", st.Git.WorkBranch, "into", s.result.Into)
}

func nothing(st *runs.Stage, reason string, more ...any) error {
	return fault.New(fault.NothingToDo, append(more, "request_id", st.RequestID, "run_id", st.RunID, "reason", reason)...)
}

// takesOwnCommits: only the run's own commits are taken, since what it began on is not on the branch
// (or is in another form).
func takesOwnCommits(ctx context.Context, s *landing, st *runs.Stage, from string) (bool, error) {
	if len(st.Git.StackedOn) == 0 && s.o.Method != gitops.Rebase {
		return false, nil
	}
	in, err := s.repo.IsAncestor(ctx, st.Git.BaseCommit, from)
	return !in, err
}

// takeOver gives the commit that a run becomes on top of from, tested.
func (s *landing) takeOver(ctx context.Context, st *runs.Stage, item Item, from, tip string) (string, error) {
	if err := s.checkOut(ctx, from); err != nil {
		return "", err
	}
	own, err := takesOwnCommits(ctx, s, st, from)
	if err != nil {
		return "", err
	}
	s.At("land_opened")
	s.tell(Event{Kind: "taking", Item: item})
	commit, conflicts, err := takeOverLogged(ctx, s, st, gitops.Take{
		Method: s.o.Method, Own: own, Commit: tip, Base: st.Git.BaseCommit, Message: s.message(st), Hooks: s.Project.Config.Git.RunHooks,
		Env: []string{"AIFLOW_REQUEST=" + st.RequestID},
	})
	s.cleanAt = ""
	if len(conflicts) > 0 {
		return "", s.collides(ctx, st, from, conflicts)
	}
	if err != nil {
		return "", err
	}
	if commit == from && s.o.Method == gitops.Merge {
		return "", addsNothing(s, st)
	}
	s.At("land_taken")
	if s.result.Test == "" {
		if clean, err := s.ws.Clean(ctx); err == nil && clean { // else a hook left something
			s.cleanAt = commit
		}
		return commit, nil
	}
	s.tell(Event{Kind: "testing", Item: item})
	if err := s.test(ctx, st); err != nil {
		if code := fault.CodeOf(err); code == fault.LandTestFailed || code == fault.TestTimeout {
			if _, e := s.changeRecord(ctx, st, func(_ *runs.Dir, now *runs.Stage) error {
				now.LandFailed = &runs.LandFailed{Into: s.result.Into, Tip: tip, ReasonCode: code, At: s.Project.Now()}
				return nil
			}); e != nil {
				return "", e
			}
		}
		return "", err
	}
	s.At("land_tested")
	return commit, nil
}

// takeOverLogged takes commits of a run in the workspace. What a hook or git says against it is kept
// in a log of the run; the sentence has the beginning.
func takeOverLogged(ctx context.Context, s *landing, st *runs.Stage, t gitops.Take) (string, []string, error) {
	commit, conflicts, err := s.ws.TakeOver(ctx, t)
	f, ok := fault.As(err)
	if !ok || f.Code != fault.GitCommitFailed {
		return commit, conflicts, err
	}
	f.Facts["request_id"], f.Facts["branch"], f.Facts["cause"] = st.RequestID, st.Git.WorkBranch, agent.ShortLine(f.Facts["cause"])
	if file, path, e := newLog(s.Project.Run(st.RequestID, st.RunID)); e == nil {
		defer file.Close()
		if _, e := file.WriteString(f.Facts["output"] + "\n"); e == nil {
			f.Facts["run_id"], f.Facts["path"] = st.RunID, path
		}
	}
	return commit, conflicts, err
}

// message is that of the commit which a merge or a squash makes. The trailers of a squash
// tell that all of the run is there.
func (s *landing) message(st *runs.Stage) gitops.CommitMessage {
	m := gitops.CommitMessage{Trailers: [][2]string{{project.RequestTrailer, st.RequestID}, {project.RunTrailer, st.RunID}}}
	if s.o.Method == gitops.Squash {
		form := strings.ReplaceAll(strings.ReplaceAll(s.Project.Config.Git.CommitSubject, "{id}", st.RequestID), "{step}", "squash")
		m.Subject = strings.ReplaceAll(form, "{title}", st.Title)
		for _, c := range st.Git.Commits {
			if c.StepID != runs.RecordStep {
				m.Body += "* " + c.Subject + "\n"
			}
		}
		m.Trailers = append(m.Trailers, [2]string{project.ResultTrailer, string(runs.Done)})
		return m
	}
	m.Subject = "Merge branch '" + st.Git.WorkBranch + "'"
	if s.result.Into != "main" && s.result.Into != "master" {
		m.Subject += " into " + s.result.Into
	}
	return m
}

// collides finds what was the last to change the files on the branch since the run left it.
func (s *landing) collides(ctx context.Context, st *runs.Stage, from string, files []string) error {
	c := &collision{files: files, byHand: byHand(ctx, s, st, from)}
	if h, err := s.repo.Head(ctx); err == nil && h.Branch != s.result.Into {
		c.base = s.result.Into
		c.byHand = "git switch " + proc.Word(c.base) + " && " + c.byHand
	}
	g := s.Project.Git().In(s.repo.Top())
	args := []string{
		"--literal-pathspecs", "log", "--max-count=20", "--format=%h %s%x00%(trailers:key=" + project.RequestTrailer + ",valueonly,separator=%x00)%x01",
		st.Git.BaseCommit + ".." + from, "--",
	}
	out, err := g.Ask(ctx, append(args, files...)...)
	if err != nil {
		return c // it collides all the same
	}
	for entry := range strings.SplitSeq(string(out), "\x01") {
		about, requests, ok := strings.Cut(strings.TrimSpace(entry), "\x00")
		if !ok {
			continue
		}
		if c.other == "" {
			c.other = about
		}
		if id, _, _ := strings.Cut(requests, "\x00"); id != "" && id != st.RequestID {
			c.with = strings.TrimSpace(id)
			break
		}
	}
	return c
}

// byHand is the command with which a person resolves the conflict of a run: it brings no
// more than landing it would have.
func byHand(ctx context.Context, s *landing, st *runs.Stage, from string) string {
	own, err := takesOwnCommits(ctx, s, st, from)
	switch branch := project.GitName(s.Project, st.Git.WorkBranch); {
	case err != nil || !own:
		return "git merge " + branch
	case len(st.Git.StackedOn) > 0:
		return "aiflow run restack " + st.RunID
	default:
		return "git cherry-pick " + term.ShortHash(st.Git.BaseCommit) + ".." + branch
	}
}

// advance records what is about to happen, lets the branch advance, and records that
// it did. Whoever dies between finds out from git. ErrMoved: the branch, or the
// run's, is no longer where it was.
func (s *landing) advance(ctx context.Context, st *runs.Stage, tip, from, commit string) error {
	if err := s.announce(ctx, st, tip, commit); err != nil {
		return err
	}
	s.At("land_noted")
	if err := s.lease.Check(); err != nil {
		return err
	}
	if err := s.advanceRepo.Advance(ctx, s.result.Into, from, commit); errors.Is(err, gitops.ErrHalfway) {
		return err // the next landing puts back what stands in the checkout
	} else if err != nil {
		// A hook after the merge may have outlasted the limit, or was ended: the branch tells.
		asks := context.WithoutCancel(ctx)
		tip, _, e := s.repo.BranchTip(asks, s.result.Into)
		there := false
		if e == nil && tip != from && tip != "" {
			there, e = s.repo.IsAncestor(asks, commit, tip)
		}
		if !there {
			_, settled := s.record(asks, st, false)
			return errors.Join(err, e, settled)
		}
	}
	s.result.To = commit
	s.At("land_advanced")
	_, err := s.record(context.WithoutCancel(ctx), st, true)
	s.At("land_recorded")
	return err
}

// changeRecord changes the record of a run under the lock of its request, as it is by then.
func (s *landing) changeRecord(ctx context.Context, st *runs.Stage, change func(*runs.Dir, *runs.Stage) error) (*runs.Stage, error) {
	lease, err := s.Project.Locks().Acquire(ctx, locks.Request(st.RequestID), locks.Ask{RunID: st.RunID, Wait: recordLockWait})
	if err != nil {
		return st, err
	}
	defer func() { _ = lease.Release() }()
	dir := s.Project.Run(st.RequestID, st.RunID)
	now, err := dir.LoadStage()
	lost := fault.Has(err, fault.RunNotFound)
	if lost {
		now, err = withoutRecord(ctx, s, st)
	}
	if err != nil {
		return st, err
	}
	if err := lease.Check(); err != nil {
		return st, err
	}
	if lost {
		if err := dir.Create(); err != nil {
			return st, err
		}
	}
	if err := change(dir, now); err != nil {
		return st, err
	}
	return now, dir.SaveStage(now)
}

// withoutRecord is a run whose record went while it was landed, as it was read before. One
// whose branch is gone too was rejected, and cleaned up.
func withoutRecord(ctx context.Context, s *landing, st *runs.Stage) (*runs.Stage, error) {
	_, ok, err := s.repo.BranchTip(ctx, st.Git.WorkBranch)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, nothing(st, "no_branch")
	}
	now := *st
	return &now, nil
}

// recordLockWait is how long a look at a request may keep us from its record.
const recordLockWait = 5 * time.Second

// announce refuses a run that somebody rejected or ran anew meanwhile.
func (s *landing) announce(ctx context.Context, st *runs.Stage, tip, commit string) error {
	_, err := s.changeRecord(ctx, st, func(_ *runs.Dir, now *runs.Stage) error {
		at, ok, err := s.repo.BranchTip(ctx, now.Git.WorkBranch)
		switch {
		case err != nil:
			return err
		case !ok || now.DroppedAt != nil:
			return nothing(st, "no_branch")
		case at != tip:
			return gitops.ErrMoved
		}
		last, err := runs.Latest(s.Project.Dir, s.Project.RunsDir(), st.RequestID)
		if err != nil {
			return err
		}
		if last != nil && last.RunID > st.RunID {
			return nothing(st, "newer_run")
		}
		now.Landing = &runs.Landed{Into: s.result.Into, Commit: commit}
		return nil
	})
	return err
}

// record settles what was announced: it happened, or it did not. A run that was rejected
// and cleaned up since needs no record.
func (s *landing) record(ctx context.Context, st *runs.Stage, happened bool) (*runs.Stage, error) {
	now, err := s.changeRecord(ctx, st, func(dir *runs.Dir, now *runs.Stage) error {
		l := now.Landing
		now.Landing = nil
		if l == nil || !happened {
			return nil
		}
		at := s.Project.Now()
		l.At, now.Landed, now.LandFailed = &at, l, nil
		now.AddEvent(at, runs.EventLanded, "", "")
		now.History[len(now.History)-1].Detail = map[string]string{"into": l.Into, "commit": l.Commit}
		return saveHead(dir, now, s.Text)
	})
	if fault.Has(err, fault.NothingToDo) {
		return st, nil
	}
	return now, err
}
