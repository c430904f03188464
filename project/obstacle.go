package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiflow/internal/atomicfile"
	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/internal/prompts"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
	"aiflow/runs"
)

// preconditions are what is asked of a request before it is run, in this order;
// the first that does not hold is told. What only some requests need is asked of
// those alone. What somebody merely occupies (locks, slots) is none.
var preconditions = []struct {
	name  string
	holds func(o *obstacles, r *reqmeta.Request) *choose.Obstacle
	again bool // asked of a run that only goes on, too
}{
	{"workspace", (*obstacles).workspace, true},
	{"replan", (*obstacles).replan, true},
	{"mended", (*obstacles).mended, false},
	{"commit", (*obstacles).commit, false},
	{"base", (*obstacles).base, false},
	{"branch", (*obstacles).branch, false},
	{"router", (*obstacles).router, true},
	{"prompts", (*obstacles).prompts, true},
	{"somebody", (*obstacles).somebody, false},
	{"every_step", (*obstacles).everyStep, false},
	{"program", (*obstacles).program, true},
	{"filled", (*obstacles).filled, false},
	{"criteria", (*obstacles).criteria, false},
}

// Preconditions are their names, in order.
func Preconditions() []string {
	var names []string
	for _, c := range preconditions {
		names = append(names, c.name)
	}
	return names
}

// obstacles are what a survey found that may keep requests from being run.
type obstacles struct {
	s                     *Survey
	st                    baseChoice
	missing               map[string]bool // bases that are not there
	at                    map[string]*choose.Obstacle
	allAt                 *choose.Obstacle            // no workspace can be made at all
	continues             map[string]bool             // ids with a run that was interrupted
	changed               map[string]*choose.Obstacle // by id: a person changed what the run that failed left
	replans               map[string]*choose.Obstacle // of those, where that cannot go on
	taken                 map[string]string           // branches in the way of the request's own
	allTaken              string
	unborn                *choose.Obstacle // what is checked out has no commit
	badRouter             *choose.Obstacle
	badPrompt             *choose.Obstacle
	lacking               map[string]*choose.Obstacle // by role: its program is not on this machine
	hasImplementer, hasQA bool                        // somebody plays the implementer, reviews
	hasPlanner            bool
	noImplementer         *choose.Obstacle
}

// Obstacle is what keeps r from being run; nil for nothing.
func (s *Survey) Obstacle(r *reqmeta.Request) *choose.Obstacle { return s.obstacles().of(r) }

// Lacks is what has to be put right around a run of r before it goes on with its
// plan; nil is nothing. Without a plan it is what a new run would need.
func (s *Survey) Lacks(r *reqmeta.Request, st *runs.Stage, plan *runs.Plan) *fault.Error {
	o := s.obstacles()
	found := o.of(r)
	if plan != nil {
		found = cmp.Or(o.workspace(r), o.forPlan(st.NeedsRole(plan)))
	}
	if found == nil || found.Err.Code == fault.ReplanRequired {
		return nil
	}
	return found.Refusal(r.ID, r.Path)
}

// forPlan is why the rest of a plan cannot be worked on: what its steps need that
// ask somebody, and what every run needs.
func (o *obstacles) forPlan(asks bool) *choose.Obstacle {
	switch {
	case !asks && !o.hasQA:
		return nil
	case !asks:
		return cmp.Or(o.badPrompt, o.lacking[config.RoleQA])
	case o.badRouter == nil && !o.hasImplementer:
		return o.noImplementer
	}
	return cmp.Or(o.badRouter, o.badPrompt, o.lacking[config.RoleQA], o.lacking[config.RoleImplementer])
}

// Kept is why r cannot be run before somebody mends something, whatever its status
// and what it waits for; false where nothing keeps it.
func (s *Survey) Kept(r *reqmeta.Request) (choose.Exclusion, bool) {
	o := s.Obstacle(r)
	if o == nil {
		return choose.Exclusion{}, false
	}
	return choose.KeptBy(r, o), true
}

func (o *obstacles) of(r *reqmeta.Request) *choose.Obstacle {
	again := o.continues[r.ID]
	for i := range preconditions {
		if c := &preconditions[i]; !again || c.again {
			if found := c.holds(o, r); found != nil {
				found.Name = c.name
				return found
			}
		}
	}
	return nil
}

// String names what the answers depend on beside the requests themselves.
func (o *obstacles) String() string {
	var b strings.Builder
	for _, at := range []map[string]*choose.Obstacle{o.at, o.replans, o.changed, o.lacking, {"": o.allAt, "u": o.unborn, "r": o.badRouter, "p": o.badPrompt}} {
		for id, found := range at {
			if found != nil {
				fmt.Fprintln(&b, id, found.Err)
			}
		}
	}
	lines := strings.SplitAfter(b.String(), "\n")
	slices.Sort(lines) // maps have no order
	return fmt.Sprintln(lines, o.missing, o.taken, o.allTaken, o.hasImplementer, o.hasPlanner, o.hasQA, o.continues)
}

// State names all that a survey's obstacles depend on beside the requests.
func (s *Survey) State() string { return s.obstacles().String() }

func (s *Survey) lookForObstacles(ctx context.Context) *obstacles {
	s.Facts.Bases() // which looks for the bases
	o := &obstacles{s: s, st: s.baseChoice(), missing: s.missing, continues: map[string]bool{}, replans: map[string]*choose.Obstacle{}, changed: map[string]*choose.Obstacle{}}
	o.readRouter()
	if p := s.p; p.Root.Git && isUnborn(ctx, p, o.st.checkedOut) {
		o.unborn = &choose.Obstacle{Err: fault.New(fault.GitNoCommit, "branch", o.st.checkedOut)}
	}
	o.taken, o.allTaken = takenBranches(s.branches, s.p.Config.Git.WorkBranchPrefix)
	if !s.Fresh {
		o.readRuns(ctx)
	}
	if s.p.Root.Git && s.p.Config.Git.Workspace != config.WorkspaceInPlace {
		o.readWorkspaces(ctx)
	}
	return o
}

func (o *obstacles) readRouter() {
	p := o.s.p
	o.noImplementer = &choose.Obstacle{Err: noImplementer()}
	if _, err := os.Lstat(p.Path(config.RouterFile)); errors.Is(err, fs.ErrNotExist) {
		return
	}
	router, _, err := config.LoadRouter(p.Dir, p.Config)
	if err != nil {
		o.badRouter = &choose.Obstacle{Err: badConfig(err, config.RouterFile)}
		return
	}
	o.lacking = map[string]*choose.Obstacle{}
	plays := func(role string) bool {
		if missing, ok := missingProgram(p, router, role); ok && !o.s.Elsewhere {
			o.lacking[role] = &choose.Obstacle{Err: fault.New(fault.CLINotAvailable, "command", missing.Command.Bin, "name", missing.Provider)}
		}
		return len(router.Calls(role)) > 0
	}
	o.hasImplementer, o.hasPlanner, o.hasQA = plays(config.RoleImplementer), plays(config.RolePlanner), plays(config.RoleQA)
	if o.hasImplementer || o.hasPlanner || o.hasQA {
		if err := p.MistakenPrompt(); err != nil {
			o.badPrompt = &choose.Obstacle{Err: err}
		}
	}
}

func noImplementer(more ...any) *fault.Error {
	return fault.New(fault.ModelNotConfigured, append(more, "key", config.RoleImplementer)...)
}

// badConfig is err where it is a fault already.
func badConfig(err error, path string, more ...any) *fault.Error {
	return fault.Of(err, fault.ConfigInvalid, append(more, "path", path)...)
}

// missingProgram is the call of a role that would be made and cannot: its program
// is not on this machine, and nobody stands in for it.
func missingProgram(p *Project, r config.Router, role string) (config.Call, bool) {
	calls := r.Calls(role)
	if len(calls) == 0 {
		return config.Call{}, false
	}
	asked := calls[:1]
	if slices.Contains(r.Defaults.FallbackOn, string(fault.CLINotAvailable)) {
		asked = calls
	}
	return calls[0], !slices.ContainsFunc(asked, func(c config.Call) bool { return p.Program(c.Command.Bin) != "" })
}

// Program finds a command of the router: a bare name on PATH, a path from the
// project's root; "" is none. What a workspace brings along is never started.
func (p *Project) Program(name string) string {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = p.Path(name)
		}
		if executable(name) {
			return name
		}
		return ""
	}
	for _, dir := range filepath.SplitList(p.Env.Getenv("PATH")) {
		if path := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(path) {
			return path
		}
	}
	return ""
}

func executable(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0
}

// MistakenPrompt finds a text of the project's own that no role can be told.
func (p *Project) MistakenPrompt() *fault.Error {
	for _, name := range prompts.Names() {
		path := p.Config.Paths.PromptsDir + "/" + prompts.FileName(name)
		data, err := os.ReadFile(p.Path(path))
		if cause := prompts.Mistake(data); err == nil && cause != "" {
			return badConfig(nil, path, "cause_key", cause)
		}
	}
	return nil
}

// readRuns looks at the runs that were interrupted and would go on, and at those
// that failed and would be begun anew.
func (o *obstacles) readRuns(ctx context.Context) {
	s := o.s
	for id := range s.withRuns {
		r := s.Folder.Unique(id)
		if r == nil || r.SaysOver() || s.locked(id) != nil {
			continue
		}
		st := s.Latest(id)
		if st != nil && st.State == runs.Failed && st.DroppedAt == nil && r.Meta.Status == reqmeta.Ready {
			if err := workspaceChanged(ctx, s.p, st); err != nil {
				o.changed[id] = &choose.Obstacle{Err: err}
			}
		}
		if st == nil || st.State.Ended() {
			continue
		}
		o.continues[id] = true
		if err := cannotContinue(s.p, st, r); err != nil {
			o.replans[id] = &choose.Obstacle{Err: err, Line: lineOf(s.p, r, "steps")}
		}
	}
}

// cannotContinue is why an interrupted run cannot go on as its request now is.
func cannotContinue(p *Project, st *runs.Stage, r *reqmeta.Request) *fault.Error {
	var plan *runs.Plan
	var err error
	if len(st.Steps) > 0 {
		plan, err = p.Run(st.RequestID, st.RunID).LoadPlan()
	}
	if PlanLost(err) {
		plan, err = nil, nil // whether the run can do without is runs.Resume's to say
	}
	if err == nil {
		var at runs.Point
		if at, err = runs.Resume(st, plan, runs.Ask{Mode: runs.ModeResume}, p.Config.Limits.MaxStepRetries); err == nil {
			err = SamePlan(st, plan, at, r)
		}
	}
	f, _ := fault.As(err)
	return f
}

// PlanLost: planning.json is gone, or torn.
func PlanLost(err error) bool {
	f, ok := fault.As(err)
	return ok && (f.Code == fault.RunNotFound || f.Code == fault.StageUnreadable && f.Facts["reason"] == "torn")
}

// SamePlan refuses to go on with a plan that the request no longer asks for.
func SamePlan(st *runs.Stage, plan *runs.Plan, at runs.Point, r *reqmeta.Request) error {
	if at.State == runs.Planning || at.NewRun || plan == nil || plan.Source == runs.SourcePlanner {
		return nil
	}
	now := r.Steps()
	if slices.EqualFunc(now, plan.Steps, func(a reqmeta.Step, b runs.PlanStep) bool {
		return a.Title == b.Title && a.Run == b.Run && a.Test == b.Test
	}) {
		return nil
	}
	return fault.New(fault.ReplanRequired, "request_id", r.ID, "run_id", st.RunID, "reason", "request_changed", "id", st.CurrentStepID)
}

// OldSteps: the request asks for other steps by now than a run had.
func OldSteps(st *runs.Stage, plan *runs.Plan, r *reqmeta.Request) bool {
	return SamePlan(st, plan, runs.Point{State: runs.Implementing}, r) != nil
}

// readWorkspaces looks at what lies where workspaces are made.
func (o *obstacles) readWorkspaces(ctx context.Context) {
	p := o.s.p
	home := p.Path(p.WorktreesDir())
	entries, err := os.ReadDir(home)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.allAt = blocked(p.WorktreesDir(), "git.not_a_folder")
		return
	}
	if len(entries) == 0 {
		return
	}
	o.at = map[string]*choose.Obstacle{}
	locked := worktrees(p)
	for _, e := range entries {
		r := o.s.Folder.Unique(e.Name())
		if r == nil || r.SaysOver() {
			continue
		}
		at := filepath.Join(home, e.Name())
		rel := p.WorktreesDir() + "/" + e.Name()
		isLocked, ours := locked[atomicfile.RealPath(at)]
		switch {
		case ours && replacedLink(at):
			o.at[r.ID] = blocked(rel, "git.link_lost")
		case ours && (!isLocked || o.continues[r.ID]):
		case ours:
			o.at[r.ID] = blocked(rel, "git.locked", "locked", rel)
		case !e.IsDir():
			o.at[r.ID] = blocked(rel, "git.not_a_folder")
		default:
			if name := workIn(ctx, p, at); name != "" {
				o.at[r.ID] = blocked(rel, "git.has_changes", "name", name)
			}
		}
	}
}

func blocked(rel, cause string, more ...any) *choose.Obstacle {
	return &choose.Obstacle{Err: fault.New(fault.WorkspaceBlocked, append([]any{"workspace", rel, "cause_key", cause}, more...)...)}
}

// takenBranches finds branches that leave no room for work branches: "aiflow"
// for none at all, "aiflow/RQ-1" for those of RQ-1.
func takenBranches(branches map[string]bool, prefix string) (taken map[string]string, all string) {
	taken = map[string]string{}
	for branch := range branches {
		rest, ours := strings.CutPrefix(branch, prefix)
		switch {
		case ours && !strings.Contains(rest, "/"):
			taken[rest] = branch
		case strings.HasPrefix(prefix, branch+"/"):
			all = branch
		}
	}
	return taken, all
}

func lineOf(p *Project, r *reqmeta.Request, key string) func() int {
	return func() int {
		data, _ := os.ReadFile(p.Path(r.Path)) // gone: then there is no line to tell
		return r.Mapping.LineOf(data, key, "")
	}
}

func (o *obstacles) workspace(r *reqmeta.Request) *choose.Obstacle {
	return cmp.Or(o.allAt, o.at[r.ID])
}

func (o *obstacles) replan(r *reqmeta.Request) *choose.Obstacle { return o.replans[r.ID] }

func (o *obstacles) mended(r *reqmeta.Request) *choose.Obstacle { return o.changed[r.ID] }

func (o *obstacles) commit(r *reqmeta.Request) *choose.Obstacle {
	if o.st.of(r) == "" {
		return o.unborn
	}
	return nil
}

func (o *obstacles) base(r *reqmeta.Request) *choose.Obstacle {
	base := o.st.of(r)
	if !o.missing[base] {
		return nil
	}
	if base == "" {
		return &choose.Obstacle{Kind: choose.BaseUnclear, Err: noBase(o.st.unknownRunBranch, "cause_key", "git.work_branch")}
	}
	found := &choose.Obstacle{Kind: choose.BaseMissing, Err: noBase(base, "missing", base)}
	if o.st.requested == "" && r.Meta.Base != "" {
		found.Line = lineOf(o.s.p, r, "base")
	}
	return found
}

func noBase(branch, why, value string) *fault.Error {
	return fault.New(fault.BaseBranchNotFound, "branch", branch, why, value)
}

func (o *obstacles) branch(r *reqmeta.Request) *choose.Obstacle {
	in := cmp.Or(o.allTaken, o.taken[r.ID])
	if in == "" {
		return nil
	}
	name := o.s.p.Config.Git.WorkBranchPrefix + r.ID + "/…"
	return &choose.Obstacle{Err: fault.New(fault.BranchCreateFailed, "branch", name, "name", in, "cause_key", "git.name_taken")}
}

func (o *obstacles) router(r *reqmeta.Request) *choose.Obstacle {
	if NeedsRole(r) {
		return o.badRouter
	}
	return nil
}

// NeedsRole: r has no steps, or one that nothing is to be run for.
func NeedsRole(r *reqmeta.Request) bool { return len(r.Meta.Steps) == 0 || r.Idles() }

func (o *obstacles) prompts(r *reqmeta.Request) *choose.Obstacle {
	if o.hasQA || NeedsRole(r) {
		return o.badPrompt
	}
	return nil
}

// program asks for those who play a part in every run, and for those who do what
// a request has no command for.
func (o *obstacles) program(r *reqmeta.Request) *choose.Obstacle {
	found := o.lacking[config.RoleQA]
	if NeedsRole(r) {
		found = cmp.Or(o.lacking[config.RoleImplementer], found)
	}
	if len(r.Meta.Steps) == 0 {
		found = cmp.Or(o.lacking[config.RolePlanner], found)
	}
	return found
}

func (o *obstacles) somebody(r *reqmeta.Request) *choose.Obstacle {
	if len(r.Meta.Steps) > 0 || o.hasImplementer { // who only plans leaves the steps to an implementer
		return nil
	}
	return o.noImplementer
}

func (o *obstacles) everyStep(r *reqmeta.Request) *choose.Obstacle {
	if o.hasImplementer {
		return nil
	}
	i := slices.IndexFunc(r.Meta.Steps, reqmeta.Step.Idle)
	if i < 0 {
		return nil
	}
	id := runs.StepID(i + 1)
	return &choose.Obstacle{
		Err: noImplementer("id", id, "step", id, "path", r.Path),
		Line: func() int {
			data, _ := os.ReadFile(o.s.p.Path(r.Path))
			return reqmeta.LineOfStep(data, i)
		},
	}
}

func (o *obstacles) filled(r *reqmeta.Request) *choose.Obstacle {
	line := r.Unfilled()
	if line == 0 {
		return nil
	}
	place := fmt.Sprintf("%s:%d", r.Path, line)
	return &choose.Obstacle{
		Err:  tooFew(r, "line", line, "unfilled", place),
		Line: func() int { return line },
	}
}

// criteria are what a planner needs.
func (o *obstacles) criteria(r *reqmeta.Request) *choose.Obstacle {
	n, line := r.Criteria()
	if !o.hasPlanner || len(r.Meta.Steps) > 0 || n >= reqmeta.EnoughCriteria {
		return nil
	}
	found := &choose.Obstacle{Err: tooFew(r, "value", n, "allowed", reqmeta.EnoughCriteria), Line: func() int { return max(line, 1) }}
	if line > 0 {
		found.Err.Facts["place"] = fmt.Sprintf("%s:%d", r.Path, line)
	}
	return found
}

func tooFew(r *reqmeta.Request, more ...any) *fault.Error {
	return fault.New(fault.ACTooFew, append(more, "path", r.Path)...)
}
