package runner

import "aiflow/reqmeta"

// forbidden gives the first of paths that a glob forbids, and that glob.
func forbidden(globs, paths []string) (name, glob string) {
	for _, p := range paths {
		for _, g := range globs {
			if reqmeta.MatchPath(g, p) {
				return p, g
			}
		}
	}
	return "", ""
}
