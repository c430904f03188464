package reqmeta

import (
	"time"

	"aiflow/internal/fault"
)

// Level says whether a problem keeps its file from running.
type Level string

// The two levels.
const (
	LevelError   Level = "error"
	LevelWarning Level = "warning"
)

// Problem is one thing that is wrong with one file. Its sentence is the
// message "problem.<Kind>".
type Problem struct {
	Level   Level       `json:"level"`
	Kind    string      `json:"kind"`
	Code    fault.Code  `json:"reason_code"`
	Path    string      `json:"path"`
	Line    int         `json:"line,omitempty"` // of the file, from 1; 0 for the file as a whole
	Facts   fault.Facts `json:"facts,omitempty"`
	Message string      `json:"message,omitempty"` // filled by DescribeProblems
}

// Date is a point in time together with the text that it was read from.
type Date struct {
	Time time.Time
	Text string
}

// IsZero reports whether there is no date.
func (d Date) IsZero() bool { return d.Text == "" }

// MarshalText gives the text as it stands in the file.
func (d Date) MarshalText() ([]byte, error) { return []byte(d.Text), nil }

// Step is one entry of `steps:`.
type Step struct {
	Title string `json:"title"`
	Run   string `json:"run,omitempty"`
	Test  string `json:"test,omitempty"`
}

// Meta is what the head of a request file says.
type Meta struct {
	ID        string            `json:"id,omitempty"`
	Title     string            `json:"title,omitempty"`
	Priority  string            `json:"priority,omitempty"`
	Status    string            `json:"status,omitempty"`
	Labels    []string          `json:"labels,omitempty"`
	DependsOn []string          `json:"depends_on,omitempty"`
	Estimate  string            `json:"estimate,omitempty"`
	CreatedAt Date              `json:"created_at"`
	UpdatedAt Date              `json:"updated_at"`
	Base      string            `json:"base,omitempty"`
	Touches   []string          `json:"touches,omitempty"` // globs of what its steps may change; none: anything
	Steps     []Step            `json:"steps,omitempty"`
	Unknown   map[string]string `json:"unknown,omitempty"` // scalars under keys that we do not know
}

// Request is one request file. Path is relative to the project's root, with
// slashes.
type Request struct {
	ID       string
	Path     string
	Meta     Meta
	Problems []Problem
	Mapping  *Mapping // by which its file is read; nil: it is one of ours

	Heading string // first heading of the body; "" also where there is a title
	About   About
}

// The values of the three enumerations, in their order.
var (
	Statuses   = [...]string{Draft, Ready, Running, Blocked, Done, Archived}
	Priorities = [...]string{"P0", "P1", "P2", "P3"}
	Estimates  = [...]string{"S", "M", "L"}
)

// The statuses of a request.
const (
	Draft    = "draft"
	Ready    = "ready"
	Running  = "running"
	Blocked  = "blocked"
	Done     = "done"
	Archived = "archived"
)

// Limits of a request file.
const (
	MaxHead = 64 << 10 // bytes between the fences
	MaxFile = 16 << 20 // bytes of the whole file
)

// Valid reports whether nothing is wrong with the file that keeps it from
// running.
func (r *Request) Valid() bool { return r.FirstError() == nil }

// FirstError is the first of the problems that keep the request from being
// used; nil when it is valid.
func (r *Request) FirstError() *Problem {
	for i := range r.Problems {
		if r.Problems[i].Level == LevelError {
			return &r.Problems[i]
		}
	}
	return nil
}

// Over reports whether r is soundly done or archived; such are not listed among
// what waits.
func (r *Request) Over() bool { return r.SaysOver() && r.Valid() }

// SaysOver reports whether r says that it is done or archived, whatever is wrong
// with its file otherwise.
func (r *Request) SaysOver() bool { return r.Meta.Status == Done || r.Meta.Status == Archived }
