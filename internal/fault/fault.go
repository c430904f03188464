// Package fault holds every reason code and what follows from it: category,
// severity, exit status, HTTP status. Shell and browser read the same table,
// so they cannot disagree.
//
// It does not hold sentences: a fault is a code with facts, and package
// messages turns it into text at the very edge.
package fault

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
)

// Facts are the particulars of one fault (path, line, holder, …). Messages
// insert them into their sentences by name.
type Facts map[string]string

// Error is a typed fault: what happened (Code), the particulars (Facts) and
// the cause, if another error led to it.
type Error struct {
	Code  Code
	Facts Facts
	Err   error
}

// New makes a fault. pairs are fact names and values in turn; values are
// formatted with fmt.Sprint.
func New(code Code, pairs ...any) *Error {
	return &Error{Code: code, Facts: NewFacts(pairs...)}
}

// Wrap makes a fault that was caused by err. The text of err becomes the fact
// "cause" unless pairs name one. A full disk is never told as a missing right.
func Wrap(err error, code Code, pairs ...any) *Error {
	if code == PathNotWritable && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)) {
		code = DiskFull
	}
	f := NewFacts(pairs...)
	if _, ok := f["cause"]; !ok && err != nil {
		f["cause"] = err.Error()
	}
	return &Error{Code: code, Facts: f, Err: err}
}

// NotWritable is PATH_NOT_WRITABLE of a path, or DISK_FULL where err says that.
func NotWritable(err error, path string, more ...any) *Error {
	return Wrap(err, PathNotWritable, append(more, "path", path)...)
}

// NewFacts takes names and values in turn, as New does. A "line" of 0 is no line of a
// file and is left out, so that no sentence tells it.
func NewFacts(pairs ...any) Facts {
	f := Facts{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] != "line" || pairs[i+1] != 0 {
			f[fmt.Sprint(pairs[i])] = fmt.Sprint(pairs[i+1])
		}
	}
	return f
}

// Error is for logs and tests: the code and its facts in a fixed order.
// People read the text that package messages makes of it.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Code))
	for _, k := range slices.Sorted(maps.Keys(e.Facts)) {
		fmt.Fprintf(&b, " %s=%q", k, e.Facts[k])
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is a fault of the same code, so that
// errors.Is(err, fault.New(code)) asks for the code alone.
func (e *Error) Is(target error) bool {
	var t *Error
	return errors.As(target, &t) && t.Code == e.Code
}

// As finds the first fault in err's chain.
func As(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}

// CodeOf is the code of the first fault in err's chain, INTERNAL_ERROR for any
// other error, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := As(err); ok {
		return e.Code
	}
	return InternalError
}

// Facts that are not only shown: a role's questions, one a line, and the whole
// of a command of several lines.
const (
	QuestionsFact    = "questions"
	WholeCommandFact = "whole_command"
)

// Has reports whether err is a fault with this code.
func Has(err error, code Code) bool {
	e, ok := As(err)
	return ok && e.Code == code
}

// Of is err where it is a fault already, else one with this code.
func Of(err error, code Code, pairs ...any) *Error {
	if e, ok := As(err); ok {
		return e
	}
	return Wrap(err, code, pairs...)
}

// HTTPStatus is the HTTP status for err: 200 for nil.
func HTTPStatus(err error) int {
	if err == nil {
		return 200
	}
	return CodeOf(err).Info().HTTP
}
