package config

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Default is the configuration of a project without a file. Where it differs
// from the D-series (D54), docs/decisions/0014 says why.
func Default() Config {
	return Config{
		Version: "1.0",
		Mode:    "no_token",
		IDsFrom: "name",
		Paths: Paths{
			RepoRoot: ".", RequestsDir: "requests", RunsDir: "runs", AiflowDir: ".aiflow",
			LocksDir: ".aiflow/locks", CacheDir: ".aiflow/cache",
			PromptsDir: ".aiflow/prompts", SchemasDir: ".aiflow/schemas",
		},
		Server: Server{Host: "127.0.0.1", Port: 4310},
		Git: Git{
			EnforceWorkBranch: true, WorkBranchPrefix: "aiflow/", CommitSubject: "aiflow({id}): {title} [{step}]", AutoCommit: true,
			Workspace: WorkspaceWorktree, RunHooks: true,
		},
		Workspace: Workspace{Root: ".aiflow/worktrees", KeepIgnoredMB: 50},
		Limits: Limits{
			MaxDiffLines: 400, MaxFiles: 10, TimeoutSec: 1800, GitTimeoutSec: 60, MaxAutofixCycles: 1,
			Jobs: 1, LockTTLSec: 1800, MaxRoleTries: 2, MaxStepRetries: 3, SilentSec: 900,
			ForbiddenPaths: forbiddenPaths("runs", "requests"),
		},
		UI: UI{PollIntervalMS: 1000, DefaultView: "requests"},
		AutoRun: AutoRun{
			Enabled: true, StopOnNeedsInput: true, StopOnFailed: true, MaxRunsPerSession: 20,
			MaxDurationMin: 60, MaxConsecutiveSkips: 5, MaxConsecutiveNeedsInput: 2,
			MaxConsecutiveFailed: 1, PollIntervalMS: 800, PauseSec: 30,
		},
	}
}

// What a session can be bounded to at most: limits.jobs, auto_run.max_runs_per_session and
// auto_run.max_duration_min. More is a slip of the hand.
const (
	MaxJobs    = 64
	MaxRuns    = 10_000
	MaxMinutes = 7 * 24 * 60
)

const (
	day         = 24 * 60 * 60
	insideShape = "a path inside the project"
)

func keys() []row[Config] {
	rows := generalKeys()
	for _, more := range [][]row[Config]{pathKeys(), mappingKeys(), gitKeys(), limitKeys(), testKeys(), autoRunKeys()} {
		rows = append(rows, more...)
	}
	return rows
}

func generalKeys() []row[Config] {
	return []row[Config]{
		stringKey("version", "version of this file's shape", func(c *Config) *string { return &c.Version }).must("1.x", isVersion1),
		stringKey("mode", "no_token: roles are local commands; normal is accepted for older files", func(c *Config) *string { return &c.Mode }).oneOf("no_token", "normal"),
		stringKey("lang", "language of what is said; empty follows the locale", func(c *Config) *string { return &c.Lang }).oneOf("", "ja", "en"),
		stringKey("server.host", "address that the page is served on", func(c *Config) *string { return &c.Server.Host }).must("an address or a host name", isHost),
		numberKey("server.port", "port that the page is served on; 0 takes a free one", 0, 65535, func(c *Config) *int { return &c.Server.Port }),
		boolKey("server.open_browser", "open the page in a browser at the start", func(c *Config) *bool { return &c.Server.OpenBrowser }),
		boolKey("server.cors.enabled", "no effect: the page answers its own origin only", func(c *Config) *bool { return &c.Server.CORS }).unused(),
		boolKey("ui.show_advanced", "show rarely used parts of the page", func(c *Config) *bool { return &c.UI.ShowAdvanced }),
		numberKey("ui.poll_interval_ms", "how often the page asks when it gets no events", 100, 3600*1000, func(c *Config) *int { return &c.UI.PollIntervalMS }),
		stringKey("ui.default_view", "what the page shows first", func(c *Config) *string { return &c.UI.DefaultView }),
	}
}

func isHost(s string) bool { return s != "" && !strings.ContainsAny(s, " /@\t\n") }

func pathKeys() []row[Config] {
	inside := func(key, about string, f func(*Config) *string) row[Config] {
		return stringKey(key, about, f).must(insideShape, isLocalPath)
	}
	folder := func(key, about string, f func(*Config) *string) row[Config] {
		return stringKey(key, about, f).must("a folder of its own inside the project", isOwnFolder)
	}
	return []row[Config]{
		inside("paths.repo_root", "no effect: the root is the folder that holds .aiflow or requests", func(c *Config) *string { return &c.Paths.RepoRoot }).unused(),
		folder("paths.requests_dir", "folder of the request files", func(c *Config) *string { return &c.Paths.RequestsDir }),
		listKey("paths.ignore", "globs of files in requests_dir that are no requests; one without a slash is about names, wherever they stand", func(c *Config) *[]string { return &c.Paths.Ignore }).must("a glob", isGlob),
		listKey("paths.done_dirs", "folders of requests that are done and no longer in requests_dir: what is there fulfils what depends on it, and is nowhere else seen", func(c *Config) *[]string { return &c.Paths.DoneDirs }).must(insideShape, isLocalPath),
		folder("paths.runs_dir", "folder of the records of runs", func(c *Config) *string { return &c.Paths.RunsDir }),
		inside("paths.aiflow_dir", "no effect: always .aiflow", func(c *Config) *string { return &c.Paths.AiflowDir }).unused(),
		folder("paths.locks_dir", "folder of the locks", func(c *Config) *string { return &c.Paths.LocksDir }),
		folder("paths.cache_dir", "folder of what may be deleted at any time", func(c *Config) *string { return &c.Paths.CacheDir }),
		inside("paths.prompts_dir", "folder of the project's own prompts", func(c *Config) *string { return &c.Paths.PromptsDir }),
		inside("paths.schemas_dir", "folder of the project's own contracts", func(c *Config) *string { return &c.Paths.SchemasDir }),
	}
}

func isGlob(s string) bool {
	_, err := path.Match(s, "")
	return s != "" && err == nil
}

func gitKeys() []row[Config] {
	return []row[Config]{
		stringKey("git.base_branch", "branch that work starts from; empty: the branch checked out in the main checkout", func(c *Config) *string { return &c.Git.BaseBranch }).must("a branch name", optional(IsBranch)),
		boolKey("git.require_clean_worktree", "refuse to run while the checkout has uncommitted changes", func(c *Config) *bool { return &c.Git.RequireCleanWorktree }),
		boolKey("git.enforce_work_branch", "in_place only: never work on the base branch", func(c *Config) *bool { return &c.Git.EnforceWorkBranch }),
		stringKey("git.work_branch_prefix", "what names of work branches begin with", func(c *Config) *string { return &c.Git.WorkBranchPrefix }).must("a branch name that ends in /", isPrefix),
		stringKey("git.commit_subject", "subject of the commits of a run, of at most 72 columns; places {id} of the request, {step} (S01, or record for the last commit) and {title} of the step", func(c *Config) *string { return &c.Git.CommitSubject }).must("one line with no other places than {id}, {step}, {title}", isSubject),
		boolKey("git.auto_commit", "no effect: every step is committed on the work branch", func(c *Config) *bool { return &c.Git.AutoCommit }).unused(),
		boolKey("git.auto_push", "push the work branch when a run is done", func(c *Config) *bool { return &c.Git.AutoPush }),
		stringKey("git.workspace", "where a run works: a linked worktree of its own, or the checkout", func(c *Config) *string { return &c.Git.Workspace }).oneOf(WorkspaceWorktree, WorkspaceInPlace),
		boolKey("git.run_hooks", "run the project's commit hooks for commits of a run", func(c *Config) *bool { return &c.Git.RunHooks }),
		stringKey("git.compare_url_template", "address of a comparison for hosts that are not known; places {repo} {base} {branch}", func(c *Config) *string { return &c.Git.CompareURLTemplate }).must("https://…{branch}…", optional(isTemplate)),
		boolKey("hooks.commit_status", "commit the status of requests that a merge made done", func(c *Config) *bool { return &c.Hooks.CommitStatus }),
		listKey("workspace.setup", "shell commands that prepare a new worktree", func(c *Config) *[]string { return &c.Workspace.Setup }),
		listKey("workspace.link", "paths that a new worktree links from the checkout", func(c *Config) *[]string { return &c.Workspace.Link }).must(insideShape, isLocalPath),
		stringKey("workspace.root", "folder of the worktrees, from the project's folder; may lie outside of it; places {repo} (the name of the project's folder) and, at the end, {id}", func(c *Config) *string { return &c.Workspace.Root }).must("a folder that holds nothing else", isWorkspaceRoot),
		boolKey("workspace.submodules", "fill the submodules of a new worktree, as `git submodule update --init --recursive` does", func(c *Config) *bool { return &c.Workspace.Submodules }),
		numberKey("workspace.keep_ignored_mb", "MiB of what git ignores that are kept with the run when a worktree goes; 0 keeps none", 0, 1<<20, func(c *Config) *int { return &c.Workspace.KeepIgnoredMB }),
	}
}

func optional(check func(string) bool) func(string) bool {
	return func(s string) bool { return s == "" || check(s) }
}

// isWorkspaceRoot: neither the project's folder nor one around it, and {id} only as
// the last part.
func isWorkspaceRoot(s string) bool {
	s = strings.TrimSuffix(s, "/{id}")
	clean := path.Clean(s)
	return s != "" && !strings.Contains(s, "{id}") && clean != "/" && path.Base(clean) != ".." && clean != "." &&
		clean != ".git" && !strings.HasPrefix(clean, ".git/") && !strings.ContainsAny(s, "\n\x00")
}

func isPrefix(s string) bool {
	return strings.HasSuffix(s, "/") && IsBranch(strings.TrimSuffix(s, "/"))
}

// isSubject: what is between the places has no braces, and is no trailer's line or
// a comment of git's.
func isSubject(s string) bool {
	text := strings.NewReplacer("{id}", "", "{step}", "", "{title}", "").Replace(s)
	return strings.TrimSpace(s) == s && s != "" && !strings.HasPrefix(s, "#") && !strings.ContainsAny(text, "{}") &&
		!strings.ContainsFunc(s, unicode.IsControl) && utf8.ValidString(s)
}

func isTemplate(s string) bool {
	return (strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://")) && strings.Contains(s, "{branch}")
}

func limitKeys() []row[Config] {
	return []row[Config]{
		numberKey("limits.max_diff_lines", "changed lines of one step; more is STEP_TOO_LARGE", 1, 0, func(c *Config) *int { return &c.Limits.MaxDiffLines }).warnBelow(50),
		numberKey("limits.max_files", "changed files of one step; more is STEP_TOO_LARGE", 1, 0, func(c *Config) *int { return &c.Limits.MaxFiles }),
		numberKey("limits.timeout_sec", "seconds that one step, one call of a role, or one git command that writes (with its hooks, filters and signers) may take", 1, 7*day, func(c *Config) *int { return &c.Limits.TimeoutSec }).warnBelow(30),
		numberKey("limits.silent_sec", "seconds after which an AI command that tells of its work (any output but text) and says nothing is ended; 0 is never", 0, 7*day, func(c *Config) *int { return &c.Limits.SilentSec }),
		numberKey("limits.git_timeout_sec", "seconds that one question to git may take; never more than limits.timeout_sec", 1, 7*day, func(c *Config) *int { return &c.Limits.GitTimeoutSec }).warnBelow(10),
		numberKey("limits.max_steps_per_run", "steps that are done at one go, then the run waits for resume; 0 is all", 0, 0, func(c *Config) *int { return &c.Limits.MaxStepsPerRun }),
		numberKey("limits.max_autofix_cycles", "how often a role may mend a failing test", 0, 100, func(c *Config) *int { return &c.Limits.MaxAutofixCycles }),
		numberKey("limits.jobs", "runs at a time in this project, of any kind; a session does as many at a time", 1, MaxJobs, func(c *Config) *int { return &c.Limits.Jobs }),
		numberKey("limits.lock_ttl_sec", "seconds that a lock is believed without a sign of life", 5, 7*day, func(c *Config) *int { return &c.Limits.LockTTLSec }),
		numberKey("limits.max_role_tries", "tries of one role for one execution of a step", 1, 100, func(c *Config) *int { return &c.Limits.MaxRoleTries }),
		numberKey("limits.max_step_retries", "how often one step may be done again", 0, 100, func(c *Config) *int { return &c.Limits.MaxStepRetries }),
		typed("limits.max_cost_usd", kindNum, "dollars that the AI commands of one run may cost, as they report it; more is BUDGET_EXHAUSTED; 0 is any", func(c *Config) *float64 { return &c.Limits.MaxCostUSD }),
		numberKey("limits.max_tokens", "tokens that the AI commands of one run may read (without those of the provider's cache) and write, as they report it; more is BUDGET_EXHAUSTED; 0 is any", 0, 0, func(c *Config) *int { return &c.Limits.MaxTokens }),
		listKey("limits.forbidden_paths", "globs of paths that no step may touch", func(c *Config) *[]string { return &c.Limits.ForbiddenPaths }),
	}
}

func testKeys() []row[Config] {
	var rows []row[Config]
	for _, test := range []struct {
		name string
		of   func(*Config) *Test
	}{
		{"unit", func(c *Config) *Test { return &c.Tests.Unit }},
		{"e2e", func(c *Config) *Test { return &c.Tests.E2E }},
		{"static", func(c *Config) *Test { return &c.Tests.Static }},
		{"land", func(c *Config) *Test { return &c.Tests.Land }},
	} {
		rows = append(rows,
			boolKey("tests."+test.name+".enabled", "run this test; said nothing: when there is a command", func(c *Config) *bool { return &test.of(c).Enabled }),
			stringKey("tests."+test.name+".command", "shell command of the test, run in the workspace", func(c *Config) *string { return &test.of(c).Command }),
			numberKey("tests."+test.name+".timeout_sec", "seconds that the test may take", 1, 7*day, func(c *Config) *int { return &test.of(c).TimeoutSec }),
		)
	}
	return append(rows,
		stringKey("tests.e2e.artifacts_glob", "files that an e2e test leaves and the run keeps", func(c *Config) *string { return &c.Tests.E2E.ArtifactsGlob }),
		boolKey("tests.static.fail_on_error", "a failing static check stops the run; otherwise it is a warning in the report", func(c *Config) *bool { return &c.Tests.Static.FailOnError }),
	)
}

func autoRunKeys() []row[Config] {
	return []row[Config]{
		boolKey("auto_run.enabled", "allow auto-run", func(c *Config) *bool { return &c.AutoRun.Enabled }),
		boolKey("auto_run.stack", "start a run on top of finished ones that it depends on and that are not merged; see stacking.md", func(c *Config) *bool { return &c.AutoRun.Stack }),
		boolKey("auto_run.stop_on_needs_input", "stop after max_consecutive_needs_input runs that need input", func(c *Config) *bool { return &c.AutoRun.StopOnNeedsInput }),
		boolKey("auto_run.stop_on_failed", "stop after max_consecutive_failed runs that failed", func(c *Config) *bool { return &c.AutoRun.StopOnFailed }),
		numberKey("auto_run.max_runs_per_session", "runs of one session", 1, MaxRuns, func(c *Config) *int { return &c.AutoRun.MaxRunsPerSession }),
		numberKey("auto_run.max_duration_min", "minutes of one session", 1, MaxMinutes, func(c *Config) *int { return &c.AutoRun.MaxDurationMin }),
		numberKey("auto_run.max_consecutive_skips", "skips in a row that end a session", 1, 0, func(c *Config) *int { return &c.AutoRun.MaxConsecutiveSkips }),
		numberKey("auto_run.max_consecutive_needs_input", "runs in a row that need input and end a session", 1, 0, func(c *Config) *int { return &c.AutoRun.MaxConsecutiveNeedsInput }),
		numberKey("auto_run.max_consecutive_failed", "failed runs in a row that end a session", 1, 0, func(c *Config) *int { return &c.AutoRun.MaxConsecutiveFailed }),
		stringKey("auto_run.on_done", "shell command after a run that ended DONE", func(c *Config) *string { return &c.AutoRun.OnDone }),
		stringKey("auto_run.on_needs_input", "shell command after a run that ended NEEDS_INPUT or FAILED", func(c *Config) *string { return &c.AutoRun.OnNeedsInput }),
		stringKey("auto_run.on_stop", "shell command when a session ends", func(c *Config) *string { return &c.AutoRun.OnStop }),
		numberKey("auto_run.pause_sec", "seconds of the first pause where a provider cannot be asked and does not say until when; each further one is twice as long, up to 15 minutes", 1, 900, func(c *Config) *int { return &c.AutoRun.PauseSec }),
		numberKey("auto_run.poll_interval_ms", "how often a session looks again", 10, 3600*1000, func(c *Config) *int { return &c.AutoRun.PollIntervalMS }),

		boolKey("mcp.allow_run", "aiflow-mcp may start, resume and land runs for an agent", func(c *Config) *bool { return &c.MCP.AllowRun }),
	}
}
