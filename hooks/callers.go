package hooks

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

var callLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[^#\n]*\baiflow[- ]hook['"]? +(pre-commit|pre-merge-commit|post-merge|post-commit|post-checkout|post-rewrite)\b`)
})

// calls reports whether a file that is not ours runs our hook.
func calls(data []byte, hook string) bool {
	return slices.ContainsFunc(callLine().FindAllSubmatch(data, -1), func(m [][]byte) bool { return string(m[1]) == hook })
}

// caller is the file through which a hook manager that is in charge here calls
// our hook, or "".
func (f Folder) caller(hook string) string {
	if f.Husky {
		return f.callerIn(hook, filepath.Join(filepath.Dir(f.Dir), hook))
	}
	file := f.Hooks[hook]
	if b, err := parse(file.Data); file.Exists && b == nil && err == nil {
		if calls(file.Data, hook) {
			return file.Path
		}
		switch manager(file.Data) {
		case "lefthook":
			paths := slices.Sorted(maps.Keys(f.Callers))
			return f.callerIn(hook, slices.DeleteFunc(paths, func(p string) bool { return !strings.Contains(filepath.Base(p), "lefthook") })...)
		case "pre-commit":
			if hook == PreMergeCommit {
				hook = PreCommit // one entry for both
			}
			return f.callerIn(hook, filepath.Join(f.Top, ".pre-commit-config.yaml"))
		}
	}
	return ""
}

func (f Folder) callerIn(hook string, paths ...string) string {
	for _, path := range paths {
		if calls(f.Callers[path].Data, hook) {
			return path
		}
	}
	return ""
}
