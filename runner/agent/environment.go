package agent

import (
	"os"
	"slices"
	"strings"
	"time"

	"aiflow/internal/proc"
)

// Shell runs the commands of requests and of the configuration, and Grace is how long one
// that is asked to end may take.
const (
	Shell = "/bin/sh"
	Grace = 5 * time.Second
)

// CleanEnvironment is what an agent or a command of the project may know of the
// environment that aiflow was started in.
func CleanEnvironment(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.HasPrefix(kv, "GIT_") || marks(name)
	})
}

// marks are the variables that a run sets, which do not leak into an inner one, and
// those with which an agent marks what it starts. They are about the session in which
// aiflow was started: an agent that finds them takes itself for a part of that
// session, or refuses to start. Settings (AIFLOW_LANG, ANTHROPIC_MODEL, CODEX_HOME,
// GEMINI_API_KEY, …) pass.
func marks(name string) bool {
	switch name {
	case "AIFLOW_RUN", "AIFLOW_REQUEST", "AIFLOW_STEP", "AIFLOW_ATTEMPT", "AIFLOW_ROOT",
		"AIFLOW_WORKSPACE", "AIFLOW_REQUEST_FILE", "AIFLOW_RESULT", "AIFLOW_ROLE", "AIFLOW_HOOK",
		"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_EXECPATH",
		"CLAUDE_AGENT_SDK_VERSION", "CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "CLAUDE_ENV_FILE",
		"CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "CODEX_CI", "CODEX_INTERNAL_ORIGINATOR_OVERRIDE",
		"GEMINI_CLI", "GEMINI_CLI_NO_RELAUNCH", "GEMINI_CLI_IDE_SERVER_PORT", "GEMINI_CLI_IDE_WORKSPACE_PATH",
		"CURSOR_AGENT", "CURSOR_TRACE_ID", "CURSOR_SANDBOX", "QWEN_CODE", "OPENCODE", "CLINE_ACTIVE", "AI_AGENT":
		return true
	}
	return false
}

// Guarded puts dir at the beginning of PATH.
func Guarded(env []string, dir string) []string {
	for i := len(env) - 1; i >= 0; i-- {
		if path, ok := strings.CutPrefix(env[i], "PATH="); ok {
			env[i] = "PATH=" + dir + string(os.PathListSeparator) + path
			return env
		}
	}
	return append(env, "PATH="+dir)
}

// Refusal is what a refusing command says, and by what it is known: some sandboxes let it
// leave no mark.
const Refusal = " is forbidden here (guards.forbid_commands"

// RefusingCommand is a program that stands in for a forbidden one: it refuses, and
// leaves what was asked of it in the file mark.
func RefusingCommand(name, mark string) []byte {
	return []byte("#!/bin/sh\n" +
		// In a sandbox that lets it leave no mark its words must not speak of that:
		// codex tells nothing of a command that met its sandbox.
		"{ printf '%s\\n' " + proc.Quoted(name) + `" $*" >>` + proc.Quoted(mark) + "; } 2>/dev/null\n" +
		"echo " + proc.Quoted("aiflow: "+name+Refusal+" in .aiflow/router.v1.json)") + " >&2\n" +
		"exit 77\n")
}
