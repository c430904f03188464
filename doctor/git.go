package doctor

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"aiflow/gitops"
	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
	"aiflow/project"
)

// oldest is the first git that knows all that we ask of it.
const oldest = "2.26"

func checkGit(ctx context.Context, x *examiner) (usable bool) {
	g, err := gitcmd.Find(x.Env.Environ)
	var out []byte
	if err == nil {
		x.git = g.In(x.Env.Dir)
		out, err = x.git.Ask(ctx, "version")
	}
	if err != nil {
		if _, ok := fault.As(err); !ok {
			err = fault.Wrap(err, fault.GitNotAvailable, "output", gitcmd.Stderr(err), "command", "git version")
		}
		x.fails("git", err)
		return false
	}
	version := strings.TrimSpace(strings.TrimPrefix(string(out), "git version "))
	seen := Evidence{"command": "git version", "stdout": strings.TrimSpace(string(out)), "path": g.Bin}
	x.version, x.seen = version, seen
	return true
}

// checkIdentity completes what is said about git: without a name and an
// address no commit can be made.
func checkIdentity(ctx context.Context, x *examiner) {
	if older(x.version, oldest) {
		x.fail("git", "old", x.seen, "version", x.version, "allowed", oldest)
		return
	}
	if x.repo != nil {
		if _, _, err := x.repo.Identity(ctx); fault.Has(err, fault.GitIdentityMissing) {
			x.warn("git", "identity", evidenceOf(err), "version", x.version)
			return
		}
	}
	x.pass("git", "ok", x.seen, "version", x.version)
}

// older compares the first two numbers. What cannot be read is not old.
func older(version, than string) bool {
	a, b := numbers(version), numbers(than)
	if a == nil {
		return false
	}
	return a[0] < b[0] || a[0] == b[0] && a[1] < b[1]
}

func numbers(version string) []int {
	parts := strings.SplitN(version+".0", ".", 3)
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	if err1 != nil || err2 != nil {
		return nil
	}
	return []int{major, minor}
}

func tellRepository(x *examiner, repo *gitops.Repo, err error) {
	if err != nil {
		x.fails("repository", err)
		return
	}
	x.repo = repo
	if path := gitops.Unwritable(x.p.CommonDir()); path != "" {
		x.fails("repository", fault.NotWritable(nil, path))
		return
	}
	if left := oldLocks(x, repo); len(left) > 0 {
		x.warn("repository", "locked", Evidence{"locks": first(left, maxEvidence)}, "count", len(left), "names", some(left))
		return
	}
	x.pass("repository", "ok", Evidence{"top": repo.Top()}, "path", repo.Top())
}

// oldLocks are lock files of git that are too old to be of one that works: a git that was
// killed leaves them, and every other one is refused until they are gone.
func oldLocks(x *examiner, repo *gitops.Repo) (left []string) {
	for _, path := range repo.LockFiles() {
		if info, ok := stat(path); ok && x.Env.Clock.Now().Sub(info.ModTime()) > tempAge {
			left = append(left, rel(x, path))
		}
	}
	return left
}

func openRepo(ctx context.Context, p *project.Project) (*gitops.Repo, error) {
	repo, err := gitops.Open(ctx, p.Git(), p.Dir)
	if err != nil {
		return nil, err
	}
	repo.WorkPrefix, repo.WorktreesDir = p.Config.Git.WorkBranchPrefix, p.WorktreesDir()
	return repo, nil
}

// checkBranches looks at the base, and whether its branch can be compared on the web.
func checkBranches(ctx context.Context, x *examiner) {
	wanted, here := x.p.UsualBase(ctx)
	where := ""
	if x.p.Config.Git.BaseBranch != "" {
		where = x.p.Config.Origin("git.base_branch").Where
	}
	branch, commit, err := x.repo.ResolveBase(ctx, wanted)
	switch {
	case err == nil && wanted != "":
		x.pass("base_branch", "elsewhere", Evidence{"branch": branch, "commit": commit, "checked_out": here}, "branch", branch, "here", here, "where", where)
	case err == nil && branch == commit:
		x.warn("base_branch", "detached", Evidence{"commit": commit}, "commit", commit[:min(10, len(commit))])
	case err == nil:
		x.pass("base_branch", "ok", Evidence{"branch": branch, "commit": commit}, "branch", branch)
	case fault.Has(err, fault.GitNoCommit):
		x.add(Check{ID: "base_branch", Status: Warn, Severity: fault.Major, Kind: "unborn", Evidence: evidenceOf(err)})
	case wanted != "":
		x.add(Check{
			ID: "base_branch", Status: Fail, Severity: fault.Blocker, Kind: "missing",
			Facts: facts([]any{"branch", wanted, "where", where}), Evidence: evidenceOf(err),
		})
	default:
		x.add(Check{ID: "base_branch", Status: Warn, Severity: fault.Major, Kind: "unclear", Evidence: evidenceOf(err)})
	}
	c := x.p.Config.Git
	url, err := x.repo.CompareURL(ctx, cmp.Or(branch, "main"), c.WorkBranchPrefix+"x", c.CompareURLTemplate)
	missing := fault.Has(err, fault.OriginMissing)
	switch {
	case err == nil:
		x.pass("origin", "ok", Evidence{"compare_url": url})
	case missing && c.AutoPush:
		x.fail("origin", "needed", evidenceOf(err), "where", x.p.Config.Origin("git.auto_push").Where)
	case missing: // no forge is needed
		x.pass("origin", "missing", evidenceOf(err))
	default:
		x.warn("origin", "unknown", evidenceOf(err))
	}
}

// dirty lists what differs from HEAD in the project's checkout, as git status
// does. ours are request files in which only values differ that tools write
// (status, updated_at); they do not count.
func dirty(ctx context.Context, p *project.Project, repo *gitops.Repo) (left []gitops.Change, ours []string, err error) {
	changes, err := repo.Dirty(ctx)
	if err != nil {
		return nil, nil, err
	}
	var asked []string
	for _, c := range changes {
		if c.Status == gitops.Modified && strings.HasPrefix(c.Path, p.RequestsDir()+"/") {
			asked = append(asked, c.Path)
		}
	}
	owned, err := p.OwnedOnly(ctx, asked)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range changes {
		if owned[c.Path] {
			ours = append(ours, c.Path)
		} else {
			left = append(left, c)
		}
	}
	return left, ours, nil
}

func checkClean(ctx context.Context, x *examiner) {
	changes, ours, err := dirty(ctx, x.p, x.repo)
	switch {
	case err != nil:
		x.fails("worktree_clean", err)
		return
	case len(changes) == 0 && len(ours) > 0:
		x.pass("worktree_clean", "status", Evidence{"status_only": first(ours, 50), "count": len(ours)}, "count", len(ours))
		return
	case len(changes) == 0:
		x.pass("worktree_clean", "ok", nil)
		return
	}
	names := make([]string, len(changes))
	for i, c := range changes {
		names[i] = c.Path
	}
	seen := Evidence{"command": "git status --porcelain", "paths": first(names, 50), "count": len(names)}
	if needsClean(x.p.Config) {
		x.fail("worktree_clean", "refused", seen, "count", len(names), "names", some(names))
		return
	}
	x.warn("worktree_clean", "dirty", seen, "count", len(names), "names", some(names))
}

// needsClean reports whether a run would refuse a dirty checkout.
func needsClean(c config.Config) bool {
	return c.Git.RequireCleanWorktree || c.Git.Workspace == config.WorkspaceInPlace
}

func first[T any](list []T, n int) []T { return list[:min(n, len(list))] }

// checkIgnored asks git about a file in each folder that belongs to this
// machine, and about a request.
func checkIgnored(ctx context.Context, x *examiner) {
	p := x.p.Config.Paths
	dirs := []string{p.RunsDir, p.LocksDir, p.CacheDir, p.AiflowDir + "/project", x.p.WorktreesDir()}
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return !filepath.IsLocal(dir) }) // outside of the checkout
	var asked []string
	for _, dir := range append(dirs, p.RequestsDir) {
		if fi, err := os.Lstat(x.p.Path(dir)); err != nil || fi.Mode()&fs.ModeSymlink == 0 { // git looks behind no link
			dir += "/RQ-0.md"
		}
		asked = append(asked, dir)
	}
	ignored, err := x.repo.Ignored(ctx, asked...)
	if err != nil {
		x.warns("ignore_rules", err)
		return
	}
	var open []string
	for i := range dirs {
		if !slices.Contains(ignored, asked[i]) {
			open = append(open, strings.TrimSuffix(asked[i], "RQ-0.md"))
		}
	}
	seen := Evidence{"command": "git check-ignore", "not_ignored": open}
	switch {
	case slices.Contains(ignored, asked[len(asked)-1]):
		x.warn("ignore_rules", "requests", seen, "dir", p.RequestsDir+"/")
	case len(open) > 0:
		x.warn("ignore_rules", "missing", seen, "names", strings.Join(open, " "))
	default:
		checkTracked(ctx, x, dirs)
	}
}

// checkTracked finds state that was committed before it was ignored.
func checkTracked(ctx context.Context, x *examiner, dirs []string) {
	if !x.full() {
		x.pass("ignore_rules", "ok", nil)
		return
	}
	args := []string{"ls-files", "-z", "--"}
	for _, dir := range dirs {
		args = append(args, ":(literal)"+dir)
	}
	out, err := x.p.Git().Ask(ctx, args...)
	names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if err != nil || names[0] == "" {
		x.pass("ignore_rules", "ok", nil)
		return
	}
	x.warn("ignore_rules", "tracked", Evidence{"command": "git ls-files", "paths": first(names, 50)}, "count", len(names), "names", some(names))
}
