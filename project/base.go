package project

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"aiflow/internal/gitcmd"
	"aiflow/internal/proc"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
	"aiflow/reqmeta/folder"
	"aiflow/runs"
)

// baseChoice says from which base new runs start. As a base, "" is what is checked
// out in the main checkout.
type baseChoice struct {
	requested        string // named by hand, for all requests
	configured       string // of requests that name none
	defaultBase      string // base of those, once all else is known
	checkedOut       string // the person's own branch that is checked out; "" is none
	unknownRunBranch string // the work branch that is checked out, where nobody knows from what it was made
}

// findBaseChoice looks which branch is checked out. Of a work branch the base of its
// run counts: who looks at a result does not mean to build on it.
func findBaseChoice(ctx context.Context, p *Project, asked string) baseChoice {
	st := baseChoice{requested: asked, configured: p.Config.Git.BaseBranch}
	if p.Root.Git {
		st.checkedOut = checkedOut(ctx, p)
	}
	if strings.HasPrefix(st.checkedOut, p.Config.Git.WorkBranchPrefix) {
		if st.configured == "" {
			if run := RunOf(p, st.checkedOut); run != nil {
				st.configured = run.Git.BaseBranch
			}
			if st.configured == "" {
				st.unknownRunBranch = st.checkedOut
			}
		}
		st.checkedOut = ""
	}
	st.defaultBase = st.named(st.configured)
	return st
}

// checkedOut is the branch that HEAD names; "" where it names none.
func checkedOut(ctx context.Context, p *Project) string {
	if branch, plain := p.Root.branch(); plain {
		return branch
	}
	out, _ := p.Git().Ask(ctx, "symbolic-ref", "-q", "HEAD")
	branch, ok := strings.CutPrefix(string(bytes.TrimSpace(out)), "refs/heads/")
	if !ok {
		return ""
	}
	return branch
}

// isUnborn reports whether the branch that is checked out has no commit yet. Git is
// asked only where its files do not say that it has.
func isUnborn(ctx context.Context, p *Project, branch string) bool {
	if branch == "" || p.Root.tip("refs/heads/"+branch) != "" {
		return false
	}
	packed, _ := os.ReadFile(filepath.Join(p.CommonDir(), "packed-refs"))
	if bytes.Contains(packed, []byte(" refs/heads/"+branch+"\n")) {
		return false
	}
	_, err := p.Git().Ask(ctx, "rev-parse", "-q", "--verify", "HEAD^{commit}")
	return gitcmd.Exit(err) == 1
}

// RunOf is the run that made a work branch, nil when it is not on record.
func RunOf(p *Project, branch string) *runs.Stage {
	id := path.Dir(strings.TrimPrefix(branch, p.Config.Git.WorkBranchPrefix))
	for st := range p.RunsOf(id) {
		if st.Git.WorkBranch == branch {
			return st
		}
	}
	return nil
}

// MergeCommand is the command that takes over a branch: not a merge where its run began
// at a commit which what is checked out does not have, and which that would bring as well.
func MergeCommand(ctx context.Context, p *Project, branch string) string {
	st := RunOf(p, branch)
	if st == nil {
		return mergeCommand(p, branch, nil, nil, nil)
	}
	requests, _ := p.Requests()
	return mergeCommand(p, branch, st, foreign(ctx, p, mergeTarget(findBaseChoice(ctx, p, "")), st), requests)
}

// mergeCommands is MergeCommand for the runs of a survey, with one question for all of them.
func mergeCommands(ctx context.Context, s *Survey) func(branch string) string {
	ctx = context.WithoutCancel(ctx) // it may be asked later
	bases := sync.OnceValue(func() []string {
		return foreign(ctx, s.p, mergeTarget(s.baseChoice()), slices.Collect(maps.Values(s.waiting))...)
	})
	return func(branch string) string {
		if st := s.waiting[branch]; st != nil {
			return mergeCommand(s.p, branch, st, bases(), s.Folder)
		}
		return mergeCommand(s.p, branch, nil, nil, nil)
	}
}

func mergeCommand(p *Project, branch string, st *runs.Stage, foreign []string, requests *folder.Folder) string {
	if st != nil && st.Landing != nil { // git refuses until what died is put back
		return "aiflow land " + st.RequestID
	}
	if st != nil && len(foreign) > 0 && slices.ContainsFunc(began(p, st, map[string]bool{}), func(c string) bool { return slices.Contains(foreign, c) }) {
		return "aiflow land " + strings.Join(landsWith(p, st, requests), " ") + " --method rebase"
	}
	return "git merge " + GitName(p, branch)
}

// GitName is what git takes for a branch, as a word of the shell: its name, or that of the
// ref where the name means a tag, or is taken for a flag.
func GitName(p *Project, branch string) string {
	_, err := os.Stat(filepath.Join(p.CommonDir(), "refs", "tags", filepath.FromSlash(branch)))
	packed, _ := os.ReadFile(filepath.Join(p.CommonDir(), "packed-refs"))
	if err == nil || strings.HasPrefix(branch, "-") || bytes.Contains(packed, []byte(" refs/tags/"+branch+"\n")) {
		branch = "refs/heads/" + branch
	}
	return proc.Word(branch)
}

// landsWith are a run's request and those whose finished runs it stands on, or which it
// depends on, and that are not merged: the lowest first.
func landsWith(p *Project, st *runs.Stage, requests *folder.Folder) (ids []string) {
	seen := map[string]bool{}
	var look func(st *runs.Stage)
	look = func(st *runs.Stage) {
		seen[st.RequestID] = true
		for _, on := range st.Git.StackedOn {
			if of, err := p.Run(on.RequestID, on.RunID).LoadStage(); err == nil && !seen[on.RequestID] && of.Unmerged() {
				look(of)
			}
		}
		if requests != nil {
			if r := requests.Unique(st.RequestID); r != nil {
				for _, id := range r.Meta.DependsOn {
					on := requests.Unique(id)
					if seen[id] || on == nil || on.SaysOver() {
						continue
					}
					if of, err := runs.Latest(p.Dir, p.RunsDir(), id); err == nil && of != nil && of.Unmerged() {
						look(of)
					}
				}
			}
		}
		ids = append(ids, st.RequestID)
	}
	look(st)
	return ids
}

// foreign are the commits at which runs began and which what is checked out does not have.
func foreign(ctx context.Context, p *Project, at string, of ...*runs.Stage) []string {
	if at == "" {
		return nil
	}
	var all []string
	seen := map[string]bool{}
	for _, st := range of {
		all = append(all, began(p, st, seen)...)
	}
	there, lacks := partition(ctx, p, at, all)
	return slices.DeleteFunc(there, func(c string) bool { return !lacks[c] })
}

// began are the commits at which a run began that are nobody's result: of one that stands
// on others, where the lowest of those began, for its branch brings that, too. Each run is
// looked at once, however many stand on it: seen are those that were.
func began(p *Project, st *runs.Stage, seen map[string]bool) (at []string) {
	if seen[st.RunID] {
		return nil
	}
	seen[st.RunID] = true
	if len(st.Git.StackedOn) == 0 && st.Git.BaseCommit != "" {
		at = append(at, st.Git.BaseCommit)
	}
	for _, on := range st.Git.StackedOn {
		if seen[on.RunID] {
			continue
		}
		if of, err := p.Run(on.RequestID, on.RunID).LoadStage(); err == nil { // else its record is lost
			at = append(at, began(p, of, seen)...)
		}
	}
	return at
}

// of is the base of a request's new run.
func (st *baseChoice) of(r *reqmeta.Request) string {
	if st.requested == "" && r.Meta.Base == "" {
		return st.defaultBase
	}
	return st.named(cmp.Or(st.requested, r.Meta.Base))
}

// named is the base of that name.
func (st *baseChoice) named(name string) string {
	name = strings.TrimPrefix(name, "refs/heads/")
	if name == st.checkedOut || name == "HEAD" || name == "@" {
		return ""
	}
	return name
}

// UsualBase is the base of requests that name none, "" for what is checked out,
// and the branch of the person's own that is checked out, "" for none.
func (p *Project) UsualBase(ctx context.Context) (base, here string) {
	st := findBaseChoice(ctx, p, "")
	return st.of(&reqmeta.Request{}), st.checkedOut
}

// StartFrom makes all requests start from a base that was named by hand; "" is
// each one's own. Fault: BASE_BRANCH_NOT_FOUND, of that base.
func (s *Survey) StartFrom(ctx context.Context, base string) error {
	s.baseChoice = sync.OnceValue(func() baseChoice { return findBaseChoice(ctx, s.p, base) })
	s.Facts.Bases = sync.OnceValue(func() *choose.Bases { return s.bases(ctx) })
	s.obstacles = sync.OnceValue(func() *obstacles { return s.lookForObstacles(ctx) })
	s.Facts.Obstacles = func() func(*reqmeta.Request) *choose.Obstacle { return s.obstacles().of }
	if base == "" {
		return nil
	}
	if name := s.BaseOf(&reqmeta.Request{}); name != "" && commitsOf(ctx, s.p, []string{name})[name] == "" {
		return noBase(name, "missing", name)
	}
	return nil
}

// BaseOf is the base from which a new run of r starts: a branch, a tag or a
// commit; "" is what is checked out in the main checkout.
func (s *Survey) BaseOf(r *reqmeta.Request) string {
	st := s.baseChoice()
	return st.of(r)
}

// Here is the branch of the person's own that is checked out in the main
// checkout; "" is none.
func (s *Survey) Here() string { return s.baseChoice().checkedOut }

// bases reads what is done in the bases of the requests that are still to be
// done; nil where all of them start from what is checked out.
func (s *Survey) bases(ctx context.Context) *choose.Bases {
	st := s.baseChoice()
	if !s.p.Root.Git {
		return nil
	}
	wanted := map[string]map[string]bool{} // base -> ids
	for _, r := range s.Folder.Requests {
		base := st.of(r)
		if base == "" || r.SaysOver() {
			continue
		}
		if wanted[base] == nil {
			wanted[base] = map[string]bool{}
		}
		wanted[base][r.ID] = true
		for _, id := range r.Meta.DependsOn {
			wanted[base][id] = true
		}
	}
	s.missing = map[string]bool{"": st.unknownRunBranch != ""}
	if len(wanted) == 0 {
		return nil
	}
	b := &choose.Bases{Of: st.of, Done: map[string]map[string]bool{}}
	commits := commitsOf(ctx, s.p, slices.Sorted(maps.Keys(wanted)))
	for base, ids := range wanted {
		commit := commits[base]
		s.missing[base] = commit == ""
		if commit != "" {
			b.Done[base] = s.doneIn(ctx, commit, ids)
		}
	}
	return b
}

// commitsOf are the commits of bases, in one question; there is none of a name
// that means nothing. The names mean what they mean to gitops.Repo.ResolveBase.
func commitsOf(ctx context.Context, p *Project, bases []string) map[string]string {
	places := []string{"refs/heads/", "refs/remotes/", "refs/remotes/origin/", ""}
	var names strings.Builder
	bases = slices.DeleteFunc(bases, func(base string) bool { return strings.ContainsAny(base, "\n\x00") })
	for _, base := range bases {
		for _, before := range places {
			names.WriteString(before + base + "^{commit}\n")
		}
	}
	found := map[string]string{}
	out, err := p.Git().AskInput(ctx, []byte(names.String()), "cat-file", "--batch-check=%(objectname)")
	if err != nil {
		return found
	}
	n := 0
	for name := range strings.Lines(string(out)) {
		base := bases[min(n/len(places), len(bases)-1)]
		if name = strings.TrimSpace(name); found[base] == "" && !strings.Contains(name, " ") {
			found[base] = name
		}
		n++
	}
	return found
}

// TakenBack reports whether a run of a request was merged, and a commit does not say any
// more that the request is done: somebody reverted it.
func (s *Survey) TakenBack(ctx context.Context, commit, id string) bool {
	if s.doneIn(ctx, commit, map[string]bool{id: true})[id] {
		return false
	}
	all := s.finished(id)
	in, err := s.p.LandedIn(ctx, commit, all)
	return slices.ContainsFunc(all, func(st *runs.Stage) bool { return st.HasEvent(runs.EventMerged) || err == nil && in[st.RunID] })
}

// finished are the runs of a request that are done and that nobody rejected, the newest
// first: perhaps not the last of it.
func (s *Survey) finished(id string) (all []*runs.Stage) {
	last := s.Latest(id)
	if last != nil && last.State == runs.Done {
		all = append(all, last)
	}
	for st := range s.p.RunsOf(id) {
		if (last == nil || st.RunID != last.RunID) && st.State == runs.Done && st.DroppedAt == nil {
			all = append(all, st)
		}
	}
	return all
}

// doneIn tells which of these ids are done in a commit: its tree says so, or
// all commits of a run are in its history.
func (s *Survey) doneIn(ctx context.Context, commit string, ids map[string]bool) map[string]bool {
	there, done := statusesAt(ctx, s.p, commit, ids)
	var finished []*runs.Stage
	for id := range ids {
		if done[id] {
			continue
		}
		if all := s.finished(id); len(all) > 0 {
			finished = append(finished, all[0])
		}
	}
	if len(finished) == 0 {
		return done
	}
	merged, landed, _ := landedIn(ctx, s.p, commit, finished)
	for _, st := range finished {
		if merged[st.RunID] && !(there[st.RequestID] && sawDoneIn(ctx, s.p, landed, st)) {
			done[st.RequestID] = true
		}
	}
	return done
}

// statusesAt tells which requests are in a commit's tree, and which of them it says are done.
func statusesAt(ctx context.Context, p *Project, commit string, ids map[string]bool) (there, done map[string]bool) {
	there, done = map[string]bool{}, map[string]bool{}
	for _, r := range requestsAt(ctx, p, commit, ids) {
		there[r.ID] = true
		if r.Meta.Status == reqmeta.Done && r.Valid() {
			done[r.ID] = true
		}
	}
	return there, done
}

// sawDoneIn: the word done of a run came into that history. Where it is not there any
// more, somebody took it back since.
func sawDoneIn(ctx context.Context, p *Project, landed Landed, st *runs.Stage) bool {
	return landed[st.RunID].steps[runs.RecordStep] && doneAt(ctx, p, recordOf(st), st.Artifacts.RequestPath)
}

// requestsAt reads the requests with these ids from a commit's tree.
func requestsAt(ctx context.Context, p *Project, commit string, ids map[string]bool) []*reqmeta.Request {
	out, err := p.Git().Ask(ctx, "ls-tree", "-r", "-z", commit, "--", p.RequestsDir()+"/")
	if err != nil {
		return nil
	}
	var paths []string
	var names strings.Builder
	for entry := range strings.SplitSeq(string(out), "\x00") {
		about, file, _ := strings.Cut(entry, "\t")
		words := strings.Fields(about) // mode, type, object
		if len(words) == 3 && words[1] == "blob" && (mayBe(file, ids) || p.Mapping().IDs() && reqmeta.IsMarkdown(file)) {
			paths = append(paths, file)
			names.WriteString(words[2] + "\n")
		}
	}
	if len(paths) == 0 {
		return nil
	}
	out, err = p.Git().AskInput(ctx, []byte(names.String()), "cat-file", "--batch", "--buffer")
	if err != nil {
		return nil
	}
	var list []*reqmeta.Request
	for _, file := range paths {
		about, rest, _ := bytes.Cut(out, []byte("\n"))
		words := strings.Fields(string(about)) // object, type, size
		size, err := strconv.Atoi(words[len(words)-1])
		if len(words) != 3 || err != nil || size >= len(rest) {
			break
		}
		if r := p.Mapping().Parse(file, rest[:size]); ids[r.ID] {
			list = append(list, r)
		}
		out = rest[size+1:]
	}
	return list
}

// mayBe reports whether a file may be that of one of the ids: its stem is the
// id, or goes on after it with "-".
func mayBe(file string, ids map[string]bool) bool {
	stem := reqmeta.Stem(file)
	for at := len(stem); reqmeta.IsMarkdown(file) && at > 0; at = strings.LastIndexByte(stem[:at], '-') {
		if ids[stem[:at]] {
			return true
		}
	}
	return false
}
