package fault

import (
	"maps"
	"slices"
	"sync"
)

// Code is a reason code: a stable word that scripts may compare with.
// Sources: D-series digest section 5, seeds 000 and 001, design.md section 10.
type Code string

// Category says where the cause lies (D58's six values).
type Category string

// The six categories of D58.
const (
	Environment Category = "ENVIRONMENT"
	Input       Category = "INPUT"
	Contract    Category = "CONTRACT"
	Execution   Category = "EXECUTION"
	Test        Category = "TEST"
	Git         Category = "GIT"
)

// Severity says how much stands still (D58).
type Severity string

// The three severities of D58.
const (
	Blocker Severity = "Blocker"
	Major   Severity = "Major"
	Minor   Severity = "Minor"
)

// Info is what follows from a code.
type Info struct {
	Category  Category
	Severity  Severity
	Exit      int  // process exit status
	HTTP      int  // HTTP status
	Retryable bool // trying again without changing anything may help
}

// Environment.
const (
	CLINotAvailable     Code = "CLI_NOT_AVAILABLE"
	CLIAuthRequired     Code = "CLI_AUTH_REQUIRED"
	CLINotTrusted       Code = "CLI_NOT_TRUSTED"
	ProviderLimit       Code = "PROVIDER_LIMIT"
	ProviderOverloaded  Code = "PROVIDER_OVERLOADED"
	ProviderUnreachable Code = "PROVIDER_UNREACHABLE"
	ToolDenied          Code = "TOOL_DENIED"
	GitNotAvailable     Code = "GIT_NOT_AVAILABLE"
	GitNotRepo          Code = "GIT_NOT_REPO"
	GitBareRepo         Code = "GIT_BARE_REPO"
	GitRepoRefused      Code = "GIT_REPO_REFUSED"
	InsideGitDir        Code = "INSIDE_GIT_DIR"
	GitNoCommit         Code = "GIT_NO_COMMIT"
	GitIdentityMissing  Code = "GIT_IDENTITY_MISSING"
	WorktreeDirty       Code = "WORKTREE_DIRTY"
	OriginMissing       Code = "ORIGIN_MISSING"
	ConfigNotFound      Code = "CONFIG_NOT_FOUND"
	RequestsDirNotFound Code = "REQUESTS_DIR_NOT_FOUND"
	RunsDirCreateFailed Code = "RUNS_DIR_CREATE_FAILED"
	PathNotWritable     Code = "PATH_NOT_WRITABLE"
	DiskFull            Code = "DISK_FULL"
	PortInUse           Code = "PORT_IN_USE"
	DoctorFailed        Code = "DOCTOR_FAILED"
	WorkspaceFailed     Code = "WORKSPACE_FAILED"
	WorkspaceBlocked    Code = "WORKSPACE_BLOCKED"
	BinaryNotFound      Code = "BINARY_NOT_FOUND"
	QueueNotAvailable   Code = "QUEUE_NOT_AVAILABLE"
	QueueNotReady       Code = "QUEUE_NOT_READY"
	HookRefused         Code = "HOOK_REFUSED"
)

// Input.
const (
	UsageError            Code = "USAGE_ERROR"
	ConfigInvalid         Code = "CONFIG_INVALID"
	ConfigModeMismatch    Code = "CONFIG_MODE_MISMATCH"
	RouterProviderUnknown Code = "ROUTER_PROVIDER_UNKNOWN"
	ModelNotConfigured    Code = "MODEL_NOT_CONFIGURED"
	RouterCommandInvalid  Code = "ROUTER_COMMAND_INVALID"
	RequestInvalidFormat  Code = "REQUEST_INVALID_FORMAT"
	RequestNotFound       Code = "REQUEST_NOT_FOUND"
	RequestExists         Code = "REQUEST_EXISTS"
	RequestNeeded         Code = "REQUEST_NEEDED"
	ImportUnreadable      Code = "IMPORT_UNREADABLE"
	ImportIncomplete      Code = "IMPORT_INCOMPLETE"
	RequestNotUTF8        Code = "REQUEST_NOT_UTF8"
	RunNotFound           Code = "RUN_NOT_FOUND"
	InvalidRequest        Code = "INVALID_REQUEST"
	DuplicateID           Code = "DUPLICATE_ID"
	DependsCycle          Code = "DEPENDS_CYCLE"
	ACTooFew              Code = "AC_TOO_FEW"
	NeedsClarification    Code = "NEEDS_CLARIFICATION"
	ModelNotFound         Code = "MODEL_NOT_FOUND"
	ContextTooLong        Code = "CONTEXT_TOO_LONG"
	NothingToDo           Code = "NOTHING_TO_DO"
	StepNotAvailable      Code = "STEP_NOT_AVAILABLE"
	Conflict              Code = "CONFLICT"
	TaskNotFound          Code = "TASK_NOT_FOUND"
	TaskFinished          Code = "TASK_FINISHED"
	TaskNotOurs           Code = "TASK_NOT_OURS"
	NotFound              Code = "NOT_FOUND"
	AccessDenied          Code = "ACCESS_DENIED"
	RunNotAllowed         Code = "RUN_NOT_ALLOWED"
	TokenRequired         Code = "TOKEN_REQUIRED"
)

// Contract: what a model answered.
const (
	JSONParseError    Code = "JSON_PARSE_ERROR"
	JSONSchemaInvalid Code = "JSON_SCHEMA_INVALID"
)

// Execution.
const (
	RunInProgress        Code = "RUN_IN_PROGRESS"
	QueueInProgress      Code = "QUEUE_IN_PROGRESS"
	SlotsTaken           Code = "SLOTS_TAKEN"
	TouchesTaken         Code = "TOUCHES_TAKEN"
	ServerRunning        Code = "SERVER_RUNNING"
	LockHeld             Code = "LOCK_HELD"
	LockLost             Code = "LOCK_LOST"
	LockStaleDetected    Code = "LOCK_STALE_DETECTED"
	LockStaleRecovered   Code = "LOCK_STALE_RECOVERED"
	LockNotYours         Code = "LOCK_NOT_YOURS"
	LockUnreadable       Code = "LOCK_UNREADABLE"
	EditInProgress       Code = "EDIT_IN_PROGRESS"
	EditNotSaved         Code = "EDIT_NOT_SAVED"
	ProcessCrashed       Code = "PROCESS_CRASHED"
	AgentTimeout         Code = "AGENT_TIMEOUT"
	AgentSilent          Code = "AGENT_SILENT"
	RunnerDied           Code = "RUNNER_DIED"
	StepCommandFailed    Code = "STEP_COMMAND_FAILED"
	NothingChanged       Code = "NOTHING_CHANGED"
	BudgetExhausted      Code = "BUDGET_EXHAUSTED"
	StepTooLarge         Code = "STEP_TOO_LARGE"
	StepLimitReached     Code = "STEP_LIMIT_REACHED"
	ForbiddenPathTouched Code = "FORBIDDEN_PATH_TOUCHED"
	RetryLimitExceeded   Code = "RETRY_LIMIT_EXCEEDED"
	ReplanRequired       Code = "REPLAN_REQUIRED"
	Interrupted          Code = "INTERRUPTED"
	StageWriteFailed     Code = "STAGE_WRITE_FAILED"
	StageUnreadable      Code = "STAGE_UNREADABLE"
	GHDependencyDetected Code = "GH_DEPENDENCY_DETECTED"
	InternalError        Code = "INTERNAL_ERROR"
	UnknownError         Code = "UNKNOWN_ERROR"
)

// Why a session of runs ended (D60).
const (
	AutoCompleted      Code = "NOTHING_RUNNABLE"
	MaxRunsReached     Code = "MAX_RUNS_REACHED"
	MaxDurationReached Code = "MAX_DURATION_REACHED"
	MaxSkipsReached    Code = "MAX_SKIPS_REACHED"
	StopRequested      Code = "STOP_REQUESTED"
	NeedsInputInARow   Code = "NEEDS_INPUT_IN_A_ROW"
	FailedInARow       Code = "FAILED_IN_A_ROW"
)

// Git.
const (
	BaseBranchNotFound Code = "BASE_BRANCH_NOT_FOUND"
	WorkBranchRequired Code = "WORK_BRANCH_REQUIRED"
	BranchCreateFailed Code = "BRANCH_CREATE_FAILED"
	PatchApplyFailed   Code = "PATCH_APPLY_FAILED"
	RemoteNotGitHub    Code = "REMOTE_NOT_GITHUB"
	GitPushFailed      Code = "GIT_PUSH_FAILED"
	GitCommitFailed    Code = "GIT_COMMIT_FAILED"
	GitCommandFailed   Code = "GIT_COMMAND_FAILED"
	GitTimeout         Code = "GIT_TIMEOUT"
	LandConflict       Code = "LAND_CONFLICT"
	LandRefused        Code = "LAND_REFUSED"
	LandOtherBase      Code = "LAND_OTHER_BASE"
	LandBaseMoved      Code = "LAND_BASE_MOVED"
	LandIntoCheckedOut Code = "LAND_INTO_CHECKED_OUT"
	StackConflict      Code = "STACK_CONFLICT"
	StackStale         Code = "STACK_STALE"
)

// Test.
const (
	UnitTestFailed      Code = "UNIT_TEST_FAILED"
	E2ETestFailed       Code = "E2E_TEST_FAILED"
	StaticCheckFailed   Code = "STATIC_CHECK_FAILED"
	QARejected          Code = "QA_REJECTED"
	E2ERequired         Code = "E2E_REQUIRED_FOR_REGRESSION_AC"
	TestTimeout         Code = "TEST_TIMEOUT"
	TestCommandNotFound Code = "TEST_COMMAND_NOT_FOUND"
	LandTestFailed      Code = "LAND_TEST_FAILED"
)

// Selection: why a request is not next (seed 000, D59 section 9; design.md 3.2).
const (
	NotReady            Code = "NOT_READY"
	DependsNotDone      Code = "DEPENDS_NOT_DONE"
	DependsNotFound     Code = "DEPENDS_NOT_FOUND"
	RequestLocked       Code = "REQUEST_LOCKED"
	QueueLocked         Code = "QUEUE_LOCKED"
	LatestRunNeedsInput Code = "LATEST_RUN_NEEDS_INPUT"
	LatestRunDone       Code = "LATEST_RUN_DONE"
)

func input(http int) Info { return Info{Category: Input, Severity: Major, Exit: 2, HTTP: http} }

func git(retryable bool) Info {
	return Info{Category: Git, Severity: Major, Exit: 6, HTTP: 409, Retryable: retryable}
}

func test(s Severity, retryable bool) Info {
	return Info{Category: Test, Severity: s, Exit: 7, HTTP: 409, Retryable: retryable}
}

func execution(exit int, s Severity, retryable bool) Info {
	return Info{Category: Execution, Severity: s, Exit: exit, HTTP: 409, Retryable: retryable}
}

var internal = Info{Category: Execution, Severity: Blocker, Exit: 9, HTTP: 500}

// table is what follows from each code.
var table = sync.OnceValue(func() map[Code]Info {
	all := map[Code]Info{}
	row := func(info Info, codes ...Code) {
		for _, c := range codes {
			all[c] = info
		}
	}
	row(Info{Category: Environment, Severity: Blocker, Exit: 3, HTTP: 409},
		CLINotAvailable, CLIAuthRequired, CLINotTrusted, GitNotAvailable, GitNotRepo, GitBareRepo, GitRepoRefused,
		InsideGitDir, GitNoCommit, GitIdentityMissing, ConfigNotFound, RequestsDirNotFound, RunsDirCreateFailed,
		PathNotWritable, PortInUse, DoctorFailed, WorkspaceFailed, WorkspaceBlocked, BinaryNotFound, DiskFull,
		HookRefused, QueueNotAvailable, QueueNotReady, ToolDenied)
	row(Info{Category: Environment, Severity: Minor, Exit: 4, HTTP: 503, Retryable: true},
		ProviderLimit, ProviderOverloaded, ProviderUnreachable)
	row(Info{Category: Environment, Severity: Minor, Exit: 3, HTTP: 409}, OriginMissing)
	row(Info{Category: Git, Severity: Blocker, Exit: 3, HTTP: 409}, WorktreeDirty)
	row(input(404), RequestNotFound, RunNotFound, TaskNotFound, NotFound)
	row(input(403), AccessDenied, RunNotAllowed)
	row(input(401), TokenRequired)
	row(input(409), RequestExists, RequestNeeded, RequestNotUTF8, Conflict, DuplicateID, TaskFinished, TaskNotOurs)
	row(input(400),
		UsageError, ConfigInvalid, ConfigModeMismatch, RouterProviderUnknown, ModelNotConfigured, RouterCommandInvalid,
		RequestInvalidFormat, InvalidRequest, DependsCycle, ACTooFew, NeedsClarification, ModelNotFound,
		ContextTooLong, NothingToDo, StepNotAvailable, ImportUnreadable, ImportIncomplete)
	row(Info{Category: Contract, Severity: Major, Exit: 5, HTTP: 502, Retryable: true}, JSONParseError, JSONSchemaInvalid)
	row(Info{Category: Execution, Severity: Major, Exit: 4, HTTP: 409, Retryable: true},
		RunInProgress, QueueInProgress, SlotsTaken, TouchesTaken, ServerRunning, LockHeld, LockLost, LockStaleDetected,
		LockNotYours, LockUnreadable, EditInProgress, EditNotSaved)
	row(Info{Category: Execution, Severity: Minor, Exit: 0, HTTP: 200}, LockStaleRecovered)
	row(execution(8, Major, false),
		StepTooLarge, ForbiddenPathTouched, StepCommandFailed, NothingChanged, BudgetExhausted, GHDependencyDetected,
		RunnerDied)
	row(execution(8, Minor, true), StepLimitReached)
	row(execution(8, Major, true), AgentTimeout, AgentSilent, ProcessCrashed)
	row(execution(130, Minor, true), Interrupted)
	row(Info{Category: Execution, Severity: Minor, Exit: 0, HTTP: 200}, AutoCompleted, MaxRunsReached, MaxDurationReached, StopRequested)
	row(execution(8, Major, false), MaxSkipsReached, NeedsInputInARow, FailedInARow)
	row(execution(2, Major, false), RetryLimitExceeded, ReplanRequired)
	row(internal, StageWriteFailed, StageUnreadable, InternalError, UnknownError)
	row(git(false),
		BaseBranchNotFound, WorkBranchRequired, PatchApplyFailed, GitCommitFailed, GitCommandFailed, GitTimeout,
		LandConflict, LandRefused, LandOtherBase, LandIntoCheckedOut, StackConflict, StackStale)
	row(git(true), BranchCreateFailed, GitPushFailed, LandBaseMoved)
	row(Info{Category: Git, Severity: Minor, Exit: 6, HTTP: 409}, RemoteNotGitHub)
	row(execution(7, Blocker, true), UnitTestFailed)
	row(test(Blocker, true), E2ETestFailed, TestTimeout, LandTestFailed)
	row(test(Major, false), StaticCheckFailed, QARejected, E2ERequired, TestCommandNotFound)
	row(Info{Category: Execution, Severity: Minor, Exit: 4, HTTP: 409, Retryable: true},
		NotReady, DependsNotDone, DependsNotFound, RequestLocked, QueueLocked, LatestRunNeedsInput, LatestRunDone)
	return all
})

// Info gives what follows from c; a code that is not in the table counts as
// UNKNOWN_ERROR.
func (c Code) Info() Info {
	if info, known := table()[c]; known {
		return info
	}
	return internal
}

// Waits reports whether nothing helps but to ask the provider again later.
func (c Code) Waits() bool {
	return c == ProviderLimit || c == ProviderOverloaded || c == ProviderUnreachable
}

// OfProvider reports whether the code says nothing about the work: whoever was
// asked could not be, or not for this. Another may be asked.
func (c Code) OfProvider() bool {
	switch c {
	case CLINotAvailable, CLIAuthRequired, CLINotTrusted, ModelNotFound, ContextTooLong, BudgetExhausted, ToolDenied:
		return true
	}
	return c.Waits()
}

// Known reports whether this version has the code; a record may have another's.
func (c Code) Known() bool {
	_, known := table()[c]
	return known
}

// Codes lists every code in byte order.
func Codes() []Code { return slices.Sorted(maps.Keys(table())) }
