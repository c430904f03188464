package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"aiflow/internal/config"
	"aiflow/internal/contract"
	"aiflow/internal/fault"
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
}

// text is the answer: the file if there is one.
func (r reply) text() string {
	if r.file != "" {
		return r.file
	}
	return r.stdout
}

// ask puts a question to the primary provider, then to the fallback, as often
// as the limits allow. Only faults of defaults.fallback_on are tried again.
func (j *job) ask(ctx context.Context, q question) error {
	c, err := j.routes()
	if err != nil {
		return err
	}
	calls := c.Calls(q.role)
	tries := max(1, j.Project.Config.Limits.MaxRoleTries)
	var before error
	for try := range tries {
		call := c.turn(calls, try, tries)
		err = j.tryRole(ctx, q, call)
		if err == nil || ctx.Err() != nil || !c.fallsBackOn(err) {
			return insteadOf(err, before)
		}
		before = err
		j.tell(Event{Kind: RoleFailed, StepID: q.stepID(), What: j.inWords(err)})
		if try+1 < tries {
			if err := j.clearFor(ctx, q); err != nil {
				return err
			}
		}
	}
	return triesUsedUp(q.role, tries, err)
}

// insteadOf names the failure that a stand-in was to mend which cannot be asked
// itself: that is what a person wants to know.
func insteadOf(err, before error) error {
	f, ok := fault.As(err)
	first, failed := fault.As(before)
	if !ok || !failed || !slices.Contains([]fault.Code{fault.CLINotAvailable, fault.CLIAuthRequired, fault.CLINotTrusted}, f.Code) {
		return err
	}
	f.Facts["before"], f.Facts["before_name"] = string(first.Code), first.Facts["name"]
	said := shortLine(lastLine(first.Facts["output"]))
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
		for _, k := range []string{"cause", "cause_key", "key", "also", "path", "command", wholeCommand, "output", "exit_status"} {
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
	r := reply{call: call, try: j.countTry(q)}
	began := j.Project.Env.Clock.Boot()
	err := j.callRole(ctx, q, &r)
	if err == nil {
		err = q.accept(ctx, r)
	}
	j.logTry(q, r, j.Project.Env.Clock.Boot()-began, err)
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
		limit: j.callTimeout(), kind: RoleBegun, said: &capped{max: contract.MaxAnswer},
	}
	file, err := j.cleanResult(sc)
	if err != nil {
		return err
	}
	res, err := j.command(ctx, sc, argv, strings.NewReader(prompt))
	r.log = res.log
	if err != nil {
		return err
	}
	if err := roleEnded(r.call, sc, res); err != nil {
		return err
	}
	r.stdout, r.file = sc.said.String(), readResult(file)
	j.logResult(sc, r.file)
	return j.forbiddenText(lines(strings.NewReader(r.text())), res.log)
}

func (j *job) callTimeout() config.Timeout {
	if c, err := j.routes(); err == nil {
		return c.CallTimeout(j.Project.Config)
	}
	return j.Project.Config.StepTimeout()
}

// notLoggedIn are the words with which agents say that they want a login.
var notLoggedIn = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)not logged in|please (run .{0,30})?log ?in|login required|invalid api key|authentication required`)
})

// notTrusted are the words with which agents refuse a folder that nobody has told
// them to trust; gemini also ends with a status of its own then.
var notTrusted = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)not (running )?in a trusted (directory|folder|workspace)|(workspace|folder|directory) (is not|has not been) trusted`)
})

const geminiNotTrusted = 55

func roleEnded(call config.Call, c shellCommand, res result) error {
	facts := []any{"command", call.Command.Bin, "name", call.Provider, "path", res.log}
	switch {
	case res.TimedOut:
		return fault.New(fault.AgentTimeout, append(facts, c.limit.Facts()...)...)
	case res.Status != 0 && notLoggedIn().MatchString(res.tail):
		return fault.New(fault.CLIAuthRequired, append(facts, "exit_status", res.Status, "output", res.tail)...)
	case res.Status == geminiNotTrusted && strings.HasPrefix(filepath.Base(call.Command.Bin), "gemini"), res.Status != 0 && notTrusted().MatchString(res.tail):
		return fault.New(fault.CLINotTrusted, append(facts, "exit_status", res.Status, "output", res.tail)...)
	case res.Status != 0:
		return fault.New(fault.ProcessCrashed, append(facts, "exit_status", res.Status, "output", res.tail)...)
	}
	return nil
}

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
