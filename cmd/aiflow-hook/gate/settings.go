package gate

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/internal/prompts"
	"aiflow/reqmeta"
)

// settings judges the configuration, the router and the prompts that the
// commit changes. A configuration and a router fit each other or do not, so
// that a change of one has both judged, as they would be in the commit.
func (j *judgement) settings(ctx context.Context, changes []change) error {
	touched := false
	for _, c := range changes {
		dir, name := path.Split(c.path)
		switch {
		case c.path == j.o.Root+config.File, c.path == j.o.Root+config.RouterFile:
			if c.newMode != 0 && c.newMode&typeMask != typeFile {
				return nil // a link: what it leads to is not in the commit
			}
			touched = true
		case dir == j.o.PromptsDir+"/" && c.newMode&typeMask == typeFile && slices.ContainsFunc(prompts.Names(), func(n string) bool { return prompts.FileName(n) == name }):
			blobs, err := j.o.blobs(ctx, []string{c.newID})
			if err != nil {
				return err
			}
			if cause := prompts.Mistake(blobs[c.newID]); cause != "" {
				j.fails(c.path, fault.New(fault.ConfigInvalid, "path", c.path, "cause_key", cause))
			}
		}
	}
	if !touched {
		return nil
	}
	cfg, warnings, err := config.Parse(j.o.content(ctx, config.File), config.File)
	j.odd(warnings)
	if err != nil {
		j.fails(j.o.Root+config.File, err)
		return nil
	}
	r, warnings, err := config.ParseRouter(j.o.content(ctx, config.RouterFile), config.RouterFile, cfg)
	j.odd(warnings)
	if err != nil {
		j.fails(j.o.Root+config.RouterFile, err)
		return nil
	}
	j.forbidden(cfg, r)
	return nil
}

// content is a file of the project as the judged tree has it; nil for none.
func (o Options) content(ctx context.Context, name string) []byte {
	out, err := o.Git.AskStaged(ctx, "cat-file", "blob", o.To+":"+o.Root+name)
	if err != nil {
		return nil
	}
	return append([]byte{}, out...) // an empty file is a file
}

// forbidden finds commands that the router forbids where a run would start them.
func (j *judgement) forbidden(cfg config.Config, r config.Router) {
	patterns := r.Guards.Forbidden()
	for _, l := range config.CommandLines(cfg, r) {
		for _, re := range patterns {
			if !re.MatchString(l.Text) {
				continue
			}
			at := cfg.Origin(l.Key)
			file, line, _ := strings.Cut(at.Where, ":")
			if at.Kind != "file" {
				file = config.RouterFile
			}
			n, _ := strconv.Atoi(line)
			j.add(reqmeta.LevelError, fault.ConfigInvalid, "hook.check_forbidden", j.o.Root+file, n, "key", l.Key, "command", l.Text)
			break
		}
	}
}

func (j *judgement) fails(path string, err error) {
	f := Finding{Level: reqmeta.LevelError, Code: fault.CodeOf(err), Path: path, Err: err}
	if e, ok := fault.As(err); ok {
		f.Line, _ = strconv.Atoi(e.Facts["line"])
		delete(e.Facts, "path") // it stands before the sentence
		delete(e.Facts, "line")
	}
	j.found = append(j.found, f)
}

func (j *judgement) odd(warnings []config.Warning) {
	for _, w := range warnings {
		line, _ := strconv.Atoi(w.Facts["line"])
		j.found = append(j.found, Finding{
			Level: reqmeta.LevelWarning, Code: fault.ConfigInvalid, Key: "config." + w.Kind,
			Path: j.o.Root + w.Facts["path"], Line: line, Facts: w.Facts,
		})
	}
}
