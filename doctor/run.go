package doctor

import (
	"context"
	"runtime"
	"strings"
	"sync"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
	"aiflow/project"
)

// Mode says how thoroughly to look.
type Mode string

// The modes. Quick starts no process but git.
const (
	Quick Mode = "quick"
	Full  Mode = "full"
)

// Options say where and how to look.
type Options struct {
	Env     project.Env
	Mode    Mode
	Fix     bool   // repair what can be repaired without loss; implies Full
	HookBin string // what our hooks should start; "" does not compare
	// Advised adds to an error what can be done now about the run that it names;
	// nil adds nothing.
	Advised func(ctx context.Context, p *project.Project, err error) error
	// Space tells how much room the file system of a path has; nil asks it.
	Space func(path string) (Space, error)
}

// examiner is one look at everything.
type examiner struct {
	Options
	p    *project.Project
	git  gitcmd.Git
	repo *gitops.Repo // nil: no repository that git can use
	look func() (*project.Survey, error)
	kept func() []kept

	version string // of git; "" when there is none
	seen    Evidence

	mu      sync.Mutex
	checks  []Check
	repairs []Repair
}

// Run looks at the project that Env.Dir is in. Whatever is wrong is in the
// report; it does not fail.
func Run(ctx context.Context, o Options) *Report {
	if o.Fix {
		o.Mode = Full
	}
	if o.Mode == "" {
		o.Mode = Quick
	}
	x := &examiner{Options: o}
	examine(ctx, x)
	r := &Report{
		Version: Version, Mode: o.Mode, Checks: x.checks, Repairs: x.repairs,
		Environment: Environment{RepoRoot: o.Env.Dir, OS: runtime.GOOS, Timestamp: o.Env.Clock.Now()},
	}
	if x.p != nil {
		r.Environment.RepoRoot = x.p.Dir
	}
	if r.Repairs == nil {
		r.Repairs = []Repair{}
	}
	r.sum()
	return r
}

func (x *examiner) advised(ctx context.Context, err error) error {
	if x.Advised == nil {
		return err
	}
	return x.Advised(ctx, x.p, err)
}

func (x *examiner) full() bool { return x.Mode == Full }

func examine(ctx context.Context, x *examiner) {
	p, err := project.OpenAnyway(x.Env)
	x.p = p
	if p == nil {
		x.fails("repository", err)
		if checkGit(ctx, x) {
			checkIdentity(ctx, x)
		}
		return
	}
	x.look = sync.OnceValues(func() (*project.Survey, error) { return p.Look(ctx) })
	x.kept = sync.OnceValue(func() []kept { return allKept(x) })
	checkConfig(x, err)
	var wg sync.WaitGroup
	defer wg.Wait()
	if x.Mode == Full && err == nil {
		fixLocks(ctx, x) // D39 section 5.2: full reclaims them, asked or not
	}
	if !x.Fix { // repairs come before any look
		side(ctx, x, &wg, withoutGit(x))
	}
	var asking sync.WaitGroup
	usable := false
	asking.Go(func() { usable = checkGit(ctx, x) })
	repo, noRepo := openRepo(ctx, x.p)
	asking.Wait()
	switch {
	case usable:
		tellRepository(x, repo, noRepo)
	case !x.p.Root.Git:
		x.fails("repository", fault.New(fault.GitNotRepo, "path", x.p.Dir))
	}
	if x.Fix && err == nil {
		// What cannot lose anything, each part under the lock that a run would hold, so that a
		// live run is left alone and of two doctors one repairs.
		fixRuns(ctx, x)
		fixTemps(x)
		fixWorktrees(ctx, x)
		fixCache(x)
	}
	if x.Fix {
		side(ctx, x, &wg, withoutGit(x))
	}
	side(ctx, x, &wg, withGit(x))
}

// A check looks at one matter and adds what it found to the examiner's list.
type check func(context.Context, *examiner)

// side does checks that do not depend on each other side by side.
func side(ctx context.Context, x *examiner, wg *sync.WaitGroup, groups []check) {
	for _, group := range groups {
		wg.Go(func() { group(ctx, x) })
	}
}

func withoutGit(x *examiner) []check {
	groups := []check{checkFiles, checkRoles, checkDisk}
	if x.full() {
		groups = append(groups, checkGH, checkCache)
	}
	return groups
}

func withGit(x *examiner) []check {
	var groups []check
	if x.version != "" {
		groups = append(groups, checkIdentity)
	}
	if x.repo != nil {
		groups = append(groups, checkHooks, checkClean, checkBranches, checkIgnored)
	}
	if x.full() {
		groups = append(groups, checkClock, checkTemps)
	}
	if x.full() && x.repo != nil {
		groups = append(groups, checkWorktrees, checkVersions)
	}
	return groups
}

func (x *examiner) add(c Check) {
	if c.Evidence == nil {
		c.Evidence = Evidence{}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.checks = append(x.checks, c)
}

func (x *examiner) pass(id, kind string, seen Evidence, pairs ...any) {
	x.add(Check{ID: id, Status: Pass, Severity: fault.Minor, Kind: kind, Facts: facts(pairs), Evidence: seen})
}

func (x *examiner) warn(id, kind string, seen Evidence, pairs ...any) {
	x.add(Check{ID: id, Status: Warn, Severity: weight(id), Kind: kind, Facts: facts(pairs), Evidence: seen})
}

func (x *examiner) fail(id, kind string, seen Evidence, pairs ...any) {
	x.add(Check{ID: id, Status: Fail, Severity: fault.Blocker, Kind: kind, Facts: facts(pairs), Evidence: seen})
}

// fails and warns let the fault's own text speak.
func (x *examiner) fails(id string, err error) {
	x.add(Check{ID: id, Status: Fail, Severity: fault.Blocker, Err: err, Evidence: evidenceOf(err)})
}

func (x *examiner) warns(id string, err error) {
	x.add(Check{ID: id, Status: Warn, Severity: weight(id), Err: err, Evidence: evidenceOf(err)})
}

// weight is how much a warning about id matters.
func weight(id string) fault.Severity {
	switch id {
	case "origin", "hooks", "ignore_rules", "worktrees", "temp_files", "cache", "gh":
		return fault.Minor
	}
	return fault.Major
}

func facts(pairs []any) fault.Facts { return fault.NewFacts(pairs...) }

func evidenceOf(err error) Evidence {
	seen := Evidence{}
	f, ok := fault.As(err)
	if !ok {
		seen["cause"] = err.Error()
		return seen
	}
	seen["reason_code"] = string(f.Code)
	for key, value := range f.Facts {
		switch key {
		case "command", "exit_status":
			seen[key] = value
		case "output":
			seen["stderr"] = value
		}
	}
	return seen
}

// some names the first few of many.
func some(names []string) string {
	const most = 3
	text := strings.Join(first(names, most), ", ")
	if len(names) > most {
		text += ", …"
	}
	return text
}
