package convert

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/reqmeta"
	"aiflow/reqmeta/edit"
	"aiflow/reqmeta/folder"
)

// Plan is an import that was judged as a whole and not written yet.
type Plan struct {
	Report Report
	c      *conv
	made   []edit.NewFile
	tasks  []*task           // of made
	says   [][5]string       // of made, see saidBy
	swaps  []swap            // files that change
	hashes map[string]string // of what was imported, by origin: see last
}

type swap struct {
	item     *Item
	old, new []byte
	last     [5]string // see Plan.last
}

// Read reads a source and judges what becomes of each item. there are the
// requests that exist, hashes what Write gave before; update says whether what
// was imported before follows the source. Guesses gives what an unnamed source
// may be when that is not certain; nothing else is done then.
func Read(name string, stdin io.Reader, o Options, there *folder.Folder, hashes map[string]string, update bool, now time.Time) (p *Plan, guesses []string, err error) {
	in, err := openInput(name, stdin)
	if err != nil {
		return nil, nil, err
	}
	if e := encodings[strings.ToLower(o.Encoding)]; e != nil {
		in.begin, _ = e.NewDecoder().Bytes(in.begin)
	}
	if o.From == "" {
		guesses = in.guess()
		if len(guesses) == 0 && in.dir != "" && there.Holds(in.dir) {
			return nil, nil, &Unreadable{name, "own_requests", ""}
		}
		if len(guesses) != 1 {
			return nil, guesses, nil
		}
		o.From = guesses[0]
	}
	s := sourceOf(o.From)
	c := &conv{Options: o, m: s.fields, now: now, path: name, changes: map[[2]string]*Change{}}
	c.Prefix, c.Only = cmp.Or(o.Prefix, s.prefix), cmp.Or(o.Only, OnlyOpen)
	if o.Map != nil {
		if line, reason, value := c.m.lay(o.Map); reason != "" {
			return nil, nil, &Unreadable{fmt.Sprintf("%s:%d", o.MapName, line), reason, value}
		}
	}
	if in, err = in.inside(o.From); err != nil {
		return nil, nil, err
	}
	in.code = o.Encoding
	needsDir := o.From == "backlog" || o.From == "ticket" || o.From == "folder"
	if needsDir != (in.dir != "") {
		return nil, nil, &Unreadable{name, "wrong_kind", o.From}
	}
	if at := in.real(); at != "" && (needsDir || reqmeta.IsMarkdown(at)) && there.Holds(at) {
		return nil, nil, &Unreadable{name, "own_requests", ""}
	}
	if err := s.read(c, in); err != nil {
		return nil, nil, err
	}
	if !c.StoreGiven {
		inside := false
		c.Store, inside = storeName(o.From, there.Root, in)
		c.anyList = o.From == "todo" && !inside
	}
	if err := c.resolve(there.Requests, there.RequestsBeside()); err != nil {
		return nil, nil, err
	}
	if hashes == nil {
		hashes = map[string]string{}
	}
	p = &Plan{c: c, hashes: hashes}
	p.judge(there, update)
	return p, nil, nil
}

// judge renders what is new and compares what is there.
func (p *Plan) judge(there *folder.Folder, update bool) {
	for _, t := range p.c.tasks {
		if !t.kept || t.item.Result != "" {
			continue
		}
		if t.old != nil {
			p.again(t, there, update)
			continue
		}
		p.make(t, there)
	}
	p.report()
}

func (p *Plan) make(t *task, there *folder.Folder) {
	name := t.item.ID
	if words := edit.Slug(t.title); words != "" && len(name)+len(words) < 190 {
		name += "-" + words
	}
	t.item.Path = path.Join(filepath.ToSlash(there.Dir), name+".md")
	data := p.c.render(t)
	r := reqmeta.Parse(t.item.Path, data)
	switch bad := r.FirstError(); {
	case bad != nil:
		t.item.leave(Refused, bad.Kind, bad.Facts["key"])
	case len(data) > reqmeta.MaxFile:
		t.item.leave(Refused, "too_large", fmt.Sprint(len(data)))
	case r.ID != t.item.ID:
		t.item.leave(Refused, "no_id", t.item.ID)
	case exists(filepath.Join(there.Root, t.item.Path)):
		t.item.leave(Refused, "exists", t.item.Path)
	default:
		t.item.Result = Made
		p.made = append(p.made, edit.NewFile{Name: name + ".md", Data: data})
		p.tasks, p.says = append(p.tasks, t), append(p.says, saidBy(p.c, t))
		t.text, t.raw = "", "" // the file has it; of a large source it is kept once
		if r.Meta.Status == reqmeta.Draft && t.status == reqmeta.Ready && !t.draft {
			p.Report.Drafts = append(p.Report.Drafts, t.item.ID)
		}
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// status is ours: open work waits for a person's word unless ready is asked for.
func (c *conv) statusOf(t *task) string {
	if t.status == reqmeta.Ready && (t.draft || !c.Ready && c.Only != OnlyReady) {
		return reqmeta.Draft
	}
	return t.status
}

func (c *conv) render(t *task) []byte {
	var b bytes.Buffer
	line := func(key, value string) {
		if value != "" {
			b.WriteString(key + ": " + edit.Scalar(key, value) + "\n")
		}
	}
	flow := func(key string, items []string) {
		quoted := make([]string, len(items))
		for i, it := range items {
			quoted[i] = edit.Scalar("", it)
		}
		b.WriteString(key + ": [" + strings.Join(quoted, ", ") + "]\n")
	}
	b.WriteString("---\n")
	line("id", t.item.ID)
	line("title", t.title)
	line("priority", t.priority)
	line("status", c.statusOf(t))
	flow("labels", t.labels)
	flow("depends_on", waitsFor(t))
	line("estimate", t.estimate)
	line("base", t.base)
	if len(t.touches) > 0 {
		flow("touches", t.touches)
	}
	line("created_at", t.created)
	line("updated_at", t.updated)
	named := c.From != "aiflow" || c.Store != ""
	if named {
		line("source", c.From)
		line("source_id", t.item.SourceID)
		line("source_url", t.url)
	}
	if named && homeOf(c.From, t.url) == "" {
		line("source_store", c.Store)
	}
	for _, kv := range t.extra {
		if !named || !strings.HasPrefix(kv[0], "source") {
			line(kv[0], kv[1])
		}
	}
	for i, step := range t.steps {
		if i == 0 {
			b.WriteString("steps:\n")
		}
		b.WriteString(stepLines(step))
	}
	b.WriteString("---\n")
	b.WriteString(c.bodyOf(t))
	return b.Bytes()
}

func (c *conv) bodyOf(t *task) string {
	if c.From == "aiflow" {
		return t.raw
	}
	body := "\n# " + t.title + "\n"
	if t.text != "" {
		body += "\n" + strings.TrimRight(t.text, "\n") + "\n"
	}
	return body
}

// stepLines are the lines of a step in a head; a command of several lines stands
// below its key.
func stepLines(step reqmeta.Step) string {
	text, mark := "", "  - "
	for _, kv := range [][2]string{{"title", step.Title}, {"run", step.Run}, {"test", step.Test}} {
		value := kv[1]
		switch lines := strings.TrimSuffix(value, "\n"); {
		case value == "":
			continue
		case !strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }):
			value = edit.Scalar(kv[0], value)
		case lines != strings.TrimSpace(lines) || strings.Contains(lines, " \n") || strings.ContainsFunc(value, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }):
			value = strconv.Quote(value)
		default:
			sign := "|-"
			if lines != value {
				sign = "|"
			}
			value = sign
			for line := range strings.SplitSeq(lines, "\n") {
				value += "\n" + strings.TrimRight("      "+line, " ")
			}
		}
		text += mark + kv[0] + ": " + value + "\n"
		mark = "    "
	}
	return text
}

func waitsFor(t *task) []string {
	var ids []string
	for _, on := range t.on {
		ids = append(ids, on.item.ID)
	}
	return sorted(ids)
}

func hashOf(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:16])
}

func (p *Plan) key(it *Item) string {
	return strings.TrimRight(p.c.From+" "+it.SourceID+" "+it.store, " ")
}

// again is a task that was imported before.
func (p *Plan) again(t *task, there *folder.Folder, update bool) {
	t.item.Result = Unchanged
	if !update || there.PathBeside(t.old.ID) == t.old.Path { // what is done and elsewhere stays
		return
	}
	data, err := there.Read(t.old)
	if err != nil {
		t.item.leave(Refused, "unreadable", t.old.Path)
		return
	}
	if bad := t.old.FirstError(); bad != nil {
		t.item.leave(Refused, "request_broken", fmt.Sprintf("%s:%d", t.old.Path, max(1, bad.Line)))
		return
	}
	body := string(reqmeta.Body(data))
	says, last, here := saidBy(p.c, t), p.last(t.item), t.old.Meta
	values := map[string]string{}
	follow := func(i int, key, mine, theirs, text string) {
		switch want := hashOf(theirs); {
		case mine == theirs:
			last[i] = want
		case last[i] == want: // nothing new there
		case last[i] == "":
			p.c.count("value_unsure", t.old.ID+": "+key, t.item.Where)
		case last[i] != hashOf(mine):
			p.c.count("value_kept", t.old.ID+": "+key, t.item.Where)
		default:
			values[key], last[i] = text, want
		}
	}
	follow(1, "title", clean(t.old.Title()), t.title, t.title)
	follow(2, "priority", here.Priority, t.priority, t.priority)
	follow(3, "labels", joined(here.Labels), joined(t.labels), reqmeta.ListText(t.labels))
	mine, theirs := sorted(here.DependsOn), waitsFor(t)
	stay := slices.DeleteFunc(slices.Clone(mine), func(id string) bool { return slices.Contains(theirs, id) || readsNow(p.c, id) })
	for _, id := range stay {
		if imported(p.c, id) {
			p.c.count("depends_stay", id, t.item.Where)
		}
	}
	mine = slices.DeleteFunc(mine, func(id string) bool { return slices.Contains(stay, id) })
	follow(4, "depends_on", joined(mine), joined(theirs), reqmeta.ListText(sorted(slices.Concat(theirs, stay))))

	changed := data
	if len(values) > 0 {
		if changed, err = edit.SetValues(t.old, data, values, p.c.now); err != nil {
			t.item.leave(Refused, "unreadable", t.old.Path)
			return
		}
	}
	switch want := p.c.bodyOf(t); {
	case sameText(want, body):
		last[0] = hashOf(body)
	case last[0] == hashOf(body):
		changed = append(bytes.Clone(changed[:len(changed)-len(reqmeta.Body(changed))]), want...)
		last[0] = says[0]
	case last[0] == "":
		p.c.count("body_unsure", t.old.ID, t.item.Where)
	case last[0] != says[0]:
		p.c.count("body_kept", t.old.ID, t.item.Where)
	}
	if bytes.Equal(changed, data) {
		p.remember(t.item, last)
		return
	}
	t.item.Result = Updated
	p.swaps = append(p.swaps, swap{t.item, data, changed, last})
}

// sameText reports whether two bodies differ at most in their ends of lines and in the
// blank lines around them, which a CSV does not keep.
func sameText(a, b string) bool {
	plain := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	return a == b || plain(a) == plain(b)
}

// saidBy are the hashes of what an item says: its body, title, priority, labels,
// and what it waits for.
func saidBy(c *conv, t *task) [5]string {
	return [5]string{hashOf(c.bodyOf(t)), hashOf(t.title), hashOf(t.priority), hashOf(joined(t.labels)), hashOf(joined(waitsFor(t)))}
}

// last is what an item said when it was imported last; "" is not known.
func (p *Plan) last(it *Item) (last [5]string) {
	for i, hash := range strings.Fields(p.hashes[p.key(it)]) {
		if i < len(last) && hash != "-" {
			last[i] = hash
		}
	}
	return last
}

func (p *Plan) remember(it *Item, says [5]string) {
	for i, hash := range says {
		says[i] = cmp.Or(hash, "-")
	}
	p.hashes[p.key(it)] = strings.Join(says[:], " ")
}

// readsNow reports whether a request is one whose item is read now: whoever waited
// for it may do so no more. Of what is not there, the source says nothing.
func readsNow(c *conv, id string) bool {
	return slices.ContainsFunc(c.tasks, func(t *task) bool { return t.old != nil && strings.EqualFold(t.old.ID, id) })
}

// imported reports whether a request was imported from a source of this kind.
func imported(c *conv, id string) bool {
	for _, t := range c.here {
		if strings.EqualFold(t.item.ID, id) {
			return true
		}
	}
	return false
}

func joined(list []string) string { return strings.Join(list, "\n") }

func sorted(list []string) []string {
	list = slices.Sorted(slices.Values(list))
	return slices.Compact(list)
}

func (p *Plan) report() {
	r := &p.Report
	r.Source, r.Store, r.Input = p.c.From, p.c.Store, len(p.c.items)
	r.Counts = map[Result]int{Made: 0, Unchanged: 0, Updated: 0, Skipped: 0, Refused: 0}
	r.Items, r.Changes = make([]Item, 0, len(p.c.items)), []Change{}
	if r.Drafts == nil {
		r.Drafts = []string{}
	}
	left := map[string]bool{} // places of which nothing came in
	for _, it := range p.c.items {
		gone := it.Result == Skipped || it.Result == Refused
		if gone {
			it.ID, it.Path = "", ""
		}
		if is, seen := left[it.Where]; !seen || is {
			left[it.Where] = gone
		}
		r.Counts[it.Result]++
		r.Items = append(r.Items, *it)
	}
	for _, change := range p.c.order {
		change.at = slices.DeleteFunc(change.at, func(where string) bool { return left[where] })
		if len(change.at) > 0 {
			change.Where, change.Count = change.at[0], len(change.at)
			r.Changes = append(r.Changes, *change)
		}
	}
}

// Write makes the files, all of them durable at once, and changes those that
// follow the source. It gives the hashes that the next import needs. A file that
// cannot be made is refused in the report.
func (p *Plan) Write(disk atomicfile.Disk, root, dir, suffix string) (hashes map[string]string, err error) {
	if len(p.made) > 0 {
		failed, err := edit.CreateAll(disk, root, dir, p.made, suffix)
		if err != nil {
			return nil, err
		}
		for i, err := range failed {
			if err != nil {
				refused := p.tasks[i].item
				p.Report.Drafts = slices.DeleteFunc(p.Report.Drafts, func(id string) bool { return id == refused.ID })
				refused.leave(Refused, "exists", refused.Path)
				continue
			}
			p.remember(p.tasks[i].item, p.says[i])
		}
	}
	for _, s := range p.swaps {
		err := edit.Swap(disk, root, s.item.Path, s.old, s.new, suffix, func() error { return nil })
		var f *fault.Error
		switch {
		case errors.As(err, &f) && f.Code == fault.Conflict:
			s.item.leave(Refused, "changed_meanwhile", s.item.Path)
		case err != nil:
			return nil, err
		default:
			p.remember(s.item, s.last)
		}
	}
	p.report()
	return p.hashes, nil
}
