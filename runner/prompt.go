package runner

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"aiflow/docs/schema"
	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/internal/prompts"
	"aiflow/reqmeta"
	"aiflow/runs"
)

// prompt is what a role is told: the project's own text or the shipped one,
// with its places filled in.
func (j *job) prompt(ctx context.Context, q question, call config.Call) (string, error) {
	w := &writer{j: j, ctx: ctx, q: q, call: call, values: j.facts(q, call)}
	for _, part := range []struct{ place, name string }{
		{prompts.Header, prompts.Header}, {"how", how(call)},
	} {
		w.values[part.place] = strings.TrimSpace(w.fill(j.promptText(part.name)))
	}
	text := j.promptText(q.role)
	if q.failure != "" && !prompts.Has(text, "failure") {
		text += "\n\n{{failure}}\n"
	}
	return w.fill(text), w.err
}

func how(call config.Call) string {
	if call.Edits() {
		return prompts.HowEdit
	}
	return prompts.HowPatch
}

// promptText is the project's own text of that name, or the shipped one.
func (j *job) promptText(name string) string {
	dir := j.Project.Path(j.Project.Config.Paths.PromptsDir)
	if own, err := readSmall(filepath.Join(dir, prompts.FileName(name))); err == nil && len(own) > 0 {
		return string(own)
	}
	lang := j.Words.Lang
	if lang == "" {
		lang = j.Project.Config.Lang
	}
	return prompts.Default(lang, name)
}

// hear takes over what a person wrote into the report of a run.
func (j *job) hear(dir *runs.Dir) {
	if report, err := dir.LoadReport(); err == nil {
		j.earlier = runs.Findings(report, j.Words.Text("report.findings.form", nil))
	}
}

// nothing stands where a place has nothing to say.
const nothing = "-"

// facts are the values that cost nothing to know.
func (j *job) facts(q question, call config.Call) map[string]string {
	lim := j.Project.Config.Limits
	v := map[string]string{
		"role": q.role, "provider": call.Provider, "contract_version": "1.0", "contract_json": string(schema.Contract(q.role)),
		"request_id": j.req.ID, "run_id": j.stage.RunID, "title": j.stage.Title,
		"repo_root": j.Project.Dir, "workdir": j.workDir(), "base_branch": j.stage.Git.BaseBranch,
		"constraints": strings.Join(j.forbiddenPaths(q.plan), ", "), "request_markdown": j.requestText(),
		"max_lines": strconv.Itoa(lim.MaxDiffLines), "max_files": strconv.Itoa(lim.MaxFiles),
		"quality_gates_json": asJSON(j.Project.Config.Tests), "review_findings": orNothing(j.earlier),
		"failure": orNothing(q.failure),
	}
	v["answer_place"] = j.Words.Text("work.prompt_answer_file", nil)
	if call.Command.Output != config.OutputText { // claude, codex and gemini: their sandboxes keep them from that file
		v["answer_place"] = j.Words.Text("work.prompt_answer_said", nil)
	}
	v["planning_limits_json"] = asJSON(map[string]int{"max_diff_lines": lim.MaxDiffLines, "max_files": lim.MaxFiles})
	v["thresholds_json"] = v["planning_limits_json"]
	if q.plan != nil {
		v["step_json"], v["step_id"], v["step_title"] = asJSON(q.plan), q.plan.StepID, q.plan.Title
		v["max_lines"] = strconv.Itoa(j.linesAllowed(q.plan))
		v["targets_snapshot"] = "**/*"
		if targets := q.plan.Scope.TargetPaths; len(targets) > 0 {
			v["targets_snapshot"] = strings.Join(targets, ", ")
		}
	}
	if j.plan != nil {
		v["acceptance_criteria_json"] = asJSON(j.plan.Context.AcceptanceCriteria)
	}
	return v
}

// requestText is the request as a role is given it. A body that is not UTF-8 is
// left out and told of: a role would take the broken text for what is meant. It
// is only ever met by one that looks at what commands did (see reqmeta).
func (j *job) requestText() string {
	line, encoding := reqmeta.Foreign(j.text)
	if line == 0 {
		return string(j.text)
	}
	head := j.text[:len(j.text)-len(reqmeta.Body(j.text))]
	return string(head) + "\n" + j.Words.Text("work.prompt_no_body", fault.Facts{"line": strconv.Itoa(line), "encoding": encoding}) + "\n"
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

// writer fills the places of a text. What has to be asked for is asked for
// only when the text has a place for it.
type writer struct {
	j      *job
	ctx    context.Context
	q      question
	call   config.Call
	values map[string]string
	err    error
}

func (w *writer) fill(text string) string {
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

func (w *writer) earlierPlan() string {
	old := w.j.replaces
	if old == nil || !w.j.replans {
		return nothing
	}
	plan, err := w.j.Project.Run(old.RequestID, old.RunID).LoadPlan()
	if err != nil {
		return nothing
	}
	return asJSON(plan.Steps)
}

// diff is what the step has changed so far.
func (w *writer) diff() string {
	if w.j.ws == nil || w.q.step == nil {
		return nothing
	}
	if _, err := w.j.ws.Changes(w.ctx); err != nil {
		w.err = err
		return nothing
	}
	patch, err := w.j.ws.Patch(w.ctx)
	if err != nil {
		w.err = err
		return nothing
	}
	return orNothing(cutMiddle(string(patch), maxInPrompt))
}

const (
	maxInPrompt = 96 << 10
	logExcerpt  = 4 << 10
)

func (w *writer) logEnd(of func(runs.StepTests) runs.TestResult) string {
	if w.q.step == nil {
		return nothing
	}
	path := of(w.q.step.Test).LogPath
	if path == nil {
		return nothing
	}
	return orNothing(w.j.endOf(*path))
}

// endOf is the end of a log, from the beginning of a line.
func (j *job) endOf(log string) string {
	f, err := os.Open(j.Project.Path(log))
	if err != nil {
		return ""
	}
	defer f.Close()
	end := &tail{max: logExcerpt}
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

// cutMiddle keeps head and tail of a long text, whole lines.
func cutMiddle(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head, rest := s[:limit/2], s[len(s)-limit/2:]
	head = head[:strings.LastIndexByte(head, '\n')+1]
	rest = rest[strings.IndexByte(rest, '\n')+1:]
	return strings.ToValidUTF8(head+"[... "+strconv.Itoa(len(s)-len(head)-len(rest))+" bytes left out ...]\n"+rest, "\uFFFD")
}
