package edit

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/reqmeta"
)

var setNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestSetValuesChangesOnlyThatValue(t *testing.T) {
	for _, tc := range []struct {
		name, from string
		values     map[string]string
		want       string
	}{
		{"plain", "---\nstatus: ready\n---\nx", map[string]string{"status": "done"}, "---\nstatus: done\n---\nx"},
		{"comment and blanks", "---\nstatus:   ready   # c\n---\n", map[string]string{"status": "done"}, "---\nstatus:   done   # c\n---\n"},
		{"single quotes", "---\nstatus: 'ready'\n---\n", map[string]string{"status": "done"}, "---\nstatus: 'done'\n---\n"},
		{"double quotes", "---\nstatus: \"ready\" \n---\n", map[string]string{"status": "done"}, "---\nstatus: \"done\" \n---\n"},
		{"crlf and bom", "\ufeff---\r\nstatus: ready\r\n---\r\nx\r\n", map[string]string{"status": "done"}, "\ufeff---\r\nstatus: done\r\n---\r\nx\r\n"},
		{"no newline at the end", "---\nstatus: ready\n---", map[string]string{"status": "done"}, "---\nstatus: done\n---"},
		{"runes before it", "---\n\"日本\": 'あ'\n{x: y}: z\n---\n", nil, ""},
		{"yaml position behind runes", "---\n{\"日本\": 日, status: ready, あ: [い]}\n---\n", map[string]string{"status": "done"}, "---\n{\"日本\": 日, status: done, あ: [い]}\n---\n"},
		{"blanks before the colon", "---\nstatus : ready\nx:\ty\n---\n", map[string]string{"status": "done"}, "---\nstatus : done\nx:\ty\n---\n"},
		{"quoted key", "---\n\"status\": ready\n---\n", map[string]string{"status": "done"}, "---\n\"status\": done\n---\n"},
		{"bad value of that key", "---\nstatus: Redy!\n---\n", map[string]string{"status": "ready"}, "---\nstatus: ready\n---\n"},
		{"bad values of other keys", "---\nstatus: ready\ncreated_at: TBD\n---\n", map[string]string{"status": "done"}, "---\nstatus: done\ncreated_at: TBD\n---\n"},
		{"empty value", "---\nstatus:\n---\n", map[string]string{"status": "ready"}, "---\nstatus: ready\n---\n"},
		{"empty value with comment", "---\nstatus: # c\n---\n", map[string]string{"status": "ready"}, "---\nstatus: ready # c\n---\n"},
		{"null", "---\nstatus: ~\n---\n", map[string]string{"status": "ready"}, "---\nstatus: ready\n---\n"},
		{"missing key", "---\nstatus: ready\n---\nx", map[string]string{"priority": "P0"}, "---\nstatus: ready\npriority: P0\n---\nx"},
		{"missing keys, crlf", "---\r\nstatus: ready\r\n---\r\n", map[string]string{"estimate": "S", "title": "a: b", "labels": "x"}, "---\r\nstatus: ready\r\ntitle: 'a: b'\r\nlabels: [x]\r\nestimate: S\r\n---\r\n"},
		{"missing key, empty head", "---\n---\n", map[string]string{"status": "draft"}, "---\nstatus: draft\n---\n"},
		{"missing key, indented head", "---\n  status: ready\n---\n", map[string]string{"priority": "P0"}, "---\n  status: ready\n  priority: P0\n---\n"},
		{"missing key behind a block scalar", "---\nnote: |\n  a\n\nstatus: ready\nmore: >\n  b\n---\n", map[string]string{"priority": "P0"}, "---\nnote: |\n  a\n\nstatus: ready\nmore: >\n  b\npriority: P0\n---\n"},
		{"plain block", "status: ready\npriority: P1\n\n# T\n", map[string]string{"status": "done", "estimate": "L"}, "status: done\npriority: P1\nestimate: L\n\n# T\n"},
		{"plain block at the end of the file", "status: ready", map[string]string{"estimate": "L"}, "status: ready\nestimate: L"},
		{"plain block, value that is not YAML", "status: ready\nnote: a: b\n\n", map[string]string{"note": "c: d"}, "status: ready\nnote: 'c: d'\n\n"},
		{"flow list", "---\nlabels: [a, b] # c\n---\n", map[string]string{"labels": "x, y z"}, "---\nlabels: [x, y z] # c\n---\n"},
		{"flow list emptied", "---\nlabels: [a, b] # c\n---\n", map[string]string{"labels": ""}, "---\nlabels: [] # c\n---\n"},
		{"flow list given as such", "---\nlabels: []\n---\n", map[string]string{"labels": "[\"a\", b]"}, "---\nlabels: [a, b]\n---\n"},
		{"block list", "---\nlabels:\n  - a # keep\n  - b\nstatus: ready\n---\n", map[string]string{"labels": "b, c, a"}, "---\nlabels:\n  - b\n  - c\n  - a # keep\nstatus: ready\n---\n"},
		{"block list, crlf", "---\r\nlabels:\r\n- a\r\nstatus: ready\r\n---\r\n", map[string]string{"labels": "a, b"}, "---\r\nlabels:\r\n- a\r\n- b\r\nstatus: ready\r\n---\r\n"},
		{"block list emptied", "---\nlabels:\n  - a\n  - b\nstatus: ready\n---\n", map[string]string{"labels": ""}, "---\nlabels: []\nstatus: ready\n---\n"},
		{"scalar becomes a list", "---\ndepends_on: RQ-1\n---\n", map[string]string{"depends_on": "RQ-1, RQ-2"}, "---\ndepends_on: [RQ-1, RQ-2]\n---\n"},
		{"ids that look like numbers", "---\ndepends_on: []\n---\n", map[string]string{"depends_on": "0089, 1e3, RQ-1"}, "---\ndepends_on: ['0089', '1e3', RQ-1]\n---\n"},
		{"title in double quotes", "---\ntitle: \"a\"\n---\n", map[string]string{"title": `x "y" \z`}, "---\ntitle: \"x \\\"y\\\" \\\\z\"\n---\n"},
		{"title in single quotes", "---\ntitle: 'a'\n---\n", map[string]string{"title": "it's"}, "---\ntitle: 'it''s'\n---\n"},
		{"title needs quotes", "---\ntitle: a\n---\n", map[string]string{"title": "# no"}, "---\ntitle: '# no'\n---\n"},
		{"title that looks like a number", "---\ntitle: a\n---\n", map[string]string{"title": "007"}, "---\ntitle: '007'\n---\n"},
		{"optional value emptied", "---\nestimate: M # c\n---\n", map[string]string{"estimate": ""}, "---\nestimate:  # c\n---\n"},
		{"date", "---\ncreated_at: 2025-01-01\n---\n", map[string]string{"created_at": "2025-02-03"}, "---\ncreated_at: 2025-02-03\n---\n"},
		{"updated_at, date", "---\nstatus: ready\nupdated_at: 2025-12-14\n---\n", map[string]string{"status": "done"}, "---\nstatus: done\nupdated_at: 2026-01-02\n---\n"},
		{"updated_at, time in quotes", "---\nstatus: ready\nupdated_at: \"2025-12-14T15:01:02+09:00\"\n---\n", map[string]string{"status": "done"}, "---\nstatus: done\nupdated_at: \"2026-01-02T12:04:05+09:00\"\n---\n"},
		{"updated_at asked for", "---\nstatus: ready\nupdated_at: 2025-12-14\n---\n", map[string]string{"status": "done", "updated_at": "2025-12-15"}, "---\nstatus: done\nupdated_at: 2025-12-15\n---\n"},
		{"updated_at empty stays", "---\nstatus: ready\nupdated_at:\n---\n", map[string]string{"status": "done"}, "---\nstatus: done\nupdated_at:\n---\n"},
		{"nothing changes", "---\nstatus: ready\nupdated_at: 2025-12-14\n---\n", map[string]string{"status": "ready"}, "---\nstatus: ready\nupdated_at: 2025-12-14\n---\n"},
		{"unknown key that is there", "---\nowner: \"a\"\n---\n", map[string]string{"owner": "b"}, "---\nowner: \"b\"\n---\n"},
		{"folded", "---\nstatus: >-  # c\n  ready\n\n# d\npriority: P1\n---\n", map[string]string{"status": "done"}, "---\nstatus: done  # c\n\n# d\npriority: P1\n---\n"},
		{"literal, crlf", "---\r\ntitle: |\r\n  a\r\n   b\r\nstatus: ready\r\n---\r\n", map[string]string{"title": "c"}, "---\r\ntitle: c\r\nstatus: ready\r\n---\r\n"},
		{"literal with a comment nearer to the edge", "---\ntitle: |\n    a\n\n  # c\nstatus: ready\n---\n", map[string]string{"title": "b"}, "---\ntitle: b\n\n  # c\nstatus: ready\n---\n"},
		{"literal, indentation given", "---\ntitle: |2-\n    a\n  b\nstatus: ready\n---\n", map[string]string{"title": "c"}, "---\ntitle: c\nstatus: ready\n---\n"},
		{"literal at the end", "---\nstatus: ready\ntitle: >\n  a\n  b\n---\n", map[string]string{"title": ""}, "---\nstatus: ready\ntitle: \n---\n"},
		{"literal with nothing in it", "---\ntitle: |\nstatus: ready\n---\n", map[string]string{"title": "a"}, "---\ntitle: a\nstatus: ready\n---\n"},
		{"indented head", "---\n  title: >\n    a\n  status: ready\n---\n", map[string]string{"title": "b"}, "---\n  title: b\n  status: ready\n---\n"},
		{"plain on three lines", "---\ntitle: a \n  b\n\n  c # d\nstatus: ready\n---\n", map[string]string{"title": "e"}, "---\ntitle: e # d\nstatus: ready\n---\n"},
		{"plain below its key", "---\nstatus:\n  ready\n---\n", map[string]string{"status": "done"}, "---\nstatus:\n  done\n---\n"},
		{"double quotes on two lines", "---\ntitle: \"a\n  b\\\n  c\" # d\nstatus: ready\n---\n", map[string]string{"title": "e"}, "---\ntitle: \"e\" # d\nstatus: ready\n---\n"},
		{"single quotes on two lines", "---\ntitle: 'it''s\n  b'\nstatus: ready\n---\n", map[string]string{"title": "e"}, "---\ntitle: 'e'\nstatus: ready\n---\n"},
		{"list on two lines", "---\nlabels: [a,\n  'b, c'] # d\nstatus: ready\n---\n", map[string]string{"labels": "x"}, "---\nlabels: [x] # d\nstatus: ready\n---\n"},
		{"json", "---\n{\"status\": \"ready\",\n \"title\": \"a\"}\n---\n", map[string]string{"status": "done"}, "---\n{\"status\": \"done\",\n \"title\": \"a\"}\n---\n"},
		{"time without zone", "---\nstatus: ready\nupdated_at: 2025-12-14 15:01\n---\n", map[string]string{"status": "done"}, "---\nstatus: done\nupdated_at: 2026-01-02 03:04\n---\n"},
		{"body of another encoding", "---\nstatus: ready\n---\ncaf\xe9\r\n\x83\x65", map[string]string{"status": "done"}, "---\nstatus: done\n---\ncaf\xe9\r\n\x83\x65"},
		{"id that fits", "---\nid: RQ-1-s\n---\n", map[string]string{"id": "RQ-1"}, "---\nid: RQ-1\n---\n"},
	} {
		if tc.values == nil {
			continue
		}
		got, err := SetValues(reqmeta.New("requests/RQ-1-s.md"), []byte(tc.from), tc.values, setNow)
		if err != nil || string(got) != tc.want {
			t.Errorf("%s:\ngot  %q\nwant %q\nerror %v", tc.name, got, tc.want, err)
		}
	}
}

func TestSetValuesRefuses(t *testing.T) {
	ok := "---\nstatus: ready\n---\n"
	for _, tc := range []struct {
		name, from string
		key, value string
		code       fault.Code
		kind       string
		line       int
	}{
		{"no closer", "---\nstatus: ready\n", "status", "done", fault.RequestInvalidFormat, "unclosed_fence", 1},
		{"no head", "# T\n", "status", "done", fault.RequestInvalidFormat, "no_frontmatter", 1},
		{"duplicate", "---\nstatus: ready\nstatus: done\n---\n", "status", "done", fault.RequestInvalidFormat, "duplicate_key", 3},
		{"anchor", "---\nstatus: &a ready\n---\n", "status", "done", fault.RequestInvalidFormat, "anchor", 2},
		{"tag", "---\nstatus: !!str ready\n---\n", "status", "done", fault.RequestInvalidFormat, "tag", 2},
		{"syntax", "---\nstatus: ready\nx: a: b\n---\n", "status", "done", fault.RequestInvalidFormat, "yaml_value_colon", 3},
		{"map", "---\nstatus: ready\nlabels: {a: b}\n---\n", "labels", "b", fault.InvalidRequest, "set_by_hand", 3},
		{"block list with comment lines", "---\nlabels:\n  - a\n  # c\n  - 'it''s'\n---\n", "labels", "b", fault.InvalidRequest, "set_by_hand", 2},
		{"bad status", ok, "status", "Done", fault.InvalidRequest, "bad_status", 0},
		{"empty status", ok, "status", "", fault.InvalidRequest, "bad_status", 0},
		{"bad priority", ok, "priority", "P9", fault.InvalidRequest, "bad_priority", 0},
		{"bad estimate", ok, "estimate", "XL", fault.InvalidRequest, "bad_estimate", 0},
		{"bad date", ok, "created_at", "tomorrow", fault.InvalidRequest, "bad_date", 0},
		{"bad base", ok, "base", "-x", fault.InvalidRequest, "bad_base", 0},
		{"bad dependency", ok, "depends_on", "a, ../b", fault.InvalidRequest, "bad_depends_on", 0},
		{"half a list", ok, "labels", "[a", fault.InvalidRequest, "want_list", 0},
		{"line break", ok, "title", "a\nstatus: done", fault.InvalidRequest, "set_characters", 0},
		{"nul", ok, "title", "a\x00", fault.InvalidRequest, "set_characters", 0},
		{"steps", ok, "steps", "x", fault.InvalidRequest, "set_steps", 0},
		{"unknown key", ok, "owner", "x", fault.InvalidRequest, "set_unknown_key", 0},
		{"other id", ok, "id", "RQ-9", fault.InvalidRequest, "set_id", 0},
	} {
		_, err := SetValues(reqmeta.New("requests/RQ-1.md"), []byte(tc.from), map[string]string{tc.key: tc.value}, setNow)
		p, _ := reqmeta.ProblemOf(err)
		if fault.CodeOf(err) != tc.code || p.Kind != tc.kind || p.Line != tc.line || p.Path != "requests/RQ-1.md" {
			t.Errorf("%s: %v (%s, line %d)", tc.name, err, p.Kind, p.Line)
		}
	}
}

func FuzzSetStatus(f *testing.F) {
	for _, s := range []string{
		"---\nid: a\nstatus: ready\nlabels: [x]\nupdated_at: 2025-01-01\n---\nbody", "---\r\nstatus: 'ready' # c\r\n---\r\n",
		"---\nstatus: >-\n  ready\n\n# c\ntitle: |2\n    a\n  b\nx: y\n---\n", "---\ntitle: a\n  b\n\n  c # d\nstatus: \"rea\\\n  dy\"\n---\n",
		"---\nlabels: [a,\n  'b, c'] # d\nstatus:\n  ready\n---\n", "---\r\ntitle: >+ # c\r\n  a\r\n\r\nstatus: |-\r\n  ready\r\n---\r\nb\xe9",
		"status: ready\nx: a: b\n\nbody", "---\n{status: ready, a: [b]}\n---\n", "---\n日: |\n  x\nstatus : \"ready\"\n---", "---\nlabels:\n- a\n---",
	} {
		f.Add([]byte(s), "done", "a, b c", "it's: \"x\" #")
	}
	f.Fuzz(func(t *testing.T, data []byte, status, labels, title string) {
		before := reqmeta.Parse("requests/x.md", data)
		values := map[string]string{"status": status}
		if labels != "" {
			values["labels"], values["title"] = labels, title
		}
		out, err := SetValues(reqmeta.New("requests/x.md"), data, values, setNow)
		if err != nil {
			return
		}
		after := reqmeta.Parse("requests/x.md", out)
		if after.Meta.Status != status || labels != "" && after.Meta.Title != title {
			t.Fatalf("%q -> %q: status %q title %q", data, out, after.Meta.Status, after.Meta.Title)
		}
		a, b := before.Meta, after.Meta
		if a.Priority != b.Priority || a.ID != b.ID || a.Base != b.Base || !slices.Equal(a.DependsOn, b.DependsOn) || a.CreatedAt != b.CreatedAt || len(a.Steps) != len(b.Steps) {
			t.Fatalf("%q -> %q", data, out)
		}
		if labels == "" {
			if n := changedLines(data, out); n > 3 {
				t.Fatalf("%q -> %q: %d lines", data, out, n)
			}
		}
		if !bytes.Equal(reqmeta.Body(data), reqmeta.Body(out)) {
			t.Fatalf("body of %q -> %q", data, out)
		}
		again, err := SetValues(reqmeta.New("requests/x.md"), out, values, setNow)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("setting twice: %q -> %q (%v)", out, again, err)
		}
	})
}

// What other readers of YAML take for something else is quoted, what is surely a
// string is not.
func TestTitlesArePlainOnlyWhereThatIsSure(t *testing.T) {
	for _, text := range []string{
		"Fix the login", "ログインを直す（急ぎ）", "3つの手順", "12 angry men", "Café au lait", "C++ and Go", "a-b_c/d.e", "v1.2.3", "P1", "nope", "Yes!",
	} {
		if got := scalarText("title", text, 0); got != text {
			t.Errorf("%q is written %s", text, got)
		}
	}
	for _, text := range []string{
		"Note to self:", "fix: x", "a:b", "12:30", "No", "yes", "on", "OFF", "y", "N", "true", "null", "~", "1e3", "0x1f", "0o7", "017", "1_000", "-1", "+1", ".5", ".inf", ".NaN",
		"2025-12-14", "2025-12-14 15:01:02", "2001-12-14t21:59:43.10-05:00", "1 2 3", "#x", "a #b", "- x", "-", "? x", "@you", "`ls`", "%d items", "*all*", "&a", "!important", "| x", "> x",
		"=", "<<", "What?", "Q&A", "[P0] fix", "{x}", "a, b", "it's", `say "x"`, " lead", "trail ", "", "\u00a0x", "🚀 launch", "ship it 🚀", "a\\b", "\u200bx",
	} {
		if got := scalarText("title", text, 0); got != "'"+strings.ReplaceAll(text, "'", "''")+"'" {
			t.Errorf("%q is written %s", text, got)
		}
	}
}

func FuzzTitle(f *testing.F) {
	for _, s := range []string{"a", "Note to self:", "12:30", "- x", "it's \"x\" #", "\u2028", "a\tb", "🚀", "\u00a0", "\ufeffx", "---", "0x1f", "a: b", "\U0001fffe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, title string) {
		for _, data := range []string{"---\nstatus: ready\n---\n", "---\ntitle: x\n---\n", "---\ntitle: \"x\"\n---\n", "---\n{title: x, status: ready}\n---\n", "status: ready\n\nbody"} {
			out, err := SetValues(reqmeta.New("requests/x.md"), []byte(data), map[string]string{"title": title}, setNow)
			if err != nil {
				if wantedTitle(title) {
					t.Fatalf("%q in %q: %v", title, data, err)
				}
				continue
			}
			if got := reqmeta.Parse("requests/x.md", out).Meta.Title; got != title {
				t.Fatalf("%q is read back from %q as %q", title, out, got)
			}
		}
	})
}

// wantedTitle reports whether a title may be asked for.
func wantedTitle(title string) bool {
	_, p := reqmeta.Asked("x", "title", title)
	return p == nil
}

// changedLines counts the lines between the common start and end.
func changedLines(a, b []byte) int {
	x, y := strings.SplitAfter(string(a), "\n"), strings.SplitAfter(string(b), "\n")
	changed := max(len(y)-len(x), 0)
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] && len(x) == len(y) {
			changed++
		}
	}
	return changed
}

func TestUpdate(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "requests")
	put(t, dir, "a.md", "---\nstatus: ready\n---\nbody\n")
	if err := os.Chmod(filepath.Join(dir, "a.md"), 0o666); err != nil {
		t.Fatal(err)
	}
	before, after, err := Update(atomicfile.OS{}, root, reqmeta.New("requests/a.md"), map[string]string{"status": "done"}, setNow, "1-x")
	if err != nil || string(before) != "---\nstatus: ready\n---\nbody\n" || string(after) != "---\nstatus: done\n---\nbody\n" {
		t.Fatalf("%q %q %v", before, after, err)
	}
	if got := get(t, dir, "a.md"); got != string(after) {
		t.Errorf("on disk: %q", got)
	}
	if st, _ := os.Stat(filepath.Join(dir, "a.md")); st.Mode().Perm() != 0o666 {
		t.Errorf("mode %v", st.Mode())
	}
	if names, _ := namesIn(dir); len(names) != 1 {
		t.Errorf("left over: %v", names)
	}
}

func TestUpdateLosesNoChangeOfAnother(t *testing.T) {
	root := t.TempDir()
	keys := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	put(t, root+"/requests", "RQ-1.md", "---\nstatus: ready\npriority: P1\n"+strings.Join(keys, ": 0\n")+": 0\n---\n")
	for round := 1; round <= 20; round++ {
		value := "v" + strconv.Itoa(round)
		var wg sync.WaitGroup
		for _, key := range keys {
			wg.Go(func() {
				_, _, err := Update(atomicfile.OS{}, root, reqmeta.New("requests/RQ-1.md"), map[string]string{key: value}, setNow, key)
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		want := "---\nstatus: ready\npriority: P1\n" + strings.Join(keys, ": "+value+"\n") + ": " + value + "\n---\n"
		if got, _ := os.ReadFile(root + "/requests/RQ-1.md"); string(got) != want {
			t.Fatalf("round %d:\n%s", round, got)
		}
	}
}

func TestUpdateFollowsLinksOnlyInside(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "requests")
	put(t, dir, "_real.txt", "---\nstatus: ready\n---\n")
	put(t, root, "outside.md", "---\nstatus: ready\n---\n")
	link(t, "_real.txt", filepath.Join(dir, "in.md"))
	link(t, "../outside.md", filepath.Join(dir, "out.md"))
	set := map[string]string{"status": "done"}
	if _, _, err := Update(atomicfile.OS{}, root, reqmeta.New("requests/in.md"), set, setNow, "1"); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Lstat(filepath.Join(dir, "in.md")); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v %v", st, err)
	}
	if got := get(t, dir, "_real.txt"); got != "---\nstatus: done\n---\n" {
		t.Errorf("target: %q", got)
	}
	if _, _, err := Update(atomicfile.OS{}, root, reqmeta.New("requests/out.md"), set, setNow, "2"); !fault.Has(err, fault.RequestInvalidFormat) {
		t.Errorf("outside link: %v", err)
	}
	if got := get(t, root, "outside.md"); got != "---\nstatus: ready\n---\n" {
		t.Errorf("outside was written: %q", got)
	}
	if _, _, err := Update(atomicfile.OS{}, root, reqmeta.New("requests/none.md"), set, setNow, "3"); !fault.Has(err, fault.RequestNotFound) {
		t.Errorf("missing: %v", err)
	}
}

// editing lets somebody else write while the temporary file is made.
type editing struct {
	atomicfile.OS
	renames int
	fail    error
}

func (d *editing) Rename(from, to string) error {
	d.renames++
	if d.fail != nil {
		return d.fail
	}
	return d.OS.Rename(from, to)
}

func TestUpdateWritesNothingWhenNothingChangesOrFails(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "requests")
	put(t, dir, "a.md", "---\nstatus: ready\n---\n")
	d := &editing{}
	if _, _, err := Update(d, root, reqmeta.New("requests/a.md"), map[string]string{"status": "ready"}, setNow, "1"); err != nil || d.renames != 0 {
		t.Errorf("%v, %d renames", err, d.renames)
	}
	d.fail = os.ErrPermission
	_, _, err := Update(d, root, reqmeta.New("requests/a.md"), map[string]string{"status": "done"}, setNow, "1")
	if !fault.Has(err, fault.PathNotWritable) || get(t, dir, "a.md") != "---\nstatus: ready\n---\n" {
		t.Errorf("%v: %q", err, get(t, dir, "a.md"))
	}
	if names, _ := namesIn(dir); len(names) != 1 {
		t.Errorf("left over: %v", names)
	}
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

// A list of mappings is the same however it is written, and another one is not.
func TestSameValue(t *testing.T) {
	entryOf := func(head string) reqmeta.Entry {
		list, p := reqmeta.Document{Fenced: true, Line: 1}.Entries(head)
		if p != nil || len(list) != 1 {
			t.Fatalf("%q: %+v %v", head, list, p)
		}
		return list[0]
	}
	const one = "steps:\n  - title: a\n    run: b\n  - title: c\n"
	for other, want := range map[string]bool{
		one: true,
		"steps:\n- title: 'a'\n  run: b # c\n- title: c\n":  true,
		"steps:\n  - title: a\n    run: c\n  - title: c\n":  false,
		"steps:\n  - title: a\n    test: b\n  - title: c\n": false,
		"steps:\n  - title: a\n    run: b\n":                false,
		"steps:\n  - title: a\n    run: b\n  - title:\n":    false,
	} {
		if got := sameValue(entryOf(one), entryOf(other)); got != want {
			t.Errorf("%q: %v", other, got)
		}
	}
}
