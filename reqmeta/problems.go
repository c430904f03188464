package reqmeta

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"aiflow/internal/fault"
)

// NewProblem makes one without path; the reader of the file adds it.
func NewProblem(level Level, kind string, line int, pairs ...any) *Problem {
	return &Problem{Level: level, Kind: kind, Code: fault.RequestInvalidFormat, Line: line, Facts: fault.NewFacts(pairs...)}
}

// Idles reports whether a step of r has nothing to run.
func (r *Request) Idles() bool { return slices.ContainsFunc(r.Meta.Steps, Step.Idle) }

// Idle reports whether a step has nothing to run: somebody must do it.
func (s Step) Idle() bool { return s.Run == "" && s.Test == "" }

// Steps are those of r as a run takes them, each with a title: its own, or one
// that is the request as a whole.
func (r *Request) Steps() []Step {
	if len(r.Meta.Steps) == 0 {
		return []Step{{Title: r.Title()}}
	}
	steps := slices.Clone(r.Meta.Steps)
	for i := range steps {
		if steps[i].Title == "" {
			steps[i].Title = fmt.Sprintf("%s (%d)", r.Title(), i+1)
		}
	}
	return steps
}

// Unreadable is the error of a file of which nothing can be read.
func Unreadable(path string, err error) Problem {
	kind := "unreadable"
	if errors.Is(err, fs.ErrNotExist) {
		kind = "no_file"
	}
	p := NewProblem(LevelError, kind, 0, "path", path, "cause", err)
	p.Path = path
	return *p
}

func (r *Request) add(p *Problem) {
	p.Path = r.Path
	p.Facts["path"] = r.Path
	if p.Line > 0 {
		p.Facts["line"] = strconv.Itoa(p.Line)
	}
	r.Problems = append(r.Problems, *p)
}

// Fail adds an error of a line; 0 is the file as a whole.
func (r *Request) Fail(kind string, line int, pairs ...any) {
	r.add(NewProblem(LevelError, kind, line, pairs...))
}

// Warn adds a warning.
func (r *Request) Warn(kind string, line int, pairs ...any) {
	r.add(NewProblem(LevelWarning, kind, line, pairs...))
}

// ProblemError is a problem as the cause of a fault.
type ProblemError struct{ Problem Problem }

func (e *ProblemError) Error() string {
	if e.Problem.Line == 0 {
		return e.Problem.Path + ": " + e.Problem.Kind
	}
	return fmt.Sprintf("%s:%d: %s", e.Problem.Path, e.Problem.Line, e.Problem.Kind)
}

// ProblemOf finds the problem that caused err.
func ProblemOf(err error) (Problem, bool) {
	var e *ProblemError
	if errors.As(err, &e) {
		return e.Problem, true
	}
	return Problem{}, false
}

// Refuse makes the fault of an edit that p stands in the way of.
func Refuse(code fault.Code, path string, p *Problem) error {
	r := Request{Path: path}
	r.add(p)
	q := r.Problems[0]
	pairs := []any{"reason", q.Kind, "cause_key", "problem." + q.Kind}
	for k, v := range q.Facts {
		pairs = append(pairs, k, v)
	}
	return fault.Wrap(&ProblemError{q}, code, pairs...)
}

// Join is a list as a sentence shows it.
func Join(list []string) string {
	said := make([]string, len(list))
	for i, s := range list {
		said[i] = cmp.Or(s, `""`)
	}
	return strings.Join(said, ", ")
}

// DescribeProblems fills Message of each problem.
func DescribeProblems(ps []Problem, text func(key string, f fault.Facts) string) {
	for i := range ps {
		ps[i].Message = text("problem."+ps[i].Kind, ps[i].Facts)
	}
}
