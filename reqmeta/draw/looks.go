package draw

import (
	"maps"
	"slices"

	"aiflow/internal/fault"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
)

// all gives the nodes and one for each id that edges lead to and that no node has.
func all(n choose.Network) []choose.Node {
	have, missing := map[string]bool{}, map[string]bool{}
	for _, node := range n.Nodes {
		have[node.ID] = true
	}
	for _, e := range n.Edges {
		if !have[e.To] {
			missing[e.To] = true
		}
	}
	nodes := slices.Clone(n.Nodes)
	for _, id := range slices.Sorted(maps.Keys(missing)) {
		nodes = append(nodes, choose.Node{ID: id, Derived: string(fault.DependsNotFound)})
	}
	return nodes
}

// look is how a node is drawn.
type look struct{ name, fill, stroke string }

func lookOf(n choose.Node) look {
	switch {
	case n.Derived == "DONE":
		return look{"done", "#d9f2e1", "#2f855a"}
	case n.Derived == "RUNNABLE":
		return look{"runnable", "#dbeafe", "#1d4ed8"}
	case n.Derived == "ARCHIVED" || n.Status == reqmeta.Draft:
		return look{"quiet", "#eeeeee", "#777777"}
	case n.Status == reqmeta.Running || n.Derived == string(fault.RequestLocked):
		return look{"running", "#e9ddfb", "#6b3fa0"}
	case n.Derived == string(fault.DependsNotDone) || n.Derived == string(fault.LatestRunDone):
		return look{"waiting", "#fff6d6", "#946200"}
	}
	return look{"stuck", "#fde0e0", "#b42318"}
}

func colorOf(e choose.Edge) string {
	switch e.State {
	case choose.EdgeDone:
		return "#2f855a"
	case choose.EdgeWaiting:
		return "#946200"
	}
	return "#b42318"
}
