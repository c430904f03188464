package reqmeta

// LineOf is the line of a file on which a key stands, or an item of its list
// when it stands on a line of its own; 0 when the head does not have it.
func LineOf(data []byte, key, item string) int {
	e, ok := entryOf(data, key)
	if !ok {
		return 0
	}
	for _, it := range e.Items {
		if it.Scalar && it.Text == item {
			return it.line
		}
	}
	return e.Line
}

// LineOfStep is the line on which a step begins, 0 when the head has none of
// that number.
func LineOfStep(data []byte, i int) int {
	if e, ok := entryOf(data, "steps"); ok && i < len(e.Items) {
		return e.Items[i].line
	}
	return 0
}

func entryOf(data []byte, key string) (Entry, bool) {
	d, p := Split(data)
	if p != nil {
		return Entry{}, false
	}
	entries, _ := d.Entries(string(data[d.Start:d.End]))
	for _, e := range entries {
		if e.Key == key {
			return e, true
		}
	}
	return Entry{}, false
}
