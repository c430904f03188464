package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/internal/term"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/edit"
	"aiflow/reqmeta/folder"
)

// Values of --edit.
const (
	editAuto = "auto" // on a terminal, when an editor is named
	editYes  = "yes"
	editNo   = "no"
)

type newOptions struct {
	title, priority, status, estimate, edit string
	id, body, createdAt                     string
	dependsOn, labels                       urfave.StringSlice
}

func (o newOptions) check() error {
	if strings.TrimSpace(o.title) == "" {
		return cli.Usage("missing_value", "name", "--title")
	}
	for _, want := range []struct{ flag, value, allowed string }{
		{"--priority", o.priority, strings.Join(reqmeta.Priorities[:], ", ")},
		{"--estimate", o.estimate, strings.Join(reqmeta.Estimates[:], ", ")},
		{"--status", o.status, "draft, ready"},
		{"--edit", o.edit, "auto, yes, no"},
	} {
		if want.value != "" && !strings.Contains(", "+want.allowed+",", ", "+want.value+",") {
			return cli.Usage("bad_value", "name", want.flag, "value", want.value, "allowed", want.allowed)
		}
	}
	if rule, broken := reqmeta.IDRule(o.id); o.id != "" && broken {
		return cli.Usage("bad_id", append(rule, "value", o.id)...)
	}
	if _, ok := reqmeta.ParseDate(o.createdAt); o.createdAt != "" && (!ok || reqmeta.Zoneless(o.createdAt)) {
		return cli.Usage("bad_value", "name", "--created-at", "value", o.createdAt, "allowed", "2025-12-14, 2025-12-14T09:30:00Z")
	}
	return nil
}

// maxBody leaves room for the head in a file that is still read.
const maxBody = reqmeta.MaxFile - reqmeta.MaxHead

// readBody is the text in a file, or what is on standard input ("-"). A text
// without a word is refused: what should have written it has failed.
func (o newOptions) readBody(s *cli.Shell, dir string) (string, error) {
	from := s.Stdin
	if o.body != "-" {
		name := o.body
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		file, err := os.Open(name)
		if err != nil {
			return "", noFile(err, o.body)
		}
		defer file.Close()
		from = file
	}
	data, err := io.ReadAll(io.LimitReader(from, maxBody+1))
	switch line, encoding := reqmeta.Foreign(data); {
	case err != nil:
		return "", noFile(err, o.body)
	case len(data) > maxBody:
		return "", cli.Usage("bad_value", "name", "--body", "value", o.body, "allowed", fmt.Sprintf("<= %d bytes", maxBody))
	case line > 0:
		return "", fault.New(fault.RequestNotUTF8, "path", o.body, "line", line, "encoding", encoding)
	case len(bytes.TrimSpace(data)) == 0:
		return "", cli.Usage("empty_body", "path", o.body)
	}
	return string(bytes.TrimPrefix(data, []byte("\ufeff"))), nil
}

func create(s *cli.Shell, o newOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	p, err := app.Open(s, nil)
	if err != nil {
		return err
	}
	body := ""
	if o.body != "" {
		if body, err = o.readBody(s, p.Env.Dir); err != nil {
			return err
		}
	}
	depends := items(o.dependsOn)
	if o.id != "" || len(depends) > 0 {
		folder, err := p.Requests()
		if err != nil && o.id != "" {
			return err
		}
		if err == nil {
			paths := map[string]string{}
			for _, id := range folder.BesideIDs() {
				paths[id] = folder.PathBeside(id)
			}
			for _, r := range folder.Requests {
				paths[r.ID] = r.Path
			}
			for id, path := range paths { // in whatever file and case
				if o.id != "" && strings.EqualFold(id, o.id) {
					return fault.New(fault.RequestExists, "id", id, "path", path)
				}
			}
			depends = wholeIn(folder, depends)
		}
	}
	r, err := edit.Create(p.Env.Disk, p.Dir, p.RequestsDir(), edit.NewRequest{
		Mapping: p.Mapping(),
		Title:   strings.TrimSpace(o.title), Priority: o.priority, Status: o.status, Estimate: o.estimate,
		Labels: items(o.labels), DependsOn: depends, Lang: s.Lang(), Used: p.UsedIDs(s.Context()),
		ID: o.id, Body: body, CreatedAt: o.createdAt,
	}, p.Now())
	if err != nil {
		return readable(err)
	}
	warnMissing(s, p, r)
	if err := printNew(s, p, r); err != nil {
		return err
	}
	if o.edit == editAuto && body != "" {
		return nil
	}
	return openEditor(s, p.Path(r.Path), o.edit)
}

// given are the values of a flag, which may also stand in one, with commas between. A
// value without any is "": of a filter it is a mistake.
func given(flag urfave.StringSlice) []string {
	var all []string
	for _, text := range flag.Value() {
		items := reqmeta.SplitItems(text)
		if len(items) == 0 {
			items = []string{""}
		}
		all = append(all, items...)
	}
	return all
}

func items(flag urfave.StringSlice) []string {
	return slices.DeleteFunc(given(flag), func(item string) bool { return item == "" })
}

// printNew prints path and id, one after the other on a line, and what comes
// next. The path is as seen from where the command was typed.
func printNew(s *cli.Shell, p *project.Project, r *reqmeta.Request) error {
	if s.JSON {
		return s.PrintJSON(struct {
			ID   string `json:"id"`
			Path string `json:"path"`
		}{r.ID, r.Path})
	}
	path := seenFrom(p.Env.Dir, p.Dir, r.Path)
	s.Printf("%s %s\n", term.Escape(path), term.Escape(r.ID))
	if filepath.IsAbs(path) {
		s.Tell(s.Text("request.new_main", "path", p.Dir))
	}
	key := "request.new_next_draft"
	if r.Meta.Status == reqmeta.Ready {
		key = "request.new_next_ready"
	}
	s.Tell(s.Text(key, "path", path, "id", r.ID))
	return nil
}

// seenFrom is the way from the folder here to a file of the project; absolute
// where here is outside of it, as a linked worktree is.
func seenFrom(here, root, rel string) string {
	file := filepath.Join(root, filepath.FromSlash(rel))
	here, from := atomicfile.RealPath(here), atomicfile.RealPath(root)
	if inside, err := filepath.Rel(from, here); err != nil || !filepath.IsLocal(inside) {
		return file
	}
	way, err := filepath.Rel(here, filepath.Join(from, filepath.FromSlash(rel)))
	if err != nil {
		return file
	}
	return filepath.ToSlash(way)
}

// wholeIn writes out the ids that were given by their beginning. What names
// nothing stays as it is, for a request to come.
func wholeIn(folder *folder.Folder, ids []string) []string {
	whole := make([]string, len(ids))
	for i, id := range ids {
		whole[i] = id
		if r, err := folder.Get(id); err == nil && !exists(folder, id) {
			whole[i] = r.ID
		}
	}
	return whole
}

// warnMissing tells of dependencies that do not exist (yet).
func warnMissing(s *cli.Shell, p *project.Project, r *reqmeta.Request) {
	if len(r.Meta.DependsOn) == 0 {
		return
	}
	folder, err := p.Requests()
	if err != nil {
		return
	}
	for _, id := range r.Meta.DependsOn {
		if !exists(folder, id) && !folder.DoneBeside(id) {
			facts := fault.Facts{"id": r.ID, "dep": id, "meant": folder.Meant(id, r.ID)}
			if _, err := folder.Get(id); facts["meant"] == "" {
				if f, ok := fault.As(err); ok && f.Facts["count"] != "" { // several begin so
					facts["meant"] = f.Facts["similar"]
				}
			}
			s.Warn("request.depends_missing", facts)
		}
	}
}

func exists(folder *folder.Folder, id string) bool {
	return slices.ContainsFunc(folder.Requests, func(r *reqmeta.Request) bool { return r.ID == id })
}

// openEditor opens the editor that the environment names.
func openEditor(s *cli.Shell, path, how string) error {
	editor := editorOf(s)
	switch {
	case how == editNo, how == editAuto && (s.JSON || editor == "" || !s.Terminal() || !term.IsTerminal(s.Stdin)):
		return nil
	case editor == "":
		editor = "vi"
	}
	if err := s.Flush(); err != nil {
		return err
	}
	if _, err := attend(editorCommand(s, editor, path)); err != nil {
		return fault.New(fault.CLINotAvailable, "command", editor, "cause", fmt.Sprintf("%s: %v", editor, err))
	}
	return nil
}
