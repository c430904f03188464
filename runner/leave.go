package runner

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/reqmeta/folder"
	"aiflow/runner/stage"
	"aiflow/runs"
)

// LeaveOptions say what goes besides what git holds elsewhere.
type LeaveOptions struct {
	Discard []string // runs, requests, branches, refs, or "all": their unmerged work goes too
	DryRun  bool
	Shared  bool // what git and the records hold is of other worktrees, too, and stays
}

// RemovedItem is one thing that was taken away, or stays.
type RemovedItem struct {
	Kind      string `json:"kind"` // hook, workspace, branch, ref, record, file, entry, folder
	Name      string `json:"name"`
	RequestID string `json:"request_id,omitempty"`
	RunID     string `json:"run_id,omitempty"`
	Commit    string `json:"commit,omitempty"` // where the branch or ref was
	Did       string `json:"did"`              // removed, would_remove, stays, failed
	Why       string `json:"why,omitempty"`    // a word; of a failure the sentence
	Err       error  `json:"-"`                // of failed, where it is one
}

// Leave takes away what runs left in the repository: workspaces, records, and the
// branches and refs whose work is merged or is nothing. What is only in a workspace
// is kept as an attempt first. then is done while nobody can begin a run. Faults:
// those of a lock that somebody holds; RUN_NOT_FOUND for a name that is nothing here.
func (r *Runner) Leave(ctx context.Context, o LeaveOptions, then func([]RemovedItem) error) error {
	release, err := r.takeAllSlots(ctx, o.DryRun)
	defer release()
	if err != nil {
		return err
	}
	l := &remover{r: r, o: o, byBranch: map[string]*runs.Stage{}, here: map[string]bool{}, nested: map[string]bool{}}
	if r.Project.Root.Git && !o.Shared {
		if err := l.begin(ctx); err != nil {
			return err
		}
		for _, step := range []func(context.Context) error{l.workspaces, l.orphanWorkspaces, l.branches, l.refs, l.records} {
			if err := step(ctx); err != nil {
				return err
			}
		}
	}
	return then(l.all)
}

// takeAllSlots takes every slot, so that no run can begin, and refuses while anybody else
// holds a lock.
func (r *Runner) takeAllSlots(ctx context.Context, look bool) (release func(), err error) {
	var held []*locks.Lease
	release = func() {
		for _, l := range held {
			_ = l.Release()
		}
	}
	m := r.Project.Locks()
	if err := checkNoHolders(ctx, m); err != nil || look {
		return release, err
	}
	if held, err = project.TakeSlots(ctx, r.Project, r.Project.Config.Jobs()); err != nil {
		return release, err
	}
	return release, checkNoHolders(ctx, m)
}

// checkNoHolders is why one cannot be alone: the first lock that somebody else holds.
func checkNoHolders(ctx context.Context, m *locks.Manager) error {
	all, err := m.List()
	for _, e := range all {
		key, ok := locks.KeyOf(e.Path)
		if !ok || !e.Live || e.Verdict == locks.Mine {
			continue
		}
		l, err := m.Acquire(ctx, key, locks.Ask{})
		if err != nil {
			return err
		}
		_ = l.Release() // it ended meanwhile
	}
	return err
}

type remover struct {
	r        *Runner
	o        LeaveOptions
	c        *cleaner
	newest   []*runs.Stage          // the latest run of each request
	byBranch map[string]*runs.Stage // runs on record
	here     map[string]bool        // ids of requests and runs of this project
	nested   map[string]bool        // those of projects in folders below
	all      []RemovedItem
}

func (l *remover) begin(ctx context.Context) error {
	s, err := l.r.survey(ctx, Options{})
	if fault.Has(err, fault.RequestsDirNotFound) {
		s, err = &project.Survey{Folder: &folder.Folder{}}, nil
	}
	if err != nil {
		return err
	}
	if l.c, err = newCleaner(ctx, l.r, s); err != nil {
		return err
	}
	for _, q := range s.Folder.Requests {
		l.here[q.ID] = true
	}
	for _, st := range l.c.known {
		l.byBranch[st.Git.WorkBranch], l.here[st.RequestID], l.here[st.RunID] = st, true, true
		if last, err := runs.Latest(l.r.Project.Dir, l.r.Project.RunsDir(), st.RequestID); err == nil && last != nil && last.RunID == st.RunID {
			l.newest = append(l.newest, st)
		}
	}
	if err := l.findNestedProjects(ctx); err != nil {
		return err
	}
	slices.SortFunc(l.newest, func(a, b *runs.Stage) int { return strings.Compare(a.RequestID, b.RequestID) })
	return l.checkNames(ctx)
}

// checkNames refuses a name to discard that is nothing here, before anything is done.
func (l *remover) checkNames(ctx context.Context) error {
	for i, name := range l.o.Discard {
		if name == "all" || l.here[name] {
			continue
		}
		heads := "refs/heads/"
		out, err := l.r.Project.Git().Ask(ctx, "for-each-ref", "--count=1", "--format=%(refname)", "--",
			name, heads+name, heads+l.r.Project.Config.Git.WorkBranchPrefix+name, runs.AttemptsOf(name), stage.Orphans+"/"+name)
		if err == nil && len(out) > 0 {
			continue
		}
		begun := slices.DeleteFunc(sortedKeys(l.here), func(id string) bool { return !strings.HasPrefix(id, name) })
		if err != nil || len(begun) != 1 {
			return noRun(err, "run_id", name, "similar", strings.Join(begun, ", "))
		}
		l.o.Discard[i] = begun[0]
	}
	return nil
}

// add notes what became of p; err is why it did not go.
func (l *remover) add(p RemovedItem, err error) {
	switch {
	case err != nil:
		if _, ok := fault.As(err); !ok { // of the file system
			err = fault.NotWritable(err, p.Name)
		}
		p.Did, p.Why, p.Err = "failed", l.r.InWords(err), err
	case p.Did != "":
	case l.o.DryRun:
		p.Did = "would_remove"
	default:
		p.Did = "removed"
		l.r.At("left")
	}
	l.all = append(l.all, p)
}

// discarded reports whether a person named it by one of these names.
func (l *remover) discarded(names ...string) bool {
	return slices.Contains(l.o.Discard, "all") ||
		slices.ContainsFunc(names, func(name string) bool { return name != "" && slices.Contains(l.o.Discard, name) })
}

// workspaces give the workspace of each request back, and its status.
func (l *remover) workspaces(ctx context.Context) error {
	for _, st := range l.newest {
		if st.DroppedAt != nil {
			continue
		}
		p := RemovedItem{Kind: "workspace", Name: l.r.Project.Workspace(st), RequestID: st.RequestID, RunID: st.RunID}
		ws, ok, err := l.c.repo.OpenWorktree(ctx, l.r.Project.Path(p.Name))
		there := err == nil && ok && ws.Branch() == st.Git.WorkBranch
		if !l.o.DryRun {
			err = l.giveUp(ctx, st)
		}
		if there && st.Git.Workspace != "." || err != nil {
			l.add(p, err)
		}
	}
	return nil
}

func (l *remover) giveUp(ctx context.Context, st *runs.Stage) error {
	lease, err := l.r.lockRequest(ctx, st.RequestID, Options{})
	if err != nil {
		return err
	}
	defer lease.Release()
	run := recordedRun(l.r, l.c.s.Folder, l.c.repo, lease, st)
	_, had, err := l.c.repo.BranchTip(ctx, st.Git.WorkBranch)
	if err != nil {
		return err
	}
	if st.State != runs.Done {
		if err := restoreStatus(ctx, run); err != nil {
			return err
		}
	}
	if err := removeDroppedWorkspace(ctx, run); err != nil || had {
		return err
	}
	tip, again, err := l.c.repo.BranchTip(ctx, st.Git.WorkBranch) // made only to look
	if err == nil && again {
		err = l.c.repo.DeleteBranch(ctx, st.Git.WorkBranch, tip)
	}
	return err
}

// orphanWorkspaces are those of no run on record.
func (l *remover) orphanWorkspaces(ctx context.Context) error {
	root := l.r.Project.WorktreesDir()
	entries, _ := os.ReadDir(l.r.Project.Path(root))
	for _, e := range entries {
		if l.o.DryRun && slices.ContainsFunc(l.all, func(p RemovedItem) bool { return p.Name == path.Join(root, e.Name()) }) {
			continue
		}
		p := RemovedItem{Kind: "workspace", Name: path.Join(root, e.Name()), RequestID: e.Name()}
		at := l.r.Project.Path(p.Name)
		if !l.o.DryRun && e.IsDir() && os.Remove(at) == nil { // it was empty
			continue
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err != nil || !e.IsDir() {
			p.Did, p.Why = "stays", "foreign"
			l.add(p, nil)
			continue
		}
		var err error
		if !l.o.DryRun {
			err = l.c.repo.RemoveWorktree(ctx, at, gitops.Keep{
				Ref: stage.Orphans + "/" + e.Name(), Message: gitops.CommitMessage{Subject: "aiflow(" + e.Name() + "): what was left in the workspace"},
			})
		}
		l.add(p, err)
	}
	return nil
}

// branches removes work branches whose work is elsewhere.
func (l *remover) branches(ctx context.Context) error {
	prefix := "refs/heads/" + l.r.Project.Config.Git.WorkBranchPrefix
	refs, err := refsBelow(ctx, l.r.Project.Git(), strings.TrimSuffix(prefix, "/"))
	for _, ref := range refs {
		name := strings.TrimPrefix(ref.Name, "refs/heads/")
		st := l.byBranch[name]
		p := RemovedItem{Kind: "branch", Name: name, RequestID: path.Dir(strings.TrimPrefix(ref.Name, prefix)), Commit: ref.Commit}
		if st != nil {
			p.RunID = st.RunID
		}
		if st == nil && !l.isOurs(p.RequestID) {
			continue
		}
		p.Why = l.whySafe(ctx, st, ref.Commit)
		l.removeRef(p, func() error { return l.c.repo.DeleteBranch(ctx, name, ref.Commit) })
	}
	return err
}

// removeRef removes a branch or ref of which Why says that nothing is lost with it, or
// that the person named; any other stays.
func (l *remover) removeRef(p RemovedItem, remove func() error) {
	if p.Why == "" && l.discarded(p.Name, p.RequestID, p.RunID) {
		p.Why = "discarded"
	}
	if p.Why == "" {
		p.Did, p.Why = "stays", "not_merged"
		l.add(p, nil)
		return
	}
	var err error
	if !l.o.DryRun {
		err = remove()
	}
	l.add(p, err)
}

// isOurs reports whether a run or request is of this project, and not of another
// in the same repository.
func (l *remover) isOurs(id string) bool {
	return l.here[id] || l.r.Project.Inside() == "." && !l.nested[id]
}

// findNestedProjects finds what belongs to projects in folders below: branches and refs have no
// other mark of theirs.
func (l *remover) findNestedProjects(ctx context.Context) error {
	p := l.r.Project
	if p.Inside() != "." {
		return nil
	}
	out, err := p.Git().Ask(ctx, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ":(top,glob)*/**/.aiflow/**", ":(top,glob)*/**/requests/**")
	if err != nil {
		return gitFailed(err, "ls-files")
	}
	seen := map[string]bool{p.Dir: true}
	for name := range strings.SplitSeq(string(out), "\x00") {
		for at := path.Dir(name); at != "."; at = path.Dir(at) {
			if base := path.Base(at); base != ".aiflow" && base != "requests" {
				continue
			}
			env := p.Env
			env.Dir, env.Flags, env.Config = p.Path(path.Dir(at)), nil, ""
			if seen[env.Dir] {
				continue
			}
			seen[env.Dir] = true
			other, _ := project.OpenAnyway(env)
			if other == nil || other.Top != p.Top || seen[other.Dir] && other.Dir != env.Dir || other.Dir == p.Dir {
				continue
			}
			seen[other.Dir] = true
			l.addNestedProject(other)
		}
	}
	return nil
}

// addNestedProject remembers the requests and runs of another project.
func (l *remover) addNestedProject(other *project.Project) {
	if all, err := other.Requests(); err == nil {
		for _, q := range all.Requests {
			l.nested[q.ID] = true
		}
	}
	ids, _ := runs.ListRequestsWithRuns(other.Dir, other.RunsDir())
	for id := range ids {
		l.nested[id] = true
		all, _ := runs.ListRuns(other.Dir, other.RunsDir(), id)
		for _, runID := range all {
			l.nested[runID] = true
		}
	}
}

// whySafe is why nothing is lost with a commit; "" is that something would be.
func (l *remover) whySafe(ctx context.Context, st *runs.Stage, tip string) string {
	if st != nil && tip == st.Git.BaseCommit {
		return "empty"
	}
	if st != nil && st.DroppedAt == nil && l.c.merged(ctx, st, tip) {
		return "merged"
	}
	in := []string{"HEAD"}
	if st != nil {
		in = append(in, st.Git.BaseBranch)
	}
	for _, of := range in {
		if is, err := l.c.repo.IsAncestor(ctx, tip, of); err == nil && is {
			return "merged"
		}
	}
	if is, err := l.c.repo.HasAllOf(ctx, "HEAD", tip, l.r.Project.RequestsDir()); err == nil && is {
		return "merged"
	}
	return ""
}

// refs removes what was kept, where it is merged or a person says so.
func (l *remover) refs(ctx context.Context) error {
	refs, err := refsBelow(ctx, l.r.Project.Git(), "refs/aiflow")
	for _, ref := range refs {
		p := RemovedItem{Kind: "ref", Name: ref.Name, Commit: ref.Commit}
		if id, _, _ := strings.Cut(strings.TrimPrefix(ref.Name, runs.AttemptsOf("")), "/"); strings.HasPrefix(id, runs.IDPrefix) {
			p.RunID = id
			for _, st := range l.byBranch {
				if st.RunID == id {
					p.RequestID = st.RequestID
				}
			}
		} else {
			p.RequestID = path.Base(path.Dir(ref.Name))
		}
		if !(p.RunID != "" && l.isOurs(p.RunID) || p.RequestID != "" && l.isOurs(p.RequestID)) {
			continue
		}
		p.Why = l.whySafe(ctx, nil, ref.Commit)
		l.removeRef(p, func() error {
			_, err := l.r.Project.Git().Do(ctx, "update-ref", "-d", ref.Name, ref.Commit)
			return err
		})
	}
	return err
}

// records go, but for what was kept in them whole and is nowhere else, and links,
// which are a person's.
func (l *remover) records(context.Context) error {
	p := l.r.Project
	ids, err := runs.ListRequestsWithRuns(p.Dir, p.RunsDir())
	if err != nil {
		return err
	}
	for _, id := range sortedKeys(ids) {
		all, err := runs.ListRuns(p.Dir, p.RunsDir(), id)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(l.all, func(w RemovedItem) bool { return w.Kind == "workspace" && w.RequestID == id && w.Did == "failed" }) {
			l.all = append(l.all, RemovedItem{Kind: "record", Name: path.Join(p.RunsDir(), id), RequestID: id, Did: "stays", Why: "workspace"})
			continue // its workspace would belong to nobody
		}
		for _, runID := range all {
			l.record(p.Run(id, runID))
		}
		if len(all) > 0 {
			l.reportForeign(path.Join(p.RunsDir(), id))
		}
	}
	l.reportForeign(p.RunsDir())
	return nil
}

func (l *remover) record(dir *runs.Dir) {
	it := RemovedItem{Kind: "record", Name: dir.Rel, RequestID: dir.RequestID, RunID: dir.RunID}
	kept, _ := os.ReadDir(filepath.Join(dir.Path, runs.KeptDir))
	stays := len(kept) > 0 && !l.discarded(dir.RequestID, dir.RunID)
	if stays {
		it.Did, it.Why, it.Name = "stays", "kept_files", dir.RelPath(runs.KeptDir)
	}
	links, err := l.emptyRecord(dir.Path, stays)
	if len(links) == 0 || stays || err != nil {
		l.add(it, err)
	}
	for _, link := range links {
		l.add(RemovedItem{Kind: "record", Name: dir.RelPath(link), Did: "stays", Why: "foreign"}, nil)
	}
}

// emptyRecord removes a record but for links and, when a person did not discard it, what
// was kept. It gives the links.
func (l *remover) emptyRecord(dir string, but bool) (links []string, err error) {
	var all []string
	kept := filepath.Join(dir, runs.KeptDir)
	err = filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case at == kept && but:
			return fs.SkipDir
		case at != kept && e.Type()&fs.ModeSymlink != 0:
			link, _ := filepath.Rel(dir, at)
			links = append(links, filepath.ToSlash(link))
			return nil
		}
		all = append(all, at)
		if at == kept {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil || l.o.DryRun {
		return links, err
	}
	for _, at := range slices.Backward(all) { // what is in a folder comes before it
		err := os.Remove(at)
		if at == kept {
			err = os.RemoveAll(at)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, fs.ErrExist) {
			return links, err
		}
	}
	return links, nil
}

// reportForeign names what is in a folder of records and is none, and takes away what is
// empty.
func (l *remover) reportForeign(rel string) {
	at := l.r.Project.Path(rel)
	if fi, err := os.Lstat(at); err != nil || !fi.IsDir() {
		if err == nil {
			l.add(RemovedItem{Kind: "record", Name: rel, Did: "stays", Why: "foreign"}, nil)
		}
		return
	}
	entries, _ := os.ReadDir(at)
	for _, e := range entries {
		name := path.Join(rel, e.Name())
		if inside, err := os.ReadDir(l.r.Project.Path(name)); err == nil && len(inside) == 0 && e.IsDir() {
			if !l.o.DryRun {
				_ = os.Remove(l.r.Project.Path(name))
			}
			continue
		}
		if slices.ContainsFunc(l.all, func(p RemovedItem) bool { return p.Name == name || strings.HasPrefix(p.Name, name+"/") }) {
			continue // told already
		}
		l.add(RemovedItem{Kind: "record", Name: name, Did: "stays", Why: "foreign"}, nil)
	}
	if !l.o.DryRun {
		_ = os.Remove(at)
	}
}
