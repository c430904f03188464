// Package convert takes tasks over from other tools, and gives requests to
// them. A source is read into records, a map of fields makes tasks of these, and
// one set of rules for all sources gives ids, references, status and text.
//
// It does not ask any network, start any program, or change what it reads.
package convert

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"aiflow/reqmeta"
)

// Options say what is imported and how.
type Options struct {
	From       string            // the source; "" is guessed
	MapName    string            // of its file
	Map        []byte            // JSON of a Map, laid over the source's own
	Status     map[string]string // words of the source, for ours
	Store      string            // which store of that kind; "" is derived where that can be
	Prefix     string            // of ids that are numbers or no ids of ours
	NoPad      bool              // numbers keep their width
	Only       string            // ready, open (default) or all
	Ready      bool              // open work becomes ready
	Strict     bool              // rings are refused
	Parents    string            // keep (default) or skip
	Subtasks   string            // requests (default) or checklist
	Tag        string            // of a tasks.json
	Keep       bool              // scalars under unknown keys, as x_KEY
	People     bool              // assignee, owner, reporter
	Comments   bool
	StoreGiven bool           // a person named the store, be it ""
	TextDeps   bool           // "blocked by #12" in the text of an issue counts
	Zone       *time.Location // of times without one; nil: UTC
	Encoding   string         // of the files; "" is UTF-8
	DateOrder  string         // mdy or dmy: what 6/7/2025 means; "" leaves such dates out
	Nested     string         // of checkboxes below others: checklist (default) or separate
}

// Only takes.
const (
	OnlyReady = "ready"
	OnlyOpen  = "open"
	OnlyAll   = "all"
)

// Result is what becomes of one item of the source.
type Result string

// The results. Every item of the source has exactly one.
const (
	Made      Result = "made"
	Unchanged Result = "unchanged"
	Updated   Result = "updated"
	Skipped   Result = "skipped"
	Refused   Result = "refused"
)

// Item is one item of the source and what became of it.
type Item struct {
	Where    string `json:"where"` // in the source: a file, a line, a number
	SourceID string `json:"source_id"`
	ID       string `json:"id"`
	Path     string `json:"path"`
	Result   Result `json:"result"`
	Reason   string `json:"reason"` // of what was skipped or refused
	Value    string `json:"value"`

	store string // in which it is, in small letters
	over  bool   // of what is skipped for its kind: nobody has to wait for it
}

// Change is something that is not as it was in the source.
type Change struct {
	Kind  string `json:"kind"`
	Value string `json:"value"` // the word, the field, the id
	Where string `json:"where"` // where it was met first
	Count int    `json:"count"`

	at []string // every place
}

// Report counts what became of the source.
type Report struct {
	Source  string         `json:"source"`
	Store   string         `json:"store"`
	DryRun  bool           `json:"dry_run"`
	Input   int            `json:"input"`
	Counts  map[Result]int `json:"counts"`
	Items   []Item         `json:"items"`
	Changes []Change       `json:"changes"`
	Drafts  []string       `json:"drafts"` // ids of open work that was made a draft
}

// task is one item of the source in words of ours.
type task struct {
	item                       *Item
	key                        string   // how others in the source refer to it
	short                      string   // what its id is made of here; "" is key
	also                       []string // further names: the stem of its file
	title, text                string   // text is the body below the title
	status, priority, estimate string   // status is "ready" for whatever is open
	labels                     []string
	needs, blocks, related     []string // as they stand in the source, until split parts them
	parents                    []string // likewise
	parent                     string   // the first of them
	up                         *task    // the parent, where the source has it
	created, updated           string
	url                        string
	extra                      [][2]string // keys that are kept and not judged
	on                         []*task     // what it waits for
	children                   []*task
	numeric                    bool
	number                     string // in its list, of one that has no id and is known by its text
	draft                      bool   // must not become ready, whatever is asked
	kept                       bool
	old                        *reqmeta.Request // which it was imported as
	raw                        string           // the body as it stands
	base                       string           // of an export of ours, as the two below
	touches                    []string
	steps                      []reqmeta.Step
}

func (t *task) over() bool { return t.status == reqmeta.Done || t.status == reqmeta.Archived }

// conv is one import at work.
type conv struct {
	Options
	m       Map
	now     time.Time
	tasks   []*task
	items   []*Item
	changes map[[2]string]*Change
	order   []*Change
	parents [][2]string      // child and parent, where the parent names the child
	here    map[origin]*task // requests that were imported, as what may be waited for
	created map[string]int   // how many tasks were made at a time
	path    string           // of the source
	// What index notes:
	byNumber map[string][]*task // by what stands behind the prefix
	left     map[string]*Item   // what is no work, by id
	refused  []*Item            // what could not be read
	anyList  bool               // the store is called as every list of that name in a folder of that name is
}

func (c *conv) count(kind, value, where string) {
	key := [2]string{kind, value}
	if c.changes[key] == nil {
		c.changes[key] = &Change{Kind: kind, Value: value}
		c.order = append(c.order, c.changes[key])
	}
	c.changes[key].at = append(c.changes[key].at, where)
}

func (c *conv) add(where, id string) *Item {
	it := &Item{Where: where, SourceID: id}
	c.items = append(c.items, it)
	return it
}

// leave ends an item that does not become a request.
func (it *Item) leave(result Result, reason, value string) {
	it.Result, it.Reason, it.Value = result, reason, value
}

// refuse is an item that cannot be read.
func (c *conv) refuse(where, reason, value string) {
	c.add(where, "").leave(Refused, reason, value)
}

// Unreadable says why a source as a whole cannot be read.
type Unreadable struct{ Path, Reason, Value string }

func (e *Unreadable) Error() string { return fmt.Sprintf("%s: %s %s", e.Path, e.Reason, e.Value) }

// Columns are the first row of an export as CSV.
var Columns = []string{"id", "title", "status", "priority", "labels", "depends_on", "estimate", "created_at", "updated_at", "source", "source_store", "source_id", "source_url", "path", "body"}

// Row is a request in these columns. A cell that a spreadsheet would reckon
// with is guarded by a quote, and so is one that looks guarded.
func Row(r *reqmeta.Request, body string) []string {
	m := r.Meta
	row := []string{
		r.ID, r.Title(), m.Status, m.Priority, listed(m.Labels), strings.Join(m.DependsOn, ", "), m.Estimate,
		m.CreatedAt.Text, m.UpdatedAt.Text, m.Unknown["source"], m.Unknown["source_store"], m.Unknown["source_id"], m.Unknown["source_url"], r.Path, strings.TrimSpace(body),
	}
	for i, cell := range row {
		if reckoned(cell) {
			row[i] = "'" + cell
		}
	}
	return row
}

func reckoned(cell string) bool {
	cell = strings.TrimLeft(cell, "'")
	return cell != "" && strings.IndexByte("=+-@", cell[0]) >= 0
}

// listed are texts in one cell: with commas, or as JSON where one holds what
// would part it.
func listed(items []string) string {
	text := strings.Join(items, ", ")
	if len(items) > 0 && !slices.Equal(unlisted(text), items) {
		data, _ := json.Marshal(items)
		return string(data)
	}
	return text
}

func unlisted(cell string) (items []string) {
	if strings.HasPrefix(cell, "[") && json.Unmarshal([]byte(cell), &items) == nil {
		return items
	}
	for text := range strings.FieldsFuncSeq(cell, func(r rune) bool { return r == ',' || r == ';' }) {
		if text = strings.TrimSpace(text); text != "" {
			items = append(items, text)
		}
	}
	return items
}
