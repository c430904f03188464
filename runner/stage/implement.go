package stage

import (
	"context"
	"fmt"
	"strings"

	"aiflow/gitops"
	"aiflow/internal/config"
	"aiflow/internal/contract"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/internal/term"
	"aiflow/runner/agent"
	"aiflow/runs"
)

// implement runs the step's own command, or hands the step to the implementer.
func implement(ctx context.Context, run *Run, i int) error {
	s, p := &run.Stage.Steps[i], run.Plan.Steps[i]
	if p.Run == "" {
		if p.Test != "" && !run.hasRole(config.RoleImplementer) {
			return nil
		}
		return callImplementer(ctx, run, i, "")
	}
	c := shellCommand{
		text: p.Run, log: runs.LogStep, stepID: s.StepID, attempt: s.Attempt,
		limit: run.Project.Config.StepTimeout(), kind: CommandBegun,
	}
	a := run.Stage.Attempts.Steps[s.StepID]
	a.Implementer = s.Attempt
	run.Stage.Attempts.Steps[s.StepID] = a
	res, err := runShell(ctx, run, c)
	if err != nil {
		return err
	}
	run.At("step_command")
	open := gitops.Marked(ctx, run.Workspace)
	if err := Uncommit(ctx, run, s); err != nil {
		return err
	}
	facts := append(agent.NamedCommand(c.text), "path", res.log)
	if res.TimedOut {
		return timedOut(c, facts)
	}
	facts = append(facts, "output", res.tail)
	switch {
	case res.Status != 0:
		return commandFailed(append(facts, "exit_status", res.Status)...)
	case len(open) > 0:
		return commandFailed(append(facts, "unmerged", strings.Join(open, ", "))...)
	}
	return nil
}

// commandFailed is a command that did not do its step: it says so, or it left conflicts
// (unmerged), which staging would call resolved, to be committed with their marks.
func commandFailed(facts ...any) error { return fault.New(fault.StepCommandFailed, facts...) }

func timedOut(c shellCommand, facts []any) error {
	return fault.New(fault.AgentTimeout, append(facts, c.limit.Facts()...)...)
}

// callImplementer hands a step to the implementer role. failure is what it has
// to mend; "" is nothing.
func callImplementer(ctx context.Context, run *Run, i int, failure string) error {
	if !run.hasRole(config.RoleImplementer) {
		if _, err := run.Router(); err != nil {
			return err
		}
		id := run.Stage.Steps[i].StepID
		e := fault.New(fault.ModelNotConfigured, "key", config.RoleImplementer, "id", id, "path", run.Request.Path)
		if len(run.Request.Meta.Steps) > 0 {
			e.Facts["step"] = id
		}
		return e
	}
	q := question{
		role: config.RoleImplementer, step: &run.Stage.Steps[i], plan: &run.Plan.Steps[i], failure: failure, mending: failure != "",
	}
	q.accept = func(ctx context.Context, r agent.Reply) error { return acceptWork(ctx, run, q, r) }
	err := ask(ctx, run, q)
	if fault.CodeOf(err) != fault.NothingChanged {
		return err
	}
	run.Tell(Event{Kind: RoleFailed, StepID: q.stepID(), What: run.InWords(err)})
	q.failure = run.Words.Text("work.prompt_nothing_changed", nil)
	return ask(ctx, run, q)
}

// acceptWork is takeWork with the question whether anything was done. An
// implementer that changes nothing must say why nothing was to be changed: many
// end well after they asked for a permission that nobody was there to give.
// Mending may change nothing: the test or the review that asked for it decides.
func acceptWork(ctx context.Context, run *Run, q question, r agent.Reply) error {
	open := gitops.Marked(ctx, run.Workspace)
	if err := Uncommit(ctx, run, q.step); err != nil {
		return err
	}
	if len(open) > 0 {
		return agent.Located(commandFailed("unmerged", strings.Join(open, ", ")), r)
	}
	why := contract.Unchanged(r.Text())
	if why == "" || q.mending {
		if err := applyWork(ctx, run, q.step, r); err != nil || q.mending {
			return err
		}
	}
	changes, err := run.Workspace.Changes(ctx)
	switch {
	case err != nil:
		return err
	case !changes.Empty() && why != "":
		return applyWork(ctx, run, q.step, r)
	case !changes.Empty():
		return nil
	case why != "":
		q.step.Notes = appendOnce(q.step.Notes, run.Words.Text("work.note_unchanged", fault.Facts{"cause": agent.ShortLine(why)}))
		return nil
	}
	said := strings.TrimSpace(r.Text())
	code := fault.NothingChanged
	if r.Usage != nil && len(r.Usage.Denied) > 0 {
		code = fault.ToolDenied // asking again would come to the same
	}
	f := fault.New(code, "said", agent.ShortLine(agent.LastLine(said)), "output", said[max(0, len(said)-agent.TailKept):], "exit_status", 0)
	if code == fault.ToolDenied {
		f.Facts["value"] = agent.ShortLine(strings.Join(r.Usage.Denied, "; "))
	}
	return agent.Located(f, r)
}

// applyWork takes over what an implementer did: the files it edited, or the
// patch that it answered with.
func applyWork(ctx context.Context, run *Run, s *runs.Step, r agent.Reply) error {
	if r.Call.Edits() {
		return checkOptionalAnswer(run, r)
	}
	a, err := readAnswer(run, r)
	if err != nil {
		return err
	}
	diff := a.UnifiedDiff()
	if strings.TrimSpace(diff) == "" {
		return agent.Located(contract.Lacks(r.Call.Role, "diff"), r)
	}
	return applyPatch(ctx, run, s, r, []byte(diff))
}

// applyPatch applies a patch whole or not at all, and keeps what git said
// about it.
func applyPatch(ctx context.Context, run *Run, s *runs.Step, r agent.Reply, patch []byte) error {
	if err := run.MayWrite(); err != nil {
		return err
	}
	err := run.Workspace.ApplyPatch(ctx, patch)
	said := "ok"
	if f, ok := fault.As(err); ok {
		said = strings.TrimSpace(f.Facts["output"])
	}
	note := fmt.Sprintf("%s attempt %d (%s): git apply --check\n%s\n", s.StepID, r.Try, r.Call.Provider, said)
	if e := run.Dir.AppendLog(runs.LogApply, "", 0, []byte(note)); e != nil && err == nil {
		return e
	}
	s.Logs = appendOnce(s.Logs, run.Dir.RelPath(runs.LogName(runs.LogApply, "", 0)))
	if err == nil {
		noteApplied(run, s, r, patch)
	}
	if !fault.Has(err, fault.PatchApplyFailed) {
		return err
	}
	f, _ := fault.As(err)
	name, e := run.SavePatch(s.StepID, run.Dir.NextAttempt(s.StepID), patch)
	if e != nil {
		return e
	}
	f.Facts["path"] = name
	return err
}

// Uncommit makes what a command committed by itself changes of the step again:
// one step is one commit. Its own commits stay under refs/aiflow/attempts/. The branch
// is made again where a command, or a person, deleted or renamed it meanwhile.
func Uncommit(ctx context.Context, run *Run, s *runs.Step) error {
	h, err := gitops.HeadOf(ctx, run.Workspace)
	if err != nil {
		return err
	}
	at, start := h.Commit, run.Stage.Tip()
	if !run.InPlace() && (h.Unborn || at == start && h.Branch != run.Stage.Git.WorkBranch) {
		made, err := run.Repo.RestoreBranch(ctx, run.Stage.Git.WorkBranch, start)
		if err != nil {
			return err
		}
		return BackToBranch(ctx, run, made)
	}
	if at == start {
		return nil
	}
	ref := freeAgentRef(ctx, run, s)
	if err := run.Repo.KeepCommit(ctx, ref, at); err != nil {
		return err
	}
	if err := run.Workspace.SoftReset(ctx, start); err != nil {
		return err
	}
	s.Notes = append(s.Notes, run.Words.Text("work.note_rejoined", fault.Facts{"name": ref}))
	run.Tell(Event{Kind: Uncommitted, StepID: s.StepID, What: ref})
	return run.Save()
}

// BackToBranch checks out the run's branch in its worktree where another one is, or it
// was gone (made: it was made again). The files stay as they are; what was committed
// elsewhere is kept.
func BackToBranch(ctx context.Context, run *Run, made bool) error {
	h, err := gitops.HeadOf(ctx, run.Workspace)
	if err != nil {
		return err
	}
	tip := run.Stage.Tip()
	if h.Branch == run.Stage.Git.WorkBranch {
		TellBranch(run, made, h.Branch, "")
		return nil
	}
	ref := ""
	if h.Commit != tip && !h.Unborn {
		ref = runs.AttemptsOf(run.Stage.RunID) + "/switched/" + h.Commit
		if err := run.Repo.KeepCommit(ctx, ref, h.Commit); err != nil {
			return err
		}
	}
	run.Workspace.SetBranch(run.Stage.Git.WorkBranch)
	if err := run.Workspace.SoftReset(ctx, tip); err != nil {
		return err
	}
	TellBranch(run, made, h.Branch, ref)
	return run.Save()
}

// TellBranch tells what became of the run's branch: it was deleted or renamed (made: it
// was made again), or another one was checked out. The step's note tells it to readers of the report.
func TellBranch(run *Run, made bool, found, kept string) {
	g := run.Stage.Git
	key := "work.branch_switched"
	switch {
	case made && (found == g.WorkBranch || found == ""):
		key = "work.branch_deleted"
	case made:
		key = "work.branch_renamed"
	case found == g.WorkBranch:
		return
	}
	about := fault.NewFacts("branch", g.WorkBranch, "run_id", run.Stage.RunID, "commit", term.ShortHash(run.Stage.Tip()), "found", found, "name", kept, "command", "git branch -D "+proc.Word(found))
	run.Warn(key, run.Stage, about)
	if s := run.Stage.Current(); s != nil && !s.Status.Settled() {
		s.Notes = append(s.Notes, run.Words.Text(key, about))
	}
}

// freeAgentRef is a name that no earlier try has.
func freeAgentRef(ctx context.Context, run *Run, s *runs.Step) string {
	for n := 1; ; n++ {
		ref := fmt.Sprintf("refs/aiflow/attempts/%s/%s/agent%d", run.Stage.RunID, s.StepID, n)
		if _, err := run.Project.Git().Ask(ctx, "rev-parse", "-q", "--verify", ref); err != nil {
			return ref
		}
	}
}
