package convert

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"aiflow/internal/atomicfile"
	"aiflow/reqmeta"
	"aiflow/reqmeta/folder"
)

var now = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// project makes an empty project and gives its folder of requests.
func project(t testing.TB) *folder.Folder {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "requests"), 0o777); err != nil {
		t.Fatal(err)
	}
	return load(t, root)
}

func load(t testing.TB, root string) *folder.Folder {
	t.Helper()
	f, err := folder.Cache{}.Load(root, "requests")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// take imports text and writes what came of it.
func take(t testing.TB, f *folder.Folder, o Options, text string) (*Plan, error) {
	t.Helper()
	p, guesses, err := Read("-", strings.NewReader(text), o, f, nil, false, now)
	if err != nil {
		return nil, err
	}
	if p == nil {
		t.Fatalf("not taken for anything: %v", guesses)
	}
	if _, err := p.Write(atomicfile.OS{}, f.Root, "requests", "t"); err != nil {
		t.Fatal(err)
	}
	return p, nil
}

// sound holds what is true of every import: each item has one result, what was
// made has no errors and is what another reader of YAML takes it for, and a
// second import makes nothing.
func sound(t testing.TB, o Options, text string) {
	t.Helper()
	f := project(t)
	p, err := take(t, f, o, text)
	if err != nil {
		return
	}
	sum := 0
	for _, n := range p.Report.Counts {
		sum += n
	}
	made := p.Report.Counts[Made]
	if sum != p.Report.Input || len(p.Report.Items) != sum || p.Report.Counts[""] != 0 {
		t.Errorf("%d items, results %v", p.Report.Input, p.Report.Counts)
	}
	after := load(t, f.Root)
	if len(after.Requests) != made || len(after.NotRead) != 0 {
		t.Errorf("%d files for %d made; not read: %v", len(after.Requests), made, after.NotRead)
	}
	for _, r := range after.Requests {
		if !r.Valid() || r.Meta.Status == reqmeta.Ready {
			t.Errorf("%s: %s %v", r.Path, r.Meta.Status, r.Problems)
		}
		for _, id := range r.Meta.DependsOn {
			if after.Unique(id) == nil {
				t.Errorf("%s waits for %s, which is not there", r.Path, id)
			}
		}
		data, err := after.Read(r)
		if err != nil {
			t.Fatal(err)
		}
		var other struct {
			Title     string
			Labels    []string
			DependsOn []string `yaml:"depends_on"`
		}
		head, _, _ := strings.Cut(strings.TrimPrefix(string(data), "---\n"), "\n---\n")
		if err := yaml.Unmarshal([]byte(head), &other); err != nil {
			t.Errorf("%s: %v\n%s", r.Path, err, head)
		}
		if other.Title != r.Meta.Title || fmt.Sprint(other.Labels) != fmt.Sprint(r.Meta.Labels) || fmt.Sprint(other.DependsOn) != fmt.Sprint(r.Meta.DependsOn) {
			t.Errorf("%s: %+v, but %+v", r.Path, r.Meta, other)
		}
	}
	again, err := take(t, after, o, text)
	if err != nil || again.Report.Counts[Made] != 0 || again.Report.Counts[Unchanged] < made {
		t.Errorf("again: %v %v after %d", err, again.Report.Counts, made)
	}
}

var seeds = map[string][]string{
	"beads": {
		`{"id":"a","title":"T","description":"d","status":"open","dependencies":[{"depends_on_id":"b","type":"blocks"},{"depends_on_id":"A","type":"parent-child"}]}` + "\n" + `{"id":"B","status":"closed"}` + "\nnull\n[]\n",
		`{"id":"r","status":"open","dependencies":[{"depends_on_id":"s","type":"blocks"}]}` + "\n" + `{"id":"s","status":"open","dependencies":[{"depends_on_id":"r","type":"blocks"}]}` +
			"\n" + `{"id":"t","status":"open","dependencies":[{"depends_on_id":"s","type":"blocks"}]}`,
		`{"id":"../../x","title":"---\n- [ ] x: 'y'","labels":["a,b",": #"],"status":"open","created_at":"2026-01-01 10:00"}`,
	},
	"github":     {`[{"number":1,"title":"a","body":"b","state":"open","labels":[{"name":"P0"}],"parent":{"number":2}},{"number":2,"parent":{"number":1}},null]`},
	"taskmaster": {`{"m":{"tasks":[{"id":1,"title":"x","subtasks":[{"id":1,"dependencies":["1","2.1"]},{"id":1}]},5]}}`},
	"todo":       {"# A\n- [ ] a (B) #c due:2026-01-01\n  - [x] b\n```\n- [ ] c\n```\n1. [!] ⏫ x ^id\n> - [ ] q\n- ［ ］ 日本\n"},
	"csv":        {"id,title,status,depends_on\n1,\"a\nb\",open,2\n2,'=c,done,\n2,again,todo,none\n"},
	"aiflow":     {`{"id":"RQ-1","title":"t","meta":{"title":"t","status":"ready","priority":"P1","depends_on":["RQ-2"]},"body":"\ntext\n"}`},
}

func TestSound(t *testing.T) {
	for from, texts := range seeds {
		for _, text := range texts {
			for _, o := range []Options{{}, {Only: OnlyAll, Keep: true, People: true}, {Parents: "skip"}, {Subtasks: "checklist", Strict: true}, {Nested: "separate", DateOrder: "dmy"}} {
				o.From = from
				sound(t, o, text)
			}
		}
	}
}

func FuzzImport(f *testing.F) {
	for from, texts := range seeds {
		for _, text := range texts {
			f.Add(from, text)
		}
	}
	f.Fuzz(func(t *testing.T, from, text string) {
		if _, ok := seeds[from]; ok && len(text) < 10000 {
			sound(t, Options{From: from, Keep: true, Only: OnlyAll}, text)
		}
	})
}

func FuzzHead(f *testing.F) {
	f.Add("---\nid: a\ntitle: b\nassignee: @c\n---\n<!-- AC:BEGIN -->\n- [ ] #1 x\n")
	f.Add("status: open\ndeps: [a, b]\n\ntext")
	f.Fuzz(func(_ *testing.T, text string) {
		c := &conv{m: anyFolder(), now: now, changes: map[[2]string]*Change{}}
		if r, _ := c.head("x.md", []byte(text)); r != nil {
			r.body = backlogBody(r.body)
			c.take(r)
			c.resolve(nil, nil)
		}
	})
}

// One folder that may not be looked into does not keep the others from being read.
func TestClosedFolder(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may look into every folder")
	}
	f, source := project(t), t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		if err := os.Mkdir(filepath.Join(source, name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(source, name, "x.md"), []byte("---\nid: "+name+"\nstatus: open\n---\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	closed := filepath.Join(source, "b")
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(closed, 0o777)
	p, _, err := Read(source, nil, Options{From: "folder"}, f, nil, false, now)
	if err != nil || p.Report.Counts[Made] != 2 || p.Report.Counts[Refused] != 1 || p.Report.Items[1].Reason != "denied" || p.Report.Items[1].Where != filepath.ToSlash(closed) {
		t.Fatalf("%v %+v", err, p.Report)
	}
	if _, _, err := Read(closed, nil, Options{From: "folder"}, f, nil, false, now); err == nil {
		t.Fatal("nothing was read, and nothing is said")
	}
}

func TestRefs(t *testing.T) {
	for text, want := range map[string]string{
		"20, 165": "[20 165]", "20 165": "[20 165]", "#12": "[12]", "[[a b]]": "[a b]", "tasks/00-x.md": "[00-x]", "none": "[]", "なし": "[]", "-": "[]", "N/A": "[]",
		"o/r#12": "[o/r#12]", "a、b": "[a b]", "[a, b]": "[a b]", "[[x/a b#part|shown]]": "[a b]",
	} {
		if got := fmt.Sprint(refs([]string{text})); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestDates(t *testing.T) {
	tokyo := time.FixedZone("", 9*3600)
	for text, want := range map[string]string{
		"2026-01-02": "2026-01-02", "2026/01/02": "2026-01-02", "2026-01-02 09:30": "2026-01-02T00:30:00Z", "2026-01-02T09:30:01.25+09:00": "2026-01-02T00:30:01Z",
		"2026-01-02T09:30:00+0900": "2026-01-02T00:30:00Z", "20260102T003000Z": "2026-01-02T00:30:00Z", "1767313800": "2026-01-02T00:30:00Z",
		"1767313800000": "2026-01-02T00:30:00Z", "02/Jan/26 9:30 AM": "2026-01-02T00:30:00Z", "6/21/2025 16:14": "", "soon": "",
	} {
		c := &conv{Options: Options{Zone: tokyo}, changes: map[[2]string]*Change{}}
		r := newRecord("x")
		r.json = true
		r.put("d", text)
		if got := c.date(r, []string{"d"}); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestLegal(t *testing.T) {
	for _, text := range []string{"../x", "-rf", "a.lock", "a.lock.lock", "..", "日本", strings.Repeat("x", 500), "a/b\x00c", "."} {
		if id := legal("T-" + text); !isID(id) {
			t.Errorf("%q: %q", text, id)
		}
	}
}

// A batch is made durable with one sync, however many files there are.
type countingDisk struct {
	atomicfile.OS
	files, all, dirs int
}

type countedFile struct {
	atomicfile.File
	d *countingDisk
}

func (d *countingDisk) Create(path string, perm os.FileMode) (atomicfile.File, error) {
	f, err := d.OS.Create(path, perm)
	return countedFile{f, d}, err
}
func (f countedFile) Sync() error            { f.d.files++; return nil }
func (d *countingDisk) SyncAll(string) error { d.all++; return nil }
func (d *countingDisk) SyncDir(string) error { d.dirs++; return nil }

func TestOneWaitForAll(t *testing.T) {
	f, d := project(t), &countingDisk{}
	var b bytes.Buffer
	for i := range 100 {
		fmt.Fprintf(&b, "{\"id\":\"x-%d\",\"title\":\"t\",\"status\":\"open\"}\n", i)
	}
	p, _, err := Read("-", &b, Options{From: "beads"}, f, nil, false, now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write(d, f.Root, "requests", "t"); err != nil {
		t.Fatal(err)
	}
	if d.files != 0 || d.all != 1 || d.dirs != 1 || p.Report.Counts[Made] != 100 {
		t.Errorf("%d files, %d all, %d folders synced; %v", d.files, d.all, d.dirs, p.Report.Counts)
	}
}

// TestDroppedFieldCountsOnce: one field of one item is one loss, also where a reader
// writes the field anew.
func TestDroppedFieldCountsOnce(t *testing.T) {
	p, err := take(t, project(t), Options{From: "beads"},
		`{"id":"bd-1","title":"A","status":"open","priority":2,"comments":[{"text":"Said"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range p.Report.Changes {
		if c.Kind == "field_dropped" && (c.Value != "comments" || c.Count != 1) {
			t.Errorf("%s counts %d times, want comments once", c.Value, c.Count)
		}
	}
}
