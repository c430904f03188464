package convert

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"aiflow/reqmeta"
)

// source is a kind of store of tasks.
type source struct {
	name   string
	prefix string // of ids that are numbers
	fields Map
	read   func(c *conv, in input) error
}

// Sources are the names that --from takes, in the order of the documentation.
var Sources = []string{"backlog", "taskmaster", "beads", "ticket", "taskwarrior", "github", "todo", "folder", "csv", "aiflow"}

// input is what is read: a folder, or a file as a stream.
type input struct {
	path  string // as it was named
	dir   string // of a folder, where its links lead to
	open  func() (io.ReadCloser, error)
	begin []byte // of a file
	code  string // its encoding; "" is UTF-8
}

// maxSource bounds a file that is held as a whole.
const maxSource = 512 << 20

// all is the whole text. Marks of a merge are looked for unless the form itself says
// where they would be some.
func (in input) all(looked bool) ([]byte, error) {
	file, err := in.open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(decoded(file, in.code), maxSource+1))
	switch {
	case errors.Is(err, errEncoding):
		err = &Unreadable{in.path, "encoding", in.code}
	case err == nil && len(data) > maxSource:
		err = &Unreadable{in.path, "too_large", strconv.Itoa(maxSource)}
	}
	if err != nil {
		return nil, err
	}
	if reason, value := wrong(data); reason != "" && (looked || reason != "merge_marks") {
		return nil, &Unreadable{in.path, reason, value}
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), nil
}

var marks = regexp.MustCompile(`(?m)^(<{7} |>{7} )`)

// wrong says why a file is not read: another encoding, marks of a merge.
func wrong(data []byte) (reason, value string) {
	if line, encoding := reqmeta.Foreign(data); line > 0 {
		return "not_utf8", strings.TrimSpace(fmt.Sprintf("%s (%d)", encoding, line))
	}
	if at := marks.FindIndex(data); at != nil {
		return "merge_marks", strconv.Itoa(lineAt(data, at[0]))
	}
	return "", ""
}

// openInput looks at what is named; a folder of a project leads to the store
// in it.
func openInput(name string, stdin io.Reader) (input, error) {
	if name == "-" {
		r := bufio.NewReaderSize(stdin, 64<<10)
		begin, err := r.Peek(32 << 10)
		if err != nil && !errors.Is(err, io.EOF) {
			return input{}, err
		}
		return input{path: "-", begin: bytes.Clone(begin), open: func() (io.ReadCloser, error) { return io.NopCloser(r), nil }}, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return input{}, unopened(name, err)
	}
	in := input{path: name, open: func() (io.ReadCloser, error) { return os.Open(name) }}
	if info.IsDir() {
		if in.dir, err = filepath.Abs(name); err == nil {
			in.dir, err = filepath.EvalSymlinks(in.dir)
		}
		return in, err
	}
	if !info.Mode().IsRegular() {
		return input{}, &Unreadable{name, "stream", ""}
	}
	file, err := os.Open(name)
	if err != nil {
		return input{}, unopened(name, err)
	}
	defer file.Close()
	in.begin = make([]byte, 32<<10)
	n, err := io.ReadFull(file, in.begin)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return input{}, err
	}
	in.begin = in.begin[:n]
	return in, nil
}

// unopened says why a file or folder cannot be looked into.
func unopened(name string, err error) *Unreadable {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Unreadable{name, "missing", ""}
	case errors.Is(err, fs.ErrPermission):
		return &Unreadable{name, "denied", ""}
	}
	return &Unreadable{name, "unreadable", err.Error()}
}

// real is where the input lies, its links followed; "" for a stream.
func (in input) real() string {
	if in.dir != "" || in.path == "-" {
		return in.dir
	}
	at, err := filepath.Abs(in.path)
	if err == nil {
		at, err = filepath.EvalSymlinks(at)
	}
	if err != nil {
		return ""
	}
	return at
}

// stores are where tools keep their tasks in a project.
var stores = []struct{ source, path string }{
	{"backlog", "backlog/tasks"},
	{"backlog", "tasks"},
	{"taskmaster", ".taskmaster/tasks/tasks.json"},
	{"taskmaster", "tasks/tasks.json"},
	{"beads", ".beads/issues.jsonl"},
	{"beads", "issues.jsonl"},
	{"ticket", ".tickets"},
}

// guess names the sources that an input may be, the surest first.
func (in input) guess() []string {
	if in.dir == "" {
		return in.guessFile()
	}
	var found []string
	for _, s := range stores {
		_, err := os.Stat(filepath.Join(in.dir, s.path))
		if s.path == "tasks" && err == nil { // a word of many; the settings beside it are Backlog.md's own
			_, err = os.Stat(filepath.Join(in.dir, "config.yml"))
		}
		if err == nil && !slices.Contains(found, s.source) {
			found = append(found, s.source)
		}
	}
	if filepath.Base(in.dir) == ".tickets" {
		return []string{"ticket"}
	}
	if len(found) == 0 {
		if entries, err := os.ReadDir(in.dir); err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return reqmeta.IsMarkdown(e.Name()) }) {
			found = []string{"folder"}
		}
	}
	return found
}

func (in input) guessFile() []string {
	text := string(bytes.TrimSpace(bytes.TrimPrefix(in.begin, []byte("\ufeff"))))
	has := func(words ...string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, `"`+w+`"`) })
	}
	line, _, _ := strings.Cut(text, "\n")
	switch ext := strings.ToLower(filepath.Ext(in.path)); {
	case strings.HasPrefix(text, "{") && has("meta") && has("derived"), strings.HasPrefix(line, "id,") && strings.Contains(line, ",depends_on,") && strings.Contains(line, ",source_id,"):
		return []string{"aiflow"}
	case strings.IndexAny(text, "[{") == 0 && has("uuid", "entry", "status", "description"):
		return []string{"taskwarrior"}
	case strings.HasPrefix(text, "{") && has("tasks") && !has("issue_type"):
		return []string{"taskmaster"}
	case strings.HasPrefix(text, "{") && has("id", "status") && has("title"):
		return []string{"beads"}
	case strings.HasPrefix(text, "["):
		if has("number", "title") {
			return []string{"github"}
		}
		if has("issue_type") {
			return []string{"beads"}
		}
		if !strings.HasPrefix(text, "[ ]") && !strings.HasPrefix(text, "[x]") {
			return nil
		}
		return []string{"todo"}
	case ext == ".csv" || ext == ".tsv":
		return []string{"csv"}
	case reqmeta.IsMarkdown(in.path) || ext == ".txt" || checkbox.MatchString(text):
		return []string{"todo"}
	case in.path == "-" && strings.Count(line, ",")+strings.Count(line, "\t") > 1:
		return []string{"csv"}
	}
	return nil
}

// inside is the file or folder of a store in the folder that was named.
func (in input) inside(name string) (input, error) {
	if in.dir == "" {
		return in, nil
	}
	for _, s := range stores {
		if s.source != name {
			continue
		}
		if _, err := os.Stat(filepath.Join(in.dir, s.path)); err == nil {
			if name == "backlog" {
				return openInput(filepath.Dir(filepath.Join(in.path, s.path)), nil)
			}
			return openInput(filepath.Join(in.path, s.path), nil)
		}
	}
	return in, nil
}

// eachObject gives the objects of a JSON array, of one object, or of a list of
// objects one behind the other.
func (in input) eachObject(do func(m map[string]any)) error {
	data, err := in.all(true)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	wrong := func(at int, reason, value string) error {
		return &Unreadable{fmt.Sprintf("%s:%d", in.path, lineAt(data, at)), reason, value}
	}
	bad := func(err error) error {
		reason, value := jsonWhy(err)
		return wrong(offset(err, len(bytes.TrimSpace(data))), reason, value)
	}
	isList := bytes.HasPrefix(bytes.TrimSpace(data), []byte("["))
	if isList {
		if _, err := d.Token(); err != nil {
			return bad(err)
		}
	}
	for isList && d.More() || !isList {
		var v any
		err := d.Decode(&v)
		if !isList && errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return bad(err)
		}
		m, _ := v.(map[string]any)
		do(m)
	}
	if _, err := d.Token(); err != nil {
		return bad(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return wrong(int(d.InputOffset()), "json_more", "")
	}
	return nil
}

// eachLine gives the lines of a stream that are JSON objects, however large the
// stream is; one that is none is refused by its number.
func (c *conv) eachLine(in input, do func(where string, m map[string]any)) error {
	file, err := in.open()
	if err != nil {
		return err
	}
	defer file.Close()
	r := bufio.NewReaderSize(decoded(file, in.code), 1<<20)
	var buf []byte
	for n := 1; ; n++ {
		line, long, err := readLine(r, buf[:0])
		buf = line
		if errors.Is(err, errEncoding) {
			return &Unreadable{in.path, "encoding", in.code}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n == 1 {
			if _, encoding := reqmeta.Foreign(line[:min(len(line), 4)]); strings.HasPrefix(encoding, "UTF") {
				return &Unreadable{in.path, "not_utf8", encoding}
			}
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		where := fmt.Sprintf("%s:%d", in.path, n)
		if marks.Match(line[:min(len(line), 8)]) {
			return &Unreadable{in.path, "merge_marks", strconv.Itoa(n)}
		}
		line = bytes.TrimSpace(line)
		switch {
		case long > reqmeta.MaxFile:
			c.refuse(where, "too_large", strconv.FormatInt(long, 10))
		case len(line) == 0:
		case !utf8.Valid(line):
			_, encoding := reqmeta.Foreign(line)
			c.refuse(where, "not_utf8", encoding)
		default:
			if m, reason, value := decodeObject(line); reason != "" {
				c.refuse(where, reason, value)
			} else {
				do(where, m)
			}
		}
		if err != nil {
			return nil
		}
	}
}

func decodeObject(line []byte) (m map[string]any, reason, value string) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	err := d.Decode(&m)
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind), err == nil && m == nil:
		return nil, "json_object", ""
	case err != nil:
		reason, value = jsonWhy(err)
		return nil, reason, value
	}
	if _, end := d.Token(); !errors.Is(end, io.EOF) {
		return nil, "json_more", ""
	}
	return m, "", ""
}

// readLine reads a line, of which it keeps no more than a file may hold.
func readLine(r *bufio.Reader, buf []byte) (line []byte, long int64, err error) {
	line = buf
	for {
		part, err := r.ReadSlice('\n')
		if long += int64(len(part)); long <= reqmeta.MaxFile {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// files gives the markdown files below a folder in the order of their names.
// Links are not followed.
func (c *conv) files(dir, shown string, do func(rel, where string, data []byte)) error {
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, p)
		rel = filepath.ToSlash(rel)
		where := filepath.ToSlash(filepath.Join(shown, rel))
		if err != nil && rel == "." {
			return unopened(where, err)
		}
		switch {
		case err != nil: // a folder below; the others are read
			c.refuse(where, unopened(where, err).Reason, err.Error())
			return fs.SkipDir
		case rel == ".":
			return nil
		case d.IsDir() && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || !reqmeta.IsMarkdown(d.Name()):
			return nil
		case !reqmeta.IsRequestName(d.Name()) || reqmeta.IsIgnored(rel, c.m.Skip):
			c.add(where, "").leave(Skipped, "no_task", "")
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			c.add(where, "").leave(Skipped, "link", "")
			return nil
		case !d.Type().IsRegular():
			c.add(where, "").leave(Skipped, "no_file", "")
			return nil
		}
		if info, err := d.Info(); err == nil && info.Size() > reqmeta.MaxFile {
			c.refuse(where, "too_large", strconv.FormatInt(info.Size(), 10))
			return nil
		}
		data, err := reqmeta.ReadInside(dir, rel)
		if err != nil {
			c.refuse(where, unopened(where, err).Reason, err.Error())
			return nil
		}
		// Others of the folder may be UTF-8 already. ISO-2022-JP looks like it, but for its escapes.
		if line, _ := reqmeta.Foreign(data); line > 0 || bytes.IndexByte(data, 0x1b) >= 0 {
			if data, err = io.ReadAll(decoded(bytes.NewReader(data), c.Encoding)); err != nil {
				c.refuse(where, "encoding", c.Encoding)
				return nil
			}
		}
		if reason, value := wrong(data); reason != "" {
			c.refuse(where, reason, value)
			return nil
		}
		do(rel, where, data)
		return nil
	})
}
