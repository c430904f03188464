package reqmeta

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

// sortByPath sorts by the bytes of the path. Names of one folder begin alike,
// so they are told apart by the eight bytes after that, as one number.
func sortByPath(list []*Request) {
	if len(list) < 2 {
		return
	}
	same := len(list[0].Path)
	for _, r := range list[1:] {
		same = common(list[0].Path[:same], r.Path)
	}
	type keyed struct {
		key uint64
		r   *Request
	}
	keys := make([]keyed, len(list))
	for i, r := range list {
		var b [8]byte
		copy(b[:], r.Path[same:])
		keys[i] = keyed{binary.BigEndian.Uint64(b[:]), r}
	}
	slices.SortFunc(keys, func(a, b keyed) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		return strings.Compare(a.r.Path, b.r.Path)
	})
	for i := range keys {
		list[i] = keys[i].r
	}
}

// common is how many bytes a and b begin with alike.
func common(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
