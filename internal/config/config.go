// Package config reads .aiflow/config.v1.json and .aiflow/router.v1.json.
// Flags beat the environment, the environment beats the file, the file beats
// the defaults; with no file at all everything works. Every value can tell
// where it came from, and every mistake is a CONFIG_INVALID that names file,
// line, column and key.
//
// It does not look for the project's root, create anything, or check whether
// commands and folders named in a file exist: doctor does.
package config

import "aiflow/internal/fault"

// Config is the project's configuration with every default filled in.
type Config struct {
	Version   string
	Mode      string // "no_token" or "normal"
	Lang      string // "ja", "en", or "" for the locale's language
	Paths     Paths
	Server    Server
	Git       Git
	Hooks     Hooks
	Workspace Workspace
	Limits    Limits
	Tests     Tests
	UI        UI
	AutoRun   AutoRun
	MCP       MCP

	Preset  string              // of another tool
	IDsFrom string              // "name" or "head"
	Fields  map[string][]string // keys of other tools, by ours
	Words   map[string][]Word   // words of other tools, by the key of ours

	origins      map[string]Origin
	requestsLink string
	file         string // the one that was asked for; "" is File
}

// Paths are relative to the project's root, with slashes.
type Paths struct {
	RepoRoot    string
	RequestsDir string
	Ignore      []string // globs of files below RequestsDir that are no requests
	DoneDirs    []string // folders of what is done and no longer in RequestsDir
	RunsDir     string
	AiflowDir   string
	LocksDir    string
	CacheDir    string
	PromptsDir  string
	SchemasDir  string
}

// Server says where the page is served.
type Server struct {
	Host        string
	Port        int
	OpenBrowser bool
	CORS        bool
}

// Git says how branches, commits and workspaces are made.
type Git struct {
	BaseBranch           string // "" = the branch checked out in the main checkout
	RequireCleanWorktree bool
	EnforceWorkBranch    bool
	WorkBranchPrefix     string
	CommitSubject        string // places: {id} {step} {title}
	AutoCommit           bool
	AutoPush             bool
	Workspace            string // "worktree" or "in_place"
	RunHooks             bool
	CompareURLTemplate   string // places: {base} {branch} {repo}
}

// In-place or linked workspace: values of Git.Workspace.
const (
	WorkspaceWorktree = "worktree"
	WorkspaceInPlace  = "in_place"
)

// Hooks says what our git hooks may do besides their work.
type Hooks struct {
	CommitStatus bool // commit the status of requests that a merge made done
}

// Workspace prepares a linked worktree before a run.
type Workspace struct {
	Setup         []string // shell commands
	Link          []string // paths linked from the checkout
	Root          string   // where worktrees are; places: {repo} {id}
	Submodules    bool     // fill the submodules
	KeepIgnoredMB int      // MiB of ignored files that are kept when a worktree goes
}

// KeepIgnored is KeepIgnoredMB in bytes.
func (w Workspace) KeepIgnored() int64 { return int64(w.KeepIgnoredMB) << 20 }

// Limits bound what a run may do.
type Limits struct {
	MaxDiffLines     int
	MaxFiles         int
	TimeoutSec       int // of one step, one call of a role or one git command that writes
	GitTimeoutSec    int // of one question to git
	MaxStepsPerRun   int // 0 = all
	MaxAutofixCycles int
	Jobs             int // runs at a time
	LockTTLSec       int
	MaxRoleTries     int
	MaxStepRetries   int
	SilentSec        int     // without any event of an AI command; 0 = for ever
	MaxCostUSD       float64 // of the AI commands of one run, as they report it; 0 = any
	MaxTokens        int     // the same, read (without the cache) and written
	ForbiddenPaths   []string
}

// Tests are the commands that judge a step. A test without a command is off.
type Tests struct {
	Unit   Test
	E2E    Test
	Static Test
	Land   Test // of what landing brings to a branch; none: Unit
}

// Test is one kind of test.
type Test struct {
	Enabled       bool // true when enabled is not false and there is a command
	Command       string
	TimeoutSec    int
	ArtifactsGlob string // e2e only
	FailOnError   bool   // static only; otherwise its complaint is a warning
}

// MCP says what agents may do through aiflow-mcp.
type MCP struct {
	AllowRun bool // start, resume and land runs
}

// UI is what the page starts with.
type UI struct {
	ShowAdvanced   bool
	PollIntervalMS int
	DefaultView    string
}

// AutoRun says when a session of runs ends.
type AutoRun struct {
	Enabled                  bool
	Stack                    bool // runs may start on top of finished ones that are not merged
	StopOnNeedsInput         bool
	StopOnFailed             bool
	MaxRunsPerSession        int
	MaxDurationMin           int
	MaxConsecutiveSkips      int
	MaxConsecutiveNeedsInput int
	MaxConsecutiveFailed     int
	OnDone                   string // shell commands told what happened; see docs/auto-run.md
	OnNeedsInput             string
	OnStop                   string
	PollIntervalMS           int
	PauseSec                 int // the first pause where a provider does not say until when
}

// Sources are the places besides the file that values come from. The zero
// value has none.
type Sources struct {
	Flags map[string]string   // key ("server.port") -> text, as given on the command line
	Env   func(string) string // AIFLOW_PORT, AIFLOW_HOST, AIFLOW_LANG, AIFLOW_CONFIG
	Path  string              // --config; beats AIFLOW_CONFIG
	Dir   string              // what a relative Path or AIFLOW_CONFIG starts from; "" = the root
}

// Origin says where a value came from.
type Origin struct {
	Kind  string // "default", "file", "env", "flag"
	Where string // "path:line" of the file, the variable or the flag; "" for defaults
}

// Value is one key as doctor shows it.
type Value struct {
	Key    string
	Text   string // as JSON
	Origin Origin
}

// Warning is something odd that does not stop anybody. Its text is the message
// "config.<Kind>"; facts: path, line, key, near, value, allowed.
type Warning struct {
	Kind  string // "unknown_key", "low_value", "mode_mismatch"
	Facts fault.Facts
}

// Jobs is how many runs may be at work at a time: limits.jobs, and one where the
// checkout itself is worked in.
func (c Config) Jobs() int {
	if c.Git.Workspace == WorkspaceInPlace {
		return 1
	}
	return c.Limits.Jobs
}
