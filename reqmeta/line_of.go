package reqmeta

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
	entries, _ := d.entries(string(data[d.start:d.end]))
	for _, e := range entries {
		if e.key == key {
			return e, true
		}
	}
	return entry{}, false
}
