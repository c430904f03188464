package runner

import (
	"context"
	"fmt"
	"strings"

	"aiflow/internal/config"
	"aiflow/internal/contract"
	"aiflow/internal/fault"
	"aiflow/runs"
)

// callImplementer hands a step to the implementer role. failure is what it has
// to mend; "" is nothing.
func (j *job) callImplementer(ctx context.Context, i int, failure string) error {
	if !j.plays(config.RoleImplementer) {
		if _, err := j.routes(); err != nil {
			return err
		}
		return j.noImplementer(j.stage.Steps[i].StepID)
	}
	q := question{
		role: config.RoleImplementer, step: &j.stage.Steps[i], plan: &j.plan.Steps[i], failure: failure, mending: failure != "",
	}
	q.accept = func(ctx context.Context, r reply) error { return j.acceptWork(ctx, q, r) }
	err := j.ask(ctx, q)
	if fault.CodeOf(err) != fault.NothingChanged {
		return err
	}
	j.tell(Event{Kind: RoleFailed, StepID: q.stepID(), What: j.inWords(err)})
	q.failure = j.Words.Text("work.prompt_nothing_changed", nil)
	return j.ask(ctx, q)
}

// acceptWork is takeWork with the question whether anything was done. An
// implementer that changes nothing must say why nothing was to be changed: many
// end well after they asked for a permission that nobody was there to give.
// Mending may change nothing: the test or the review that asked for it decides.
func (j *job) acceptWork(ctx context.Context, q question, r reply) error {
	if err := j.rejoin(ctx, q.step); err != nil {
		return err
	}
	why := contract.Unchanged(r.text())
	if why == "" || q.mending {
		if err := j.takeWork(ctx, q.step, r); err != nil || q.mending {
			return err
		}
	}
	changes, err := j.ws.Changes(ctx)
	switch {
	case err != nil:
		return err
	case !changes.Empty() && why != "":
		return j.takeWork(ctx, q.step, r)
	case !changes.Empty():
		return nil
	case why != "":
		q.step.Notes = appendOnce(q.step.Notes, j.Words.Text("work.note_unchanged", fault.Facts{"cause": shortLine(why)}))
		return nil
	}
	said := strings.TrimSpace(r.text())
	code := fault.NothingChanged
	if r.usage != nil && len(r.usage.Denied) > 0 {
		code = fault.ToolDenied // asking again would come to the same
	}
	f := fault.New(code, "said", shortLine(lastLine(said)), "output", said[max(0, len(said)-tailKept):], "exit_status", 0)
	if code == fault.ToolDenied {
		f.Facts["value"] = shortLine(strings.Join(r.usage.Denied, "; "))
	}
	return located(f, r)
}

// takeWork takes over what an implementer did: the files it edited, or the
// patch that it answered with.
func (j *job) takeWork(ctx context.Context, s *runs.Step, r reply) error {
	if r.call.Edits() {
		return j.readOptional(r)
	}
	a, err := j.read(r)
	if err != nil {
		return err
	}
	diff := a.UnifiedDiff()
	if strings.TrimSpace(diff) == "" {
		return located(fault.New(fault.JSONSchemaInvalid, "key", "diff", "cause", "is missing"), r)
	}
	return j.applyPatch(ctx, s, r, []byte(diff))
}

// applyPatch applies a patch whole or not at all, and keeps what git said
// about it.
func (j *job) applyPatch(ctx context.Context, s *runs.Step, r reply, patch []byte) error {
	if err := j.held(); err != nil {
		return err
	}
	err := j.ws.ApplyPatch(ctx, patch)
	said := "ok"
	if f, ok := fault.As(err); ok {
		said = strings.TrimSpace(f.Facts["output"])
	}
	note := fmt.Sprintf("%s attempt %d (%s): git apply --check\n%s\n", s.StepID, r.try, r.call.Provider, said)
	if e := j.dir.AppendLog(runs.LogApply, "", 0, []byte(note)); e != nil && err == nil {
		return e
	}
	s.Logs = appendOnce(s.Logs, j.dir.RelPath(runs.LogName(runs.LogApply, "", 0)))
	if err == nil {
		j.noteApplied(s, r, patch)
	}
	if !fault.Has(err, fault.PatchApplyFailed) {
		return err
	}
	f, _ := fault.As(err)
	name, e := j.dir.SavePatch(s.StepID, j.dir.NextAttempt(s.StepID), patch)
	if e != nil {
		return e
	}
	j.stage.Artifacts.Patches = appendOnce(j.stage.Artifacts.Patches, name)
	f.Facts["path"] = name
	return err
}

// rejoin makes what a command committed by itself changes of the step again:
// one step is one commit. Its own commits stay under refs/aiflow/attempts/.
func (j *job) rejoin(ctx context.Context, s *runs.Step) error {
	at, err := j.ws.Head(ctx)
	if err != nil {
		return err
	}
	start := j.lastCommit()
	if at == start {
		return nil
	}
	ref := j.freeAgentRef(ctx, s)
	if err := j.held(); err != nil {
		return err
	}
	if err := j.ws.KeepCommit(ctx, ref, at); err != nil {
		return err
	}
	if err := j.held(); err != nil {
		return err
	}
	if err := j.ws.Rejoin(ctx, start); err != nil {
		return err
	}
	s.Notes = append(s.Notes, j.Words.Text("work.note_rejoined", fault.Facts{"name": ref}))
	j.tell(Event{Kind: Rejoined, StepID: s.StepID, What: ref})
	return j.save()
}

// freeAgentRef is a name that no earlier try has.
func (j *job) freeAgentRef(ctx context.Context, s *runs.Step) string {
	for n := 1; ; n++ {
		ref := fmt.Sprintf("refs/aiflow/attempts/%s/%s/agent%d", j.stage.RunID, s.StepID, n)
		if _, err := j.Project.Git().Ask(ctx, "rev-parse", "-q", "--verify", ref); err != nil {
			return ref
		}
	}
}
