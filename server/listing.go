package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"sync"

	"aiflow/messages"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
)

// listing is the whole list of one moment in one language. Who has it can ask
// later for what changed: one request of ten thousand is some hundred bytes,
// the whole some million.
type listing struct {
	head listHead
	rows []row
	json [][]byte               // of each row
	all  func() ([]byte, error) // put together when somebody asks for the whole
}

// row is what is remembered of an item: its path, and a sum of everything that
// it says but for its rank. Ranks slide when another request comes or goes, and
// follow from the order: the n-th of those that can run has rank n.
type row struct {
	path string
	sum  uint64
}

// pastListing is one that somebody may still have.
type pastListing struct {
	revision string
	rows     []row
}

// pastListings is how many are remembered. Who has an older one gets the whole.
const pastListings = 32

var rowSeed = maphash.MakeSeed()

// listing works the whole list out, once for a snapshot and a language.
func (s *Server) listing(sn *snapshot, words *messages.Catalog) (*listing, error) {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	if l := sn.lists[words.Lang()]; l != nil {
		return l, nil
	}
	l, err := sn.newListing(words)
	if err != nil {
		return nil, err
	}
	sn.lists[words.Lang()] = l
	s.mu.Lock()
	defer s.mu.Unlock()
	s.past = append(slices.DeleteFunc(s.past, func(p pastListing) bool { return p.revision == l.head.Revision }), pastListing{l.head.Revision, l.rows})
	s.past = s.past[max(0, len(s.past)-pastListings):]
	return l, nil
}

func (sn *snapshot) listHead() listHead {
	h := listHead{Stats: sn.sel.Stats, Queue: sn.sel.Queue}
	if sn.sel.Next != nil {
		h.Next = &sn.sel.Next.RequestID
	}
	return h
}

func (sn *snapshot) newListing(words *messages.Catalog) (*listing, error) {
	l := &listing{head: sn.listHead()}
	for _, r := range choose.Order(sn.folder) {
		v := sn.item(r, words)
		rank := v.Derived.Rank
		v.Derived.Rank = nil
		data, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		l.rows = append(l.rows, row{r.Path, maphash.Bytes(rowSeed, data)})
		if rank != nil { // no text of a request has these bytes: its quotes are escaped
			data = bytes.Replace(data, []byte(`"rank":null`), strconv.AppendInt([]byte(`"rank":`), int64(*rank), 10), 1)
		}
		l.json = append(l.json, data)
	}
	rest, err := json.Marshal(l.head)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	for _, data := range append(l.json, rest) {
		_, _ = sum.Write(data)
	}
	l.head.Revision = fmt.Sprintf("%x", sum.Sum(nil)[:16])
	l.all = sync.OnceValues(func() ([]byte, error) { return withItems(l.head, l.json) })
	return l, nil
}

// withItems is the JSON of a list, of that of its items.
func withItems(head listHead, items [][]byte) ([]byte, error) {
	rest, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	return slices.Concat([]byte(`{"items":[`), bytes.Join(items, []byte(",")), []byte(`],`), rest[1:]), nil
}

// since is what changed since old: the items that say something else now, or
// are new, with their places, and the paths of those that are gone. All others
// keep their order, which depends on each one's own file alone.
func (l *listing) since(old pastListing) ([]byte, error) {
	before := make(map[string]uint64, len(old.rows))
	for _, r := range old.rows {
		before[r.path] = r.sum
	}
	head := l.head
	head.Since = old.revision
	var items [][]byte
	for i, r := range l.rows {
		if sum, had := before[r.path]; !had || sum != r.sum {
			items, head.Places = append(items, l.json[i]), append(head.Places, i)
		}
		delete(before, r.path)
	}
	for _, r := range old.rows {
		if _, gone := before[r.path]; gone {
			head.Gone = append(head.Gone, r.path)
		}
	}
	return withItems(head, items)
}

// beginning is what a page shows before it has read the whole list, which is
// some million bytes of ten thousand requests: the first n as it orders them
// (what runs, what can run by rank, what waits, what is over), and whatever
// needs somebody: an open request with a run, a file that cannot be used.
func (sn *snapshot) beginning(words *messages.Catalog, n int) list {
	l := list{Items: []item{}, listHead: sn.listHead()}
	groups := make([][]*reqmeta.Request, 5)
	for _, r := range choose.Order(sn.folder) {
		over := r.Meta.Status == reqmeta.Done || r.Meta.Status == reqmeta.Archived
		rank, can := sn.rank[r.Path]
		at := 2
		switch {
		case sn.facts.Holder(r.ID) != nil || !r.Valid() || !over && sn.latest[r.ID] != nil:
			at = 0
		case can && rank <= n:
			at = 1
		case r.Meta.Status == reqmeta.Done:
			at = 3
		case over:
			at = 4
		}
		if at == 0 || len(groups[at]) < n {
			groups[at] = append(groups[at], r)
		}
	}
	rest := slices.Concat(groups[1:]...)
	for _, r := range append(groups[0], rest[:min(n, len(rest))]...) {
		l.Items = append(l.Items, sn.item(r, words))
	}
	return l
}
