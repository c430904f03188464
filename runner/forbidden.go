package runner

import (
	"path"
	"strings"
)

// matchPath reports whether a repository path matches a glob in which `**`
// stands for any number of folders, `*` and `?` for parts of one name.
func matchPath(glob, name string) bool {
	return matchParts(strings.Split(glob, "/"), strings.Split(name, "/"))
}

func matchParts(globs, names []string) bool {
	for len(globs) > 0 {
		if globs[0] == "**" {
			return matchRest(globs[1:], names)
		}
		if len(names) == 0 {
			return false
		}
		if ok, err := path.Match(globs[0], names[0]); err != nil || !ok {
			return false
		}
		globs, names = globs[1:], names[1:]
	}
	return len(names) == 0
}

func matchRest(globs, names []string) bool {
	for i := range len(names) + 1 {
		if matchParts(globs, names[i:]) {
			return true
		}
	}
	return false
}

// forbidden gives the first of paths that a glob forbids, and that glob.
func forbidden(globs, paths []string) (name, glob string) {
	for _, p := range paths {
		for _, g := range globs {
			if matchPath(g, p) {
				return p, g
			}
		}
	}
	return "", ""
}
