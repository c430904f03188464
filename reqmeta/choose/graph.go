package choose

import (
	"cmp"
	"slices"

	"aiflow/reqmeta"
	"aiflow/reqmeta/folder"
)

// Node is one request in the graph. Derived is RUNNABLE, DONE, ARCHIVED or the
// reason code of its exclusion.
type Node struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Status   string `json:"status"`
	Priority string `json:"priority"`
	Derived  string `json:"derived"`
}

// Edge says that From depends on To. State is done, waiting, missing or cycle.
type Edge struct {
	From  string `json:"from"`
	To    string `json:"to"`
	State string `json:"state"`
}

// The states of an edge.
const (
	EdgeDone    = "done"
	EdgeWaiting = "waiting"
	EdgeMissing = "missing"
	EdgeCycle   = "cycle"
)

// Network is the graph of all requests, sorted by id. An id that several files
// have is one node.
type Network struct {
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`
}

// Graph gives nodes and edges.
func Graph(f *folder.Folder, facts Facts) Network {
	j := newJudge(f, facts)
	n := Network{Nodes: []Node{}, Edges: []Edge{}}
	for _, i := range j.byID(func(*reqmeta.Request) bool { return true }) {
		r := f.Requests[i]
		n.Nodes = append(n.Nodes, Node{r.ID, r.Title(), r.Meta.Status, r.Meta.Priority, j.derived(i)})
		n.Edges = j.edges(n.Edges, i)
	}
	return n
}

// OpenEdges are the edges of what is still to be done.
func OpenEdges(f *folder.Folder) []Edge {
	j := newJudge(f, Facts{})
	var edges []Edge
	for _, i := range j.byID(func(r *reqmeta.Request) bool { return len(r.Meta.DependsOn) > 0 && !r.SaysOver() }) {
		edges = j.edges(edges, i)
	}
	return edges
}

func (j *judge) edges(list []Edge, i int) []Edge {
	r := j.f.Requests[i]
	for _, id := range distinct(r.Meta.DependsOn) {
		if j.f.Index(id) < 0 && j.f.DoneBeside(id) {
			continue // it is nowhere to be seen
		}
		list = append(list, Edge{r.ID, id, j.edgeState(i, id)})
	}
	return list
}

// byID gives the first file of every id, in byte order of the ids, of those that
// are wanted.
func (j *judge) byID(wanted func(*reqmeta.Request) bool) []int {
	var all []int
	for i, r := range j.f.Requests {
		if wanted(r) {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, func(a, b int) int {
		x, y := j.f.Requests[a], j.f.Requests[b]
		return cmp.Or(cmp.Compare(x.ID, y.ID), cmp.Compare(x.Path, y.Path))
	})
	return slices.CompactFunc(all, func(a, b int) bool { return j.f.Requests[a].ID == j.f.Requests[b].ID })
}

func (j *judge) derived(i int) string {
	e, ok := j.judge(i)
	switch {
	case ok:
		return "RUNNABLE"
	case e.Kind == "not_ready_done":
		return "DONE"
	case e.Kind == "not_ready_archived":
		return "ARCHIVED"
	}
	return string(e.ReasonCode)
}

func (j *judge) edgeState(i int, id string) string {
	d := j.links.link(j.links.bases.of(j.f.Requests[i]), id)
	switch {
	case d == missingLink:
		return EdgeMissing
	case d == doneLink || d >= 0 && j.isDone(int(d)):
		return EdgeDone
	}
	j.walk(i)
	if ring := j.ringAt(i); d >= 0 && ring != nil && ring == j.ringAt(int(d)) {
		return EdgeCycle
	}
	return EdgeWaiting
}
