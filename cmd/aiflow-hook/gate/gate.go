// Package gate judges the commit that is being made: the request files as they
// are staged, in the tree that the commit would have.
//
// It promises to look through git's own index, so that plain, partial and -a
// commits are judged as what they will be, to start git at most once when no
// request file is staged, and to report only what this commit changes.
//
// It does not stage, commit or write anything, does not look at the files of
// the checkout, and does not make sentences for people.
package gate

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
	"aiflow/reqmeta"
)

// Options say where to look. Paths are relative to the top of the checkout,
// with slashes.
type Options struct {
	Git         gitcmd.Git // with the environment that git gave to the hook
	Root        string     // the project's folder: "" or "dir/"
	RequestsDir string
	PromptsDir  string
	DoneDirs    []string             // folders beside RequestsDir of what is done
	Mapping     *reqmeta.Mapping     // by which they are read
	Done        func() []string      // ids that are done in folders beside the requests; nil: none
	Ignore      []string             // globs of files in RequestsDir that are no requests
	StateDirs   []string             // never committed: runs, locks, cache
	From, To    string               // judge what changed from one commit to the other instead; "": what is staged
	Merge       bool                 // others made what is judged, in part
	Live        func(id string) bool // whether a run holds this request; nil: never
	There       func(id string) bool // whether the folder has this request, staged or not; nil: never
	Stopped     func(id string) Stop // how the request's latest run stopped; nil: never did
	Place       Place                // zero: always ask git
}

// Stop is a run that stands still and waits for a person. Zero: none does.
type Stop struct{ RunID, State string }

// Finding is one thing that is wrong with the commit, or odd about it. Its
// sentence is the message Key, or Err's own.
type Finding struct {
	Err   error
	Level reqmeta.Level
	Code  fault.Code
	Key   string
	Path  string
	Line  int // 0: the file as a whole
	Facts fault.Facts
}

// Judge looks at what is staged. Findings are sorted by path and line; none
// means that all is well.
func Judge(ctx context.Context, o Options) ([]Finding, error) {
	if untouched(o) {
		return nil, nil
	}
	changes, err := staged(ctx, o)
	if err != nil || len(changes) == 0 && !o.merging() {
		return nil, err
	}
	j := &judgement{o: o}
	for _, c := range changes { // what belongs to one machine is refused
		if c.newMode != 0 && slices.ContainsFunc(o.StateDirs, func(dir string) bool { return strings.HasPrefix(c.path, dir+"/") }) {
			j.add(reqmeta.LevelError, fault.InvalidRequest, "hook.check_state", c.path, 0)
		}
	}
	if err := j.settings(ctx, changes); err != nil {
		return nil, err
	}
	files, err := o.pairs(ctx, changes, o.isRequest)
	if err != nil {
		return nil, err
	}
	for i := range files {
		j.file(&files[i])
	}
	left, err := o.pairs(ctx, changes, o.wasDone)
	if err != nil {
		return nil, err
	}
	if len(left) > 0 || slices.ContainsFunc(files, related) {
		if err := j.relations(ctx, files, left); err != nil {
			return nil, err
		}
	}
	if err := j.reopened(ctx); err != nil {
		return nil, err
	}
	slices.SortStableFunc(j.found, func(a, b Finding) int { return cmp.Or(strings.Compare(a.Path, b.Path), a.Line-b.Line) })
	return j.found, nil
}

type judgement struct {
	o     Options
	found []Finding
}

func (j *judgement) add(level reqmeta.Level, code fault.Code, key, path string, line int, pairs ...any) {
	facts := fault.New(code, append(pairs, "path", path, "line", line)...).Facts
	j.found = append(j.found, Finding{Level: level, Code: code, Key: key, Path: path, Line: line, Facts: facts})
}

// file judges one staged request file by itself.
func (j *judgement) file(f *pair) {
	if f.new == nil {
		return
	}
	for _, p := range f.new.Problems {
		j.problem(p)
	}
	j.blocked(f)
	was := f.old != nil && f.old.Meta.Status == reqmeta.Running
	if f.new.Meta.Status != reqmeta.Running || was {
		return
	}
	level, code, key := reqmeta.LevelError, fault.InvalidRequest, "hook.check_running"
	switch {
	case j.o.Live != nil && j.o.Live(f.new.ID):
		level, code, key = reqmeta.LevelWarning, fault.RunInProgress, "hook.check_running_live"
	case j.o.Merge:
		level = reqmeta.LevelWarning
	}
	j.add(level, code, key, f.path, j.o.Mapping.LineOf(f.data, "status", ""), "id", f.new.ID)
}

// blocked warns of a status that is a run's news for this checkout, staged by
// "git add -A" or "commit -a" and nothing else with it.
func (j *judgement) blocked(f *pair) {
	if j.o.Stopped == nil || f.old == nil || f.old.Meta.Status == reqmeta.Blocked || f.new.Meta.Status != reqmeta.Blocked ||
		!bytes.Equal(j.o.unowned(f.before), j.o.unowned(f.data)) {
		return
	}
	if s := j.o.Stopped(f.new.ID); s.RunID != "" {
		j.add(reqmeta.LevelWarning, fault.InvalidRequest, "hook.check_blocked", f.path, j.o.Mapping.LineOf(f.data, "status", ""),
			"id", f.new.ID, "run_id", s.RunID, "state", s.State)
	}
}

// unowned is a request file without the lines that tools write.
func (o Options) unowned(data []byte) []byte {
	lines := bytes.SplitAfter(data, []byte("\n"))
	for _, key := range []string{"status", "updated_at"} {
		if n := o.Mapping.LineOf(data, key, ""); n > 0 {
			lines[n-1] = nil
		}
	}
	return bytes.Join(lines, nil)
}

func (j *judgement) problem(p reqmeta.Problem) {
	j.found = append(j.found, Finding{Level: p.Level, Code: p.Code, Key: "problem." + p.Kind, Path: p.Path, Line: p.Line, Facts: p.Facts})
}
