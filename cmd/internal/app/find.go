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
	if strings.HasSuffix(name, ".md") {
		if rel, ok := Inside(p, name); ok {
			name = rel
		}
	}
	return f.Get(name)
}

// Inside gives the project path of a file that lies in the requests folder.
func Inside(p *project.Project, path string) (rel string, ok bool) {
	abs := path
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(p.Env.Dir, path)
	}
	dir, name := filepath.Split(abs)
	here, err := os.Stat(dir)
	if err != nil {
		return "", false
	}
	requests, err := os.Stat(p.Path(p.RequestsDir()))
	if err != nil || !os.SameFile(here, requests) {
		return "", false
	}
	return p.RequestsDir() + "/" + name, true
}
