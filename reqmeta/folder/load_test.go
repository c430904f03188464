package folder

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"aiflow/internal/fault"
	"aiflow/reqmeta"
	"aiflow/reqmeta/reqgen"
)

const okHead = "---\nstatus: ready\npriority: P1\n---\n"

func load(t *testing.T, root string) *Folder {
	t.Helper()
	f, err := Cache{}.Load(root, "requests")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestLoadEqualsParse(t *testing.T) {
	root := t.TempDir()
	if err := reqgen.Write(root+"/requests", 3, 500); err != nil {
		t.Fatal(err)
	}
	put(t, root+"/requests", "block.md", "---\nstatus: ready\nlabels:\n  - a\nsteps:\n  - title: x\n---\n# T\n")
	put(t, root+"/requests", "bad.md", "---\nstatus: ready\n")
	f := load(t, root)
	if len(f.Requests) != 502 {
		t.Fatalf("%d requests", len(f.Requests))
	}
	for i, r := range f.Requests {
		data, err := f.Read(r)
		if err != nil {
			t.Fatal(err)
		}
		if want := reqmeta.Parse(r.Path, data); !reflect.DeepEqual(r, want) {
			t.Errorf("%s: %+v, want %+v", r.Path, r, want)
		}
		if i > 0 && f.Requests[i-1].Path >= r.Path {
			t.Errorf("%s is not behind %s", r.Path, f.Requests[i-1].Path)
		}
	}
}

func TestLoadSkipsWhatIsNoRequest(t *testing.T) {
	root := t.TempDir()
	dir := root + "/requests"
	for _, name := range []string{
		"a.md", "_template.md", ".hidden.md", ".gitkeep", "README.md", "Readme.ja.MD", "readme_zh-CN.markdown", "README-first.md", "notes.txt",
		"b.MD", "c.Markdown", ".a.md.tmp-1", "sub/d.md", "sub/deep/e.md", "archive/f.md", "sub/_old/g.md", ".git/h.md", "sub/_template.md", "drafts/i.md", "sub/j.notes.md",
	} {
		put(t, filepath.Join(dir, filepath.Dir(name)), filepath.Base(name), okHead)
	}
	link(t, "archive", dir+"/linked")
	link(t, "a.md", dir+"/sub/alias.txt")
	f, err := Cache{}.Load(root, "requests", "*.notes.md", "drafts")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range f.Requests {
		ids = append(ids, strings.TrimPrefix(r.Path, "requests/")+" "+r.ID)
	}
	want := "README-first.md README-first, a.md a, archive/f.md f, b.MD b, c.Markdown c, sub/d.md d, sub/deep/e.md e"
	if got := strings.Join(ids, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	strays := []Stray{
		{"requests/.git/", StrayName},
		{"requests/.hidden.md", StrayName},
		{"requests/README.md", StrayName},
		{"requests/Readme.ja.MD", StrayName},
		{"requests/drafts/", StrayIgnored},
		{"requests/linked", StrayLink},
		{"requests/notes.txt", StrayEnding},
		{"requests/readme_zh-CN.markdown", StrayName},
		{"requests/sub/_old/", StrayName},
		{"requests/sub/_template.md", StrayName},
		{"requests/sub/alias.txt", StrayLink},
		{"requests/sub/j.notes.md", StrayIgnored},
	}
	if !reflect.DeepEqual(f.NotRead, strays) {
		t.Errorf("got  %v\nwant %v", f.NotRead, strays)
	}
	for _, s := range strays {
		if reqmeta.IsRequest(strings.TrimPrefix(s.Path, "requests/"), "*.notes.md", "drafts") && s.Why != StrayLink {
			t.Errorf("%s is a request by its path, and is not read", s.Path)
		}
	}
}

// One file by several names is one request, and its other names are told.
func TestLoadOneFileByManyNames(t *testing.T) {
	root := t.TempDir()
	dir := root + "/requests"
	put(t, dir, "RQ-1.md", "---\nid: RQ-1\nstatus: ready\npriority: P1\n---\n")
	put(t, dir+"/archive", "RQ-2.md", okHead)
	put(t, root, "RQ-3.md", okHead)
	for _, l := range [][2]string{{"RQ-1.md", "A-1.md"}, {"archive/RQ-2.md", "RQ-2.md"}, {"../RQ-3.md", "RQ-3.md"}} {
		old := filepath.Join(dir, l[0])
		if err := os.Link(old, filepath.Join(dir, l[1])); err != nil {
			t.Fatal(err)
		}
	}
	link(t, "A-1.md", dir+"/B-1.md")
	got := map[string]string{}
	f := load(t, root)
	for _, name := range []string{"A-1", "B-1", "B-1.md", "requests/A-1.md"} {
		if r, err := f.Get(name); err != nil || r.ID != "RQ-1" {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	for _, r := range f.Requests {
		got[r.Path] = r.ID
		for _, p := range r.Problems {
			got[r.Path] += " " + p.Kind + " " + p.Facts["paths"]
		}
	}
	want := map[string]string{
		"requests/RQ-1.md": "RQ-1 hard_link requests/A-1.md other_names requests/B-1.md",
		"requests/RQ-2.md": "RQ-2 hard_link requests/archive/RQ-2.md",
		"requests/RQ-3.md": "RQ-3",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestLoadOddThings(t *testing.T) {
	root := t.TempDir()
	dir := root + "/requests"
	put(t, dir, "fine.md", okHead)
	put(t, dir, "_real", okHead+"# Linked\n")
	put(t, root, "outside.md", okHead)
	put(t, dir, "secret.md", okHead)
	if err := os.Chmod(dir+"/secret.md", 0); err != nil {
		t.Fatal(err)
	}
	link(t, "_real", dir+"/linked.md")
	link(t, "../outside.md", dir+"/out.md")
	link(t, "nowhere", dir+"/dangling.md")
	link(t, "/dev/zero", dir+"/zero.md")
	link(t, "loop.md", dir+"/loop.md")
	if err := os.Mkdir(dir+"/folder.md", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(dir+"/pipe.md", 0o644); err != nil {
		t.Fatal(err)
	}
	link(t, "pipe.md", dir+"/topipe.md")
	huge(t, dir+"/huge.md")
	link(t, "huge.md", dir+"/tohuge.md")
	put(t, dir, "bad name.md", okHead)
	want := map[string]string{
		"fine": "", "linked": "bad_link", "out": "bad_link", "dangling": "bad_link", "zero": "bad_link", "loop": "bad_link",
		"folder": "is_directory", "pipe": "not_regular", "huge": "file_too_large",
		"bad name": "bad_file_name", "secret": "unreadable",
	}
	if os.Geteuid() == 0 {
		want["secret"] = ""
	}
	got := map[string]string{}
	f := load(t, root)
	for _, r := range f.Requests {
		got[r.ID] = ""
		if p := r.FirstError(); p != nil {
			got[r.ID] = p.Kind
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func huge(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(okHead), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, 50<<20); err != nil {
		t.Fatal(err)
	}
}

func TestLoadLongFiles(t *testing.T) {
	root := t.TempDir()
	dir := root + "/requests"
	long := strings.Repeat("text\n", 40_000)
	put(t, dir, "a.md", okHead+long+"# Late\n")
	put(t, dir, "b.md", okHead+"# Early\n"+long)
	put(t, dir, "c.md", "---\nstatus: ready\npriority: P1\nx: "+strings.Repeat("y", 9000)+"\n---\n# Long head\n"+long)
	put(t, dir, "d.md", "---\nstatus: ready\n"+long)
	put(t, dir, "e.md", okHead+strings.Repeat("x", firstRead-len(okHead)))
	put(t, dir, "f.md", "---\nstatus: ready\npriority: P1\nx: "+strings.Repeat("y", firstRead-36)+"\n---\n# Just behind\n")
	f := load(t, root)
	want := []string{"Late", "Early", "Long head", "d", "e", "Just behind"}
	for i, r := range f.Requests {
		if r.Title() != want[i] || r.Valid() != (i != 3) {
			t.Errorf("%s: title %q, problems %v", r.ID, r.Title(), kinds(r))
		}
	}
}

func TestLoadOfTheRootItself(t *testing.T) {
	root := t.TempDir()
	put(t, root, "a.md", okHead)
	f, err := Cache{}.Load(root, ".")
	if err != nil || f.Requests[0].Path != "a.md" || f.Requests[0].ID != "a" {
		t.Fatalf("%+v %v", f, err)
	}
	if data, err := f.Read(f.Requests[0]); err != nil || string(data) != okHead {
		t.Errorf("%q %v", data, err)
	}
}

func TestLoadWithoutFolder(t *testing.T) {
	_, err := Cache{}.Load(t.TempDir(), "requests")
	if !fault.Has(err, fault.RequestsDirNotFound) {
		t.Error(err)
	}
	f, err := Cache{}.Load(func() string { d := t.TempDir(); put(t, d+"/requests", "x.txt", ""); return d }(), "requests")
	if err != nil || len(f.Requests) != 0 {
		t.Error(f, err)
	}
}

func TestDuplicateIDs(t *testing.T) {
	root := t.TempDir()
	dir := root + "/requests"
	put(t, dir, "RQ-1.md", okHead)
	put(t, dir, "RQ-1-again.md", "---\nid: RQ-1\nstatus: ready\npriority: P0\n---\n")
	put(t, dir, "RQ-1-third.md", "---\nid: RQ-1\nstatus: done\npriority: P0\n---\n")
	put(t, dir, "rq-1.md", okHead)
	put(t, dir, "RQ-2.md", "---\nstatus: ready\npriority: P0\ndepends_on: [RQ-1]\n---\n")
	f := load(t, root)
	paths := "requests/RQ-1-again.md, requests/RQ-1-third.md, requests/RQ-1.md"
	n := 0
	for _, r := range f.Requests {
		if r.ID != "RQ-1" {
			continue
		}
		n++
		p := r.FirstError()
		if p == nil || p.Code != fault.DuplicateID || p.Facts["paths"] != paths {
			t.Errorf("%s: %+v", r.Path, r.Problems)
		}
	}
	if n != 3 {
		t.Errorf("%d duplicates", n)
	}
	if r, err := f.Get("rq-1"); err != nil || !r.Valid() || r.Problems[0].Kind != "id_case" || r.Problems[0].Facts["other"] != "RQ-1" {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := f.Get("RQ-1"); !fault.Has(err, fault.DuplicateID) {
		t.Error(err)
	}
	if r, err := f.Get("requests/RQ-1-third.md"); err != nil || r.Meta.Status != reqmeta.Done {
		t.Errorf("%+v %v", r, err)
	}
}

func TestGet(t *testing.T) {
	var list []*reqmeta.Request
	for _, id := range []string{"RQ-20251214-001-login", "RQ-20251214-002", "RQ-20251214-0021", "other"} {
		list = append(list, reqmeta.Parse("requests/"+id+".md", []byte(okHead)))
	}
	f := NewFolder("requests", list)
	for _, tc := range []struct{ ask, want, similar string }{
		{"other", "other", ""},
		{"oth", "other", ""},
		{"RQ-20251214-001", "RQ-20251214-001-login", ""},
		{"RQ-20251214-002", "RQ-20251214-002", ""},
		{"requests/other.md", "other", ""},
		{"./requests/other.md", "other", ""},
		{"other.md", "other", ""},
		{"RQ-20251214", "", "RQ-20251214-001-login, RQ-20251214-002, RQ-20251214-0021"},
		{"RQ-20251214-003", "", "RQ-20251214-002, RQ-20251214-0021"},
		{"otehr", "", "other"},
		{"OTHER", "", "other"},
		{"nothing like it", "", ""},
		{"", "", ""},
	} {
		r, err := f.Get(tc.ask)
		if tc.want != "" {
			if err != nil || r.ID != tc.want {
				t.Errorf("Get(%q): %v %v", tc.ask, r, err)
			}
			continue
		}
		e, _ := fault.As(err)
		if !fault.Has(err, fault.RequestNotFound) || e.Facts["similar"] != tc.similar {
			t.Errorf("Get(%q): %v", tc.ask, err)
		}
	}
}

func TestReqgenIsDeterministic(t *testing.T) {
	name, a := reqgen.File(9, 1234)
	_, b := reqgen.File(9, 1234)
	_, c := reqgen.File(10, 1234)
	if !slices.Equal(a, b) || slices.Equal(a, c) || name != "RQ-20250107-035.md" {
		t.Error(name, fmt.Sprintf("%q", a))
	}
	if p := filepath.Base(name); p != name {
		t.Error(p)
	}
}
