package runs

import (
	"fmt"
	"strconv"

	"aiflow/internal/fault"
)

// LeftKind says what was left in a workspace and in no commit.
type LeftKind string

// The kinds of what is left.
const (
	LeftChanges    LeftKind = "changes"    // changed, new and hidden files, and commits on no branch
	LeftOrphan     LeftKind = "orphan"     // likewise, of a run that is not on record
	LeftSetAside   LeftKind = "set_aside"  // commits of steps that were done again
	LeftRepository LeftKind = "repository" // a repository of its own inside the workspace
	LeftIgnored    LeftKind = "ignored"    // what git ignores
	LeftGone       LeftKind = "gone"       // what git ignores, and went with the workspace
)

// Left is something that was in a workspace and in no commit of a branch when
// the workspace went or was put back.
type Left struct {
	Kind  LeftKind `json:"kind"`
	Path  string   `json:"path,omitempty"` // in the workspace; "" is several
	Kept  string   `json:"kept,omitempty"` // a ref, or a path from the repository's root; "" is not kept
	Files int      `json:"files"`
	Bytes int64    `json:"bytes"`
}

// Key is the sentence that says what became of it; Facts are what it names.
func (l Left) Key() string {
	switch l.Kind {
	case LeftOrphan:
		return "report.left.orphan"
	case LeftSetAside:
		return "report.left.set_aside"
	case LeftRepository:
		return "report.left.repository"
	case LeftIgnored:
		return "report.left.ignored"
	case LeftGone:
		return "report.left.gone"
	}
	return "report.left.changes"
}

// Facts are what the sentence of Key may name.
func (l Left) Facts() fault.Facts {
	f := fault.Facts{"count": strconv.Itoa(l.Files), "size": SizeText(l.Bytes)}
	if l.Path != "" {
		f["name"] = l.Path
	}
	if l.Kept != "" {
		f["path"] = l.Kept
	}
	return f
}

// KeptDir is the folder below a run's own that holds what was kept whole.
const KeptDir = "kept"

// NoteLeft records what is left, once.
func (s *Stage) NoteLeft(l Left) {
	for i, have := range s.Artifacts.Left {
		if have.Kind == l.Kind && have.Path == l.Path && have.Kept == l.Kept && l.Path+l.Kept != "" {
			s.Artifacts.Left[i] = l
			return
		}
	}
	s.Artifacts.Left = append(s.Artifacts.Left, l)
}

// SizeText is a number of bytes for people.
func SizeText(n int64) string {
	const unit = 1024
	switch {
	case n < unit:
		return strconv.FormatInt(n, 10) + " B"
	case n < unit*unit:
		return fmt.Sprintf("%.1f KiB", float64(n)/unit)
	case n < unit*unit*unit:
		return fmt.Sprintf("%.1f MiB", float64(n)/(unit*unit))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(unit*unit*unit))
}
