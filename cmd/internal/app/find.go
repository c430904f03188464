package app

import (
	"os"
	"path/filepath"
	"strings"

	"aiflow/project"
	"aiflow/reqmeta"
)

// Find finds the request that a person named: by id, by the unique beginning
// of one, or by the path of its file as seen from where the command was
// started.
func Find(p *project.Project, f *reqmeta.Folder, name string) (*reqmeta.Request, error) {
	if reqmeta.IsMarkdown(name) {
		if rel, ok := Inside(p, name); ok {
			name = rel
		}
	}
	return f.Get(name)
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
