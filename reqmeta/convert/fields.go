package convert

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"aiflow/reqmeta"
)

// Map says under which keys a source has what: the first that has a value
// counts, of lists all.
type Map struct {
	ID        []string          `json:"id"`
	Title     []string          `json:"title"`
	Status    Words             `json:"status"`
	Priority  Words             `json:"priority"`
	Estimate  Words             `json:"estimate"`
	DependsOn []string          `json:"depends_on"`
	Blocks    []string          `json:"blocks"`
	Related   []string          `json:"related"`
	Parent    []string          `json:"parent"`
	Labels    []string          `json:"labels"`
	LabelAs   map[string]string `json:"label_as"` // KEY: PREFIX makes a label PREFIX:VALUE
	CreatedAt []string          `json:"created_at"`
	UpdatedAt []string          `json:"updated_at"`
	Due       []string          `json:"due"`
	URL       []string          `json:"url"`
	People    []string          `json:"people"`
	Body      []Section         `json:"body"`
	Comments  []string          `json:"comments"`
	Links     []string          `json:"links"` // lists that stand in the body
	Ignore    []string          `json:"ignore"`
	Skip      []string          `json:"skip"` // globs of files
}

// Words is where a word stands and what it means.
type Words struct {
	From   []string          `json:"from"`
	Values map[string]string `json:"values"`
}

// Section is a text that stands in the body, below a heading where one is named.
type Section struct {
	From    string `json:"from"`
	Heading string `json:"heading"`
}

// lay reads a map file over the map of the source: what it names replaces. The
// line is that of a mistake.
func (m *Map) lay(data []byte) (line int, reason, value string) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		at := offset(err, len(bytes.TrimSpace(data)))
		if reason, value = jsonWhy(err); reason == "map_key" {
			at = bytes.Index(data, []byte(value))
		}
		return lineAt(data, at), reason, value
	}
	if end := int(d.InputOffset()); len(bytes.TrimSpace(data[end:])) > 0 {
		return lineAt(data, len(data)-len(bytes.TrimLeft(data[end:], " \t\r\n"))), "json_more", ""
	}
	for list, allowed := range map[*Words][]string{&m.Status: Means, &m.Priority: reqmeta.Priorities[:], &m.Estimate: reqmeta.Estimates[:]} {
		for word, means := range list.Values {
			if !slices.Contains(allowed, means) {
				quoted, _ := json.Marshal(word)
				return lineAt(data, bytes.Index(data, quoted)), "map_word", word + ": " + means + " (" + strings.Join(allowed, ", ") + ")"
			}
		}
	}
	return 0, "", ""
}

// offset is where a mistake of JSON stands; end where that is not told.
func offset(err error, end int) int {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax) && !strings.Contains(err.Error(), "unexpected end"):
		return int(syntax.Offset) - 1
	case errors.As(err, &kind):
		return int(kind.Offset) - 1
	}
	return end
}

var badChar = regexp.MustCompile(`^invalid character (.+?) (?:looking|after|in|at)`)

// jsonWhy says what is wrong with JSON, as a reason and its value.
func jsonWhy(err error) (reason, value string) {
	var kind *json.UnmarshalTypeError
	said := err.Error()
	char := badChar.FindStringSubmatch(said)
	_, key, unknown := strings.Cut(said, "unknown field ")
	switch {
	case unknown:
		return "map_key", key
	case char != nil:
		return "json_char", char[1]
	case strings.Contains(said, "depth"):
		return "json_depth", ""
	case errors.As(err, &kind):
		return "json_kind", cmp.Or(kind.Field, kind.Value)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(said, "unexpected end"):
		return "json_end", ""
	}
	return "json", said
}

// Means are what a word of a status may mean. "ready" is open work, which
// becomes a draft unless ready is asked for.
var Means = []string{reqmeta.Draft, reqmeta.Ready, reqmeta.Blocked, reqmeta.Done, reqmeta.Archived, "skip"}

func meant(word string, lists ...map[string]string) string {
	for _, list := range lists {
		for from, to := range list {
			if squeeze(from) == squeeze(word) {
				return to
			}
		}
	}
	return ""
}

// maxBody leaves room for the head in a file that is still read.
const maxBody = reqmeta.MaxFile - reqmeta.MaxHead

const maxTitle = 200

// take makes a task of a record.
func (c *conv) take(r *record) *task {
	m := c.m
	id := cmp.Or(clean(r.one(m.ID...)), clean(r.stem))
	it := c.add(r.where, id)
	if id == "" {
		it.leave(Refused, "no_id", "")
		return nil
	}
	t := &task{item: it, key: id, numeric: isNumber(id), url: clean(r.one(m.URL...))}
	if r.stem != "" {
		t.also = append(t.also, r.stem)
	}
	t.needs, t.blocks, t.related, t.parents = r.every(m.DependsOn), r.every(m.Blocks), r.every(m.Related), r.all(m.Parent)
	t.created, t.updated = c.date(r, m.CreatedAt), c.date(r, m.UpdatedAt)
	c.words(t, r)
	for _, label := range r.every(m.Labels) {
		t.label(label)
	}
	for _, key := range sortedKeys(m.LabelAs) {
		for _, text := range r.all([]string{key}) {
			t.label(m.LabelAs[key] + ":" + text)
		}
	}
	c.body(t, r)
	c.rest(t, r)
	if t.status == "skip" {
		it.leave(Skipped, "kind", r.one(append(slices.Clone(m.Status.From), "issue_type")...))
		return nil
	}
	if len(t.text) > maxBody {
		it.leave(Refused, "too_large", strconv.Itoa(len(t.text)))
		return nil
	}
	c.tasks = append(c.tasks, t)
	return t
}

func (t *task) label(text string) {
	if text = clean(text); text != "" && !slices.Contains(t.labels, text) {
		t.labels = append(t.labels, text)
	}
}

// words reads status, priority and estimate.
func (c *conv) words(t *task, r *record) {
	word, where := clean(r.one(c.m.Status.From...)), t.item.Where
	t.status = cmp.Or(meant(word, c.Status, c.m.Status.Values), reqmeta.MeantStatus(word))
	switch {
	case word == "":
		t.status = reqmeta.Draft
		c.count("status_missing", "", where)
	case t.status == "" || t.status == reqmeta.Running:
		t.status = reqmeta.Draft
		c.count("status_unknown", word, where)
	}
	word = clean(r.one(c.m.Priority.From...))
	t.priority = cmp.Or(meant(word, c.m.Priority.Values), reqmeta.MeantPriority(word))
	if t.priority == "" {
		t.priority = "P2"
		if word == "" {
			c.count("priority_missing", "", where)
		} else {
			c.count("priority_unknown", word, where)
		}
	}
	if word = clean(r.one(c.m.Estimate.From...)); word != "" {
		sizes := map[string]string{"s": "S", "m": "M", "l": "L", "small": "S", "medium": "M", "large": "L", "xs": "S", "xl": "L"}
		if t.estimate = meant(word, c.m.Estimate.Values, sizes); t.estimate == "" {
			c.count("estimate_unknown", word, where)
		}
	}
}

// body puts the sections of a record together, and the lines above them.
func (c *conv) body(t *task, r *record) {
	t.title = clean(r.one(c.m.Title...))
	var parts []string
	for _, key := range c.m.Due {
		for _, text := range r.all([]string{key}) {
			parts = append(parts, key+": "+clean(text))
			d, ok := c.read(text, r.json)
			if !ok {
				c.count("due_unreadable", clean(text), r.where)
			}
			if ok && !strings.HasPrefix(strings.ToLower(key), "due") && d.Time.After(c.now) {
				t.draft = true // put off
			}
		}
	}
	below := normal(r.body)
	for _, s := range c.m.Body {
		text := block(strings.Join(r.all([]string{s.From}), "\n"))
		if text != "" && s.Heading != "" {
			text = s.Heading + "\n\n" + text
		}
		if text != "" {
			parts = append(parts, text)
		}
	}
	for _, key := range c.m.Links {
		if list := r.all([]string{key}); len(list) > 0 {
			parts = append(parts, key+":\n\n- "+strings.Join(list, "\n- "))
		}
	}
	if c.Comments {
		for _, text := range r.all(c.m.Comments) {
			parts = append(parts, "## Comment\n\n"+block(text))
		}
	}
	if t.title == "" {
		t.title, below = firstLine(below)
	}
	if t.title == "" && r.stem != "" { // of a markdown file the first heading, as we read it ourselves
		t.title = clean(reqmeta.Heading([]byte(below)))
	}
	if below = strings.Trim(below, "\n"); below != "" {
		parts = append(parts, below)
	}
	t.text = strings.Join(parts, "\n\n")
	if head, rest := firstLine(t.text); head != "" && head == t.title {
		t.text = strings.Trim(rest, "\n") // it stands above the body already
	}
	if t.title == "" {
		t.title = cut(clean(strings.TrimLeft(strings.SplitN(t.text, "\n", 2)[0], "#- ")), maxTitle)
	}
	if t.title == "" {
		t.title = t.key
		c.count("no_title", "", t.item.Where)
	}
	if short := cut(t.title, maxTitle); short != t.title {
		t.text = strings.TrimSpace(t.title + "\n\n" + t.text)
		t.title = short
		c.count("title_cut", "", t.item.Where)
	}
}

// rest counts what no map names.
func (c *conv) rest(t *task, r *record) {
	m := c.m
	known := map[string]bool{}
	for _, key := range slices.Concat(m.DependsOn, m.Blocks, m.Related, m.Labels, sortedKeys(m.LabelAs), m.Due, m.Links, m.Ignore) {
		known[squeeze(key)] = true
	}
	for _, list := range [][]string{m.ID, m.Title, m.Status.From, m.Priority.From, m.Estimate.From, m.Parent, m.CreatedAt, m.UpdatedAt, m.URL} {
		for _, key := range list { // one counts; another that says the same is no loss
			if said := r.one(key); said == "" || said == r.one(list...) {
				known[squeeze(key)] = true
			}
		}
	}
	for _, s := range m.Body {
		known[squeeze(s.From)] = true
	}
	for _, name := range r.lost {
		if !isOneOf(m.Ignore, name) {
			c.count("field_dropped", clean(name), t.item.Where)
		}
		if slices.ContainsFunc(m.DependsOn, func(key string) bool { return squeeze(key) == squeeze(name) }) {
			t.draft = true
			c.count("depends_unread", clean(name), t.item.Where)
		}
	}
	for _, name := range r.names {
		list := r.texts[squeeze(name)]
		person := isOneOf(m.People, name)
		comment := c.Comments && isOneOf(m.Comments, name)
		switch key := keyOf(name); {
		case known[squeeze(name)] || comment || len(list) == 0:
		case person && c.People, !person && c.Keep && len(list) == 1 && len(list[0]) < 1000 && key != "":
			as := "x_" + key
			for n := 2; slices.ContainsFunc(t.extra, func(kv [2]string) bool { return kv[0] == as }); n++ {
				as = "x_" + key + "_" + strconv.Itoa(n) // A.B and A/B are one key
			}
			t.extra = append(t.extra, [2]string{as, clean(strings.Join(list, ", "))})
		default:
			c.count("field_dropped", clean(name), t.item.Where)
		}
	}
}

// keyOf is a name as a key of a head.
func keyOf(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return unicode.ToLower(r)
		}
		return '_'
	}, name), "_")
}

// clean is text on one line without signs that are not seen.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029' || r == '\u0085':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d' || r == '\ufffe' || r == '\uffff':
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// lineAt is the line, from 1, of an offset; one outside of the data is taken to its nearest end.
func lineAt(data []byte, at int) int {
	return bytes.Count(data[:max(0, min(at, len(data)))], []byte("\n")) + 1
}

// normal is text whose lines end with LF alone, without NUL and ESC.
func normal(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// block is normal text without blank lines around it. The blanks that its first line
// begins with stay: they may make it code.
func block(s string) string {
	s = strings.TrimRight(normal(s), " \t\n")
	for {
		line, rest, more := strings.Cut(s, "\n")
		if !more || strings.TrimSpace(line) != "" {
			return s
		}
		s = rest
	}
}

func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:n-1])) + "…"
}

// firstLine takes a heading that a text begins with off it.
func firstLine(s string) (title, rest string) {
	line, below, _ := strings.Cut(strings.TrimLeft(s, "\n"), "\n")
	if strings.HasPrefix(line, "# ") {
		return clean(reqmeta.Heading([]byte(line))), below
	}
	return "", s
}

// nothing are the words that say that there is nothing.
var nothing = []string{"none", "-", "n/a", "なし", "null", "[]", "false"}

// refs reads references however they are written: `a, b`, `#12`, `[[a]]`,
// `tasks/a.md`.
func refs(list []string) []string {
	var out []string
	for _, text := range list {
		sep := func(r rune) bool { return r == ',' || r == ';' || r == '、' || r == '\n' }
		if !strings.ContainsFunc(text, sep) && !strings.Contains(text, ".md") && !strings.Contains(text, "[[") {
			sep = unicode.IsSpace
		}
		for _, ref := range strings.FieldsFunc(text, sep) {
			ref = clean(ref)
			if strings.HasPrefix(ref, "[[") { // [[folder/name#heading|shown]]
				ref = path.Base(ref[:strings.IndexAny(ref+"|", "|#")])
			}
			ref = strings.Trim(ref, "[]\"'` ")
			if strings.HasSuffix(strings.ToLower(ref), ".md") {
				ref = reqmeta.Stem(ref)
			}
			if !strings.Contains(ref, "/") {
				ref = strings.TrimPrefix(ref, "#")
			}
			if ref != "" && !slices.Contains(nothing, strings.ToLower(ref)) && !slices.Contains(out, ref) {
				out = append(out, ref)
			}
		}
	}
	return out
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789.") == "" && s[0] != '.' && s[len(s)-1] != '.'
}

// forms are the ways of writing a time that reqmeta does not read; those with
// a zone come first.
var forms = []struct {
	layout string
	zoned  bool
}{
	{"2006-01-02T15:04:05.999999999-0700", true},
	{"2006-01-02 15:04:05.999999999-0700", true},
	{"2006-01-02 15:04:05 -0700", true},
	{"20060102T150405Z", true},
	{"2006/01/02", false},
	{"2006/01/02 15:04", false},
	{"2006/01/02 15:04:05", false},
	{"02/Jan/06 3:04 PM", false},
	{"2/Jan/06 3:04 PM", false},
}

type moment struct {
	Time        time.Time
	day, noZone bool
}

func (c *conv) read(text string, number bool) (moment, bool) {
	text = strings.TrimSpace(text)
	zone := cmp.Or(c.Zone, time.UTC)
	in := func(t time.Time) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, zone)
	}
	if d, ok := reqmeta.ParseDate(text); ok {
		switch {
		case len(text) == len(reqmeta.DayForm):
			return moment{d.Time, true, false}, true
		case reqmeta.Zoneless(text):
			return moment{in(d.Time), false, true}, true
		}
		return moment{Time: d.Time}, true
	}
	if n, err := strconv.ParseInt(text, 10, 64); number && err == nil && n > 0 {
		switch len(text) {
		case 9, 10:
			return moment{Time: time.Unix(n, 0)}, true
		case 12, 13:
			return moment{Time: time.UnixMilli(n)}, true
		}
	}
	if m, ok := c.ordered(text, in); ok {
		return m, true
	}
	for _, f := range forms {
		if t, err := time.Parse(f.layout, text); err == nil {
			if f.zoned {
				return moment{Time: t}, true
			}
			day := f.layout == "2006/01/02"
			if !day {
				t = in(t)
			}
			return moment{t, day, !day}, true
		}
	}
	return moment{}, false
}

// ordered reads 6/21/2025 16:14 in the order that a person gave.
func (c *conv) ordered(text string, in func(time.Time) time.Time) (moment, bool) {
	day, clock, _ := strings.Cut(strings.NewReplacer(".", "/", "-", "/").Replace(text[:min(10, len(text))])+text[min(10, len(text)):], " ")
	layout := map[string]string{"mdy": "1/2/2006", "dmy": "2/1/2006"}[c.DateOrder]
	if layout == "" {
		return moment{}, false
	}
	if t, err := time.Parse(layout, day); clock == "" && err == nil {
		return moment{t, true, false}, true
	}
	for _, form := range []string{"15:04", "15:04:05", "3:04 PM", "3:04:05 PM"} {
		if t, err := time.Parse(layout+" "+form, day+" "+strings.ToUpper(clock)); err == nil {
			return moment{in(t), false, true}, true
		}
	}
	return moment{}, false
}

// twoWays are dates that --date-order is for.
var twoWays = regexp.MustCompile(`^\s*\d{1,2}[/.-]\d{1,2}[/.-]\d{4}`)

// date reads a date as our files have it: UTC, or a day.
func (c *conv) date(r *record, keys []string) string {
	text := r.one(keys...)
	if text == "" {
		return ""
	}
	m, ok := c.read(text, r.json)
	switch {
	case !ok && c.DateOrder == "" && twoWays.MatchString(text):
		c.count("date_order", clean(text), r.where)
		return ""
	case !ok || m.Time.UTC().Year() < 1 || m.Time.UTC().Year() > 9999:
		c.count("date_unreadable", clean(text), r.where)
		return ""
	case m.day:
		return m.Time.Format(reqmeta.DayForm)
	case m.noZone:
		c.count("date_zone", "", r.where)
	}
	return m.Time.UTC().Truncate(time.Second).Format(time.RFC3339)
}
