package project

import (
	"bytes"
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiflow/reqmeta"
	"aiflow/runs"
)

// find looks for finished runs whose records are lost: the last commit of such
// a run is on its branch and tells by itself. Found runs count as the latest of
// their requests.
func (s *Survey) find(ctx context.Context) {
	s.branches = nearBranches(ctx, s.p)
	for id, branch := range newest(s.branches, s.p.Config.Git.WorkBranchPrefix) {
		r := s.Folder.Unique(id)
		if r == nil || r.SaysOver() || s.Unreadable(id) != nil {
			continue
		}
		if st := s.Latest(id); st != nil && stampOf(branch) <= stampOf(st.Git.WorkBranch) {
			continue
		}
		if st := readBranch(ctx, s.p, r, branch); st != nil {
			s.Found = append(s.Found, st)
		}
	}
	for _, st := range s.Found {
		s.withRuns[st.RequestID], s.latest[st.RequestID] = true, st
	}
}

// recordFound writes the records of found runs, so that whatever is asked of a
// run (a list, a diff, whether it was merged) is answered for these too.
func (s *Survey) recordFound(ctx context.Context) {
	for _, st := range s.Found {
		note := Note{Kind: NoteFound, RequestID: st.RequestID, RunID: st.RunID, Branch: st.Git.WorkBranch}
		if s.locked(st.RequestID) != nil {
			continue
		}
		note.Cause = s.saveFound(ctx, st)
		note.Written = note.Cause == nil
		s.Notes = append(s.Notes, note)
	}
}

// RecordLost is recordFound for those who have not looked yet, and ask for runs: it
// looks where a request has a work branch and no run. The survey is nil elsewhere.
func RecordLost(ctx context.Context, p *Project) (*Survey, error) {
	branches := newestBranches(ctx, p)
	if len(branches) == 0 {
		return nil, nil
	}
	withRuns, err := runs.ListRequestsWithRuns(p.Dir, p.RunsDir())
	if err != nil {
		return nil, err
	}
	for id := range branches {
		if !withRuns[id] {
			s, err := p.Look(ctx)
			if err == nil {
				s.recordFound(ctx)
			}
			return s, err
		}
	}
	return nil, nil
}

// EverRan reports whether anything was ever run here that is not forgotten: it
// has a record or a branch.
func (p *Project) EverRan(ctx context.Context) bool {
	withRuns, err := runs.ListRequestsWithRuns(p.Dir, p.RunsDir())
	return err == nil && len(withRuns) > 0 || len(newestBranches(ctx, p)) > 0
}

func (s *Survey) saveFound(ctx context.Context, st *runs.Stage) error {
	lease, err := lock(ctx, s.p, st.RequestID, st.RunID)
	if err != nil {
		return err
	}
	defer lease.Release()
	dir := s.p.Run(st.RequestID, st.RunID)
	if now, err := dir.LoadStage(); err == nil && now.DroppedAt == nil {
		s.latest[st.RequestID] = now // another command was quicker
		return nil
	} else if err == nil { // a person brought the branch back
		now.DroppedAt = nil
		s.latest[st.RequestID] = now
		return dir.SaveStage(now)
	}
	if err := dir.Create(); err != nil {
		return err
	}
	return dir.SaveStage(st)
}

// readBranch makes a run's record again from the commits on its branch; nil
// when no commit there says that the run is finished. What a person committed
// on top does not matter. The branch and its run began in the same second, by
// which the run is told from earlier ones in the history of its base.
func readBranch(ctx context.Context, p *Project, r *reqmeta.Request, branch string) *runs.Stage {
	out, err := p.Git().Ask(ctx, "log", "-z", "-n", strconv.Itoa(longestRun), "--first-parent", "--no-show-signature", "--no-color",
		"--encoding=UTF-8", "--format=tformat:%H%n%P%n%ct%n%B", "refs/heads/"+branch, "--")
	if err != nil {
		return nil
	}
	var newestFirst []runCommit
	for text := range strings.SplitSeq(string(out), "\x00") {
		c, ok := readRunCommit(text)
		if !ok || c.request != r.ID || !strings.HasPrefix(c.run, runs.IDPrefix+stampOf(branch)+"-") {
			continue
		}
		if len(newestFirst) > 0 || c.StepID == runs.RecordStep {
			newestFirst = append(newestFirst, c)
		}
	}
	if len(newestFirst) == 0 {
		return nil
	}
	record, oldest := newestFirst[0], newestFirst[len(newestFirst)-1]
	if ofNeighbour(ctx, p, record.Hash) {
		return nil
	}
	g := runs.Git{BaseCommit: oldest.parent, WorkBranch: branch, Workspace: path.Join(p.WorktreesDir(), r.ID)}
	if g.BaseBranch, _ = p.branch(); g.BaseBranch == "" {
		g.BaseBranch = "HEAD"
	}
	for _, c := range slices.Backward(newestFirst) {
		g.Commits = append(g.Commits, c.Commit)
	}
	st := runs.Rebuilt(r.ID, record.run, r.Title(), g, oldest.at, record.at)
	st.Artifacts.RequestPath = r.Path
	return st
}

// ofNeighbour: the commit is about a request of another project in the same repository,
// which may have the same id.
func ofNeighbour(ctx context.Context, p *Project, commit string) bool {
	out, err := p.Git().Ask(ctx, "diff-tree", "-r", "-z", "--root", "--no-commit-id", "--name-only", commit, "--")
	if err != nil {
		return false
	}
	for name := range strings.SplitSeq(string(out), "\x00") {
		file := filepath.Join(p.Root.Top, filepath.FromSlash(name))
		if fi, err := os.Stat(file); name == "" || err != nil || fi.IsDir() {
			continue
		}
		if root, err := FindRoot(filepath.Dir(file)); err == nil && root.Dir != p.Root.Dir {
			return true
		}
	}
	return false
}

// longestRun is how many commits of a branch are looked at: a run's own, and
// what a person put on top.
const longestRun = 500

// runCommit is a commit that a run made.
type runCommit struct {
	runs.Commit
	parent, request, run string
	at                   time.Time
}

func readRunCommit(text string) (c runCommit, ok bool) {
	f := strings.SplitN(text, "\n", 4)
	if len(f) != 4 {
		return c, false
	}
	c.Hash = f[0]
	c.parent, _, _ = strings.Cut(f[1], " ")
	seconds, _ := strconv.ParseInt(f[2], 10, 64)
	c.at = time.Unix(seconds, 0).UTC()
	c.Subject, _, _ = strings.Cut(f[3], "\n")
	for line := range strings.Lines(f[3]) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case name == RequestTrailer:
			c.request = value
		case name == RunTrailer:
			c.run = value
		case name == StepTrailer:
			c.StepID = value
		case name == ResultTrailer && value == string(runs.Done):
			c.StepID = runs.RecordStep
		}
	}
	return c, c.StepID != ""
}

// newestBranches are the work branches that began last, by request.
func newestBranches(ctx context.Context, p *Project) map[string]string {
	return newest(nearBranches(ctx, p), p.Config.Git.WorkBranchPrefix)
}

// nearBranches are the work branches, and those that leave no room for some: whose
// names are beginnings of theirs. Where git keeps refs in files these are read:
// mostly one folder that is not there.
func nearBranches(ctx context.Context, p *Project) map[string]bool {
	if !p.Root.Git {
		return nil
	}
	common := p.CommonDir()
	if !isDir(filepath.Join(common, "refs", "heads")) {
		found := map[string]bool{}
		for branch := range WorkBranches(ctx, p) {
			found[branch] = true
		}
		return found
	}
	found := looseBranches(p, filepath.Join(common, "refs", "heads"))
	if packed, err := os.ReadFile(filepath.Join(common, "packed-refs")); err == nil {
		packedBranches(p, packed, found)
	}
	return found
}

// beginnings are the names that leave no room for any work branch: of "a/b/",
// "a/b" and "a".
func beginnings(p *Project) []string {
	var names []string
	for name := path.Clean(p.Config.Git.WorkBranchPrefix); name != "."; name = path.Dir(name) {
		names = append(names, name)
	}
	return names
}

func looseBranches(p *Project, heads string) map[string]bool {
	found := map[string]bool{}
	for _, name := range beginnings(p) {
		if fi, err := os.Lstat(filepath.Join(heads, name)); err == nil && !fi.IsDir() {
			found[name] = true
		}
	}
	home := p.Config.Git.WorkBranchPrefix
	requests, _ := os.ReadDir(filepath.Join(heads, home))
	for _, id := range requests {
		if !id.IsDir() {
			found[home+id.Name()] = true
			continue
		}
		branches, _ := os.ReadDir(filepath.Join(heads, home, id.Name()))
		for _, b := range branches {
			found[home+id.Name()+"/"+b.Name()] = true
		}
	}
	return found
}

// packedBranches reads lines of "<commit> <ref>".
func packedBranches(p *Project, data []byte, found map[string]bool) {
	for _, name := range beginnings(p) {
		if bytes.Contains(data, []byte(" refs/heads/"+name+"\n")) {
			found[name] = true
		}
	}
	begin := []byte(" refs/heads/" + p.Config.Git.WorkBranchPrefix)
	for {
		at := bytes.Index(data, begin)
		if at < 0 {
			return
		}
		data = data[at:]
		line, _, _ := bytes.Cut(data, []byte("\n"))
		found[strings.TrimPrefix(string(line), " refs/heads/")] = true
		data = data[len(line):]
	}
}

func newest(branches map[string]bool, prefix string) map[string]string {
	found := map[string]string{}
	for branch := range branches {
		rest, ours := strings.CutPrefix(branch, prefix)
		id, _, whole := strings.Cut(rest, "/")
		if ours && whole && stampOf(branch) != "" && path.Base(branch) > path.Base(found[id]) {
			found[id] = branch
		}
	}
	return found
}

// stampOf is when a work branch began, as its name says: comparable, and the
// same in its run's id. "" is not the name of a work branch.
func stampOf(branch string) string {
	const form = "20060102-150405"
	name := path.Base(branch)
	if len(name) < len(form) {
		return ""
	}
	if _, err := time.Parse(form, name[:len(form)]); err != nil {
		return ""
	}
	return name[:len(form)]
}
