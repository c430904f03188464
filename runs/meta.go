package runs

import (
	"errors"
	"time"
)

const metaFile = "logs/meta.json"

// Meta is logs/meta.json (D57): what program worked for the run, how it was
// called, and with which configuration. Each process adds a line of its own.
type Meta struct {
	Version   string  `json:"version"`
	RequestID string  `json:"request_id"`
	RunID     string  `json:"run_id"`
	Starts    []Start `json:"starts"`
}

// Start is one process that worked for the run.
type Start struct {
	At       time.Time `json:"at"`
	Command  []string  `json:"command"` // argv; empty when a worker took the run by itself
	PID      int       `json:"pid"`
	Hostname string    `json:"hostname,omitempty"`
	Lang     string    `json:"lang,omitempty"`
	Aiflow   string    `json:"aiflow,omitempty"` // version and commit
	Go       string    `json:"go"`
	OS       string    `json:"os"`
	Arch     string    `json:"arch"`
	Git      string    `json:"git,omitempty"` // the binary
	Config   *Hashed   `json:"config"`        // null: there is no such file
	Router   *Hashed   `json:"router"`
}

// Hashed is a file as it was read.
type Hashed struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// AddStart adds a line to logs/meta.json. A file that cannot be read is begun
// anew. It is not synced: losing it in a power cut harms nothing.
func (d *Dir) AddStart(s Start) error {
	m, err := d.LoadMeta()
	if err != nil {
		m = &Meta{Version: Version, RequestID: d.RequestID, RunID: d.RunID}
	}
	m.Starts = append(m.Starts, s)
	data, err := encode(m)
	if err != nil {
		return err
	}
	return d.put(metaFile, data, true)
}

// LoadMeta reads logs/meta.json; RUN_NOT_FOUND when there is none.
func (d *Dir) LoadMeta() (*Meta, error) {
	m, err := load[Meta](d, metaFile)
	if err == nil && m.RunID != d.RunID {
		return nil, errors.New("of another run")
	}
	return m, err
}

// The two moments whose git status is kept.
const (
	StatusBefore = "before" // of the checkout, when the run began
	StatusAfter  = "after"  // of the workspace, as the run stopped
)

func statusFile(moment string) string { return "logs/git/status." + moment + ".txt" }

// SaveStatus keeps what was not committed at that moment.
func (d *Dir) SaveStatus(moment string, data []byte) error {
	return d.put(statusFile(moment), data, true)
}
