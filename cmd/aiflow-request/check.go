package main

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/internal/fault"
	"aiflow/internal/term"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
	"aiflow/reqmeta/folder"
)

// report is what check found.
type report struct {
	OK       bool              `json:"ok"`
	Files    int               `json:"files"`
	Errors   int               `json:"errors"`
	Warnings int               `json:"warnings"`
	Problems []reqmeta.Problem `json:"problems"`
	NotRead  []folder.Stray    `json:"not_read"` // what lies among the requests and is none
}

func check(s *cli.Shell, files []string, all bool) error {
	p, err := app.Open(s, nil)
	if err != nil && (len(files) == 0 || !fault.Has(err, fault.GitNotRepo) && !fault.Has(err, fault.GitBareRepo) && !fault.Has(err, fault.InsideGitDir)) {
		return err
	}
	var requests *folder.Folder
	if p != nil { // files outside of any project can be checked, too
		if requests, err = p.Requests(); err != nil && len(files) == 0 {
			return err
		}
	}
	var survey *project.Survey
	if requests != nil {
		if survey, err = p.LookWith(s.Context(), requests); err != nil {
			return err
		}
	}
	c := checker{Shell: s, p: p, folder: requests, survey: survey, named: len(files) > 0, all: all, guess: folder.Guesser{Folder: requests}}
	if len(files) == 0 {
		c.report.NotRead = requests.NotRead
		for _, r := range requests.Requests {
			c.request(r, r.Path)
		}
	}
	for _, file := range files {
		if err := c.ambiguous(file); err != nil {
			return err
		}
		c.file(file)
	}
	return c.tell()
}

type checker struct {
	*cli.Shell
	p       *project.Project
	folder  *folder.Folder
	survey  *project.Survey // nil outside of a project
	named   bool            // files were named
	all     bool            // tell every problem by itself
	network *choose.Network
	rings   map[string]string // by path of the smallest member
	guess   folder.Guesser
	report  report
}

// file checks one named file: as a member of the folder when it lies there, by
// itself elsewhere. What is no file here may be the id of a request, or its path
// in the project, as other commands name it.
func (c *checker) file(name string) {
	if c.p != nil && c.folder != nil {
		if rel, ok := app.Inside(c.p, name); ok {
			if i := slices.IndexFunc(c.folder.Requests, func(r *reqmeta.Request) bool { return r.Path == rel }); i >= 0 {
				c.request(c.folder.Requests[i], name)
				return
			}
		}
	}
	data, err := readFile(name)
	if members := c.members(name); errors.Is(err, fs.ErrNotExist) && len(members) > 0 {
		for _, r := range members {
			c.request(r, r.Path)
		}
		return
	}
	c.report.Files++
	if err != nil {
		c.add(reqmeta.Unreadable(name, err), name)
		return
	}
	for _, problem := range reqmeta.Parse(filepath.ToSlash(name), data).Problems {
		c.add(problem, name)
	}
}

// ambiguous names the requests that all begin like a name that is no file.
func (c *checker) ambiguous(name string) error {
	if c.folder == nil || reqmeta.IsMarkdown(name) || len(c.members(name)) > 0 {
		return nil
	}
	begun := slices.ContainsFunc(c.folder.Requests, func(r *reqmeta.Request) bool { return strings.HasPrefix(r.ID, name) })
	if _, err := os.Lstat(name); err == nil || !begun {
		return nil
	}
	_, err := c.folder.Get(name)
	return err
}

// members are the requests of that id, several when they share it, or the one
// with that path.
func (c *checker) members(name string) []*reqmeta.Request {
	if c.folder == nil {
		return nil
	}
	var list []*reqmeta.Request
	for _, r := range c.folder.Requests {
		if r.ID == name {
			list = append(list, r)
		}
	}
	if r, err := c.folder.Get(name); err == nil && list == nil {
		list = append(list, r)
	}
	return list
}

func readFile(name string) ([]byte, error) {
	fi, err := os.Stat(name)
	var wrapped *os.PathError
	switch {
	case errors.As(err, &wrapped):
		return nil, wrapped.Err
	case err != nil:
		return nil, err
	case !fi.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, reqmeta.MaxFile+1))
}

// request adds everything about one file of the folder; shown is how its path
// is told.
func (c *checker) request(r *reqmeta.Request, shown string) {
	c.report.Files++
	for _, p := range r.Problems {
		c.add(p, shown)
	}
	over := r.SaysOver()
	if c.survey != nil && !over && r.Valid() {
		c.kept(r, shown)
	}
	if len(r.Meta.DependsOn) == 0 || over {
		return
	}
	if c.network == nil { // all files together are looked at once
		n := choose.Graph(c.folder, choose.Facts{})
		c.network, c.rings = &n, map[string]string{}
		for _, p := range choose.Select(c.folder, choose.Facts{}).Warnings {
			if p.Code == fault.DependsCycle {
				c.rings[p.Path] = p.Facts["ring"]
			}
		}
	}
	for _, e := range c.network.Edges {
		if e.From == r.ID && e.State == choose.EdgeMissing {
			c.relation(r, shown, fault.DependsNotFound, "depends_not_found", e.To, fault.Facts{"id": r.ID, "ids": reqmeta.Join([]string{e.To}), "meant": c.guess.Meant(e.To, e.From)})
		}
	}
	ring := c.rings[r.Path] // it is told of at its smallest member, or at any that was named
	if ring == "" && c.named {
		if e, _ := choose.JudgeNamed(c.folder, choose.Facts{}, r.ID); e.ReasonCode == fault.DependsCycle && e.Path == r.Path {
			ring = e.Facts["ring"]
		}
	}
	if ring != "" {
		c.relation(r, shown, fault.DependsCycle, "cycle", "", fault.Facts{"id": r.ID, "ring": ring})
	}
}

// kept tells what keeps r from being run, where it stands in its file; of the
// rest doctor tells.
func (c *checker) kept(r *reqmeta.Request, shown string) {
	e, ok := c.survey.Kept(r)
	if !ok {
		return
	}
	e.Describe(c.Catalog().Text)
	if e.Line > 0 {
		c.add(reqmeta.Problem{Level: reqmeta.LevelWarning, Kind: e.Obstacle().Name, Code: e.ReasonCode, Path: r.Path, Line: e.Line, Facts: e.Facts, Message: e.Detail}, shown)
	}
}

func (c *checker) relation(r *reqmeta.Request, shown string, code fault.Code, kind, dep string, facts fault.Facts) {
	line := 0
	if data, err := c.folder.Read(r); err == nil {
		line = r.Mapping.LineOf(data, "depends_on", dep)
	}
	c.add(reqmeta.Problem{
		Level: reqmeta.LevelError, Kind: kind, Code: code, Path: r.Path, Line: line, Facts: facts,
		Message: c.Catalog().Text("excluded."+kind, facts),
	}, shown)
}

func (c *checker) add(p reqmeta.Problem, shown string) {
	p.Path = shown
	if p.Message == "" {
		p.Message = c.Catalog().Text("problem."+p.Kind, p.Facts)
	}
	if p.Level == reqmeta.LevelError {
		c.report.Errors++
	} else {
		c.report.Warnings++
	}
	c.report.Problems = append(c.report.Problems, p)
}

func (c *checker) tell() error {
	r := &c.report
	slices.SortStableFunc(r.Problems, func(a, b reqmeta.Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	r.OK = r.Errors == 0
	if c.JSON {
		r.Problems, r.NotRead = append([]reqmeta.Problem{}, r.Problems...), append([]folder.Stray{}, r.NotRead...)
		if err := c.PrintJSON(r); err != nil {
			return err
		}
	} else {
		each := c.all || c.named && len(r.Problems) <= app.MostCauses // who names files wants to hear of each
		(&view{Shell: c.Shell, all: each}).printProblems(r.Problems)
		if len(r.Problems) == 0 {
			c.Printf("%s\n", c.Text("request.check_ok", "count", r.Files))
		}
		c.tellNotRead()
	}
	if r.OK {
		return nil
	}
	errs := slices.DeleteFunc(r.Problems, func(p reqmeta.Problem) bool { return p.Level != reqmeta.LevelError })
	return cli.Reported(fault.New(fault.RequestInvalidFormat, "count", r.Errors, "files", app.FilesOf(errs), "cause_key", "request.check_errors"))
}

// mostNotRead is how many of what is no request are named without --all.
const mostNotRead = 5

// tellNotRead names what lies among the requests and is not read as one.
func (c *checker) tellNotRead() {
	list := c.report.NotRead
	if len(list) == 0 {
		return
	}
	if c.all {
		for _, stray := range list {
			c.Printf("%s: %s\n", term.Escape(stray.Path), c.Text("request.stray_"+stray.Why))
		}
		return
	}
	names := make([]string, 0, mostNotRead)
	for _, stray := range list[:min(len(list), mostNotRead)] {
		names = append(names, term.Escape(stray.Path))
	}
	if len(list) > mostNotRead {
		names = append(names, "…")
	}
	c.Printf("%s\n", c.Text("request.check_not_read", "count", len(list), "names", strings.Join(names, ", ")))
}
