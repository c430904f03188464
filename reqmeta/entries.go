package reqmeta

import "go.yaml.in/yaml/v3"

// ValueKind says what the value of a key is.
type ValueKind uint8

// The kinds of values.
const (
	ScalarValue ValueKind = iota
	NullValue
	ListValue
	OtherValue
)

// Entry is one `key: value` of a head.
type Entry struct {
	Key   string
	Line  int // file line of the key
	Kind  ValueKind
	Text  string // of a scalar
	Items []Item // of a list
	Node  *yaml.Node

	// Of what a Mapping made ours: key and text as they are written.
	Theirs, Written string
	beside          string // our key that stands there too

	// For the editor: where the key's colon ends and where the value's bytes
	// are, as offsets in the head. start < 0: not known.
	Colon, Start, End int
	Below, BelowEnd   int  // of a block text: its lines, from the end of the line of its sign
	Block             bool // a list with one "- item" line for each item
	Indent            int  // of those lines
}

// Item is one member of a list.
type Item struct {
	Text    string
	line    int
	Scalar  bool
	mapping bool
	pairs   []pair // of a mapping
	Node    *yaml.Node
}

// pair is one `key: value` of an item that is a mapping.
type pair struct {
	key, text string // text: "" for null
	line      int
	scalar    bool
}
