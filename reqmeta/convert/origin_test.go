package convert

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiflow/internal/atomicfile"
	"aiflow/reqmeta/folder"
)

// stored are small stores of each kind, by the files that they consist of. Their
// ids are the same wherever they lie; ONE and TWO stand for their texts.
var stored = map[string]map[string]string{
	"backlog":    {"backlog/tasks/1.md": "---\nid: task-1\ntitle: ONE\nstatus: To Do\n---\n", "backlog/tasks/2.md": "---\nid: task-2\ntitle: TWO\nstatus: To Do\n---\n"},
	"taskmaster": {".taskmaster/tasks/tasks.json": `{"tasks":[{"id":1,"title":"ONE","description":"x","status":"pending"},{"id":2,"title":"TWO","description":"x","status":"pending"}]}`},
	"beads":      {".beads/issues.jsonl": `{"id":"b-1","title":"ONE","status":"open"}` + "\n" + `{"id":"b-2","title":"TWO","status":"open"}` + "\n"},
	"ticket":     {".tickets/a-1.md": "---\nid: a-1\nstatus: open\n---\n# ONE\n", ".tickets/a-2.md": "---\nid: a-2\nstatus: open\n---\n# TWO\n"},
	"folder":     {"1.md": "---\nid: N-1\ntitle: ONE\nstatus: open\n---\n", "2.md": "---\nid: N-2\ntitle: TWO\nstatus: open\n---\n"},
	"todo":       {"TODO.md": "- [ ] ONE ^a-1\n- [ ] TWO ^a-2\n"},
	"csv":        {"t.csv": "id,title,status\n1,ONE,open\n2,TWO,open\n"},
	"github":     {"i.json": `[{"number":1,"title":"ONE","state":"open"},{"number":2,"title":"TWO","state":"open"}]`},
	"aiflow":     {"e.jsonl": `{"id":"RQ-1","title":"ONE","meta":{"status":"draft"},"body":"","derived":{}}` + "\n" + `{"id":"RQ-2","title":"TWO","meta":{"status":"draft"},"body":"","derived":{}}` + "\n"},
}

// put makes a store in a folder and gives what an import is told.
func put(t *testing.T, kind, dir, one, two string) string {
	t.Helper()
	at := dir
	for name, text := range stored[kind] {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.NewReplacer("ONE", one, "TWO", two).Replace(text)), 0o666); err != nil {
			t.Fatal(err)
		}
		if kind == "todo" || kind == "csv" || kind == "github" || kind == "aiflow" {
			at = path
		}
	}
	return at
}

// from imports what lies there, following it.
func from(t *testing.T, f *folder.Folder, kind, path string, o Options) (*Plan, *folder.Folder, error) {
	t.Helper()
	o.From = kind
	p, _, err := Read(path, nil, o, f, map[string]string{}, true, now)
	if err != nil {
		return nil, f, err
	}
	if _, err := p.Write(atomicfile.OS{}, f.Root, "requests", "t"); err != nil {
		t.Fatal(err)
	}
	return p, load(t, f.Root), nil
}

// Two stores of one kind with the same ids are never taken for one, whatever
// their folders are called: both are made, or it is asked.
func TestTwoStores(t *testing.T) {
	for kind := range stored {
		for _, other := range []string{"b/proj", "b/another"} {
			base := t.TempDir()
			f := project(t)
			a, b := put(t, kind, filepath.Join(base, "a/proj"), "Alpha", "Beta"), put(t, kind, filepath.Join(base, other), "Gamma", "Delta")
			first, f, err := from(t, f, kind, a, Options{})
			if err != nil || first.Report.Counts[Made] != 2 {
				t.Fatalf("%s: %v", kind, err)
			}
			second, f, err := from(t, f, kind, b, Options{})
			var unsure *Unsure
			switch {
			case errors.As(err, &unsure) && len(unsure.IDs) == 2:
				if second, f, err = from(t, f, kind, b, Options{Store: "second", StoreGiven: true}); err != nil {
					t.Fatalf("%s: %v", kind, err)
				}
				fallthrough
			case err == nil:
				if second.Report.Counts[Made] != 2 {
					t.Errorf("%s in %s: %v", kind, other, second.Report.Counts)
				}
			default:
				t.Errorf("%s: %v", kind, err)
			}
			titles := map[string]bool{}
			for _, r := range f.Requests {
				titles[r.Title()] = true
			}
			if len(titles) != 4 {
				t.Errorf("%s in %s: there are %v", kind, other, titles)
			}
			again, _, err := from(t, f, kind, a, Options{})
			if err != nil && !errors.As(err, &unsure) || err == nil && again.Report.Counts[Unchanged] != 2 {
				t.Errorf("%s again: %v %+v", kind, err, again)
			}
		}
	}
}

// A store that was moved is the same one, and one that was renamed is asked about.
func TestMovedStore(t *testing.T) {
	for kind := range stored {
		base := t.TempDir()
		f := project(t)
		_, f, err := from(t, f, kind, put(t, kind, filepath.Join(base, "a/proj"), "Alpha", "Beta"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		p, f, err := from(t, f, kind, put(t, kind, filepath.Join(base, "b/proj"), "Alpha", "Beta"), Options{})
		if err != nil || p.Report.Counts[Unchanged] != 2 {
			t.Errorf("%s: %v %v", kind, err, p)
		}
		p, _, err = from(t, f, kind, put(t, kind, filepath.Join(base, "c/renamed"), "Alpha", "Beta"), Options{})
		var unsure *Unsure
		if !(errors.As(err, &unsure) && unsure.Alike) && (err != nil || p.Report.Counts[Unchanged] != 2) {
			t.Errorf("%s: %v %v", kind, err, p)
		}
	}
}
