package reqmeta

import "go.yaml.in/yaml/v3"

type valueKind uint8

const (
	scalarValue valueKind = iota
	nullValue
	listValue
	otherValue
)

// entry is one `key: value` of a head.
type entry struct {
	key   string
	line  int // file line of the key
	kind  valueKind
	text  string // of a scalar
	items []item // of a list
	node  *yaml.Node

	// For the editor: where the key's colon ends and where the value's bytes
	// are, as offsets in the head. start < 0: not known.
	colon, start, end int
	below, belowEnd   int  // of a block text: its lines, from the end of the line of its sign
	block             bool // a list with one "- item" line for each item
	indent            int  // of those lines
}

// item is one member of a list.
type item struct {
	text    string
	line    int
	scalar  bool
	mapping bool
	pairs   []pair // of a mapping
	node    *yaml.Node
}

// pair is one `key: value` of an item that is a mapping.
type pair struct {
	key, text string // text: "" for null
	line      int
	scalar    bool
}
