package stage

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"strconv"
	"strings"

	"aiflow/docs/schema"
	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/internal/prompts"
	"aiflow/reqmeta"
	"aiflow/runner/agent"
	"aiflow/runs"
)

// prompt is what a role is told: the project's own text or the shipped one,
// with its places filled in.
func prompt(ctx context.Context, run *Run, q question, call config.Call) (string, error) {
	w := &filler{run: run, ctx: ctx, q: q, values: facts(run, q, call)}
	dir, lang := run.Project.Path(run.Project.Config.Paths.PromptsDir), cmp.Or(run.Words.Lang, run.Project.Config.Lang)
	for _, part := range []struct{ place, name string }{
		{prompts.Header, prompts.Header}, {"how", agent.How(call)},
	} {
		w.values[part.place] = strings.TrimSpace(w.fill(agent.PromptText(dir, lang, part.name)))
	}
	text := agent.PromptText(dir, lang, q.role)
	if q.failure != "" && !prompts.Has(text, "failure") {
		text += "\n\n{{failure}}\n"
	}
	return w.fill(text), w.err
}

// ReadFindings takes over what a person wrote into the report of a run.
func (run *Run) ReadFindings(dir *runs.Dir) {
	if report, err := dir.LoadReport(); err == nil {
		run.findings = runs.Findings(report, run.Words.Text("report.findings.form", nil))
	}
}

// nothing stands where a place has nothing to say.
const nothing = "-"

// facts are the values that cost nothing to know.
func facts(run *Run, q question, call config.Call) map[string]string {
	lim := run.Project.Config.Limits
	v := map[string]string{
		"role": q.role, "provider": call.Provider, "contract_version": "1.0", "contract_json": string(schema.Contract(q.role)),
		"request_id": run.Request.ID, "run_id": run.Stage.RunID, "title": run.Stage.Title,
		"repo_root": run.Project.Dir, "workdir": run.workDir(), "base_branch": run.Stage.Git.BaseBranch,
		"constraints": strings.Join(run.forbiddenPaths(q.plan), ", "), "request_markdown": requestForRole(run),
		"max_lines": strconv.Itoa(lim.MaxDiffLines), "max_files": strconv.Itoa(lim.MaxFiles),
		"quality_gates_json": asJSON(run.Project.Config.Tests), "review_findings": orNothing(run.findings),
		"failure": orNothing(q.failure),
	}
	v["answer_place"] = run.Words.Text("work.prompt_answer_file", nil)
	if call.Command.Output != config.OutputText { // claude, codex and gemini: their sandboxes keep them from that file
		v["answer_place"] = run.Words.Text("work.prompt_answer_said", nil)
	}
	v["planning_limits_json"] = asJSON(map[string]int{"max_diff_lines": lim.MaxDiffLines, "max_files": lim.MaxFiles})
	v["thresholds_json"] = v["planning_limits_json"]
	if q.plan != nil {
		v["step_json"], v["step_id"], v["step_title"] = asJSON(q.plan), q.plan.StepID, q.plan.Title
		lines, _ := run.sizeLimits(q.plan)
		v["max_lines"] = strconv.Itoa(lines)
		v["targets_snapshot"] = "**/*"
		for _, targets := range [][]string{run.Request.Meta.Touches, q.plan.Scope.TargetPaths} {
			if len(targets) > 0 {
				v["targets_snapshot"] = strings.Join(targets, ", ")
			}
		}
	}
	if run.Plan != nil {
		v["acceptance_criteria_json"] = asJSON(run.Plan.Context.AcceptanceCriteria)
	}
	return v
}

// requestForRole is the request as a role is given it. A body that is not UTF-8 is
// left out and told of: a role would take the broken text for what is meant. It
// is only ever met by one that looks at what commands did (see reqmeta).
func requestForRole(run *Run) string {
	line, encoding := reqmeta.Foreign(run.Text)
	if line == 0 {
		return string(run.Text)
	}
	head := run.Text[:len(run.Text)-len(reqmeta.Body(run.Text))]
	return string(head) + "\n" + run.Words.Text("work.prompt_no_body", fault.Facts{"line": strconv.Itoa(line), "encoding": encoding}) + "\n"
}

func orNothing(s string) string {
	if strings.TrimSpace(s) == "" {
		return nothing
	}
	return s
}

func asJSON(v any) string {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nothing
	}
	return string(data)
}

// filler fills the places of a text. What has to be asked for is asked for
// only when the text has a place for it.
type filler struct {
	run    *Run
	ctx    context.Context
	q      question
	values map[string]string
	err    error
}

func (w *filler) fill(text string) string {
	for name, ask := range map[string]func() string{
		"existing_planning_json": w.earlierPlan,
		"current_diff":           w.diff,
		"diff_base_to_head":      w.diff,
		"unit_log_excerpt":       func() string { return w.logEnd(func(t runs.StepTests) runs.TestResult { return t.Unit }) },
		"e2e_log_excerpt":        func() string { return w.logEnd(func(t runs.StepTests) runs.TestResult { return t.E2E }) },
	} {
		if _, known := w.values[name]; !known && prompts.Has(text, name) {
			w.values[name] = ask()
		}
	}
	return prompts.Fill(text, w.values)
}

func (w *filler) earlierPlan() string {
	old := w.run.Replaces
	if old == nil || !w.run.Replans {
		return nothing
	}
	plan, err := w.run.Project.Run(old.RequestID, old.RunID).LoadPlan()
	if err != nil {
		return nothing
	}
	return asJSON(plan.Steps)
}

// diff is what the step has changed so far.
func (w *filler) diff() string {
	if w.run.Workspace == nil || w.q.step == nil {
		return nothing
	}
	if _, err := w.run.Workspace.Changes(w.ctx); err != nil {
		w.err = err
		return nothing
	}
	patch, err := w.run.Workspace.Patch(w.ctx)
	if err != nil {
		w.err = err
		return nothing
	}
	return orNothing(agent.CutMiddle(string(patch), maxInPrompt))
}

const (
	maxInPrompt = 96 << 10
	logExcerpt  = 4 << 10
)

func (w *filler) logEnd(of func(runs.StepTests) runs.TestResult) string {
	if w.q.step == nil {
		return nothing
	}
	path := of(w.q.step.Test).LogPath
	if path == nil {
		return nothing
	}
	return orNothing(endOf(w.run, *path))
}

// endOf is the end of a log, from the beginning of a line.
func endOf(run *Run, log string) string {
	f, err := os.Open(run.Project.Path(log))
	if err != nil {
		return ""
	}
	defer f.Close()
	end := &agent.Tail{Max: logExcerpt}
	from := max(0, sizeOf(f)-logExcerpt)
	if _, err := f.Seek(from, 0); err != nil {
		return ""
	}
	if _, err := f.WriteTo(end); err != nil {
		return ""
	}
	text := end.String()
	if _, rest, cut := strings.Cut(text, "\n"); cut && from > 0 {
		text = rest
	}
	return strings.TrimSpace(text)
}
