package edit

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/reqmeta"
)

// NewRequest is what Create is asked for. Empty fields take what the template
// says.
type NewRequest struct {
	ID        string // as it shall be, also the name of the file; empty: the next free number
	CreatedAt string
	Title     string
	Priority  string
	Status    string // draft unless given
	Labels    []string
	DependsOn []string
	Estimate  string
	Lang      string // of the built-in template: ja (default) or en
	Body      string // replaces the template's body
	Mapping   *reqmeta.Mapping
	Used      []string // ids that are in use elsewhere: their numbers are taken
}

// Create writes a new request file, made from _template.md when that is there,
// and gives it as it was read back. Two at once get two numbers: a number is
// reserved by creating the temporary file that bears it, and the finished file
// appears whole. With an id the file is called as the id is, so that one of two
// that are made at once is refused.
func Create(disk atomicfile.Disk, root, requestsDir string, n NewRequest, now time.Time) (*reqmeta.Request, error) {
	dir := filepath.Join(root, requestsDir)
	template, from, err := n.readTemplate(dir, requestsDir)
	if err != nil {
		return nil, err
	}
	if _, err := n.render(template, from, "RQ-1", now); err != nil {
		if f, ok := fault.As(err); ok && f.Code == fault.RequestInvalidFormat {
			f.Facts["template"], f.Facts["path"] = from, from
		}
		return nil, err
	}
	for range maxNumbers {
		r, err := n.tryCreate(disk, dir, requestsDir, template, from, now)
		if !errors.Is(err, fs.ErrExist) {
			return r, err
		}
		if n.ID != "" {
			return nil, alreadyThere(path.Join(filepath.ToSlash(requestsDir), n.ID+".md"), "id", n.ID)
		}
	}
	return nil, alreadyThere(requestsDir)
}

// maxNumbers bounds the search for a free number.
const maxNumbers = 1000

func (n NewRequest) readTemplate(dir, rel string) (data []byte, from string, err error) {
	from = path.Join(filepath.ToSlash(rel), reqmeta.TemplateName)
	data, err = reqmeta.ReadInside(dir, reqmeta.TemplateName)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(dir); err != nil {
			return nil, "", noDir(err, dir)
		}
		return theirs(n.Mapping, reqmeta.Template(n.Lang)), from, nil
	}
	if err != nil {
		return nil, "", fault.Wrap(err, fault.RequestInvalidFormat, "path", from, "template", from)
	}
	return data, from, nil
}

// theirs is the built-in template with the keys and words of another tool. What that has
// no word for is left out.
func theirs(m *reqmeta.Mapping, template []byte) []byte {
	if m == nil {
		return template
	}
	var out bytes.Buffer
	fences := 0
	for line := range bytes.Lines(template) {
		key, value, is := strings.Cut(strings.TrimSuffix(string(line), "\n"), ": ")
		switch word, ok := m.Word(key, value); {
		case fences > 1 || !is || line[0] == '#':
			out.Write(line)
		case !ok:
		case word == value:
			out.WriteString(m.Name(key) + ": " + value + "\n")
		default:
			out.WriteString(m.Name(key) + ": " + written(reqmeta.Entry{Key: key, Text: value, Written: word}, 0) + "\n")
		}
		if string(line) == "---\n" {
			fences++
		}
	}
	return out.Bytes()
}

func (n NewRequest) tryCreate(disk atomicfile.Disk, dir, rel string, template []byte, from string, now time.Time) (*reqmeta.Request, error) {
	number, mark := n.ID, rand.Text()
	if number == "" {
		names, err := namesIn(dir)
		if err != nil {
			return nil, noDir(err, dir)
		}
		prefix := "RQ-" + now.Format("20060102") + "-"
		number, mark = fmt.Sprintf("%s%03d", prefix, highest(append(names, n.Used...), prefix)+1), "new"
	}
	reserved := filepath.Join(dir, "."+number+atomicfile.TempMark+mark)
	file, err := disk.Create(reserved, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err != nil {
		return nil, fault.NotWritable(err, path.Join(rel, number))
	}
	published := false
	defer func() {
		if !published {
			_ = disk.Remove(reserved)
		}
	}()
	// Somebody may have finished this very number between the look and the reservation.
	id := number
	if n.ID == "" {
		id = withSlug(number, n.Title)
		var names []string
		if names, err = namesIn(dir); err == nil && taken(names, number) {
			err = fs.ErrExist
		}
	}
	if err != nil {
		_ = file.Close()
		return nil, creation(err, rel)
	}
	data, err := n.render(template, from, id, now)
	if err == nil {
		err = fill(file, data)
	} else {
		_ = file.Close()
	}
	if err == nil {
		err = publish(disk, reserved, filepath.Join(dir, id+".md"))
	}
	if err != nil {
		return nil, creation(err, path.Join(filepath.ToSlash(rel), id+".md"))
	}
	published = true
	return n.Mapping.Parse(path.Join(filepath.ToSlash(rel), id+".md"), data), disk.SyncDir(dir)
}

func creation(err error, path string) error {
	if _, ok := fault.As(err); ok || errors.Is(err, fs.ErrExist) {
		return err
	}
	return fault.NotWritable(err, path)
}

// namesIn are the names of the files in a folder and below it.
func namesIn(dir string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if path == dir {
			return err
		}
		names = append(names, filepath.Base(path))
		return nil
	})
	return names, err
}

func taken(names []string, number string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		rest, ok := strings.CutPrefix(name, number)
		return ok && (rest[0] == '.' || rest[0] == '-')
	})
}

func fill(file atomicfile.File, data []byte) error {
	_, err := file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	return cmp.Or(err, file.Close())
}

// publish gives the finished file its name, unless that name exists.
func publish(disk atomicfile.Disk, from, to string) error {
	err := renameNoReplace(from, to)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		if err = os.Link(from, to); err == nil {
			return disk.Remove(from)
		}
	}
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// No way to refuse an existing name on this disk; the reserved number keeps ours away.
	if _, serr := os.Lstat(to); serr == nil {
		return fs.ErrExist
	}
	return disk.Rename(from, to)
}

// render fills the template.
func (n NewRequest) render(template []byte, from, id string, now time.Time) ([]byte, error) {
	data, err := SetValues(n.Mapping.New(path.Join(path.Dir(from), id+".md")), template, n.values(template, id, now), now)
	if err != nil {
		if p, ok := reqmeta.ProblemOf(err); ok && fault.Has(err, fault.RequestInvalidFormat) {
			return nil, reqmeta.Refuse(fault.RequestInvalidFormat, from, &p)
		}
		return nil, err
	}
	if n.Body == "" {
		return n.headed(data, template), nil
	}
	head := data[:len(data)-len(reqmeta.Body(data))]
	if len(head) == 0 || head[len(head)-1] != '\n' {
		head = append(bytes.Clone(head), '\n')
	}
	return KeepLineEnds(template, append(bytes.Clone(head), "\n"+strings.TrimLeft(n.Body, "\r\n")...)), nil
}

// headed puts the title into the heading, where the template's own title stands.
func (n NewRequest) headed(data, template []byte) []byte {
	placeholder := n.Mapping.Parse(reqmeta.TemplateName, template).Meta.Title
	body := reqmeta.Body(data)
	if placeholder == "" {
		return data
	}
	at := len(data) - len(body)
	for line := range bytes.Lines(body) {
		if text := bytes.TrimRight(line, "\r\n"); string(text) == "# "+placeholder {
			return slices.Concat(data[:at], []byte("# "+n.Title), data[at+len(text):])
		}
		at += len(line)
	}
	return data
}

func (n NewRequest) values(template []byte, id string, now time.Time) map[string]string {
	v := map[string]string{"id": id, "title": n.Title, "status": n.Status}
	if n.Status == "" {
		v["status"] = reqmeta.Draft
	}
	have := n.Mapping.Parse(reqmeta.TemplateName, template).Meta
	for key, value := range map[string]string{
		"priority": n.Priority, "estimate": n.Estimate, "labels": reqmeta.ListText(n.Labels), "depends_on": reqmeta.ListText(n.DependsOn),
	} {
		if value != "" && value != "[]" { // else what the template says
			v[key] = value
		}
	}
	if n.Priority == "" && !slices.Contains(reqmeta.Priorities[:], have.Priority) {
		if _, ok := n.Mapping.Word("priority", "P2"); ok {
			v["priority"] = "P2"
		}
	}
	for key, old := range map[string]reqmeta.Date{"created_at": have.CreatedAt, "updated_at": have.UpdatedAt} {
		if v[key] = likeDate(old.Text, now); v[key] == "" {
			v[key] = now.Format(reqmeta.DayForm)
		}
	}
	if n.CreatedAt != "" {
		v["created_at"] = n.CreatedAt
	}
	return v
}

func alreadyThere(path string, more ...any) error {
	return fault.New(fault.RequestExists, append(more, "path", path)...)
}

func noDir(err error, at string) error { return fault.Wrap(err, fault.RequestsDirNotFound, "path", at) }
