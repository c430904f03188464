package reqmeta

import (
	"io"
	"time"

	"aiflow/internal/atomicfile"
)

// Node is a request in the graph; Derived is RUNNABLE, DONE, ARCHIVED or a
// reason code.
type Node struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Status   string `json:"status"`
	Priority string `json:"priority"`
	Derived  string `json:"derived"`
}

// Edge says that From depends on To; State is done, waiting, missing or cycle.
type Edge struct {
	From  string `json:"from"`
	To    string `json:"to"`
	State string `json:"state"`
}

// Network is the graph of all requests.
type Network struct {
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`
}

// Graph draws f.
func Graph(f *Folder, facts Facts) Network { return Network{} }

// WriteDOT writes Graphviz.
func (n Network) WriteDOT(w io.Writer) error { return nil }

// WriteMermaid writes a Mermaid flowchart.
func (n Network) WriteMermaid(w io.Writer) error { return nil }

// WriteSVG writes a picture.
func (n Network) WriteSVG(w io.Writer) error { return nil }

// NewRequest is what Create is asked for.
type NewRequest struct {
	Title     string
	Priority  string // default P2
	Status    string // default draft
	Labels    []string
	DependsOn []string
	Estimate  string
	Lang      string // of the built-in template: ja (default) or en
	Body      string // replaces the template's body unless empty
}

// NextID is the id that a new request of that day and title would get.
func NextID(f *Folder, date time.Time, title string) string { return "" }

// Create writes a new request file; safe when two run at once.
func Create(disk atomicfile.Disk, root, requestsDir string, n NewRequest, now time.Time) (*Request, error) {
	return nil, nil
}
