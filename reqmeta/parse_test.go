package reqmeta

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"aiflow/internal/fault"
)

// kinds gives "kind:line" of each problem.
func kinds(r *Request) []string {
	list := []string{}
	for _, p := range r.Problems {
		list = append(list, fmt.Sprintf("%s:%d", p.Kind, p.Line))
	}
	return list
}

// endless tells a blow-up from work on a slow machine.
const endless = time.Minute

func TestParseReadsEveryKey(t *testing.T) {
	r := Parse("requests/RQ-20251214-001-login.md", head(
		"id: RQ-20251214-001", `title: "ログイン: 直す"`, "priority: P0", "status: ready", "labels: [ui, \"a, b\"]",
		"depends_on:", "  - 0089", "  - 1e3", "estimate: S", "created_at: 2025-12-14",
		"updated_at: 2025-12-14T15:01:02+09:00", "base: release/1.x", "owner: aki",
		"steps:", "  - title: Build", "    run: make", "  - title: Test", "    test: |", "      make test"))
	want := Meta{
		ID: "RQ-20251214-001", Title: "ログイン: 直す", Priority: "P0", Status: "ready", Labels: []string{"ui", "a, b"},
		DependsOn: []string{"0089", "1e3"}, Estimate: "S",
		CreatedAt: Date{time.Date(2025, 12, 14, 0, 0, 0, 0, time.UTC), "2025-12-14"},
		Base:      "release/1.x", Unknown: map[string]string{"owner": "aki"},
		Steps: []Step{{Title: "Build", Run: "make"}, {Title: "Test", Test: "make test\n"}},
	}
	want.UpdatedAt = r.Meta.UpdatedAt
	if !reflect.DeepEqual(r.Meta, want) || len(r.Problems) != 0 || r.ID != "RQ-20251214-001" {
		t.Errorf("got %+v\nproblems %v id %s", r.Meta, kinds(r), r.ID)
	}
	if got := r.Meta.UpdatedAt.Time.UTC().Format(time.RFC3339); got != "2025-12-14T06:01:02Z" {
		t.Errorf("updated_at = %s", got)
	}
}

func TestProblems(t *testing.T) {
	ok := "status: ready\npriority: P1\n"
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"fine", "---\n" + ok + "---\n", nil},
		{"dots close", "---\n" + ok + "...\n", nil},
		{"blanks behind fences", "--- \n" + ok + "---\t\nx", nil},
		{"crlf", "---\r\nstatus: ready\r\npriority: P1\r\n---\r\n", nil},
		{"bom", "\ufeff---\n" + ok + "---", nil},
		{"blank lines first", "\n \n---\n" + ok + "---\n", nil},
		{"plain block", ok + "\nText", nil},
		{"plain block to the end", "priority: P1\nstatus: ready", nil},
		{"plain block, colon in value", ok + "note: a: b\n\n", nil},
		{"plain block, array", ok + "labels: [a, b]\n\n# T", nil},
		{"plain block, open quote", ok + "title: \"One\n\n# T", nil},
		{"plain block closed by a fence", ok + "---\n# T", nil},
		{"plain block, broken array", ok + "labels: [a\n\n", []string{"want_list:3"}},
		{"plain block, other line", ok + "# Heading\n", []string{"block_line:3"}},
		{"plain block, twice", ok + "status: done\n\n", []string{"duplicate_key:3"}},
		{"empty file", "", []string{"no_frontmatter:1"}},
		{"text only", "\nhello\n", []string{"no_frontmatter:2"}},
		{"indented fence", " ---\n" + ok + "---\n", []string{"fence_text:1"}},
		{"four dashes", "----\n" + ok + "----\n", []string{"fence_text:1"}},
		{"old mac line ends", "---\rstatus: ready\r---\r", []string{"line_break:1"}},
		{"no closer", "---\n" + ok, []string{"unclosed_fence:1"}},
		{"indented closer", "---\n" + ok + " ---\n", []string{"unclosed_fence:1"}},
		{"fence inside a block scalar", "---\n" + ok + "note: |\n  a\n  ---\n  b\n---\n", nil},
		{"no closer after blank lines", "\n\n---\n" + ok, []string{"unclosed_fence:3"}},
		{"empty head", "---\n---\n", []string{"missing_status:0", "missing_priority:0"}},
		{"null status", "---\nstatus:\npriority: P1\n---\n", []string{"missing_status:2"}},
		{"bad status", "---\nstatus: Ready\npriority: P1\n---\n", []string{"bad_status:2"}},
		{"status list", "---\nstatus: [ready]\npriority: P1\n---\n", []string{"want_scalar:2"}},
		{"missing priority", "---\nstatus: ready\n---\n", []string{"missing_priority:0"}},
		{"bad priority", "---\nstatus: ready\npriority: high\n---\n", []string{"bad_priority:3"}},
		{"bad estimate", "---\n" + ok + "estimate: XL\n---\n", []string{"bad_estimate:4"}},
		{"bad date", "---\n" + ok + "created_at: TBD\n---\n", []string{"bad_date:4"}},
		{"no such day", "---\n" + ok + "created_at: 2025-02-30\n---\n", []string{"bad_date:4"}},
		{"empty dates", "---\n" + ok + "updated_at:\ncreated_at: ~\n---\n", nil},
		{"scalar dependency", "---\n" + ok + "depends_on: 0089\n---\n", []string{"scalar_list:4"}},
		{"bad dependency", "---\n" + ok + "depends_on: [a, ../b]\n---\n", []string{"bad_depends_on:4"}},
		{"bad dependency in a block", "---\n" + ok + "depends_on:\n  - a\n  - b c\n---\n", []string{"bad_depends_on:6"}},
		{"map dependency", "---\n" + ok + "depends_on: {a: b}\n---\n", []string{"want_list:4"}},
		{"nested list", "---\n" + ok + "labels: [[a]]\n---\n", []string{"want_list:4"}},
		{"other id", "---\n" + ok + "id: RQ-2\n---\n", []string{"id_mismatch:4"}},
		{"impossible id", "---\n" + ok + "id: a/b\n---\n", []string{"bad_id:4"}},
		{"typo", "---\n" + ok + "dependson: [a]\nStatus: x\n---\n", []string{"typo_key:5", "foreign_depends_on:4"}},
		{"a foreign dependency", "---\n" + ok + "dependencies:\n  - T-99\n---\n", []string{"foreign_depends_on:4"}},
		{"another foreign dependency", "---\n" + ok + "Blocked by: '#12'\n---\n", []string{"foreign_depends_on:4"}},
		{"beside our own", "---\n" + ok + "depends_on: [A]\ndeps: [A, B]\n---\n", []string{"foreign_depends_on:5"}},
		{"the same in both", "---\n" + ok + "depends_on: [A]\ndeps: [A]\n---\n", nil},
		{"foreign, and nothing", "---\n" + ok + "dependencies: []\ndeps:\nneeds: none\n---\n", nil},
		{"foreign names", "---\n" + ok + "prio: high\nsummary: x\nlast_modified: x\n---\n", []string{"foreign_key:5", "foreign_key:6"}},
		{"no typo", "---\n" + ok + "owner: a\ntags: b\nbranch: c\nphase: d\nlinks: e\ndate: f\nx: g\n---\n", nil},
		{"base", "---\n" + ok + "base: --upload-pack=x\n---\n", []string{"bad_base:4"}},
		{"duplicate", "---\n" + ok + "status: done\n---\n", []string{"duplicate_key:4"}},
		{"nested duplicate", "---\n" + ok + "x:\n  a: 1\n  a: 2\n---\n", []string{"duplicate_key:6"}},
		{"anchor", "---\n" + ok + "x: &a b\n---\n", []string{"anchor:4"}},
		{"alias", "---\n" + ok + "x: &a b\ny: *a\n---\n", []string{"anchor:4"}},
		{"merge key", "---\n" + ok + "<<: {a: b}\n---\n", []string{"merge_key:4"}},
		{"tag", "---\n" + ok + "x: !!str 5\n---\n", []string{"tag:4"}},
		{"custom tag", "---\n" + ok + "x: !foo 5\n---\n", []string{"tag:4"}},
		{"complex key", "---\n" + ok + "? [a]\n: b\n---\n", []string{"complex_key:4"}},
		{"list at the top", "---\n- a\n---\n", []string{"not_a_mapping:2"}},
		{"scalar at the top", "---\nhello\n---\n", []string{"not_a_mapping:2"}},
		{"nul", "---\n" + ok + "x: a\x00b\n---\n", []string{"control_char:4"}},
		{"lone cr", "---\n" + ok + "x: a\rb\n---\n", []string{"line_break:4"}},
		{"line separator", "---\n" + ok + "title: a\u2028b\n---\n", []string{"line_break:4"}},
		{"not utf-8", "---\n" + ok + "title: a\xffb\n---\n", []string{"not_utf8:4"}},
		{"nul in the body", "---\n" + ok + "---\n\x00", nil},
		{"body not utf-8, somebody must read it", "---\n" + ok + "---\na\n\xff", []string{"body_unreadable:6"}},
		{"body not utf-8, one step has no command", "---\n" + ok + "steps:\n  - title: a\n    run: b\n  - title: c\n---\n\xff", []string{"body_unreadable:9"}},
		{"body not utf-8, commands alone", "---\n" + ok + "steps:\n  - title: a\n    run: b\n---\n\xff", []string{"body_not_utf8:8"}},
		{"body not utf-8, done", "---\nstatus: done\n---\n\xff", []string{"body_not_utf8:4"}},
		{"text without head not utf-8", "caf\xe9\n", []string{"no_frontmatter:1", "body_unreadable:1"}},
		{"utf-16", "\xff\xfe-\x00-\x00-\x00\n\x00", []string{"not_utf8:1"}},
		{"utf-16 without mark", "\x00-\x00-\x00-\x00\n", []string{"not_utf8:1"}},
		{"toml", "+++\nstatus = \"ready\"\n+++\n", []string{"foreign_head:1"}},
		{"toml between our fences", "---toml\nstatus = \"ready\"\n---\n", []string{"foreign_head:1"}},
		{"json without fences", "\n{\n\"status\": \"ready\"}\n", []string{"foreign_head:2"}},
		{"json between semicolons", ";;;\n\"status\": \"ready\"\n;;;\n", []string{"foreign_head:1"}},
		{"a brace that is no json", "{{ x }}\n", []string{"no_frontmatter:1"}},
		{"yaml named", "---yaml\n" + ok + "---\n", []string{"fence_text:1"}},
		{"dash that an editor made", "\u2014\n" + ok + "\u2014\n", []string{"fence_text:1"}},
		{"json, whole", "---\n{\"status\": \"ready\", \"priority\": \"P1\"} # x\n# y\n---\n", nil},
		{"json and more", "---\n{\"status\": \"ready\", \"priority\": \"P1\"}\ndepends_on: [OTHER]\n---\n", []string{"after_document:3"}},
		{"json on two lines and more", "---\n{\"status\": \"ready\",\n\"priority\": \"P1\"}\n\n# c\nx\n---\n", []string{"after_document:6"}},
		{"json and more on the line", "---\n{\"status\": \"ready\", \"priority\": \"P1\"} x\n---\n", []string{"after_document:2"}},
		{"list and more", "---\n[a]\n" + ok + "---\n", []string{"after_document:3"}},
		{"time without zone", "---\n" + ok + "updated_at: 2025-12-14T15:01:02\ncreated_at: 2025-12-14 15:01\n---\n", []string{"date_no_zone:4", "date_no_zone:5"}},
		{"time with a blank and a zone", "---\n" + ok + "updated_at: 2025-12-14 15:01:02+09:00\n---\n", nil},
		{"time that is none", "---\n" + ok + "updated_at: 2025-12-14T25:01\n---\n", []string{"bad_date:4"}},
		{"time of letters", "---\n" + ok + "updated_at: 2025-12-14 noon\n---\n", []string{"bad_date:4"}},
		{"status over two lines", "---\nstatus: >-\n  ready\npriority: P1\n---\n", nil},
		{"key of its own line", "---\n? status\n: ready\n? priority\n: P1\n---\n", []string{"unwritable:2"}},
		{"document marker", "---\n" + ok + "--- x\n---\n", []string{"document_marker:4"}},
		{"yaml: colon", "---\n" + ok + "title: fix: x\n---\n", []string{"yaml_value_colon:4"}},
		{"yaml: at", "---\n" + ok + "owner: @x\n---\n", []string{"yaml_sign:4"}},
		{"yaml: text behind a bracket", "---\n" + ok + "title: [P0] fix\na: b\n---\n", []string{"yaml_bracket:4"}},
		{"yaml: colon in a step", "---\n" + ok + "steps:\n  - title: a\n    run: echo b: c\n---\n", []string{"yaml_value_colon:6"}},
		{"yaml: colon behind a text", "---\n" + ok + "note: |\n  a: b: c\ntitle: a: b\n---\n", []string{"yaml_value_colon:6"}},
		{"yaml: colon behind a list of two lines", "---\n" + ok + "labels: [a,\n  b]\ntitle: a: b\n---\n", []string{"yaml_value_colon:6"}},
		{"yaml: no blank behind a colon", "---\nstatus: ready\npriority:P1\ntitle: a\n---\n", []string{"yaml_colon:3"}},
		{"yaml: no blank, last line", "---\nstatus: ready\npriority:P1\n---\n", []string{"yaml_colon:3"}},
		{"yaml: wide colon", "---\nstatus：ready\npriority: P1\n---\n", []string{"yaml_colon:2"}},
		{"yaml: no colon", "---\nstatus ready\npriority: P1\n---\n", []string{"yaml_no_colon:2"}},
		{"yaml: key too far right", "---\nstatus: ready\n priority: P1\n---\n", []string{"yaml_indent:3"}},
		{"yaml: step too far left", "---\n" + ok + "steps:\n  - title: a\n     run: b\n---\n", []string{"yaml_indent:6"}},
		{"yaml: open bracket", "---\n" + ok + "labels: [a, b\ntitle: x\n---\n", []string{"yaml_bracket:4"}},
		{"yaml: open brace", "---\n" + ok + "labels: {a\n---\n", []string{"yaml_bracket:4"}},
		{"yaml: backtick", "---\n" + ok + "title: `x` fails\n---\n", []string{"yaml_sign:4"}},
		{"yaml: percent", "---\n" + ok + "title: %x\n---\n", []string{"yaml_sign:4"}},
		{"yaml: star", "---\n" + ok + "title: *all* of it\n---\n", []string{"yaml_sign:4"}},
		{"yaml: dash", "---\n" + ok + "title: - x\n---\n", []string{"yaml_sign:4"}},
		{"yaml: greater", "---\n" + ok + "title: > 5 users\n---\n", []string{"yaml_sign:4"}},
		{"yaml: text behind a quote", "---\n" + ok + "title: \"One\" two\n---\n", []string{"yaml_quote:4"}},
		{"yaml: tab", "---\n" + ok + "x:\n\ty: z\n---\n", []string{"yaml_tab:5"}},
		{"yaml: tab below blanks", "---\n" + ok + "x:\n  - a: b\n\tc: d\n---\n", []string{"yaml_tab:6"}},
		{"yaml: open quote", "---\n" + ok + "title: \"One\nlabels: [a]\n---\n", []string{"yaml_quote:4"}},
		{"yaml: open quote in a step", "---\n" + ok + "steps:\n  - {title: x, run: 'y}\n---\n", []string{"yaml_quote:5"}},
		{"yaml: quote inside quotes", "---\n" + ok + "title: 'it's'\n---\n", []string{"yaml_quote:4"}},
		{"yaml: quote in a plain value", "---\n" + ok + "title: a 'b: c\n---\n", []string{"yaml_value_colon:4"}},
		{"steps: scalar", "---\n" + ok + "steps: make\n---\n", []string{"want_steps:4"}},
		{"steps: strings", "---\n" + ok + "steps:\n  - make\n---\n", []string{"want_steps:5"}},
		{"steps: no title", "---\n" + ok + "steps:\n  - run: make\n---\n", []string{"step_title:5"}},
		{"steps: other key", "---\n" + ok + "steps:\n  - title: a\n    rum: make\n---\n", []string{"step_key:6"}},
		{"steps: list value", "---\n" + ok + "steps:\n  - title: a\n    run: [make]\n---\n", []string{"want_scalar:6"}},
		{"64 KiB", "---\n" + ok + "x: " + strings.Repeat("a", MaxHead) + "\n---\n", []string{"frontmatter_too_large:1"}},
		{"bidi and zero width are text", "---\n" + ok + "title: a\u202eb\u200bc\n---\n", nil},
		{"id that YAML takes for something else", "---\n" + ok + "depends_on: [yes, 22.10, 0x1F, 1_000]\n---\n", nil},
	} {
		r := Parse("requests/RQ-1.md", []byte(tc.text))
		if got := kinds(r); !slices.Equal(got, tc.want) {
			t.Errorf("%s: problems %v, want %v", tc.name, got, tc.want)
		}
		for _, p := range r.Problems {
			if p.Code != fault.RequestInvalidFormat || p.Path != "requests/RQ-1.md" || p.Facts["path"] != p.Path {
				t.Errorf("%s: %+v", tc.name, p)
			}
		}
	}
}

func TestBrokenFileStillShowsWhatItSays(t *testing.T) {
	r := Parse("requests/RQ-1.md", []byte("---\nstatus: ready\ntitle: T\nstatus: bad\n---\n"))
	if r.Meta.Title != "T" || len(r.Problems) != 1 || r.Problems[0].Facts["first"] != "2" {
		t.Errorf("%+v", r)
	}
}

func TestHostileHeads(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), ","))
	}
	var keys strings.Builder
	for i := 0; keys.Len() < MaxHead-20; i++ {
		fmt.Fprintf(&keys, "k%d:\n", i)
	}
	for _, tc := range []struct{ name, head, want string }{
		{"alias bomb", bomb, "anchor"},
		{"many keys", keys.String(), "missing_status"},
		{"100,000 keys", strings.Repeat("k: v\n", 100_000), "frontmatter_too_large"},
		{"deep flow", "x: " + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), "missing_status"},
		{"deeper flow", "x: " + strings.Repeat("[", 30_000), "yaml_bracket"},
		{"deep blocks", deepBlocks(300), "missing_status"},
		{"a title of 1 MiB", "title: " + strings.Repeat("a", 1<<20), "frontmatter_too_large"},
		{"a long plain key", strings.Repeat("k", 2000) + ": v", "yaml_syntax"},
	} {
		start := time.Now()
		r := Parse("requests/x.md", head(tc.head))
		if r.Valid() || r.FirstError().Kind != tc.want {
			t.Errorf("%s: %v, want %s", tc.name, kinds(r), tc.want)
		}
		if d := time.Since(start); d > endless {
			t.Errorf("%s took %v", tc.name, d)
		}
	}
}

func deepBlocks(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func TestTitle(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"---\nstatus: ready\ntitle: A\n---\n# B\n", "A"},
		{"---\nstatus: ready\n---\n\n# B  \n# C\n", "B"},
		{"---\nstatus: ready\n---\n# B ##\n", "B"},
		{"---\nstatus: ready\n---\n#B\n## C\n    # D\n# \n# E\r\n", "E"},
		{"---\nstatus: ready\n---\n```sh\n# no\n~~~\n````\n# yes\n", "yes"},
		{"---\nstatus: ready\n---\n~~~\n# no\n```\n# no\n~~~\n# yes\n", "yes"},
		{"---\nstatus: ready\n---\n```\n# no\n", "RQ-1"},
		{"---\nstatus: ready\n---\n<!--\n# no\n-->\n# yes\n", "yes"},
		{"---\nstatus: ready\n# comment\n---\ntext\n", "RQ-1"},
		{"---\nstatus: ready\n# not closed\n", "RQ-1"},
		{"---\nstatus: ready\ntitle:\n---\n# B\n", "B"},
		{"---\nstatus: ready\ntitle: '  '\n---\n# B\n", "B"},
		{"priority: P0\nstatus: ready\n\n# D36\n", "D36"},
		{"# Only text\n", "Only text"},
		{"---\nstatus: ready\n---\n# a\xffb\n", "a\ufffdb"},
	} {
		if got := Parse("requests/RQ-1.md", []byte(tc.text)).Title(); got != tc.want {
			t.Errorf("%q: title %q, want %q", tc.text, got, tc.want)
		}
	}
}

func TestBody(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"---\na: b\n---\nbody\n", "body\n"},
		{"---\r\na: b\r\n...\r\nbody", "body"},
		{"a: b\n\nbody\n\nmore", "body\n\nmore"},
		{"\ufeffbody", "body"},
		{"---\na: b\n", ""},
	} {
		if got := string(Body([]byte(tc.text))); got != tc.want {
			t.Errorf("Body(%q) = %q, want %q", tc.text, got, tc.want)
		}
	}
}

func TestLineOf(t *testing.T) {
	data := []byte("\n---\nstatus: ready\nsteps:\n  - title: a\ndepends_on:\n  - b\n  - c\n---\nx: y\n")
	for _, tc := range []struct {
		key, item string
		want      int
	}{{"status", "", 3}, {"steps", "", 4}, {"depends_on", "c", 8}, {"depends_on", "z", 6}, {"x", "", 0}} {
		if got := LineOf(data, tc.key, tc.item); got != tc.want {
			t.Errorf("LineOf(%s, %s) = %d, want %d", tc.key, tc.item, got, tc.want)
		}
	}
}

func TestCheckID(t *testing.T) {
	for id, want := range map[string]bool{
		"RQ-20251214-001": true, "0089": true, "22.10": true, "a": true, strings.Repeat("a", 128): true, "a.lock.b": true, "a_b-c.d": true,
		"": false, "-a": false, ".a": false, "_a": false, "a..b": false, "a.": false, "a.lock": false, strings.Repeat("a", 129): false,
		"a/b": false, "a b": false, "a\n": false, "日本": false, "a@{b": false, "a;b": false, "..": false,
	} {
		if got := CheckID(id); got != want {
			t.Errorf("CheckID(%q) = %v", id, got)
		}
	}
}

func TestIDFromKeyAndStem(t *testing.T) {
	for _, tc := range []struct{ stem, id, want string }{
		{"RQ-1", "RQ-1", "RQ-1"},
		{"RQ-1-slug", "RQ-1", "RQ-1"},
		{"RQ-1-slug", "RQ-1-s", "RQ-1-slug"},
		{"RQ-10", "RQ-1", "RQ-10"},
		{"0089", "0089", "0089"},
		{"RQ-1", "null", "RQ-1"},
		{"RQ-1", "'RQ-1'", "RQ-1"},
	} {
		if got := Parse("requests/"+tc.stem+".md", head("id: "+tc.id)).ID; got != tc.want {
			t.Errorf("id %s in %s.md gives %s, want %s", tc.id, tc.stem, got, tc.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"---\nstatus: ready\n---\n# x", "a: b\n\nc", "---\r\na: [b\r\n---", "\ufeff---\n- &a [*a]\n...\n", "---\nsteps:\n- {title: a}\n---", "---\n- \n0\n..."} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := Parse("requests/x.md", data)
		lines := strings.Count(string(data), "\n") + 1
		for _, p := range r.Problems {
			if p.Line < 0 || p.Line > lines {
				t.Errorf("%s at line %d of %d", p.Kind, p.Line, lines)
			}
		}
		if r.Valid() != (r.FirstError() == nil) || r.Valid() && r.Meta.Status == "" || !CheckID(r.ID) || r.Title() == "" {
			t.Errorf("%+v", r)
		}
		Body(data)
	})
}
