package gate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"aiflow/internal/fault"
	"aiflow/reqmeta"
	"aiflow/reqmeta/folder"
)

// tree is every request of the tree that would be committed.
type tree struct {
	folder  *folder.Folder
	byID    map[string]*reqmeta.Request
	changed map[string]*pair // by id: files whose id or dependencies change
}

// relations judges what requests are to each other, as far as this commit
// changes it. left are files of what is done that go.
func (j *judgement) relations(ctx context.Context, files, left []pair) error {
	requests, err := j.o.others(ctx, files)
	if err != nil {
		return err
	}
	t := tree{byID: make(map[string]*reqmeta.Request, len(requests)), changed: map[string]*pair{}}
	for _, r := range requests {
		t.byID[r.ID] = r
	}
	var mine []*pair
	var before []int
	for i := range files {
		f := &files[i]
		if f.new == nil {
			continue
		}
		requests = append(requests, f.new)
		t.byID[f.new.ID] = f.new
		if related(*f) {
			t.changed[f.new.ID] = f
			mine, before = append(mine, f), append(before, len(f.new.Problems))
		}
	}
	t.folder = folder.NewFolder(j.o.RequestsDir, requests) // finds what only all files together show
	for i, f := range mine {
		for _, p := range f.new.Problems[before[i]:] {
			j.problem(p)
		}
	}
	j.missing(t, mine)
	j.deleted(append(left, files...), t)
	j.rings(t)
	return nil
}

// needs is what a request still waits for: one that is over waits for nothing.
func (t tree) needs(id string) []string {
	if r := t.byID[id]; !r.SaysOver() {
		return r.Meta.DependsOn
	}
	return nil
}

// missing reports dependencies that lead nowhere.
func (j *judgement) missing(t tree, files []*pair) {
	guess := folder.Guesser{Folder: t.folder}
	for _, f := range files {
		for _, dep := range t.needs(f.new.ID) {
			if t.byID[dep] != nil || !reqmeta.CheckID(dep) || j.o.Done != nil && j.o.Done(dep) {
				continue
			}
			meant := guess.Meant(dep, f.new.ID)
			if meant != "" && j.o.There != nil && j.o.There(dep) {
				meant = "" // it is there, and merely not staged
			}
			j.add(reqmeta.LevelError, fault.DependsNotFound, "hook.check_missing", f.path,
				j.o.lineOf(f.data, "depends_on", dep), "id", f.new.ID, "dep", dep, "meant", meant)
		}
	}
}

// deleted reports ids that go while requests that are neither done nor
// archived need them.
func (j *judgement) deleted(files []pair, t tree) {
	gone := map[string]string{}
	for i := range files {
		if old := files[i].old; old != nil && t.byID[old.ID] == nil && (j.o.Done == nil || !j.o.Done(old.ID)) {
			gone[old.ID] = files[i].path
		}
	}
	if len(gone) == 0 {
		return
	}
	for id, by := range t.needing(gone) {
		slices.Sort(by)
		j.add(reqmeta.LevelError, fault.DependsNotFound, "hook.check_deleted", gone[id], 0, "id", id, "by", some(by))
	}
}

// needing lists who depends on what goes.
func (t tree) needing(gone map[string]string) map[string][]string {
	needed := map[string][]string{}
	for _, r := range t.byID {
		if t.changed[r.ID] != nil || r.SaysOver() {
			continue
		}
		for _, dep := range r.Meta.DependsOn {
			if gone[dep] != "" {
				needed[dep] = append(needed[dep], r.ID)
			}
		}
	}
	return needed
}

const maxNamed = 5

func some(ids []string) string {
	if len(ids) <= maxNamed {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s … (%d)", strings.Join(ids[:maxNamed], ", "), len(ids))
}

// others reads every request of HEAD's tree that the commit leaves alone.
func (o Options) others(ctx context.Context, files []pair) ([]*reqmeta.Request, error) {
	touched := make(map[string]bool, len(files))
	for i := range files {
		touched[files[i].path] = true
	}
	out, err := o.Git.AskStaged(ctx, "ls-tree", "-r", "-z", "--full-tree", cmp.Or(o.To, "HEAD"), "--", o.RequestsDir+"/")
	if err != nil {
		return nil, nil // no commit yet: nothing but what is staged
	}
	var wanted []change
	var ids []string
	for entry := range strings.SplitSeq(string(out), "\x00") {
		c, ok := treeEntry(entry)
		if !ok || touched[c.path] || !o.isRequest(c.path) {
			continue
		}
		wanted = append(wanted, c)
		ids = append(ids, wantedBlobs(c)...)
	}
	blobs, err := o.blobs(ctx, ids)
	if err != nil {
		return nil, err
	}
	requests := make([]*reqmeta.Request, 0, len(wanted))
	for _, c := range wanted {
		if r := o.request(c.path, c.newMode, blobs[c.newID]); r != nil {
			requests = append(requests, r)
		}
	}
	return requests, nil
}

// treeEntry reads "mode type id TAB path".
func treeEntry(entry string) (change, bool) {
	head, p, ok := strings.Cut(entry, "\t")
	words := strings.Fields(head)
	if !ok || len(words) != 3 {
		return change{}, false
	}
	c := change{path: p, newID: words[2]}
	_, err := fmt.Sscanf(words[0], "%o", &c.newMode)
	return c, err == nil
}

// rings reports each ring of dependencies that this commit closes, once.
func (j *judgement) rings(t tree) {
	for _, ring := range t.closed() {
		f := t.changed[ring[0]]
		j.add(reqmeta.LevelError, fault.DependsCycle, "hook.check_cycle", f.path,
			j.o.lineOf(f.data, "depends_on", ring[1]), "id", ring[0], "ring", strings.Join(ring, " -> "))
	}
}

// closed finds the rings that go through a changed request: each begins and
// ends with the smallest changed id in it. A request in one ring is not looked
// at again.
func (t tree) closed() [][]string {
	var rings [][]string
	seen := map[string]bool{}
	ids := make([]string, 0, len(t.changed))
	for id := range t.changed {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, cmp.Compare[string])
	component := t.components()
	for _, id := range ids {
		if seen[id] {
			continue
		}
		if ring := t.ring(id, component); ring != nil {
			rings = append(rings, ring)
			for _, member := range ring {
				seen[member] = true
			}
		}
	}
	return rings
}

// ring is the shortest way from id back to itself, nil when there is none.
func (t tree) ring(id string, component map[string]int) []string {
	from := map[string]string{}
	queue := []string{id}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, dep := range t.needs(at) {
			if dep == id {
				return back(from, at, id)
			}
			if _, been := from[dep]; been || t.byID[dep] == nil || component[dep] != component[id] {
				continue
			}
			from[dep] = at
			queue = append(queue, dep)
		}
	}
	return nil
}

func back(from map[string]string, at, id string) []string {
	ring := []string{id}
	for ; at != id; at = from[at] {
		ring = append(ring, at)
	}
	ring = append(ring, id)
	slices.Reverse(ring)
	return ring
}

// components numbers the strongly connected parts (Tarjan), so that a search
// for a ring never leaves the part that could hold one.
func (t tree) components() map[string]int {
	c := components{t: t, index: map[string]int{}, low: map[string]int{}, of: map[string]int{}}
	for id := range t.changed {
		if c.index[id] == 0 {
			c.visit(id)
		}
	}
	return c.of
}

type components struct {
	t          tree
	index, low map[string]int // index from 1
	of         map[string]int // number of the finished part, from 1
	stack      []string
	count      int
}

func (c *components) visit(id string) {
	c.index[id] = len(c.index) + 1
	c.low[id] = c.index[id]
	c.stack = append(c.stack, id)
	for _, dep := range c.t.needs(id) {
		switch {
		case c.t.byID[dep] == nil || c.of[dep] != 0:
		case c.index[dep] == 0:
			c.visit(dep)
			c.low[id] = min(c.low[id], c.low[dep])
		default:
			c.low[id] = min(c.low[id], c.index[dep])
		}
	}
	if c.low[id] == c.index[id] {
		c.finish(id)
	}
}

func (c *components) finish(id string) {
	c.count++
	for {
		top := c.stack[len(c.stack)-1]
		c.stack = c.stack[:len(c.stack)-1]
		c.of[top] = c.count
		if top == id {
			return
		}
	}
}
