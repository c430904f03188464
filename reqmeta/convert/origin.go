package convert

import (
	"cmp"
	"path"
	"path/filepath"
	"strings"

	"aiflow/reqmeta"
)

// origin is what a request was imported from. Stores of one kind have the same
// ids, so it takes the store to tell one item from another.
type origin struct{ source, store, id string }

func originOf(r *reqmeta.Request) origin {
	m := r.Meta.Unknown
	return origin{m["source"], strings.ToLower(cmp.Or(homeOf(m["source"], m["source_url"]), m["source_store"])), m["source_id"]}
}

// homeOf is the store of an issue, its repository.
func homeOf(source, url string) string {
	if source != "github" {
		return ""
	}
	return strings.ToLower(repoOf(url))
}

// storeName is what a store is called when nobody says it: where it lies in the
// project, or the folder of the project that it is the store of. A file that was
// exported, and standard input, may be of anything: they have no name.
// What lies inside of the project has a name of its own.
func storeName(source, root string, in input) (name string, inside bool) {
	at := in.real()
	if at == "" || in.dir == "" && (source == "csv" || source == "github" || source == "aiflow") {
		return "", false
	}
	if root, err := filepath.EvalSymlinks(root); err == nil {
		if rel, err := filepath.Rel(root, at); err == nil && filepath.IsLocal(rel) {
			return clean(filepath.ToSlash(rel)), true
		}
	}
	at = filepath.ToSlash(at)
	for _, s := range stores {
		where := s.path
		if source == "backlog" {
			where = path.Dir(where)
		}
		if of, ok := strings.CutSuffix(at, "/"+where); ok && s.source == source && of != "" {
			return clean(path.Base(of)), false
		}
	}
	switch {
	case in.dir != "":
		return clean(path.Base(at)), false
	case source == "todo":
		return clean(path.Join(path.Base(path.Dir(at)), path.Base(at))), false
	}
	return "", false
}

// Unsure is a source of which nobody can tell whether it was imported before:
// requests of Other have its ids.
type Unsure struct {
	Path, Store, Other string
	IDs                []string // of some of these requests
	Alike              bool     // most have its titles as well
	List               bool     // ids are made of texts, and hardly any is here: another list of that name?
}

func (e *Unsure) Error() string { return e.Path + ": of the store " + e.Other + "?" }

// group are requests of one store and the tasks that have their ids.
type group struct {
	size  int // requests of the store
	tasks []*task
	old   []*reqmeta.Request
	alike int
}

// known reports whether the store is the one that is read: at least half of what
// could be the same is.
func (g *group) known(tasks int) bool { return g.alike > 0 && 2*g.alike >= min(g.size, tasks) }

func (g *group) unsure(c *conv, store string) *Unsure {
	e := &Unsure{Path: c.path, Store: c.Store, Other: store, Alike: g.known(len(c.tasks))}
	for _, r := range g.old[:min(3, len(g.old))] {
		e.IDs = append(e.IDs, r.ID)
	}
	return e
}

// alike reports whether a request is of that very item as far as both tell: made
// at a time at which no other was, or of one title and not made at another time.
func alike(c *conv, t *task, r *reqmeta.Request) bool {
	named := clean(r.Title()) == t.title
	if made, ok := reqmeta.ParseDate(t.created); ok && len(t.created) > len(reqmeta.DayForm) && !r.Meta.CreatedAt.Time.IsZero() {
		return made.Time.Equal(r.Meta.CreatedAt.Time) && (named || c.created[t.created] == 1)
	}
	return named
}

// recognize finds the requests that were made of these tasks before. That two
// have one id is no proof: it takes a store that was named, or a folder of the
// same name, or no name at all, whose texts are the same for the most part.
func (c *conv) recognize(there []*reqmeta.Request) error {
	c.created = map[string]int{}
	for _, t := range c.tasks {
		c.created[t.created]++
	}
	known, size := map[origin]*reqmeta.Request{}, map[string]int{}
	c.here = map[origin]*task{}
	stores := []string{}
	for _, r := range there {
		o := originOf(r)
		if c.From == "aiflow" && c.Store == "" { // ids of an export are ours
			o = origin{c.From, "", strings.ToLower(r.ID)}
		}
		key := origin{o.source, o.store, strings.ToLower(o.id)} // tools change the case of their ids
		if o.source != c.From || o.id == "" || known[key] != nil {
			continue
		}
		known[key] = r
		c.here[key] = &task{
			item: &Item{ID: r.ID, Path: r.Path, Result: Unchanged}, key: o.id, status: r.Meta.Status, old: r, kept: true,
		}
		if size[o.store]++; size[o.store] == 1 {
			stores = append(stores, o.store)
		}
	}
	groups := map[string]*group{}
	id := func(t *task) string {
		if c.From == "aiflow" && c.Store == "" {
			return strings.ToLower(t.key)
		}
		return strings.ToLower(t.item.SourceID)
	}
	renamed := renamedIn(c, known, id)
	match := func(t *task, store string) *reqmeta.Request {
		r := cmp.Or(known[origin{c.From, store, id(t)}], renamed(t, store))
		if r != nil {
			g := groups[store]
			if g == nil {
				g = &group{size: size[store]}
				groups[store] = g
			}
			if g.tasks, g.old = append(g.tasks, t), append(g.old, r); alike(c, t, r) {
				g.alike++
			}
		}
		return r
	}
	store, open := strings.ToLower(c.Store), []*task{}
	for _, t := range c.tasks {
		t.numeric = t.numeric && c.From != "aiflow" // its ids are ours already
		home := homeOf(c.From, t.url)
		t.item.store = cmp.Or(home, store)
		if home != "" || c.StoreGiven {
			t.old = cmp.Or(known[origin{c.From, t.item.store, id(t)}], renamed(t, t.item.store))
		} else {
			t.old = match(t, store)
			open = append(open, t)
		}
		if t.old == nil && t.item.store != "" {
			match(t, "") // of a time when stores had no names
		}
	}
	if g := groups[store]; c.anyList && size[store] > 0 && (g == nil || 2*g.alike <= min(size[store], len(c.tasks))) {
		e := &Unsure{Path: c.path, Store: c.Store, Other: c.Store, List: true}
		for _, r := range there {
			if o := originOf(r); o.source == c.From && o.store == store && len(e.IDs) < 3 {
				e.IDs = append(e.IDs, r.ID)
			}
		}
		return e
	}
	if g := groups[store]; g != nil && store != "" && !g.known(len(c.tasks)) {
		return g.unsure(c, c.Store)
	}
	if g := groups[""]; g != nil {
		switch {
		case g.known(len(c.tasks)):
			for i, t := range g.tasks {
				if t.old, t.item.store = g.old[i], ""; !alike(c, t, t.old) {
					t.item.leave(Refused, "other_text", t.old.ID)
				}
			}
		case len(open) > 0 && (store == "" || groups[store] == nil):
			return g.unsure(c, "")
		}
	}
	if groups[store] == nil {
		for _, other := range stores {
			for _, t := range open {
				match(t, other)
			}
			if g := groups[other]; g != nil && other != "" && (store == "" || g.known(len(c.tasks))) {
				return g.unsure(c, other)
			}
		}
	}
	for _, t := range c.tasks {
		if t.old != nil {
			t.item.ID, t.item.Path = t.old.ID, t.old.Path
			if o := originOf(t.old); o.source == c.From {
				if !strings.EqualFold(o.id, t.item.SourceID) {
					c.count("id_renamed", t.item.SourceID+" = "+t.old.ID, t.item.Where)
				}
				t.item.SourceID = o.id // as it was spelt then, which its hashes are known by
			}
		}
	}
	return nil
}

// renamedIn finds the request of a task whose prefix another took the place of: in a
// store that has a name the number and the text are the same, and the old id is not
// among those that are read.
func renamedIn(c *conv, known map[origin]*reqmeta.Request, id func(*task) string) func(t *task, store string) *reqmeta.Request {
	read, gone := map[string]bool{}, map[[2]string][]*reqmeta.Request{}
	for _, t := range c.tasks {
		read[id(t)] = true
	}
	for o, r := range known {
		if prefix, number := numbered(o.id); prefix != "" && o.store != "" && !read[o.id] {
			gone[[2]string{o.store, number}] = append(gone[[2]string{o.store, number}], r)
		}
	}
	return func(t *task, store string) *reqmeta.Request {
		prefix, number := numbered(id(t))
		of := gone[[2]string{store, number}]
		if prefix == "" || len(of) != 1 || !alike(c, t, of[0]) {
			return nil
		}
		delete(gone, [2]string{store, number}) // one task is it
		return of[0]
	}
}
