package convert

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
	items  []*Item           // of made
	swaps  []swap            // files that change
	hashes map[string]string // of the bodies as they were imported, by origin
}

type swap struct {
	item     *Item
	old, new []byte
}

// Guess says what an input is: the one source, or those that it may be.
func Guess(name string, stdin io.Reader) []string {
	in, err := openInput(name, stdin)
	if err != nil {
		return nil
	}
	return in.guess()
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
	if o.From == "" {
		if guesses = in.guess(); len(guesses) != 1 {
			return nil, guesses, nil
		}
		o.From = guesses[0]
	}
	s := sourceOf(o.From)
	c := &conv{Options: o, m: s.fields, now: now, changes: map[[2]string]*Change{}}
	c.Prefix, c.Only = cmp.Or(o.Prefix, s.prefix), cmp.Or(o.Only, OnlyOpen)
	if o.Map != nil {
		if err := c.m.lay(o.Map); err != nil {
			return nil, nil, &Unreadable{"--map", "json", err.Error()}
		}
	}
	if in, err = in.inside(o.From); err != nil {
		return nil, nil, err
	}
	needsDir := o.From == "backlog" || o.From == "ticket" || o.From == "folder"
	if needsDir != (in.dir != "") {
		return nil, nil, &Unreadable{name, "wrong_kind", o.From}
	}
	if own, err := filepath.EvalSymlinks(filepath.Join(there.Root, there.Dir)); needsDir && err == nil && (own+"/" == in.dir+"/" || strings.HasPrefix(in.dir+"/", own+"/")) {
		return nil, nil, &Unreadable{name, "own_requests", ""}
	}
	if err := s.read(c, in); err != nil {
		return nil, nil, err
	}
	c.resolve(there.Requests)
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
		p.make(t, there.Dir)
	}
	p.report()
}

func (p *Plan) make(t *task, dir string) {
	name := t.item.ID
	if words := edit.Slug(t.title); words != "" && len(name)+len(words) < 190 {
		name += "-" + words
	}
	t.item.Path = path.Join(filepath.ToSlash(dir), name+".md")
	data := p.c.render(t)
	r := reqmeta.Parse(t.item.Path, data)
	switch bad := r.FirstError(); {
	case bad != nil:
		t.item.leave(Refused, bad.Kind, bad.Facts["key"])
	case len(data) > reqmeta.MaxFile:
		t.item.leave(Refused, "too_large", fmt.Sprint(len(data)))
	case r.ID != t.item.ID:
		t.item.leave(Refused, "no_id", t.item.ID)
	default:
		t.item.Result = Made
		p.made = append(p.made, edit.NewFile{Name: name + ".md", Data: data})
		p.items = append(p.items, t.item)
		if r.Meta.Status == reqmeta.Draft && t.status == reqmeta.Ready && !t.draft {
			p.Report.Drafts = append(p.Report.Drafts, t.item.ID)
		}
	}
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
	line("created_at", t.created)
	line("updated_at", t.updated)
	if c.From != "aiflow" {
		line("source", c.From)
		line("source_id", t.item.SourceID)
		line("source_url", t.url)
	}
	for _, kv := range t.extra {
		line(kv[0], kv[1])
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

func waitsFor(t *task) []string {
	var ids []string
	for _, on := range t.on {
		ids = append(ids, on.item.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func hashOf(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:16])
}

func (p *Plan) key(it *Item) string {
	return strings.TrimRight(p.c.From+" "+it.SourceID+" "+it.home, " ")
}

// again is a task that was imported before.
func (p *Plan) again(t *task, there *folder.Folder, update bool) {
	t.item.Result = Unchanged
	if !update {
		return
	}
	data, err := there.Read(t.old)
	if err != nil || !t.old.Valid() {
		t.item.leave(Refused, "unreadable", t.old.Path)
		return
	}
	values, m := map[string]string{}, t.old.Meta
	if m.Title != t.title {
		values["title"] = t.title
	}
	if m.Priority != t.priority {
		values["priority"] = t.priority
	}
	if !slices.Equal(m.Labels, t.labels) && !slices.ContainsFunc(t.labels, func(l string) bool { return strings.ContainsAny(l, ",'\"[]") }) {
		values["labels"] = strings.Join(t.labels, ",")
	}
	old := slices.Clone(m.DependsOn)
	slices.Sort(old)
	if !slices.Equal(old, waitsFor(t)) {
		values["depends_on"] = strings.Join(waitsFor(t), ",")
	}
	changed := data
	if len(values) > 0 {
		if changed, err = edit.SetValues(t.old.Path, data, values, p.c.now); err != nil {
			t.item.leave(Refused, "unreadable", t.old.Path)
			return
		}
	}
	body := string(reqmeta.Body(data))
	if want := p.c.bodyOf(t); want != body && p.hashes[p.key(t.item)] == hashOf(body) {
		changed = append(bytes.Clone(changed[:len(changed)-len(reqmeta.Body(changed))]), want...)
		p.hashes[p.key(t.item)] = hashOf(want)
	}
	if !bytes.Equal(changed, data) {
		t.item.Result = Updated
		p.swaps = append(p.swaps, swap{t.item, data, changed})
	}
}

func (p *Plan) report() {
	r := &p.Report
	r.Source, r.Input = p.c.From, len(p.c.items)
	r.Counts = map[Result]int{Made: 0, Unchanged: 0, Updated: 0, Skipped: 0, Refused: 0}
	r.Items, r.Changes = make([]Item, 0, len(p.c.items)), []Change{}
	if r.Drafts == nil {
		r.Drafts = []string{}
	}
	for _, it := range p.c.items {
		if it.Result == Skipped || it.Result == Refused {
			it.ID, it.Path = "", ""
		}
		r.Counts[it.Result]++
		r.Items = append(r.Items, *it)
	}
	for _, change := range p.c.order {
		r.Changes = append(r.Changes, *change)
	}
}

// Write makes the files, all of them durable at once, and changes those that
// follow the source. It gives the hashes that the next import needs. A file that
// cannot be made is refused in the report.
func (p *Plan) Write(disk atomicfile.Disk, root, dir, suffix string) (hashes map[string]string, err error) {
	if p.hashes == nil {
		p.hashes = map[string]string{}
	}
	if len(p.made) > 0 {
		failed, err := edit.CreateAll(disk, root, dir, p.made, suffix)
		if err != nil {
			return nil, err
		}
		for i, err := range failed {
			if err != nil {
				refused := p.items[i].ID
				p.Report.Drafts = slices.DeleteFunc(p.Report.Drafts, func(id string) bool { return id == refused })
				p.items[i].leave(Refused, "exists", p.items[i].Path)
				continue
			}
			p.hashes[p.key(p.items[i])] = hashOf(string(reqmeta.Body(p.made[i].Data)))
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
		}
	}
	p.report()
	return p.hashes, nil
}
