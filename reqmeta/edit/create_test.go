package edit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/reqmeta"
)

var newDay = time.Date(2025, 12, 14, 23, 30, 0, 0, time.FixedZone("", 9*3600))

const okHead = "---\nstatus: ready\npriority: P1\n---\n"

func kinds(r *reqmeta.Request) []string {
	list := []string{}
	for _, p := range r.Problems {
		list = append(list, fmt.Sprintf("%s:%d", p.Kind, p.Line))
	}
	return list
}

func TestSlug(t *testing.T) {
	for title, want := range map[string]string{
		"Fix: login & logout":   "fix-login-logout",
		"ログインを直す":               "",
		"AI連携を直す (v2)":          "",
		"「引用」 1.0 の quotes":     "",
		"README と docs を直す":     "readme-docs",
		"Déjà vu page":          "vu-page",
		"Über uns":              "",
		"Größe für alle Nutzer": "alle-nutzer",
		"1.0":                   "1-0",
		"../../etc/passwd":      "etc-passwd",
		"":                      "",
		"A very long title that goes on and on and on for ever": "a-very-long-title-that-goes-on-and-on",
		strings.Repeat("x", 60):                                 strings.Repeat("x", 40),
	} {
		if got := Slug(title); got != want {
			t.Errorf("Slug(%q) = %q, want %q", title, Slug(title), want)
		}
	}
}

func TestCreate(t *testing.T) {
	root := t.TempDir()
	dir := root + "/requests"
	put(t, dir, "RQ-20251214-001.md", okHead)
	put(t, dir, "RQ-20251214-007-x.md", okHead)
	put(t, dir, "RQ-20251213-099.md", okHead)
	r, err := Create(atomicfile.OS{}, root, "requests", NewRequest{
		Title: `Fix: "login" # now`, Priority: "P0", Labels: []string{"ui", "a b"}, DependsOn: []string{"RQ-20251214-001", "0089"}, Lang: "en",
	}, newDay)
	if err != nil {
		t.Fatal(err)
	}
	if r.Path != "requests/RQ-20251214-008-fix-login-now.md" || r.ID != "RQ-20251214-008-fix-login-now" || !r.Valid() || len(r.Problems) != 0 {
		t.Errorf("%+v", r)
	}
	wantHead := "---\nid: RQ-20251214-008-fix-login-now\ntitle: 'Fix: \"login\" # now'\npriority: P0\nstatus: draft\nlabels: [ui, a b]\n" +
		"depends_on: [RQ-20251214-001, '0089']\nestimate: M\ncreated_at: 2025-12-14\nupdated_at: 2025-12-14\n# Take "
	if got := get(t, root, r.Path); !strings.HasPrefix(got, wantHead) {
		t.Errorf("%s", got)
	}
	if got := get(t, root, r.Path); !strings.Contains(got, "\n---\n# Fix: \"login\" # now\n\n## Request\n") {
		t.Errorf("heading: %s", got)
	}
	if names, _ := namesIn(dir); len(names) != 4 {
		t.Errorf("left over: %v", names)
	}
}

func TestBuiltInTemplatesAreValid(t *testing.T) {
	for _, lang := range []string{"ja", "en"} {
		r := reqmeta.Parse("requests/RQ-00000000-000.md", reqmeta.Template(lang))
		if len(r.Problems) != 0 || strings.Count(string(reqmeta.Template(lang)), "- [ ] AC-0") != 3 {
			t.Errorf("%s: %v", lang, kinds(r))
		}
	}
}

// Who takes the hash signs away from the template's example has steps.
func TestTemplateExampleIsUncommented(t *testing.T) {
	for _, lang := range []string{"ja", "en"} {
		text := string(reqmeta.Template(lang))
		from := strings.Index(text, "# steps:")
		to := from + strings.Index(text[from:], "---\n")
		lines := strings.ReplaceAll("\n"+text[from:to], "\n# ", "\n")
		r := reqmeta.Parse("requests/RQ-00000000-000.md", []byte(text[:from]+lines[1:]+text[to:]))
		if len(r.Problems) != 0 || len(r.Meta.Steps) != 1 || r.Meta.Steps[0].Run == "" || r.Meta.Steps[0].Test == "" {
			t.Errorf("%s: %v %+v", lang, kinds(r), r.Meta.Steps)
		}
	}
}

func TestHeadingOfTemplate(t *testing.T) {
	for body, want := range map[string]string{
		"Intro\n# Ours\nx\n# Ours\n": "Intro\n# New\nx\n# Ours\n",
		"\n# Other\n":                "\n# Other\n",
		"# Ours\r\nx":                "# New\r\nx",
		"# Ours":                     "# New",
	} {
		template := []byte("---\ntitle: Ours\n---\n" + body)
		if got := string(NewRequest{Title: "New"}.headed(template, template)); got != "---\ntitle: Ours\n---\n"+want {
			t.Errorf("%q: %q", body, got)
		}
	}
}

func TestCreateFromTemplate(t *testing.T) {
	root := t.TempDir()
	dir := root + "/requests"
	put(t, dir, reqmeta.TemplateName, "---\r\n# ours\r\nstatus: draft # fill in\r\npriority: P3\r\nowner: aki\r\nlabels:\r\n  - team\r\nupdated_at: 2020-01-01T00:00:00Z\r\n---\r\n\r\n## Body\r\n")
	r, err := Create(atomicfile.OS{}, root, "requests", NewRequest{Title: "ログイン", Status: reqmeta.Ready}, newDay)
	if err != nil {
		t.Fatal(err)
	}
	want := "---\r\n# ours\r\nstatus: ready # fill in\r\npriority: P3\r\nowner: aki\r\nlabels:\r\n  - team\r\nupdated_at: 2025-12-14T14:30:00Z\r\n" +
		"id: RQ-20251214-001\r\ntitle: ログイン\r\ncreated_at: 2025-12-14\r\n---\r\n\r\n## Body\r\n"
	if got := get(t, root, r.Path); got != want || r.ID != "RQ-20251214-001" {
		t.Errorf("%s: %q", r.ID, got)
	}
	r, err = Create(atomicfile.OS{}, root, "requests", NewRequest{Title: "x", Body: "\n# Mine\n"}, newDay)
	if err != nil || !strings.HasSuffix(get(t, root, r.Path), "---\r\n\r\n# Mine\r\n") {
		t.Errorf("%v: %q", err, get(t, root, r.Path))
	}
}

func TestCreateRefuses(t *testing.T) {
	root := t.TempDir()
	if _, err := Create(atomicfile.OS{}, root, "requests", NewRequest{Title: "x"}, newDay); !fault.Has(err, fault.RequestsDirNotFound) {
		t.Error(err)
	}
	dir := root + "/requests"
	put(t, dir, "x.txt", "")
	for _, n := range []NewRequest{
		{Title: "a\nstatus: done"}, {Title: "x", Priority: "P9"}, {Title: "x", Status: "odd"}, {Title: "x", Estimate: "XXL"}, {Title: "x", DependsOn: []string{"../x"}},
	} {
		if _, err := Create(atomicfile.OS{}, root, "requests", n, newDay); !fault.Has(err, fault.InvalidRequest) {
			t.Errorf("%+v: %v", n, err)
		}
	}
	put(t, dir, reqmeta.TemplateName, "---\nstatus: draft\n")
	_, err := Create(atomicfile.OS{}, root, "requests", NewRequest{Title: "x"}, newDay)
	if p, _ := reqmeta.ProblemOf(err); p.Kind != "unclosed_fence" || p.Path != "requests/_template.md" {
		t.Errorf("%v %+v", err, p)
	}
	if names, _ := namesIn(dir); len(names) != 2 {
		t.Errorf("left over: %v", names)
	}
}

func TestManyCreateAtOnce(t *testing.T) {
	root := t.TempDir()
	put(t, root+"/requests", "x.txt", "")
	const n = 24
	ids := make([]string, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			r, err := Create(atomicfile.OS{}, root, "requests", NewRequest{Title: fmt.Sprintf("title %d", i)}, newDay)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = r.ID
		})
	}
	wg.Wait()
	for i := range ids {
		ids[i] = strings.SplitN(ids[i], "-title", 2)[0]
	}
	slices.Sort(ids)
	for i, id := range ids {
		if want := fmt.Sprintf("RQ-20251214-%03d", i+1); id != want {
			t.Errorf("%s, want %s", id, want)
		}
	}
	if names, _ := namesIn(root + "/requests"); len(names) != n+1 {
		t.Errorf("%d files", len(names))
	}
}

// A reservation that a dead process left does not stand in the way.
func TestCreateSkipsLeftReservation(t *testing.T) {
	root := t.TempDir()
	put(t, root+"/requests", ".RQ-20251214-001.tmp-new", "")
	r, err := Create(atomicfile.OS{}, root, "requests", NewRequest{Title: "x"}, newDay)
	if err != nil || r.ID != "RQ-20251214-002-x" {
		t.Error(r, err)
	}
}

// fullDisk fails at every write.
type fullDisk struct{ atomicfile.OS }

func (d fullDisk) Create(path string, perm fs.FileMode) (atomicfile.File, error) {
	f, err := d.OS.Create(path, perm)
	return fullFile{f}, err
}

type fullFile struct{ atomicfile.File }

func (fullFile) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("no space left")

func TestCreateOnAFullDiskLeavesNothing(t *testing.T) {
	root := t.TempDir()
	put(t, root+"/requests", "x.txt", "")
	_, err := Create(fullDisk{}, root, "requests", NewRequest{Title: "x"}, newDay)
	if !errors.Is(err, errFull) || !fault.Has(err, fault.PathNotWritable) {
		t.Error(err)
	}
	if names, _ := namesIn(root + "/requests"); len(names) != 1 {
		t.Errorf("left over: %v", names)
	}
}

func TestPublishNeverReplaces(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "from", "new")
	put(t, dir, "to", "old")
	if err := publish(atomicfile.OS{}, filepath.Join(dir, "from"), filepath.Join(dir, "to")); !errors.Is(err, os.ErrExist) || get(t, dir, "to") != "old" {
		t.Error(err)
	}
}

// takenDisk says of every new file that somebody was faster.
type takenDisk struct{ atomicfile.OS }

func (takenDisk) Create(string, fs.FileMode) (atomicfile.File, error) { return nil, fs.ErrExist }

// Who never gets a number is told so, and does not try for ever.
func TestNoNumberIsFree(t *testing.T) {
	dir := t.TempDir()
	if _, err := Create(takenDisk{}, dir, ".", NewRequest{Title: "x", Lang: "en"}, newDay); !fault.Has(err, fault.RequestExists) {
		t.Error(err)
	}
	if _, err := Create(atomicfile.OS{}, dir, ".", NewRequest{Title: "x", Lang: "en"}, newDay); err != nil {
		t.Error(err)
	}
}
