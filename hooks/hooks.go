// Package hooks puts our git hooks beside whatever is there already, takes
// them away again and says whether git reaches them.
//
// It promises: a stranger's text is never overwritten, a folder that several
// repositories share is never written to unless that was asked for, installing
// twice is installing once, and uninstalling gives back the bytes and the mode
// that were there before. Plans are pure; only Apply changes anything.
//
// It does not judge commits (that is aiflow-hook's work), does not change git's
// configuration and does not make sentences for people.
package hooks

// Version is the version of the text that Plan writes. It grows with every
// change of the text; every text ever shipped stays recognised.
const Version = 1

// The hooks that we install.
const (
	PreCommit      = "pre-commit"
	PreMergeCommit = "pre-merge-commit" // what pre-commit is for a merge that git commits itself
	PostMerge      = "post-merge"
	PostCommit     = "post-commit"
	PostCheckout   = "post-checkout"
	PostRewrite    = "post-rewrite"
)

// Gates reports whether a failure of the hook keeps git from committing.
func Gates(hook string) bool { return hook == PreCommit || hook == PreMergeCommit }

// Names lists the hooks that we install, in the order in which they are shown.
func Names() []string {
	return []string{PreCommit, PreMergeCommit, PostMerge, PostCommit, PostCheckout, PostRewrite}
}

// The environment of our hooks.
const (
	// EnvGuard is set for everything that a hook starts: a hook that finds it
	// passes at once.
	EnvGuard = "AIFLOW_HOOK"
	// EnvProbe names an existing file: a hook that finds it writes its name
	// there and ends, and nothing else runs.
	EnvProbe = "AIFLOW_HOOK_PROBE"
)

// AsideSuffix is added to the name of a hook that was moved aside.
const AsideSuffix = ".before-aiflow"
