package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/runner/agent"
	"aiflow/runs"
)

// question is one thing that a role is asked.
type question struct {
	role    string
	step    *runs.Step // nil while planning
	plan    *runs.PlanStep
	failure string // what is told besides: what must be mended; "" is nothing
	mending bool   // the work is there and goes on where it stands
	// accept judges and uses what came back. Its fault may send the question to
	// the next provider.
	accept func(ctx context.Context, r reply) error
}

func (q question) stepID() string {
	if q.step == nil {
		return ""
	}
	return q.step.StepID
}

// reply is what a role gave back.
type reply struct {
	call   config.Call
	stdout string
	file   string // of AIFLOW_RESULT; "" when it left none
	log    string
	try    int // over the whole run
	usage  *agent.Usage
}

// text is the answer: the file if there is one.
func (r reply) text() string {
	if r.file != "" {
		return r.file
	}
	return r.stdout
}

// ask puts a question to the primary provider, then to the fallback, as often
// as the limits allow. Only faults of defaults.fallback_on are tried again. One
// that says nothing about the work is no try: that provider is not asked again.
func (j *job) ask(ctx context.Context, q question) error {
	c, err := j.routes()
	if err != nil {
		return err
	}
	calls := j.notWaiting(c.Calls(q.role))
	tries := max(1, j.Project.Config.Limits.MaxRoleTries)
	var before error
	for try := 0; ; {
		call := c.turn(calls, try, tries)
		err = j.tryRole(ctx, q, call)
		if err == nil || ctx.Err() != nil || !c.fallsBackOn(err) {
			return insteadOf(err, before)
		}
		if goesElsewhere(err) {
			calls = without(calls, call.Provider)
			if len(calls) == 0 || try > 0 { // it was to stand in for one that was asked and failed
				return insteadOf(err, before)
			}
			before = soonest(before, err)
		} else {
			before = err
			try++
		}
		j.tell(Event{Kind: RoleFailed, StepID: q.stepID(), What: j.inWords(err)})
		if try == tries {
			return triesUsedUp(q.role, tries, err)
		}
		if err := j.clearFor(ctx, q); err != nil {
			return err
		}
	}
}

// goesElsewhere reports whether the provider itself could not do it: asking it
// again at once would come to the same.
func goesElsewhere(err error) bool {
	code := fault.CodeOf(err)
	return code.OfProvider() || code == fault.AgentTimeout || code == fault.AgentSilent
}

// lost: nobody can be asked by this provider until a person did something.
func lost(code fault.Code) bool {
	return code == fault.CLINotAvailable || code == fault.CLIAuthRequired || code == fault.CLINotTrusted
}

func without(calls []config.Call, provider string) []config.Call {
	var left []config.Call
	for _, c := range calls {
		if c.Provider != provider {
			left = append(left, c)
		}
	}
	return left
}

// soonest is the failure that a person waits for least.
func soonest(a, b error) error {
	f, ok := fault.As(a)
	g, _ := fault.As(b)
	if ok && f.Code.Waits() && (!g.Code.Waits() || g.Facts["until"] == "" || f.Facts["until"] != "" && f.Facts["until"] < g.Facts["until"]) {
		return a
	}
	return b
}

// insteadOf names the failure that a stand-in was to mend which cannot be asked
// itself: that is what a person wants to know. Where one of them only has to be
// waited for, that is what the run does.
func insteadOf(err, before error) error {
	f, ok := fault.As(err)
	first, failed := fault.As(before)
	if !ok || !failed || !f.Code.OfProvider() {
		return err
	}
	if first.Code.Waits() {
		return soonest(before, err)
	}
	f.Facts["before"], f.Facts["before_name"] = string(first.Code), first.Facts["name"]
	said := first.Facts["said"]
	if said == "" {
		said = shortLine(lastLine(first.Facts["output"]))
	}
	if key := first.Facts["key"]; key != "" {
		said = shortLine(key + " " + first.Facts["cause"])
	}
	for name, value := range map[string]string{"before_said": said, "output": first.Facts["output"], "path": first.Facts["path"]} {
		if value != "" {
			f.Facts[name] = value
		}
	}
	return err
}

// turn is whom try asks: the primary, again as often as
// defaults.max_retries_per_call says, and the fallback at the latest in the
// last try.
func (c *cast) turn(calls []config.Call, try, tries int) config.Call {
	if try > 0 && (try == tries-1 || try > c.Defaults.MaxRetriesPerCall) {
		return calls[len(calls)-1]
	}
	return calls[0]
}

func (r *Runner) inWords(err error) string {
	code, facts := fault.CodeOf(err), fault.Facts{}
	if f, ok := fault.As(err); ok {
		facts = f.Facts
	}
	if r.Words.Fault == nil {
		return string(code)
	}
	_, message, _ := r.Words.Fault(code, facts)
	return string(code) + ": " + message
}

// triesUsedUp is D34's section 8: what a role failed with every time. A limit
// of one try was no limit that anybody hit.
func triesUsedUp(role string, tries int, last error) error {
	if tries < 2 {
		return last
	}
	e := fault.Wrap(last, fault.RetryLimitExceeded, "name", role, "allowed", tries, "reason", fault.CodeOf(last))
	if f, ok := fault.As(last); ok {
		for _, k := range []string{"said", "cause", "cause_key", "key", "also", "path", "command", wholeCommand, "output", "exit_status"} {
			if v := f.Facts[k]; v != "" {
				e.Facts[k] = v
			}
		}
	}
	if role == config.RoleQA { // no plan changes how qa answers
		e.Facts["no_plan"] = "true"
	}
	return e
}

// clearFor keeps and takes away what a try that cannot be used left, so that
// the next one begins where this one did.
func (j *job) clearFor(ctx context.Context, q question) error {
	if q.role != config.RoleImplementer || q.mending {
		return nil // others change nothing; mending goes on where it stands
	}
	return j.putBack(ctx, j.stage.CurrentStepIndex)
}

// tryRole starts one provider once, in the workspace, with the prompt on its
// command line where the router wants it and on its standard input.
func (j *job) tryRole(ctx context.Context, q question, call config.Call) error {
	if q.role == config.RoleImplementer {
		call.Test = j.testFor(q)
	}
	ofSession, err := j.afford(&call)
	if err != nil {
		return err
	}
	r := reply{call: call, try: j.countTry(q)}
	at, began := j.Project.Now().UTC(), j.Project.Env.Clock.Boot()
	err = j.overdrawn(ofSession, call, j.callRole(ctx, q, &r))
	took := j.Project.Env.Clock.Boot() - began
	j.noteProvider(call.Provider, err)
	if f, ok := fault.As(err); ok && j.opts.Lost != nil && lost(f.Code) {
		j.opts.Lost[call.Provider] = f
	}
	if err == nil {
		err = q.accept(ctx, r)
	}
	j.noteCall(q, r, at, took, err)
	j.logTry(q, r, took, err)
	return err
}

func (j *job) callRole(ctx context.Context, q question, r *reply) error {
	prompt, err := j.prompt(ctx, q, r.call)
	if err != nil {
		return err
	}
	argv, err := j.argv(r.call, prompt)
	if err != nil {
		return err
	}
	sc := shellCommand{
		text: r.call.Role + ": " + r.call.Provider, log: q.role, role: q.role, stepID: q.stepID(), attempt: r.try,
		limit: j.callTimeout(), kind: RoleBegun, env: r.call.Command.Env, listen: j.listen(r.call, prompt),
	}
	if r.call.Command.Output != config.OutputText {
		sc.silent = seconds(j.Project.Config.Limits.SilentSec)
	}
	file, err := j.cleanResult(sc)
	if err != nil {
		return err
	}
	res, err := j.command(ctx, sc, argv, strings.NewReader(prompt))
	r.log = res.log
	if res.said != nil {
		r.usage = res.said.Usage()
	}
	if err != nil {
		return err
	}
	if command := res.said.Refused(); command != "" {
		return forbiddenCommand(command, res.log)
	}
	if err := roleEnded(r.call, sc, res); err != nil {
		return err
	}
	if s := q.step; res.cut && s != nil {
		j.note(s, "work.note_stream_cut")
	}
	r.stdout, r.file = res.said.Text(), readResult(file)
	j.logResult(sc, r.file)
	return j.forbiddenText(lines(strings.NewReader(r.text())), res.log)
}

func (j *job) callTimeout() config.Timeout {
	if c, err := j.routes(); err == nil {
		return c.CallTimeout(j.Project.Config)
	}
	return j.Project.Config.StepTimeout()
}

// listen makes the reader of one call.
func (j *job) listen(call config.Call, prompt string) func(io.Writer, func()) *agent.Reader {
	return func(log io.Writer, heard func()) *agent.Reader {
		return agent.New(agent.Options{Kind: call.Command.Output, Log: log, Prompt: prompt, Now: j.localNow, Refusal: refusal, Heard: heard})
	}
}

// localNow is where times of day are read that name no zone: programs and people
// here mean the machine's.
func (j *job) localNow() time.Time { return j.Project.Now().Local() }

// roleEnded is what went wrong with a call, as far as the program itself tells.
func roleEnded(call config.Call, c shellCommand, res result) error {
	facts := []any{"command", call.Command.Bin, "name", call.Provider, "path", res.log}
	if res.TimedOut {
		return fault.New(fault.AgentTimeout, append(facts, c.limit.Facts()...)...)
	}
	if res.mute {
		limit := config.Timeout{Sec: int(c.silent / time.Second), Key: "limits.silent_sec", File: c.limit.File}
		return fault.New(fault.AgentSilent, append(facts, limit.Facts()...)...)
	}
	p := res.said.Problem(res.Status)
	if p.Code == "" {
		return nil
	}
	f := fault.New(p.Code, append(facts, "exit_status", res.Status, "output", res.tail)...)
	if p.Said != "" {
		f.Facts["said"] = p.Said
	}
	if res.cut {
		f.Facts["cause_key"] = "why.stream_cut"
	}
	if !p.Until.IsZero() {
		f.Facts["until"], f.Facts["at"] = p.Until.UTC().Format(time.RFC3339), p.Until.Local().Format(shownTime)
	}
	return f
}

// shownTime is how sentences name a time of the near future.
const shownTime = "2006-01-02 15:04"

// countTry numbers the calls of a role over the whole run.
func (j *job) countTry(q question) int {
	if q.role == config.RolePlanner {
		j.stage.Attempts.Planning++
		j.stage.Counters.PlannerCalls++
		return j.stage.Attempts.Planning
	}
	a := j.stage.Attempts.Steps[q.stepID()]
	n := &a.Implementer
	calls := &j.stage.Counters.ImplementerCalls
	if q.role == config.RoleQA {
		n, calls = &a.QA, &j.stage.Counters.QACalls
	}
	*n++
	*calls++
	j.stage.Attempts.Steps[q.stepID()] = a
	return *n
}

// cleanResult makes room for the answer's file and removes an old one.
func (j *job) cleanResult(c shellCommand) (string, error) {
	path := j.resultPath(c)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return "", fault.Wrap(err, fault.RunsDirCreateFailed, "path", j.dir.RelPath("tmp"))
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fault.Wrap(err, fault.PathNotWritable, "path", path)
	}
	return path, nil
}

// logResult adds what a role wrote into AIFLOW_RESULT to its log, where people
// look.
func (j *job) logResult(c shellCommand, text string) {
	if text != "" {
		_ = j.dir.AppendLog(c.log, c.stepID, c.attempt, []byte("\n[AIFLOW_RESULT]\n"+strings.TrimRight(text, "\n")+"\n"))
	}
}

// noteCall records who was asked and what it took.
func (j *job) noteCall(q question, r reply, at time.Time, took time.Duration, err error) {
	c := runs.RoleCall{Role: q.role, StepID: q.stepID(), Attempt: r.try, Provider: r.call.Provider, StartedAt: at}
	if err != nil {
		c.ReasonCode = fault.CodeOf(err)
	}
	if r.usage != nil {
		u := runs.Usage(*r.usage)
		u.Model = cmp.Or(u.Model, r.call.Model)
		u.DurationMS = cmp.Or(u.DurationMS, took.Milliseconds())
		c.Usage = &u
	}
	if err == nil {
		j.warnUncounted(c.Provider, c.Usage)
	}
	j.stage.Attempts.Calls = append(j.stage.Attempts.Calls, c)
}

// testFor is the command that will test what the implementer does: the step's own,
// else the project's.
func (j *job) testFor(q question) string {
	if q.plan != nil && q.plan.Test != "" {
		return q.plan.Test
	}
	if unit := j.Project.Config.Tests.Unit; unit.Enabled {
		return unit.Command
	}
	return ""
}

// logTry writes a line about who was asked, how long it took and what came of
// it (D43). A line that cannot be written stops nobody.
func (j *job) logTry(q question, r reply, took time.Duration, err error) {
	outcome := "OK"
	if err != nil {
		outcome = string(fault.CodeOf(err))
	}
	line := fmt.Sprintf("%s role=%s step=%s try=%d provider=%s model=%s mode=%s took_ms=%d outcome=%s log=%s\n",
		j.Project.Now().UTC().Format(time.RFC3339), q.role, orDash(q.stepID()), r.try, r.call.Provider, orDash(r.call.Model),
		r.call.Command.Mode, took.Milliseconds(), outcome, orDash(r.log))
	_ = j.dir.AppendLog(runs.RouterLog(q.role), "", 0, []byte(line))
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// maxArgument is below what Linux takes as one argument (128 KiB). A longer
// prompt is on standard input only.
const maxArgument = 120 << 10

func (j *job) argv(call config.Call, prompt string) ([]string, error) {
	bin, err := j.program(call)
	if err != nil {
		return nil, err
	}
	if len(prompt) > maxArgument {
		prompt = j.Words.Text("work.prompt_on_stdin", fault.Facts{"path": j.dir.RequestPath()})
	}
	argv := call.Argv(prompt, j.workDir())
	argv[0] = bin
	return argv, nil
}
