package convert

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	gmtext "github.com/yuin/goldmark/text"

	"aiflow/reqmeta"
)

// readBacklog reads the folder of Backlog.md.
func readBacklog(c *conv, in input) error {
	words := c.backlogWords(in)
	milestones := map[string]string{}
	shown := c.items
	_ = c.files(filepath.Join(in.dir, "milestones"), in.path, func(_, where string, data []byte) {
		if r, _ := c.head(where, data); r != nil {
			milestones[r.one("id")] = r.one("title")
		}
	})
	c.items = shown
	for _, part := range []struct{ dir, status string }{
		{"tasks", ""}, {"completed", reqmeta.Done}, {"drafts", reqmeta.Draft}, {"archive/tasks", reqmeta.Archived},
	} {
		dir := filepath.Join(in.dir, filepath.FromSlash(part.dir))
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			continue
		}
		err := c.files(dir, filepath.Join(in.path, part.dir), func(_, where string, data []byte) {
			r, bad := c.head(where, data)
			switch {
			case bad != nil && bad.reason == "no_frontmatter", r != nil && r.one("id") == "":
				c.add(where, "").leave(Skipped, "no_task", "")
				return
			case bad != nil:
				c.refuseHead(where, bad)
				return
			}
			status, word := part.status, r.one("status")
			switch means := cmp.Or(words[squeeze(word)], reqmeta.MeantStatus(word)); {
			case status == reqmeta.Archived && means == reqmeta.Done: // put away, and finished all the same
				status = means
			case status == "" && word == "":
				status = reqmeta.Ready
			case status == "":
				status = words[squeeze(word)]
			}
			if part.status != "" || status != "" && meant(word, c.Status) == "" {
				r.set("status", status)
			}
			if title := milestones[r.one("milestone")]; title != "" {
				r.set("milestone", title)
			}
			r.body = backlogBody(r.body)
			c.take(r)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// backlogWords is what the words of the configuration mean: the last one is
// done, what no table knows otherwise is open.
func (c *conv) backlogWords(in input) map[string]string {
	words := map[string]string{}
	data, err := reqmeta.ReadInside(in.dir, "config.yml")
	if err != nil {
		return words
	}
	r, _ := c.head("config.yml", slices.Concat([]byte("---\n"), data, []byte("\n---\n")))
	if r == nil {
		return words
	}
	list := r.all([]string{"statuses"})
	for i, word := range list {
		means := reqmeta.MeantStatus(word)
		switch {
		case i == len(list)-1:
			means = reqmeta.Done
		case means == "" || i == 0:
			means = reqmeta.Ready
		}
		words[squeeze(word)] = means
	}
	return words
}

var (
	sectionMark = regexp.MustCompile(`^\s*<!-- [A-Z_]+(:[A-Z_]+)*:(BEGIN|END) -->\s*$`)
	criterion   = regexp.MustCompile(`^(\s*[-*] \[[ xX]\] )#\d+ `)
	fence       = regexp.MustCompile("^ {0,3}(```+|~~~+)")
)

// backlogBody drops the marks of sections and the numbers of criteria.
func backlogBody(body string) string {
	var out []string
	code := ""
	for line := range strings.SplitSeq(normal(body), "\n") {
		mark := fence.FindStringSubmatch(line)
		switch {
		case mark != nil && code == "":
			code = mark[1]
		case mark != nil && strings.HasPrefix(mark[1], code):
			code = ""
		case code != "":
		case sectionMark.MatchString(line):
			continue
		case strings.EqualFold(strings.TrimSpace(line), "## Acceptance Criteria"):
			line = "## Acceptance criteria"
		default:
			line = criterion.ReplaceAllString(line, "$1")
		}
		out = append(out, line)
	}
	return strings.Trim(strings.Join(out, "\n"), "\n")
}

// box is the mark of an item, with the brackets of Japanese keyboards too. Letters
// and numbers are notes, but for those that mean done.
const box = `[\[［]([xXvV]|[^\[\]［］\pL\pN]?)[\]］]`

var checkbox = regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)])?\s*` + box + `\s+`)

var mark = regexp.MustCompile(`^` + box + `(?:\s+|$)`)

var marksMean = map[string]string{
	"x": reqmeta.Done, "X": reqmeta.Done, "v": reqmeta.Done, "V": reqmeta.Done, "✓": reqmeta.Done, "✔": reqmeta.Done, "✅": reqmeta.Done, "☑": reqmeta.Done,
	"-": reqmeta.Archived,
	"":  reqmeta.Ready, " ": reqmeta.Ready, "　": reqmeta.Ready, "/": reqmeta.Ready, ">": reqmeta.Ready, "?": reqmeta.Ready, "!": reqmeta.Ready,
}

// readTodo reads checkboxes of markdown: each at the top is a request, those
// below it are its checklist. A list without markdown is todo.txt.
func readTodo(c *conv, in input) error {
	data, err := in.all(true)
	if err != nil {
		return err
	}
	data = []byte(normal(string(data)))
	if strings.EqualFold(filepath.Ext(in.path), ".txt") && !regexp.MustCompile(`(?m)`+checkbox.String()).Match(data) {
		c.todoTxt(in.path, string(data))
		return nil
	}
	td := &todo{c: c, path: in.path, data: data}
	doc := goldmark.DefaultParser().Parse(gmtext.NewReader(data))
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		td.block(n)
	}
	td.flush()
	return nil
}

// todo reads a list of checkboxes.
type todo struct {
	c        *conv
	path     string
	data     []byte
	headings [7]string
	bullets  []string // without a box, that one stands below
	last     *todoItem
	n        int
}

// todoItem is a checkbox that is still gathering its text.
type todoItem struct {
	r    *record
	body []string
}

func (td *todo) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		td.flush()
		td.headings[n.Level] = string(n.Lines().Value(td.data))
		clear(td.headings[n.Level+1:])
	case *ast.List:
		for item := n.FirstChild(); item != nil; item = item.NextSibling() {
			td.item(item, "")
		}
	case *ast.Blockquote:
		for inner := n.FirstChild(); inner != nil; inner = inner.NextSibling() {
			td.block(inner)
		}
	case *ast.Paragraph:
		var below []string
		text := func() {
			if td.last != nil && len(below) > 0 {
				td.last.body = append(td.last.body, strings.Join(below, "\n"))
			}
			below = nil
		}
		for i := range n.Lines().Len() {
			line := n.Lines().At(i)
			said := strings.TrimSpace(string(line.Value(td.data)))
			if mark.MatchString(said) { // a box needs no bullet
				text()
				td.begin(line.Start, said, "")
			} else {
				below = append(below, strings.TrimRight(string(line.Value(td.data)), " \n"))
			}
		}
		text()
	default:
		if from, to := td.span(n); td.last != nil && from < to {
			td.last.body = append(td.last.body, string(td.data[from:to]))
		}
	}
}

// span is what a block covers in the source, whole lines.
func (td *todo) span(n ast.Node) (from, to int) {
	from, to = len(td.data), 0
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && n.Type() == ast.TypeBlock {
			for i := range n.Lines().Len() {
				s := n.Lines().At(i)
				from, to = min(from, s.Start), max(to, s.Stop)
			}
		}
		return ast.WalkContinue, nil
	})
	if from < to {
		from = bytes.LastIndexByte(td.data[:from], '\n') + 1
	}
	if n.Kind() == ast.KindFencedCodeBlock && from < to { // its fences belong to it
		if from > 0 {
			from = bytes.LastIndexByte(td.data[:from-1], '\n') + 1
		}
		if end := bytes.IndexByte(td.data[min(to, len(td.data)):], '\n'); end >= 0 {
			to += end
		} else {
			to = len(td.data)
		}
	}
	return from, to
}

// item reads one checkbox; parent is the id of the one that it stands below, where
// such are requests too.
func (td *todo) item(item ast.Node, parent string) {
	first, said := item.FirstChild(), ""
	if first == nil {
		return
	}
	if first.Kind() == ast.KindTextBlock || first.Kind() == ast.KindParagraph {
		said = strings.TrimSpace(string(first.Lines().Value(td.data)))
		said, _, _ = strings.Cut(said, "\n")
	}
	if !mark.MatchString(said) {
		td.plain(item, said)
		return
	}
	line := first.Lines().At(0)
	td.begin(line.Start, said, parent)
	r := td.last.r
	if td.c.Nested != "separate" {
		if _, to := td.span(item); to > line.Stop {
			td.last.body = append(td.last.body, dedent(string(td.data[line.Stop:to])))
		}
		return
	}
	var below []ast.Node
	if _, to := td.span(first); to > line.Stop {
		td.last.body = append(td.last.body, dedent(string(td.data[line.Stop:to])))
	}
	for n := first.NextSibling(); n != nil; n = n.NextSibling() {
		if from, to := td.span(n); n.Kind() == ast.KindList {
			below = append(below, n)
		} else if from < to {
			td.last.body = append(td.last.body, dedent(string(td.data[from:to])))
		}
	}
	id := r.one("id")
	for _, list := range below {
		for one := list.FirstChild(); one != nil; one = one.NextSibling() {
			td.item(one, id)
		}
	}
}

// begin is an item whose first line stands there.
func (td *todo) begin(at int, said, parent string) {
	td.flush()
	td.n++
	sign := mark.FindStringSubmatch(said)
	r := newRecord(td.where(at))
	if means, known := marksMean[sign[1]]; known {
		r.put("status", means)
	} else {
		r.put("status", "["+sign[1]+"]")
	}
	if sign[1] == "!" {
		r.put("priority", "P1")
	}
	td.last = &todoItem{r: r}
	for _, above := range slices.Concat(td.headings[:], td.bullets) {
		if above != "" {
			r.put("labels", "section:"+above)
		}
	}
	todoWords(r, said[len(sign[0]):], strconv.Itoa(td.n))
	r.put("parent", parent)
}

// plain is an item without a box: what stands below it may have one, and it is
// their heading.
func (td *todo) plain(item ast.Node, said string) {
	from, _ := td.span(item)
	td.c.count("bullets_ignored", "", td.where(from))
	td.bullets = append(td.bullets, cut(clean(said), 60))
	for n := item.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == ast.KindList {
			for one := n.FirstChild(); one != nil; one = one.NextSibling() {
				td.item(one, "")
			}
		}
	}
	td.bullets = td.bullets[:len(td.bullets)-1]
}

func (td *todo) where(at int) string {
	return fmt.Sprintf("%s:%d", td.path, lineAt(td.data, at))
}

func (td *todo) flush() {
	if td.last == nil {
		return
	}
	r := td.last.r
	r.body = strings.Join(td.last.body, "\n\n")
	td.last = nil
	takeTodo(td.c, r)
}

// takeTodo makes a task of an item of a list; one that says nothing is none.
func takeTodo(c *conv, r *record) {
	number := r.one("number")
	if number != "" && r.one("title") == "" && strings.TrimSpace(r.body) == "" {
		c.add(r.where, "").leave(Skipped, "empty", "")
		return
	}
	if t := c.take(r); t != nil {
		t.number = number
		t.also = append(t.also, r.texts["number"]...)
	}
}

// dedent takes off the blanks that all lines begin with.
func dedent(s string) string {
	lines, least := strings.Split(s, "\n"), 100
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			least = min(least, len(line)-len(strings.TrimLeft(line, " \t")))
		}
	}
	for i, line := range lines {
		lines[i] = line[min(least, len(line)-len(strings.TrimLeft(line, " \t"))):]
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// todoForms are what is taken out of the text of an item, wherever it stands.
var todoForms = []struct {
	key  string
	form *regexp.Regexp
}{
	{"id", regexp.MustCompile(`(?:\s\^([A-Za-z0-9-]+)|\s?\{#([A-Za-z0-9._-]+)\}|\s\(([A-Z]+-\d+)\))\s*$`)},
	{"priority", regexp.MustCompile(`(?:^|\s)(?:!(high|medium|low|critical)|(⏫|🔼|🔽))(?:\s|$)`)},
	{"due", regexp.MustCompile(`(?:^|\s)(?:due:|📅\s*)(\d{4}-\d{2}-\d{2})`)},
	{"needs", regexp.MustCompile(`(?:^|\s)(?:⛔\s*|dep:)([A-Za-z0-9._-]+)`)},
}

var (
	todoPriority = map[string]string{"A": "P0", "B": "P1", "C": "P2", "D": "P3", "⏫": "P1", "🔼": "P1", "🔽": "P3"}
	todoLabel    = regexp.MustCompile(`^[#+@]([\pL\pN_][\pL\pN_/.-]*)`)
	todoLetter   = regexp.MustCompile(`^\(([A-D])\)$`)
	todoAfter    = regexp.MustCompile(`^#?([A-Za-z]*-?\d[A-Za-z0-9._-]*)$`)
)

// labelOf is the label that a word is: #12 is an issue, and @a/b a package.
func labelOf(word string) (label string, whole bool) {
	m := todoLabel.FindStringSubmatch(word)
	if m == nil || !strings.ContainsFunc(m[1], unicode.IsLetter) || word[0] == '@' && strings.Contains(m[1], "/") {
		return "", false
	}
	return m[1], len(m[0]) == len(word)
}

// todoWords takes what is not title out of the text of an item. Without an id
// of its own an item is known by its text.
func todoWords(r *record, said, number string) {
	sum := sha256.Sum256([]byte(clean(said)))
	priority := func(word string) { r.set("priority", cmp.Or(todoPriority[word], word)) }
	title := said
	for _, f := range todoForms {
		for _, m := range f.form.FindAllStringSubmatch(title, -1) {
			if value := strings.Join(m[1:], ""); f.key == "priority" {
				priority(value)
			} else {
				r.put(f.key, value)
			}
		}
		title = f.form.ReplaceAllString(title, " ")
	}
	words := strings.Fields(title)
	for _, word := range words {
		if label, _ := labelOf(word); label != "" {
			r.put("labels", label)
		}
	}
	// Within a sentence these are words of it; where it begins or ends they are none.
	for again := true; again && len(words) > 0; {
		n := len(words)
		_, first := labelOf(words[0])
		_, last := labelOf(words[n-1])
		switch {
		case last:
			words = words[:n-1]
		case first:
			words = words[1:]
		case todoLetter.MatchString(words[n-1]):
			priority(words[n-1][1:2])
			words = words[:n-1]
		case todoLetter.MatchString(words[0]):
			priority(words[0][1:2])
			words = words[1:]
		case n > 1 && words[n-2] == "after" && todoAfter.MatchString(words[n-1]):
			r.put("needs", todoAfter.FindStringSubmatch(words[n-1])[1])
			words = words[:n-2]
		default:
			again = false
		}
	}
	if r.one("id") == "" {
		r.put("id", hex.EncodeToString(sum[:4]))
		r.put("number", number)
	}
	if title = clean(strings.Join(words, " ")); title == "" {
		title = clean(said)
	}
	r.put("title", title)
}

var txtDates = regexp.MustCompile(`^(?:(\d{4}-\d{2}-\d{2}) )?(?:(\d{4}-\d{2}-\d{2}) )?`)

// todoTxt reads the lines of todo.txt: `x` for done, `(A)`, dates, words.
func (c *conv) todoTxt(path, data string) {
	n := 0
	for i, line := range strings.Split(data, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		n++
		r := newRecord(fmt.Sprintf("%s:%d", path, i+1))
		status := reqmeta.Ready
		if rest, ok := strings.CutPrefix(line, "x "); ok {
			line, status = rest, reqmeta.Done
		}
		r.put("status", status)
		if len(line) > 3 && line[0] == '(' && line[2] == ')' && line[3] == ' ' && line[1] >= 'A' && line[1] <= 'Z' {
			r.put("priority", cmp.Or(todoPriority[line[1:2]], "P3"))
			line = line[4:]
		}
		dates := txtDates.FindStringSubmatch(line)
		if line = line[len(dates[0]):]; dates[2] != "" {
			dates[1] = dates[2] // the first is when it was done
		}
		r.put("created", dates[1])
		todoWords(r, line, strconv.Itoa(n))
		takeTodo(c, r)
	}
}
