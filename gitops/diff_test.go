package gitops

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func diffOf(t *testing.T, b *bench, root string, o DiffOptions) Diff {
	t.Helper()
	d, err := b.open(root).Diff(t.Context(), "HEAD~1", "HEAD", o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDiffJSON(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			b := newBench(t)
			root := b.repo("r", "--object-format="+format)
			b.commit(root, "base", map[string]string{"f": "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "old": strings.Repeat("x\n", 9), "bin": "\x00", "gone": "g"})
			b.sh(root, "mv", "old", "new")
			b.sh(root, "rm", "-q", "gone")
			b.sh(root, "update-index", "--chmod=+x", "dir/g")
			writeFile(t, filepath.Join(root, "f"), "1\n2\n3\n4\nfive\n6\n7\n8\n9")
			writeFile(t, filepath.Join(root, "bin"), "\x00\x00")
			b.sh(root, "add", "f", "bin")
			b.sh(root, "commit", "-q", "-m", "change")
			d := diffOf(t, b, root, DiffOptions{Context: 1})
			if d.Base != b.sh(root, "rev-parse", "HEAD~1") || d.Head != b.sh(root, "rev-parse", "HEAD") {
				t.Errorf("%s %s", d.Base, d.Head)
			}
			d.Base, d.Head = "B", "H"
			got, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			want := `{"base":"B","head":"H","stat":{"files":5,"additions":2,"deletions":3},"truncated":false,"files":[` +
				`{"path":"bin","status":"modified","additions":0,"deletions":0,"binary":true,"hunks":[]},` +
				`{"path":"dir/g","status":"modified","additions":0,"deletions":0,"old_mode":"100644","new_mode":"100755","hunks":[]},` +
				`{"path":"f","status":"modified","additions":2,"deletions":2,"hunks":[` +
				`{"old_start":4,"old_lines":3,"new_start":4,"new_lines":3,"lines":[{"op":" ","text":"4"},{"op":"-","text":"5"},{"op":"+","text":"five"},{"op":" ","text":"6"}]},` +
				`{"old_start":8,"old_lines":2,"new_start":8,"new_lines":2,"lines":[{"op":" ","text":"8"},{"op":"-","text":"9"},{"op":"+","text":"9","no_newline":true}]}]},` +
				`{"path":"gone","status":"deleted","additions":0,"deletions":1,"hunks":[` +
				`{"old_start":1,"old_lines":1,"new_start":0,"new_lines":0,"lines":[{"op":"-","text":"g","no_newline":true}]}]},` +
				`{"path":"new","old_path":"old","status":"renamed","additions":0,"deletions":0,"hunks":[]}]}`
			if string(got) != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestDiffBounds(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	files := map[string]string{"big": strings.Repeat("0123456789\n", 200), "long": strings.Repeat("x", 100) + "\n"}
	for i := range 5 {
		files[fmt.Sprintf("many%d", i)] = "1\n2\n3\n4\n"
	}
	b.commit(root, "change", files)
	total := DiffStat{Files: 7, Additions: 221}
	for _, tc := range []struct {
		name  string
		o     DiffOptions
		lines map[string]int // of the hunks
		cut   []string
	}{
		{"all", DiffOptions{}, map[string]int{"big": 200, "long": 1, "many0": 4, "many4": 4}, nil},
		{"lines per file", DiffOptions{MaxFileLines: 3}, map[string]int{"big": 3, "many0": 3}, []string{"big", "many0", "many1", "many2", "many3", "many4"}},
		{"lines", DiffOptions{MaxLines: 206}, map[string]int{"big": 200, "long": 1, "many0": 4, "many1": 1, "many2": 0}, []string{"many1", "many2", "many3", "many4"}},
		{"files", DiffOptions{MaxFiles: 2}, map[string]int{"big": 200, "long": 1, "many0": 0}, []string{"many0", "many1", "many2", "many3", "many4"}},
		{"bytes", DiffOptions{MaxFileBytes: 1000}, map[string]int{"big": 0, "long": 1}, []string{"big"}},
		{"line bytes", DiffOptions{MaxLineBytes: 50}, map[string]int{"long": 1}, []string{"long"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := diffOf(t, b, root, tc.o)
			if d.Stat != total || d.Truncated != (tc.cut != nil) {
				t.Errorf("stat %+v, truncated %t", d.Stat, d.Truncated)
			}
			var cut []string
			for _, f := range d.Files {
				n := 0
				for _, h := range f.Hunks {
					n += len(h.Lines)
				}
				if want, ok := tc.lines[f.Path]; ok && n != want {
					t.Errorf("%s: %d lines, want %d", f.Path, n, want)
				}
				if f.Truncated {
					cut = append(cut, f.Path)
				}
			}
			if strings.Join(cut, " ") != strings.Join(tc.cut, " ") {
				t.Errorf("cut %v, want %v", cut, tc.cut)
			}
		})
	}
}

func TestDiffPaths(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	b.commit(root, "change", map[string]string{"a": "a", "d/x": "x", "d/y": "y", "dd": "z"})
	for _, tc := range []struct {
		paths []string
		want  string
	}{{[]string{"a"}, "a"}, {[]string{"d"}, "d/x d/y"}, {[]string{"."}, "a d/x d/y dd"}, {[]string{"no"}, ""}} {
		var got []string
		for _, f := range diffOf(t, b, root, DiffOptions{Paths: tc.paths}).Files {
			got = append(got, f.Path)
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%v: %v", tc.paths, got)
		}
	}
}

func TestDiffFromWhereABranchLeft(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	r := b.open(root)
	fork := b.sh(root, "rev-parse", "HEAD")
	b.sh(root, "checkout", "-q", "-b", "work")
	b.commit(root, "work", map[string]string{"w": "w\n"})
	b.sh(root, "checkout", "-q", "main")
	b.commit(root, "main goes on", map[string]string{"m": "m\n"})
	d, err := r.Diff(t.Context(), fork, "refs/heads/work", DiffOptions{})
	if err != nil || len(d.Files) != 1 || d.Files[0].Path != "w" {
		t.Errorf("%+v, %v", d.Files, err)
	}
	if _, err := r.Diff(t.Context(), "nope", "main", DiffOptions{}); reason(err) != "commit_not_found" {
		t.Errorf("err = %v", err)
	}
}

func TestDiffSubmoduleAndLinks(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	sub := b.repo("sub")
	b.sh(root, "submodule", "add", "-q", sub, "sm")
	b.commit(root, "submodule", nil)
	b.commit(filepath.Join(root, "sm"), "inside", nil)
	if err := os.Symlink("f", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	b.commit(root, "moved", nil)
	d := diffOf(t, b, root, DiffOptions{})
	if len(d.Files) != 2 || !d.Files[1].Submodule || len(d.Files[1].Hunks) != 1 {
		t.Fatalf("%+v", d.Files)
	}
	if got := d.Files[0].Hunks[0].Lines[0]; got != (Line{Op: "+", Text: "f", NoNL: true}) {
		t.Errorf("link %+v", got)
	}
	if got, want := d.Files[1].Hunks[0].Lines[1].Text, "Subproject commit "+b.sh(root, "rev-parse", "HEAD:sm"); got != want {
		t.Errorf("submodule %q, want %q", got, want)
	}
}

// TestDiffLinesLeadsFromOldToNew is a property: whatever the texts and the
// effort, the hunks applied to the old text give the new one.
func TestDiffLinesLeadsFromOldToNew(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 3000 {
		old := text(random)
		now := text(random)
		if n%2 == 0 {
			now = mutated(random, old)
		}
		edits := diffLines([]byte(old), []byte(now), time.Second)
		found, _, cut := hunks(edits, n%4, 1<<30, 0)
		if got := patched(old, found); got != now || cut {
			t.Fatalf("%q -> %q: hunks lead to %q: %+v", old, now, got, found)
		}
		for i := range edits {
			if i > 0 && edits[i].op == '-' && edits[i-1].op == '+' {
				t.Fatalf("an addition before a deletion: %+v", edits)
			}
		}
	}
}

func text(random *rand.Rand) string {
	var s strings.Builder
	for range random.IntN(12) {
		s.WriteString([]string{"a\n", "b\n", "c\r\n", "\n", "日本\n", "long line\n"}[random.IntN(6)])
	}
	if random.IntN(3) == 0 {
		s.WriteString("end")
	}
	return s.String()
}

func mutated(random *rand.Rand, s string) string {
	lines := slices.Collect(strings.Lines(s))
	var out []string
	for _, l := range lines {
		switch random.IntN(5) {
		case 0:
		case 1:
			out = append(out, "new\n", l)
		default:
			out = append(out, l)
		}
	}
	return strings.Join(out, "")
}

// TestManyDifferentLines passes the surrogates in the numbering of lines.
func TestManyDifferentLines(t *testing.T) {
	var old, now strings.Builder
	for i := range 70000 {
		fmt.Fprintln(&old, i)
		if i%1000 != 0 {
			fmt.Fprintln(&now, i)
		}
	}
	edits := diffLines([]byte(old.String()), []byte(now.String()), time.Minute)
	if added, deleted := countLines(edits); added != 0 || deleted != 70 {
		t.Errorf("+%d -%d", added, deleted)
	}
	found, _, _ := hunks(edits, 3, 1<<30, 0)
	if patched(old.String(), found) != now.String() {
		t.Error("the hunks lead elsewhere")
	}
}

// TestUnrelatedFilesAreBounded: 20,000 lines that share nothing in order.
func TestUnrelatedFilesAreBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	lines := make([]string, 20000)
	for i := range lines {
		lines[i] = fmt.Sprintln(random.IntN(5000))
	}
	old := strings.Join(lines, "")
	random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	now := strings.Join(lines, "")
	edits := diffLines([]byte(old), []byte(now), 50*time.Millisecond)
	found, _, _ := hunks(edits, 3, 1<<30, 0)
	if patched(old, found) != now {
		t.Error("the hunks lead elsewhere")
	}
}
