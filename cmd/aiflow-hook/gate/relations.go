package gate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aiflow/internal/fault"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
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

func (o *Options) done(id string) bool { return o.Done != nil && slices.Contains(o.Done(), id) }

// missing reports dependencies that lead nowhere.
func (j *judgement) missing(t tree, files []*pair) {
	guess := folder.Guesser{Folder: t.folder, Beside: j.o.Done}
	for _, f := range files {
		for _, dep := range t.needs(f.new.ID) {
			if t.byID[dep] != nil || !reqmeta.CheckID(dep) || j.o.done(dep) {
				continue
			}
			meant := guess.Meant(dep, f.new.ID)
			if meant != "" && j.o.There != nil && j.o.There(dep) {
				meant = "" // it is there, and merely not staged
			}
			j.add(reqmeta.LevelError, fault.DependsNotFound, "hook.check_missing", f.path,
				j.o.Mapping.LineOf(f.data, "depends_on", dep), "id", f.new.ID, "dep", dep, "meant", meant)
		}
	}
}

// deleted reports ids that go while requests that are neither done nor
// archived need them.
func (j *judgement) deleted(files []pair, t tree) {
	gone := map[string]string{}
	for i := range files {
		if old := files[i].old; old != nil && t.byID[old.ID] == nil && !j.o.done(old.ID) {
			gone[old.ID] = files[i].path
		}
	}
	if len(gone) == 0 {
		return
	}
	needed := map[string][]string{} // by whom
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
	for id, by := range needed {
		slices.Sort(by)
		names := strings.Join(by[:min(len(by), maxNamed)], ", ")
		if len(by) > maxNamed {
			names += fmt.Sprintf(" … (%d)", len(by))
		}
		j.add(reqmeta.LevelError, fault.DependsNotFound, "hook.check_deleted", gone[id], 0, "id", id, "by", names)
	}
}

const maxNamed = 5

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
	var there []change
	for entry := range strings.SplitSeq(string(out), "\x00") { // "mode type id TAB path"
		head, p, _ := strings.Cut(entry, "\t")
		words := strings.Fields(head)
		if len(words) != 3 || touched[p] {
			continue
		}
		c := change{path: p, newID: words[2]}
		if _, err := fmt.Sscanf(words[0], "%o", &c.newMode); err == nil {
			there = append(there, c)
		}
	}
	others, err := o.pairs(ctx, there, o.isRequest)
	requests := make([]*reqmeta.Request, 0, len(others))
	for _, f := range others {
		if f.new != nil {
			requests = append(requests, f.new)
		}
	}
	return requests, err
}

// rings reports each ring of dependencies that this commit closes, once.
func (j *judgement) rings(t tree) {
	for _, ring := range t.closed() {
		f := t.changed[ring[0]]
		j.add(reqmeta.LevelError, fault.DependsCycle, "hook.check_cycle", f.path,
			j.o.Mapping.LineOf(f.data, "depends_on", ring[1]), "id", ring[0], "ring", strings.Join(ring, " -> "))
	}
}

// closed finds the rings that go through a changed request: each begins and
// ends with the smallest changed id in it. A request in one ring is not looked
// at again.
func (t tree) closed() [][]string {
	var rings [][]string
	seen, next := map[string]bool{}, map[string][]string{} // within a ring, so that a search never leaves what could hold one
	for _, e := range choose.OpenEdges(t.folder) {
		if e.State == choose.EdgeCycle {
			next[e.From] = append(next[e.From], e.To)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(t.changed)) {
		if seen[id] {
			continue
		}
		if ring := ringOf(next, id); ring != nil {
			rings = append(rings, ring)
			for _, member := range ring {
				seen[member] = true
			}
		}
	}
	return rings
}

// ringOf is the shortest way from id back to itself, nil when there is none.
func ringOf(next map[string][]string, id string) []string {
	from := map[string]string{}
	for queue := []string{id}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, dep := range next[at] {
			if dep == id {
				ring := []string{id}
				for ; at != id; at = from[at] {
					ring = append(ring, at)
				}
				ring = append(ring, id)
				slices.Reverse(ring)
				return ring
			}
			if _, been := from[dep]; !been {
				from[dep] = at
				queue = append(queue, dep)
			}
		}
	}
	return nil
}
