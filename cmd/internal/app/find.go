package app

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/folder"
)

// Find finds the request that a person named: by id, by the unique beginning
// of one, or by the path of its file as seen from where the command was
// started.
func Find(p *project.Project, f *folder.Folder, name string) (*reqmeta.Request, error) {
	if reqmeta.IsMarkdown(name) {
		if rel, ok := Inside(p, name); ok {
			name = rel
		}
	}
	return f.Get(name)
}

// ShortIDs gives the unique beginning of each id, up to a dash: what Find takes
// where the whole id would leave no room for anything else.
func ShortIDs(ids []string) map[string]string {
	sorted := slices.Sorted(slices.Values(ids))
	short := make(map[string]string, len(ids))
	for i, id := range sorted {
		shared := 0
		for _, j := range []int{i - 1, i + 1} {
			if j >= 0 && j < len(sorted) {
				n := 0 // of what both begin with
				for other := sorted[j]; n < min(len(id), len(other)) && id[n] == other[n]; {
					n++
				}
				shared = max(shared, n)
			}
		}
		short[id] = id
		if shared >= len(id) {
			continue // another one begins with all of it
		}
		if dash := strings.IndexByte(id[shared+1:], '-'); dash >= 0 {
			short[id] = id[:shared+1+dash]
		}
	}
	return short
}

// Inside gives the project path of a file that lies in the requests folder or
// below it.
func Inside(p *project.Project, path string) (rel string, ok bool) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Env.Dir, path)
	}
	path = filepath.Clean(path)
	requests, err := os.Stat(p.Path(p.RequestsDir()))
	if err != nil {
		return "", false
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		here, err := os.Stat(dir)
		switch {
		case err == nil && os.SameFile(here, requests):
			return p.RequestsDir() + filepath.ToSlash(strings.TrimPrefix(path, dir)), true
		case dir == filepath.Dir(dir):
			return "", false
		}
	}
}
