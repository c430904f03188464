package main

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"aiflow/internal/atomicfile"
	"aiflow/internal/config"
)

// lookFirst takes other folders than the usual ones where files of others are
// in these: they would be ignored, or taken for requests. Where the project has
// a configuration already, its owner is told.
func (in *initializer) lookFirst() {
	configured := exists(in.path(config.File))
	for _, f := range []struct {
		key   string
		dir   *string
		said  *string
		taken func(dir string) bool
	}{
		{"runs_dir", &in.cfg.Paths.RunsDir, &in.said.Paths.Runs, in.othersIn},
		{"requests_dir", &in.cfg.Paths.RequestsDir, &in.said.Paths.Requests, in.noRequestIn},
	} {
		key := "paths." + f.key
		if in.cfg.Origin(key).Kind != "default" || !f.taken(*f.dir) {
			continue
		}
		if configured {
			if f.key == "runs_dir" { // a folder without requests does no harm to anybody
				in.notes = append(in.notes, in.shell.Text("cli.init_taken_said", "dir", *f.dir, "key", key))
			}
			continue
		}
		other := ".aiflow/" + path.Base(*f.dir)
		in.notes = append(in.notes, in.shell.Text("cli.init_taken", "dir", *f.dir, "other", other, "key", key))
		*f.dir, *f.said = other, other
	}
}

// othersIn reports whether a folder holds something that is no record of a run.
func (in *initializer) othersIn(dir string) bool {
	for _, request := range in.entries(dir) {
		if !request.IsDir() {
			return true
		}
		records := in.entries(dir + "/" + request.Name())
		if len(records) == 0 {
			return true
		}
		for _, r := range records {
			if !strings.HasPrefix(r.Name(), "RUN-") {
				return true
			}
		}
	}
	return false
}

// noRequestIn reports whether a folder holds something and no markdown with a head.
func (in *initializer) noRequestIn(dir string) bool {
	some, request := false, false
	_ = filepath.WalkDir(in.path(dir), func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || at == in.path(dir) {
			return nil
		}
		name := strings.ToLower(e.Name())
		some = some || !strings.HasPrefix(name, ".")
		if strings.HasSuffix(name, ".md") || strings.HasSuffix(name, ".markdown") {
			text, err := atomicfile.ReadPlain(at)
			text = bytes.TrimPrefix(text, []byte("\ufeff"))
			request = err != nil || bytes.HasPrefix(text, []byte("---")) || bytes.HasPrefix(text, []byte("+++"))
		}
		if request {
			return fs.SkipAll
		}
		return nil
	})
	return some && !request
}

func (in *initializer) entries(dir string) []os.DirEntry {
	entries, _ := os.ReadDir(in.path(dir))
	return entries
}
