package reqmeta

// blockItem reads a line `- item` that belongs to the key above.
func (sc *scanner) blockItem(text string, at, line int) bool {
	indent := blanks(text)
	if len(sc.entries) == 0 || len(text) < indent+3 || text[indent] != '-' || text[indent+1] != ' ' {
		return false
	}
	column := indent + 1 + blanks(text[indent+1:])
	e, v := &sc.entries[len(sc.entries)-1], text[column:]
	if v == "" {
		return false
	}
	s, n := one(v)
	if n == 0 || !isEnd(v[n:]) {
		return sc.mapping(e, indent, line) && sc.add(v, column, line)
	}
	switch {
	case e.kind == nullValue && e.start == e.colon:
		e.kind, e.block, e.start, e.indent = listValue, true, at, indent
	case !e.block || e.indent != indent:
		return false
	}
	sc.item(e, item{text: s, line: line, scalar: true})
	e.end = at + len(text)
	return true
}

func (sc *scanner) item(e *entry, it item) {
	sc.items = append(sc.items, it)
	e.items = sc.items[len(sc.items)-len(e.items)-1:]
}

// mapping begins an item that is a mapping. Where such a list stands is not
// told: nothing edits it.
func (sc *scanner) mapping(e *entry, indent, line int) bool {
	switch {
	case e.kind == nullValue && e.start == e.colon:
		e.kind, e.start, e.end = listValue, -1, 0
		sc.dash = indent
	case e.kind != listValue || e.start >= 0 || sc.dash != indent:
		return false
	}
	sc.item(e, item{line: line, mapping: true})
	return true
}

// blockPair reads a line that goes on with the mapping above.
func (sc *scanner) blockPair(text string, line int) bool {
	if len(sc.entries) == 0 || blanks(text) != sc.column {
		return false
	}
	e := &sc.entries[len(sc.entries)-1]
	return e.kind == listValue && e.start < 0 && sc.add(text[sc.column:], sc.column, line)
}

// add reads a `key: value` of the last item.
func (sc *scanner) add(v string, column, line int) bool {
	n := keyLen(v)
	if n == 0 || n > maxKey || n == len(v) || v[n] != ':' {
		return false
	}
	p, rest := pair{key: v[:n], line: line, scalar: true}, v[n+1:]
	gap := blanks(rest)
	if gap == 0 && rest != "" {
		return false
	}
	if rest = rest[gap:]; rest != "" && rest[0] != '#' {
		text, m := one(rest)
		if m == 0 || !isEnd(rest[m:]) {
			return false
		}
		if m != len(text) || !isNull(text) {
			p.text = text
		}
	}
	sc.column = column
	return sc.items[len(sc.items)-1].take(p)
}

// take refuses a key that is there already: YAML says where.
func (it *item) take(p pair) bool {
	for _, have := range it.pairs {
		if have.key == p.key {
			return false
		}
	}
	it.pairs = append(it.pairs, p)
	return true
}
