package reqmeta

// Order gives every request in the order of the queue: P0 to P3, updated
// longest ago, created longest ago, id. Whether it can run does not matter.
func Order(f *Folder) []*Request {
	keys := newJudge(f, Facts{}).order(func(int) bool { return true })
	list := make([]*Request, len(keys))
	for n, k := range keys {
		list[n] = f.Requests[k.i]
	}
	return list
}

// LineOf is the line of a file on which a key stands, or an item of its list
// when it stands on a line of its own; 0 when the head does not have it.
func LineOf(data []byte, key, item string) int {
	e, ok := entryOf(data, key)
	if !ok {
		return 0
	}
	for _, it := range e.items {
		if it.scalar && it.text == item {
			return it.line
		}
	}
	return e.line
}

// LineOfStep is the line on which a step begins, 0 when the head has none of
// that number.
func LineOfStep(data []byte, i int) int {
	if e, ok := entryOf(data, "steps"); ok && i < len(e.items) {
		return e.items[i].line
	}
	return 0
}

func entryOf(data []byte, key string) (entry, bool) {
	d, p := cut(data)
	if p != nil {
		return entry{}, false
	}
	entries, _ := d.entries(string(data[d.start:d.end]), &scanner{}, true)
	for _, e := range entries {
		if e.key == key {
			return e, true
		}
	}
	return entry{}, false
}

// Stuck are the open requests that depend, themselves, on something that will
// not be done as it is: archived, in a file that cannot be used, or the id of
// several. What is missing and rings are not among them; see Graph.
func Stuck(f *Folder) []Exclusion {
	j := newJudge(f, Facts{})
	var list []Exclusion
	for i, kind := range j.links.kind {
		if kind == unsound || kind >= soundArchived {
			continue
		}
		if e, ok := j.dependencies(i); !ok && e.Kind == "waits" && e.late.why.rank >= rankBroken {
			list = append(list, e)
		}
	}
	return list
}
