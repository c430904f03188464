package reqmeta

// Order gives every request in the order of the queue: P0 to P3, updated
// longest ago, created longest ago, id. Whether it can run does not matter.
func Order(f *Folder) []*Request {
	keys := newJudge(f, Facts{}).order(func(*Request) bool { return true })
	list := make([]*Request, len(keys))
	for n, k := range keys {
		list[n] = f.Requests[k.i]
	}
	return list
}

// LineOf is the line of a file on which a key stands, or an item of its list
// when it stands on a line of its own; 0 when the head does not have it.
func LineOf(data []byte, key, item string) int {
	d, p := cut(data)
	if p != nil {
		return 0
	}
	entries, _ := d.entries(string(data[d.start:d.end]), &scanner{}, true)
	for _, e := range entries {
		if e.key != key {
			continue
		}
		for _, it := range e.items {
			if it.scalar && it.text == item {
				return it.line
			}
		}
		return e.line
	}
	return 0
}
