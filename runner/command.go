package runner

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/runner/agent"
	"aiflow/runs"
)

// shellCommand is one command of the project, run in the workspace.
type shellCommand struct {
	text    string // for the shell
	log     string // kind
	role    string // "" is none
	stepID  string
	attempt int
	limit   config.Timeout
	kind    EventKind
	env     map[string]string
	// listen reads an AI command; nil is nobody, and all output goes into the log.
	listen func(log io.Writer, heard func()) *agent.Reader
	silent time.Duration // how long it may say nothing; 0 is for ever
}

// result is how a command ended, with the end of what it said.
type result struct {
	proc.Exit
	tail string
	log  string // relative to the project
	from int64  // where in the log this command begins
	took time.Duration
	said *agent.Reader // of an AI command
	cut  bool          // its events ended early
	mute bool          // it was ended because it said nothing
}

// errMute ends a command that says nothing.
var errMute = errors.New("nothing was said for too long")

// Bounds on what is kept of a command's output.
const (
	logHead  = 4 << 20
	logTail  = 1 << 20
	tailKept = 2 << 10
)

// shell runs a command in a process group of its own and records it while it
// runs. Its error is about the toolkit; the command's own failure is a result.
func (j *job) shell(ctx context.Context, c shellCommand) (result, error) {
	res, err := j.command(ctx, c, []string{j.shellPath(), "-c", c.text}, nil)
	if err != nil {
		return res, err
	}
	return res, j.forbiddenInLog(res)
}

func (j *job) command(ctx context.Context, c shellCommand, argv []string, stdin io.Reader) (result, error) {
	env, err := j.environment(c)
	if err != nil {
		return result{}, err
	}
	if err := j.held(); err != nil {
		return result{}, err
	}
	file, err := j.dir.OpenLog(c.log, c.stepID, c.attempt)
	if err != nil {
		return result{}, fault.Wrap(err, fault.StageWriteFailed, "path", j.dir.RelPath(runs.LogName(c.log, c.stepID, c.attempt)))
	}
	defer file.Close()
	j.tell(Event{Kind: c.kind, StepID: c.stepID, Step: j.stage.CurrentStepIndex + 1, What: firstLine(c.text)})
	began := j.Project.Env.Clock.Boot()
	res := result{log: j.dir.RelPath(runs.LogName(c.log, c.stepID, c.attempt)), from: sizeOf(file)}
	j.noteLog(c.stepID, res.log)
	settings := j.repo.ConfigFile()
	end := &tail{max: tailKept}
	out := &proc.BoundedLog{W: io.MultiWriter(file, end), Head: logHead, Tail: logTail}
	stdout, stderr := io.Writer(out), io.Writer(out)
	at, hang := context.WithCancelCause(ctx)
	defer hang(nil)
	heard := func() {}
	if c.silent > 0 {
		watch := time.AfterFunc(c.silent, func() { hang(errMute) })
		defer watch.Stop()
		heard = func() { watch.Reset(c.silent) }
	}
	if c.listen != nil {
		res.said = c.listen(out, heard)
		stdout, stderr = res.said, res.said.Stderr()
	}
	res.Exit, err = proc.Run(at, proc.Command{
		Argv: argv, Dir: j.workDir(), Env: env, Stdin: stdin, Stdout: stdout, Stderr: stderr,
		Timeout: seconds(c.limit.Sec), Grace: j.grace(), Hurry: j.Hurry, Started: j.noteAgent,
	})
	res.mute = ctx.Err() == nil && context.Cause(at) == errMute
	if res.said != nil {
		res.cut = res.said.Close()
	}
	_ = out.Close()
	res.took = j.Project.Env.Clock.Boot() - began
	res.tail = end.String()
	j.stage.Agent = nil
	j.clearLocks(ctx)
	if res.Leftover > 0 {
		j.tell(Event{Kind: StraysEnded, StepID: c.stepID, Count: res.Leftover})
	}
	j.noteSettings(ctx, c.stepID, settings)
	if err := j.commandError(ctx, argv, err); err != nil {
		return res, err
	}
	return res, j.caught(res.log)
}

// clearLocks removes the lock files that a git left behind in the run's own
// worktree and branch when it was killed. All processes of the command have
// ended, and nobody else writes there.
func (j *job) clearLocks(ctx context.Context) {
	if j.ws != nil && j.held() == nil {
		_, _ = j.ws.ClearStaleLocks(ctx) // should one stay, git says so
		j.repo.ClearBranchLock(j.stage.Git.WorkBranch)
	}
}

func sizeOf(f *os.File) int64 {
	fi, err := f.Stat()
	if err != nil {
		return 0
	}
	return fi.Size()
}

// noteLog names a log among those of its step.
func (j *job) noteLog(stepID, log string) {
	if s := j.stage.Step(stepID); s != nil {
		s.Logs = appendOnce(s.Logs, log)
	}
}

func (j *job) commandError(ctx context.Context, argv []string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fault.Wrap(err, fault.CLINotAvailable, "command", argv[0])
	}
	return nil
}

// noteAgent records who runs now, so that a later command can end it should
// this one die. A record that cannot be written does not stop the command.
func (j *job) noteAgent(pid int, start uint64) {
	j.stage.Agent = &runs.Agent{PID: pid, PIDStart: start, BootID: j.lease.Record().BootID}
	_ = j.save()
}

// mark is in the environment of everything that this run starts and of
// nothing else.
func (j *job) mark() string { return "AIFLOW_RUN=" + j.stage.RunID }

// environment is the caller's without git's variables and ours, plus what a
// command may want to know. PATH begins with the commands that are forbidden.
// See docs/commands.md.
func (j *job) environment(c shellCommand) ([]string, error) {
	guard, err := j.guardDir()
	if err != nil {
		return nil, err
	}
	env := cleanEnvironment(j.Project.Env.Environ)
	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		env = append(env, name+"="+c.env[name])
	}
	env = guarded(env, guard)
	return append(env,
		"GIT_CONFIG_COUNT=2", // git tidies up before it ends, not behind our back
		"GIT_CONFIG_KEY_0=gc.autoDetach", "GIT_CONFIG_VALUE_0=false",
		"GIT_CONFIG_KEY_1=maintenance.autoDetach", "GIT_CONFIG_VALUE_1=false",
		j.mark(),
		"AIFLOW_REQUEST="+j.req.ID,
		"AIFLOW_STEP="+c.stepID,
		"AIFLOW_ATTEMPT="+strconv.Itoa(c.attempt),
		"AIFLOW_ROOT="+j.Project.Dir,
		"AIFLOW_WORKSPACE="+j.workDir(),
		"AIFLOW_REQUEST_FILE="+j.dir.RequestPath(),
		"AIFLOW_ROLE="+c.role,
		"AIFLOW_RESULT="+j.resultPath(c),
	), nil
}

// resultPath is the file in which c may leave its answer. It is removed before
// c starts.
func (j *job) resultPath(c shellCommand) string {
	who := c.stepID
	if c.role != "" {
		who = strings.TrimSuffix(c.role+"."+c.stepID, ".")
	}
	return j.dir.ResultPath(who, c.attempt)
}

// guarded puts dir at the beginning of PATH.
func guarded(env []string, dir string) []string {
	for i := len(env) - 1; i >= 0; i-- {
		if path, ok := strings.CutPrefix(env[i], "PATH="); ok {
			env[i] = "PATH=" + dir + string(os.PathListSeparator) + path
			return env
		}
	}
	return append(env, "PATH="+dir)
}

func cleanEnvironment(environ []string) []string {
	env := make([]string, 0, len(environ)+8)
	for _, kv := range environ {
		if !strings.HasPrefix(kv, "GIT_") && !ours(kv) && !outerAgent(kv) {
			env = append(env, kv)
		}
	}
	return env
}

// ours are the variables that a run sets; those of an outer run do not leak
// into an inner one. Settings (AIFLOW_LANG, AIFLOW_CONFIG, …) pass.
func ours(kv string) bool {
	name, _, _ := strings.Cut(kv, "=")
	switch name {
	case "AIFLOW_RUN", "AIFLOW_REQUEST", "AIFLOW_STEP", "AIFLOW_ATTEMPT", "AIFLOW_ROOT",
		"AIFLOW_WORKSPACE", "AIFLOW_REQUEST_FILE", "AIFLOW_RESULT", "AIFLOW_ROLE", "AIFLOW_HOOK":
		return true
	}
	return false
}

// outerAgent are the variables with which an agent marks what it starts. They
// are about the session in which aiflow was started: an agent that finds them
// takes itself for a part of that session, or refuses to start. Settings of the
// same programs (ANTHROPIC_MODEL, CODEX_HOME, GEMINI_API_KEY, …) pass.
func outerAgent(kv string) bool {
	name, _, _ := strings.Cut(kv, "=")
	switch name {
	case "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_EXECPATH",
		"CLAUDE_AGENT_SDK_VERSION", "CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "CLAUDE_ENV_FILE",
		"CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "CODEX_CI", "CODEX_INTERNAL_ORIGINATOR_OVERRIDE",
		"GEMINI_CLI", "GEMINI_CLI_NO_RELAUNCH", "GEMINI_CLI_IDE_SERVER_PORT", "GEMINI_CLI_IDE_WORKSPACE_PATH",
		"CURSOR_AGENT", "CURSOR_TRACE_ID", "CURSOR_SANDBOX", "QWEN_CODE", "OPENCODE", "CLINE_ACTIVE", "AI_AGENT":
		return true
	}
	return false
}

// tail keeps the last max bytes written to it.
type tail struct {
	max int
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p[max(0, len(p)-t.max):]...)
	if over := len(t.buf) - t.max; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.ToValidUTF8(string(t.buf), "\uFFFD") }

// firstLine is what a sentence shows of a command of several lines.
func firstLine(text string) string {
	text = strings.TrimSpace(text)
	if line, _, more := strings.Cut(text, "\n"); more {
		return strings.TrimSpace(line) + " …"
	}
	return text
}

// named are the facts of a command: what sentences show, and all of it for the
// evidence.
func named(text string) []any {
	facts := []any{"command", firstLine(text)}
	if whole := strings.TrimSpace(text); whole != facts[1] {
		facts = append(facts, wholeCommand, whole)
	}
	return facts
}

const wholeCommand = "whole_command"
