package convert

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"aiflow/reqmeta"
)

// resolve gives every task its id, what it waits for, and whether it is taken.
// Beside are requests that are done and elsewhere.
func (c *conv) resolve(there, beside []*reqmeta.Request) error {
	c.twice()
	all := slices.Concat(there, beside)
	if err := c.recognize(all); err != nil {
		return err
	}
	used := map[string]bool{}
	for _, r := range all {
		used[strings.ToLower(r.ID)] = true
		used[strings.ToLower(reqmeta.Stem(r.Path))] = true
	}
	if c.From == "todo" {
		c.gone(there)
	}
	c.name(used)
	index := c.index()
	c.split(index)
	c.family(index)
	c.edges(index)
	c.choose()
	c.rings()
	c.withoutRefused()
	return nil
}

// gone names requests of this source whose items are no longer in the list.
func (c *conv) gone(there []*reqmeta.Request) {
	here := map[string]bool{}
	for _, t := range c.tasks {
		here[t.item.SourceID] = true
	}
	for _, r := range there {
		if o := originOf(r); o.source == c.From && o.store == strings.ToLower(c.Store) && !here[o.id] && !r.SaysOver() {
			c.count("gone", r.ID, r.Path)
		}
	}
}

// twice keeps apart what the source calls by one id.
func (c *conv) twice() {
	first := map[string]int{}
	for _, t := range c.tasks {
		key := strings.ToLower(t.key)
		if first[key]++; first[key] > 1 {
			t.item.SourceID = fmt.Sprintf("%s~%d", t.item.SourceID, first[key])
			c.count("id_twice", cmp.Or(t.listed(), t.key), t.item.Where)
		}
	}
}

// listed is the text of an item of a list that is known by its text alone.
func (t *task) listed() string {
	if t.number == "" {
		return ""
	}
	return t.title
}

// name gives ids to those that were not imported before.
func (c *conv) name(used map[string]bool) {
	var width [8]int // of the numbers, by how many dots stand before
	for _, t := range c.tasks {
		for i, part := range numberParts(t) {
			if len(part) <= maxPadded {
				width[min(i, 7)] = max(width[min(i, 7)], len(part))
			}
		}
	}
	for _, t := range c.tasks {
		if t.old != nil {
			continue
		}
		id := cmp.Or(t.short, t.key)
		if parts := slices.Clone(numberParts(t)); parts != nil {
			for i, part := range parts {
				if c.NoPad {
					break
				}
				parts[i] = strings.Repeat("0", max(0, width[min(i, 7)]-len(part))) + part
			}
			id = strings.Join(parts, ".")
		}
		if t.numeric || t.number != "" || !isID(id) {
			id = legal(c.Prefix + id)
		}
		if !isID(id) {
			id = legal("T-" + id)
		}
		if id != cmp.Or(t.short, t.key) && !t.numeric && t.number == "" {
			c.count("id_altered", t.key, t.item.Where)
		}
		base := id
		for n := 1; used[strings.ToLower(id)]; n++ {
			end := "-" + string(rune('a'+n%26))
			if n > 25 {
				end = fmt.Sprintf("-%d", n)
			}
			id = base[:min(len(base), 120)] + end
		}
		if id != base {
			c.count("id_taken", base, t.item.Where)
		}
		used[strings.ToLower(id)] = true
		t.item.ID = id
	}
}

// maxPadded are the digits of the longest number for which others are padded:
// one time stamp or typing mistake would give zeros to all.
const maxPadded = 6

func numberParts(t *task) []string {
	switch {
	case t.number != "":
		return []string{t.number}
	case !t.numeric:
		return nil
	}
	return strings.Split(t.key, ".")
}

func isID(id string) bool { return reqmeta.CheckID(id) && reqmeta.IsRequestName(id+".md") }

// legal makes an id of any text.
func legal(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch ok := r < 0x80 && (r == '.' || r == '_' || r == '-' || reqmeta.CheckID(string(r))); {
		case ok && !(r == '.' && strings.HasSuffix(b.String(), ".")):
			b.WriteRune(r)
		case !ok && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	id := strings.TrimLeft(b.String(), "-._")
	if len(id) > 120 {
		sum := sha256.Sum256([]byte(text))
		id = id[:115] + "-" + hex.EncodeToString(sum[:2])
	}
	id = strings.TrimRight(id, ".-")
	for strings.HasSuffix(id, ".lock") {
		id = strings.TrimSuffix(id, ".lock") + "-lock"
	}
	return id
}

// index finds tasks by what the source calls them, without case. It also notes which
// have a number, and what was left out: a reference that leads nowhere asks for all of it.
func (c *conv) index() map[string]*task {
	index := map[string]*task{}
	c.byNumber = map[string][]*task{}
	for _, t := range c.tasks {
		_, number := numbered(t.key)
		c.byNumber[plain(number)] = append(c.byNumber[plain(number)], t)
	}
	c.left = map[string]*Item{}
	for _, it := range c.items {
		id := strings.ToLower(it.SourceID)
		switch {
		case it.Result == Refused:
			c.refused = append(c.refused, it)
		case it.Result == Skipped && it.Reason != "other_tag" && c.left[id] == nil:
			c.left[id] = it
		}
	}
	for _, keys := range []func(*task) []string{
		func(t *task) []string { return []string{t.key} },
		func(t *task) []string { return append([]string{t.item.ID}, t.also...) },
	} {
		for _, t := range c.tasks {
			for _, key := range keys(t) {
				if key = strings.ToLower(key); index[key] == nil {
					index[key] = t
				}
			}
		}
	}
	return index
}

// find gives the task that a reference means: by what the source calls it, else the only
// one with its number, whatever zeros stand before that. A bare number and #7 mean any
// prefix, task-7 also none.
func (c *conv) find(index map[string]*task, ref string) *task {
	if t := index[strings.ToLower(ref)]; t != nil {
		return t
	}
	prefix, number := numbered(strings.TrimPrefix(ref, "#"))
	if !isNumber(number) {
		return nil
	}
	return c.sameNumber(number, func(of string) bool {
		return prefix == "" || prefix == of || prefix == "task" && of == ""
	})
}

// sameNumber is the only task with that number behind such a prefix.
func (c *conv) sameNumber(number string, such func(prefix string) bool) *task {
	var found *task
	for _, t := range c.byNumber[plain(number)] {
		if prefix, _ := numbered(t.key); such(prefix) {
			if found != nil {
				return nil
			}
			found = t
		}
	}
	return found
}

// numbered parts an id from its prefix, which is without case.
func numbered(id string) (prefix, number string) {
	i := strings.LastIndexByte(id, '-')
	return strings.ToLower(id[:max(i, 0)]), id[i+1:]
}

// plain is a number without the zeros before it, also behind dots; other text stays.
func plain(number string) string {
	if !isNumber(number) {
		return number
	}
	parts := strings.Split(number, ".")
	for i := range parts {
		parts[i] = strings.TrimLeft(parts[i], "0")
	}
	return strings.Join(parts, ".")
}

// split parts references that stand in one text, unless all of it is what a task is
// called: an id may have blanks.
func (c *conv) split(index map[string]*task) {
	each := func(list []string) (out []string) {
		for _, text := range list {
			found := []string{clean(text)}
			if index[strings.ToLower(found[0])] == nil {
				found = refs([]string{text})
			}
			for _, ref := range found {
				if !slices.Contains(out, ref) {
					out = append(out, ref)
				}
			}
		}
		return out
	}
	for _, t := range c.tasks {
		t.needs, t.blocks, t.related = each(t.needs), each(t.blocks), each(t.related)
		if parents := each(t.parents); len(parents) > 0 {
			t.parent = parents[0]
			t.blocks = append(t.blocks, parents[1:]...) // these come last, too
		}
	}
}

func (t *task) note(line string) {
	t.text = strings.TrimRight(t.text, "\n")
	if t.text != "" {
		t.text += "\n\n"
	}
	t.text += line
}

func (t *task) wait(on *task) {
	if on != t && !slices.Contains(t.on, on) {
		t.on = append(t.on, on)
	}
}

// family finds parents and children.
func (c *conv) family(index map[string]*task) {
	for _, pair := range c.parents {
		if child := c.find(index, pair[0]); child != nil && child.parent == "" {
			child.parent = pair[1]
		}
	}
	for _, t := range c.tasks {
		if t.parent == "" {
			continue
		}
		parent := c.find(index, t.parent)
		if parent == nil || parent == t || parent.below(t) {
			c.count("parent_missing", t.parent, t.item.Where)
			if t.old == nil || c.here[origin{c.From, t.item.store, strings.ToLower(t.parent)}] == nil {
				t.note("Parent: " + t.parent)
			}
			continue
		}
		t.up = parent
		parent.children = append(parent.children, t)
	}
	for _, t := range c.tasks {
		if len(t.children) == 0 {
			continue
		}
		if t.over() && slices.ContainsFunc(t.children, func(child *task) bool { return !child.over() }) {
			c.count("parent_done", t.item.ID, t.item.Where)
		}
		if c.Subtasks != "checklist" && c.Parents != "skip" && strings.TrimSpace(t.text) == "" && !t.over() {
			t.draft = true
			c.count("parent_empty", t.item.ID, t.item.Where)
		}
	}
}

// below reports whether t is a descendant of top.
func (t *task) below(top *task) bool {
	at := t.up
	for at != nil && at != top {
		at = at.up
	}
	return at != nil
}

// edges turns references into tasks that are waited for. What leads nowhere
// stands in the text, and nobody runs such a request unseen.
func (c *conv) edges(index map[string]*task) {
	for _, t := range c.tasks {
		for _, ref := range t.needs {
			on := c.find(index, ref)
			if on == nil { // imported before, and not among what is read now
				on = c.here[origin{c.From, t.item.store, strings.ToLower(ref)}]
			}
			skipped := c.left[strings.ToLower(ref)]
			switch {
			case on == t:
				c.count("depends_self", ref, t.item.Where)
			case on != nil:
				t.wait(on)
			case strings.Contains(ref, "/") && strings.Contains(ref, "#"):
				c.count("depends_foreign", ref, t.item.Where)
				t.note("Waits for: " + ref)
			case skipped != nil && skipped.over:
				c.count("depends_over", ref, t.item.Where)
			case skipped != nil:
				t.draft = true
				c.count("depends_skipped", ref, t.item.Where)
				t.note("Waited for, left out: " + ref)
			default:
				refused := wasRefused(c, ref)
				leadsNowhere(c, t, ref, refused)
				_, number := numbered(ref)
				if near := c.sameNumber(number, func(of string) bool { return of != "" || isNumber(number) }); near != nil && !refused {
					c.count("depends_near", ref+" = "+near.item.ID, t.item.Where)
				}
			}
		}
		for _, ref := range t.blocks {
			if other := c.find(index, ref); other == t {
				c.count("depends_self", ref, t.item.Where)
			} else if other != nil {
				other.wait(t)
			} else {
				t.note("Blocks: " + ref)
			}
		}
		for _, ref := range t.related {
			if other := c.find(index, ref); other != nil {
				ref = other.item.ID
			}
			t.note("Related: " + ref)
		}
	}
	inherited := map[*task]bool{}
	for _, t := range c.tasks {
		t.inherit(inherited)
	}
	for _, t := range c.tasks {
		switch {
		case len(t.children) == 0:
		case c.Subtasks == "checklist":
			c.checklist(t)
		case c.Parents == "skip":
			c.skipParent(t)
		default:
			for _, child := range t.children {
				apart(c, child, t)
				if child.status != reqmeta.Archived { // a cancelled one would keep it from ever running
					t.wait(child)
				}
			}
		}
	}
}

// leadsNowhere says that a task waits for what does not become a request.
func leadsNowhere(c *conv, t *task, ref string, refused bool) {
	t.draft = true
	if refused {
		c.count("depends_refused", ref, t.item.Where)
		t.note("Waited for, refused: " + ref)
	} else {
		c.count("depends_missing", ref, t.item.Where)
		t.note("Waited for, not in the source: " + ref)
	}
}

// wasRefused reports whether a reference means an item that could not be read, as
// far as its id or the name of its file tells.
func wasRefused(c *conv, ref string) bool {
	ref = strings.ToLower(ref)
	return slices.ContainsFunc(c.refused, func(it *Item) bool {
		name := strings.ToLower(path.Base(it.Where))
		if i := strings.LastIndexByte(name, ':'); i > 0 && strings.Trim(name[i+1:], "0123456789") == "" {
			name = name[:i]
		}
		rest, ok := strings.CutPrefix(reqmeta.Stem(name), ref)
		return strings.EqualFold(it.SourceID, ref) || ok && (rest == "" || strings.ContainsAny(rest[:1], " -_"))
	})
}

// apart: a child does not wait for its parent, which waits for it.
func apart(c *conv, child, parent *task) {
	child.on = slices.DeleteFunc(child.on, func(on *task) bool {
		if on == parent {
			c.count("depends_parent", parent.key, child.item.Where)
		}
		return on == parent
	})
}

// inherit gives a child what its parent waits for, from the top down.
func (t *task) inherit(done map[*task]bool) {
	if t.up == nil || done[t] {
		return
	}
	done[t] = true
	t.up.inherit(done)
	for _, on := range t.up.on {
		if on != t && on.up != t.up && !on.below(t) {
			t.wait(on)
		}
	}
}

// checklist puts the children into the body of their parent.
func (c *conv) checklist(t *task) {
	lines := []string{"## Subtasks", ""}
	for _, child := range t.children {
		box := "- [ ] "
		if child.over() {
			box = "- [x] "
		}
		lines = append(lines, box+child.title)
		child.item.leave(Skipped, "in_parent", t.item.ID)
		c.replace(child, t)
	}
	t.note(strings.Join(lines, "\n"))
}

// skipParent leaves the parent out; its text stands before that of each child.
func (c *conv) skipParent(t *task) {
	for _, child := range t.children {
		apart(c, child, t)
		if t.text != "" {
			child.text = strings.TrimSpace(t.text + "\n\n" + child.text)
		}
	}
	t.item.leave(Skipped, "parent", "")
	c.replace(t, t.children...)
}

// replace makes whoever waited for one wait for others.
func (c *conv) replace(gone *task, by ...*task) {
	for _, t := range c.tasks {
		if i := slices.Index(t.on, gone); i >= 0 {
			t.on = slices.Delete(t.on, i, i+1)
			for _, other := range by {
				t.wait(other)
			}
		}
	}
}

// choose says which tasks are taken: what is open, and what that waits for.
func (c *conv) choose() {
	var todo []*task
	for _, t := range c.tasks {
		if t.item.Result != "" {
			continue
		}
		if c.Only == OnlyAll || !t.over() && (c.Only != OnlyReady || t.status == reqmeta.Ready && !t.draft) {
			t.kept = true
			todo = append(todo, t)
		}
	}
	for len(todo) > 0 {
		t := todo[0]
		todo = todo[1:]
		if t.over() {
			continue
		}
		for _, on := range t.on {
			if on.status == reqmeta.Archived {
				c.count("depends_archived", on.item.ID, t.item.Where)
			}
			if !on.kept && on.item.Result == "" {
				on.kept = true
				todo = append(todo, on)
			}
		}
	}
	for _, t := range c.tasks {
		switch {
		case t.kept || t.item.Result != "":
		case t.old != nil: // imported before, and still there
			t.kept = true
		case t.status == reqmeta.Done:
			t.item.leave(Skipped, "finished", "")
		case t.status == reqmeta.Archived:
			t.item.leave(Skipped, "cancelled", "")
		default:
			t.item.leave(Skipped, "not_ready", t.status)
		}
	}
	for _, t := range c.tasks {
		t.on = slices.DeleteFunc(t.on, func(on *task) bool { return !on.kept && on.item.Result != Refused })
	}
}

// withoutRefused: who waits for a refused one says so and is a draft.
func (c *conv) withoutRefused() {
	for _, t := range c.tasks {
		t.on = slices.DeleteFunc(t.on, func(on *task) bool {
			if t.kept && !on.kept {
				leadsNowhere(c, t, on.key, true)
			}
			return !on.kept
		})
	}
}

// rings names each ring of open tasks once.
func (c *conv) rings() {
	const unseen, open, closed = 0, 1, 2
	state := map[*task]int{}
	var path []*task
	var visit func(t *task)
	visit = func(t *task) {
		state[t] = open
		path = append(path, t)
		for _, on := range t.on {
			switch {
			case on.over():
			case state[on] == unseen:
				visit(on)
			case state[on] == open:
				c.ring(path[slices.Index(path, on):])
			}
		}
		state[t] = closed
		path = path[:len(path)-1]
	}
	for _, t := range c.tasks {
		if t.kept && state[t] == unseen {
			visit(t)
		}
	}
}

// ring reports tasks of which each waits for the next, and the last for the first.
func (c *conv) ring(tasks []*task) {
	var ids []string
	for _, t := range tasks {
		ids = append(ids, t.item.ID)
		if c.Strict {
			t.item.leave(Refused, "ring", "")
			t.kept = false
		}
	}
	if len(ids) > 5 {
		ids = append(ids[:4], "…", ids[len(ids)-1])
	}
	c.count("ring", strings.Join(ids, " → "), tasks[0].item.Where)
}
