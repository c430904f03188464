package runner

import (
	"context"
	"fmt"
	"strings"

	"aiflow/internal/config"
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
	return j.ask(ctx, question{
		role: config.RoleImplementer, step: &j.stage.Steps[i], plan: &j.plan.Steps[i], failure: failure,
		accept: func(ctx context.Context, r reply) error { return j.takeWork(ctx, i, r) },
	})
}

// takeWork takes over what an implementer did: the files it edited, or the
// patch that it answered with.
func (j *job) takeWork(ctx context.Context, i int, r reply) error {
	if err := j.rejoin(ctx, &j.stage.Steps[i]); err != nil {
		return err
	}
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
	return j.applyPatch(ctx, &j.stage.Steps[i], r, []byte(diff))
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
