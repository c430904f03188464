package hooks

import (
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
	for _, m := range callLine().FindAllSubmatch(data, -1) {
		if string(m[1]) == hook {
			return true
		}
	}
	return false
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
			return f.callerIn(hook, f.matching("lefthook")...)
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

func (f Folder) matching(word string) []string {
	var paths []string
	for path := range f.Callers {
		if strings.Contains(filepath.Base(path), word) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}
