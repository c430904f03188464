package doctor

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"aiflow/internal/config"
	"aiflow/internal/fault"
)

// Version is the version of the report's shape (D32).
const Version = "1.0.0"

// Status is how a check came out.
type Status string

// The statuses.
const (
	Pass Status = "PASS"
	Warn Status = "WARN"
	Fail Status = "FAIL"
)

// Report is what doctor says (D32).
type Report struct {
	OK          bool        `json:"ok"` // nothing fails
	Version     string      `json:"version"`
	Mode        Mode        `json:"mode"`
	Summary     Summary     `json:"summary"`
	Checks      []Check     `json:"checks"`
	Repairs     []Repair    `json:"repairs"`
	Environment Environment `json:"environment"`
}

// Summary counts.
type Summary struct {
	Status    Status `json:"status"`
	FailCount int    `json:"fail_count"`
	WarnCount int    `json:"warn_count"`
}

// Environment says where doctor looked.
type Environment struct {
	RepoRoot  string    `json:"repo_root"`
	OS        string    `json:"os"`
	Timestamp time.Time `json:"timestamp"`
}

// Check is one thing that was looked at. Its sentence is the message
// "doctor.<id>_<kind>", what to do "doctor.<id>_<kind>_hint"; with Err it is
// that fault's text.
type Check struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"` // filled by Describe, like Message and Hint
	Status   Status         `json:"status"`
	Severity fault.Severity `json:"severity"`
	Message  string         `json:"message"`
	Hint     string         `json:"hint"` // the first of Hints
	Evidence Evidence       `json:"evidence"`

	Hints []string    `json:"-"` // up to three; D32 has room for one
	Kind  string      `json:"-"`
	Facts fault.Facts `json:"-"`
	Err   error       `json:"-"`

	Odd  []config.Warning `json:"-"` // named in the message
	Kept []error          `json:"-"` // why requests cannot be run; the hints say it, and what to do
}

// Evidence is what the check saw: command, stdout and stderr where a command
// was asked, and lists of its own.
type Evidence map[string]any

// Repair is one thing that Fix did, or could not do. Its sentence is the
// message "doctor.fix_<kind>", or "doctor.fix_<kind>_failed".
type Repair struct {
	Check   string      `json:"check"`
	Kind    string      `json:"kind"`
	OK      bool        `json:"ok"`
	Facts   fault.Facts `json:"facts,omitempty"`
	Message string      `json:"message"`
	Err     error       `json:"-"`
}

// Words are the sentences that a face lends.
type Words struct {
	Has   func(key string) bool
	Text  func(key string, f fault.Facts) string
	Fault func(err error) (message string, actions []string)
}

// Describe fills names, messages and hints.
func (r *Report) Describe(w Words) {
	for i := range r.Checks {
		r.Checks[i].describe(w)
	}
	for i := range r.Repairs {
		f := &r.Repairs[i]
		key, facts := "doctor.fix_"+f.Kind, f.Facts
		if f.Err != nil {
			key += "_failed"
			facts = fault.Facts{}
			maps.Copy(facts, f.Facts)
			facts["cause"], _ = w.Fault(f.Err)
		}
		f.Message = w.Text(key, facts)
	}
}

func (c *Check) describe(w Words) {
	c.Name = w.Text("doctor.name_"+c.ID, nil)
	if c.Err != nil {
		message, actions := w.Fault(c.Err)
		c.Message = message
		c.advise(actions...)
		return
	}
	if len(c.Odd) > 0 {
		var said []string
		for _, o := range c.Odd {
			said = append(said, w.Text("config."+o.Kind, o.Facts))
		}
		c.Facts["names"] = strings.Join(first(said, maxOdd), "; ")
	}
	key := "doctor." + c.ID + "_" + c.Kind
	c.Message = w.Text(key, c.Facts)
	if c.Status != Pass && w.Has(key+"_hint") {
		c.advise(w.Text(key+"_hint", c.Facts))
	}
	var hints []string
	for _, err := range c.Kept {
		message, actions := w.Fault(err)
		if hint := strings.Join(append([]string{message}, first(actions, 2)...), " → "); !slices.Contains(hints, hint) {
			hints = append(hints, hint)
		}
	}
	c.advise(append(hints, c.Hints...)...)
}

const (
	maxHints = 3
	maxOdd   = 5
)

func (c *Check) advise(hints ...string) {
	if c.Hints = first(hints, maxHints); len(c.Hints) > 0 {
		c.Hint = c.Hints[0]
	}
}

// sum sorts the checks into their usual order and counts.
func (r *Report) sum() {
	slices.SortStableFunc(r.Checks, func(a, b Check) int {
		return cmp.Compare(slices.Index(IDs(), a.ID), slices.Index(IDs(), b.ID))
	})
	r.Summary = Summary{Status: Pass}
	for _, c := range r.Checks {
		switch c.Status {
		case Fail:
			r.Summary.FailCount++
		case Warn:
			r.Summary.WarnCount++
		}
	}
	switch {
	case r.Summary.FailCount > 0:
		r.Summary.Status = Fail
	case r.Summary.WarnCount > 0:
		r.Summary.Status = Warn
	}
	r.OK = r.Summary.Status != Fail
}

// IDs lists every check in the order of the report.
func IDs() []string {
	return []string{
		"git", "repository", "base_branch", "origin", "worktree_clean", "requests_dir", "requests_valid", "duplicate_ids",
		"dependencies", "config", "router", "role_commands", "ai_commands", "ignore_rules", "hooks", "locks", "runs", "worktrees",
		"temp_files", "disk_space", "gh", "clock", "cache", "versions",
	}
}
