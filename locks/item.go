package locks

import (
	"path/filepath"
	"slices"
	"time"

	"aiflow/internal/fault"
)

// Item is a lock as lists show it: `aiflow-lock list --json` and GET /api/locks.
type Item struct {
	LockType  string     `json:"lock_type"`
	RequestID string     `json:"request_id"`
	RunID     string     `json:"run_id"`
	PID       int        `json:"pid"`
	Host      string     `json:"host"`
	Hostname  string     `json:"hostname"`
	CreatedAt *time.Time `json:"created_at"` // null when the file cannot be read
	ExpiresAt *time.Time `json:"expires_at"`
	Verdict   Verdict    `json:"verdict"`
	Path      string     `json:"path"` // relative to root, with slashes, if it is below
	Name      string     `json:"name,omitempty"`

	Advice []fault.Advice `json:"advice,omitempty"` // what can be done now
}

// Item is e as lists show it, for a project at root. Releasing the lock of a holder
// that is at work is no advice there: only who asked to release it is told how.
func (e Entry) Item(root string) Item {
	advice := e.Advise()
	if e.Verdict == Held && !e.Orphaned {
		advice = slices.DeleteFunc(advice, func(a fault.Advice) bool { return a.Verb == fault.VerbRelease })
	}
	return Item{
		LockType: e.LockType, RequestID: e.RequestID, RunID: e.RunID, PID: e.PID, Host: e.Host, Hostname: e.Hostname,
		CreatedAt: orNil(e.CreatedAt), ExpiresAt: orNil(e.ExpiresAt), Verdict: e.Verdict,
		Path: below(root, e.Path), Name: e.Name, Advice: advice,
	}
}

// Items are entries as lists show them; none is an empty list, not null.
func Items(root string, entries []Entry) []Item {
	items := make([]Item, 0, len(entries))
	for _, e := range entries {
		items = append(items, e.Item(root))
	}
	return items
}

func orNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func below(root, path string) string {
	if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	return filepath.ToSlash(path)
}
