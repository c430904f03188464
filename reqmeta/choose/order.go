package choose

import (
	"aiflow/reqmeta/folder"

	"aiflow/reqmeta"
)

// Order gives every request in the order of the queue: P0 to P3, updated
// longest ago, created longest ago, id. Whether it can run does not matter.
func Order(f *folder.Folder) []*reqmeta.Request {
	keys := newJudge(f, Facts{}).order(func(int) bool { return true })
	list := make([]*reqmeta.Request, len(keys))
	for n, k := range keys {
		list[n] = f.Requests[k.i]
	}
	return list
}

// Stuck are the open requests that depend, themselves, on something that will
// not be done as it is: archived, in a file that cannot be used, or the id of
// several. What is missing and rings are not among them; see Graph.
func Stuck(f *folder.Folder) []Exclusion {
	j := newJudge(f, Facts{})
	var list []Exclusion
	for i, kind := range j.links.kind {
		if kind == unsound || kind >= soundArchived {
			continue
		}
		if e, ok := j.dependencies(i); !ok && e.Kind == "waits" && e.lazy.why.rank >= rankBroken {
			list = append(list, e)
		}
	}
	return list
}
