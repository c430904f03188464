package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"aiflow/internal/proc"
	"aiflow/locks"
	"aiflow/reqmeta/choose"
)

func request(meta, body string) string { return "---\n" + meta + "---\n" + body }

func someRequests() map[string]string {
	return map[string]string{
		"requests/RQ-1.md": request("title: First\npriority: P1\nstatus: ready\nlabels: [ui]\nupdated_at: 2026-01-02\nsteps:\n  - title: Write\n    run: echo one > one.txt; echo key AKIAIOSFODNN7EXAMPLE\n    test: echo tested; test -f one.txt\n", "\n# First\n\ntext\n"),
		"requests/RQ-2.md": request("title: Second\npriority: P0\nstatus: ready\ndepends_on: [RQ-1]\nsteps: [{title: x, run: 'true'}]\n", "\nbody 2\n"),
		"requests/RQ-3.md": request("title: Third\npriority: P2\nstatus: draft\n", "\nbody 3\n"),
		"requests/bad.md":  "---\nstatus: nonsense\npriority: P1\n",
	}
}

// After a restart the list of before is not taken for the one of now.
func TestETagsOutliveTheServer(t *testing.T) {
	w := newWorld(t, map[string]string{"requests/RQ-1.md": "---\nstatus: ready\n---\n"})
	before := w.call(200, "GET", "/api/requests", "").header.Get("ETag")
	w.serve()
	w.call(304, "GET", "/api/requests", "", "If-None-Match", before)
	w.write("requests/RQ-2.md", "---\nstatus: ready\n---\n")
	w.serve()
	w.call(200, "GET", "/api/requests", "", "If-None-Match", before).wants("items.1.id", "RQ-2")
}

func TestRequests(t *testing.T) {
	w := newWorld(t, someRequests())
	w.call(200, "GET", "/api/health", "").wants("ok", true, "name", "aiflow", "project", "project", "lang", "en")
	list := w.call(200, "GET", "/api/requests", "").wants(
		"next", "RQ-1", "stats.total", 4, "stats.runnable", 1, "items.0.id", "RQ-2", "items.0.derived.why.reason_code", "DEPENDS_NOT_DONE",
		"items.0.derived.blocked_by.0", "RQ-1", "items.1.id", "RQ-1", "items.1.derived.rank", 1, "items.3.problems.0.level", "error",
		"items.2.derived.why.reason_code", "NOT_READY", "items.2.derived.latest_run", nil, "items.2.derived.locked", nil)
	w.call(304, "GET", "/api/requests", "", "If-None-Match", list.header.Get("ETag"))
	ja := w.call(200, "GET", "/api/requests", "", "Accept-Language", "ja,en;q=0.5")
	if ja.text("items.0.derived.why.detail") == list.text("items.0.derived.why.detail") {
		t.Error("Accept-Language changes nothing")
	}
	w.call(200, "GET", "/api/requests?status=ready,draft&priority=P2", "").wants("items.0.id", "RQ-3", "items.1", nil)
	w.call(200, "GET", "/api/requests?q=seco", "").wants("items.0.id", "RQ-2", "items.1", nil)
	w.call(200, "GET", "/api/requests?label=ui", "").wants("items.0.id", "RQ-1", "items.1", nil)
	w.call(200, "GET", "/api/queue/next", "").wants("next.request_id", "RQ-1", "stats.ready", 2, "queue.locked", false, "excluded.0.request_id", "RQ-2")
	graph := w.call(200, "GET", "/api/graph", "").wants("edges.0.from", "RQ-2", "edges.0.to", "RQ-1", "edges.0.state", "waiting", "nodes.0.derived", "RUNNABLE")
	w.call(304, "GET", "/api/graph", "", "If-None-Match", graph.header.Get("ETag"))
	w.call(200, "GET", "/api/locks", "").wants("items.0", nil)
	w.call(200, "GET", "/api/requests/RQ-1", "").wants("can_run", true)
	w.call(200, "GET", "/api/requests/RQ-2", "").wants("can_run", false) // it would be refused: RQ-1 is not done
	w.call(404, "GET", "/api/requests/nope", "").wants("error.reason_code", "REQUEST_NOT_FOUND", "error.category", "INPUT")
	w.call(404, "GET", "/api/requests/RQ", "").wants("error.reason_code", "REQUEST_NOT_FOUND")
	w.call(200, "GET", "/api/requests/RQ-1/runs", "").wants("items.0", nil)
	w.call(404, "GET", "/api/requests/RQ-1/latest-run", "").wants("error.reason_code", "RUN_NOT_FOUND")
}

func TestListFollowsEveryKindOfChange(t *testing.T) {
	w := newWorld(t, someRequests())
	title := func(id, want string) {
		t.Helper()
		w.call(200, "GET", "/api/requests/"+id, "").wants("title", want)
	}
	title("RQ-3", "Third")
	in, err := os.OpenFile(w.path("requests/RQ-3.md"), os.O_WRONLY, 0) // as an editor that writes in place
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.WriteString(request("title: THIRD\n", "")); err != nil {
		t.Fatal(err)
	}
	title("RQ-3", "THIRD")
	in.Close()
	w.write("new", request("title: Renamed\nstatus: draft\n", ""))
	if err := os.Rename(w.path("new"), w.path("requests/RQ-3.md")); err != nil {
		t.Fatal(err)
	}
	title("RQ-3", "Renamed")
	w.write("requests/RQ-9.md", request("status: draft\n", "# Heading\n"))
	title("RQ-9", "Heading")
	if err := os.Remove(w.path("requests/RQ-9.md")); err != nil {
		t.Fatal(err)
	}
	w.call(404, "GET", "/api/requests/RQ-9", "")
	if err := os.Rename(w.path("requests"), w.path("old")); err != nil {
		t.Fatal(err)
	}
	w.call(409, "GET", "/api/requests", "").wants("error.reason_code", "REQUESTS_DIR_NOT_FOUND")
	w.write("requests/RQ-3.md", request("title: Other folder\nstatus: draft\n", ""))
	title("RQ-3", "Other folder")
	w.write("elsewhere.md", request("title: Linked\nstatus: draft\n", ""))
}

// What changes while an answer is worked out is in the next one: an answer is
// kept under the name of what it was made from, never of what came after.
func TestChangeDuringALook(t *testing.T) {
	w := newWorld(t, someRequests())
	for range 1000 {
		held, err := w.p.Locks().Acquire(t.Context(), locks.Queue(), locks.Ask{})
		if err != nil {
			t.Fatal(err)
		}
		var looks sync.WaitGroup
		for range 4 {
			looks.Go(func() { _, _ = w.s.look(t.Context()) })
		}
		if err := held.Release(); err != nil {
			t.Fatal(err)
		}
		looks.Wait()
		sn, err := w.s.look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if sn.facts.Queue != nil {
			t.Fatal("a lock that was released is still shown")
		}
	}
}

func TestCreate(t *testing.T) {
	w := newWorld(t, nil)
	made := w.call(201, "POST", "/api/requests", `{"title":"A new thing","priority":"P1","template":"_template.md","labels":["x, y"],"body_markdown":"text\n"}`)
	id := made.text("id")
	if !regexp.MustCompile(`^RQ-\d{8}-001-a-new-thing$`).MatchString(id) || made.header.Get("Location") != "/api/requests/"+id {
		t.Errorf("%s at %s", id, made.header.Get("Location"))
	}
	w.call(200, "GET", "/api/requests/"+id, "").wants("title", "A new thing", "meta.priority", "P1", "meta.status", "draft", "meta.labels.0", "x, y", "body_markdown", "\ntext\n")
	for body, key := range map[string]string{
		`{}`:                                  "title",
		`{"title":"x","template":"../x"}`:     "template",
		`{"title":"x","status":"running"}`:    "status",
		`{"title":"x","nonsense":1}`:          "body",
		`{"title":"x"} {}`:                    "body",
		`[1]`:                                 "body",
		`{"title":`:                           "body",
		`{"title":"x","priority":"P9"}`:       "",
		`{"title":"x","depends_on":["../x"]}`: "",
	} {
		r := w.call(400, "POST", "/api/requests", body).wants("error.reason_code", "INVALID_REQUEST")
		if key != "" {
			r.wants("error.context.key", key)
		}
	}
	if names, _ := os.ReadDir(w.path("requests")); len(names) != 1 {
		t.Errorf("%d files", len(names))
	}
}

// A text that is not UTF-8 is neither handed out nor taken; its head can still
// be changed, and every other byte stays.
func TestTextOfAnotherEncoding(t *testing.T) {
	for name, text := range map[string]string{"RQ-latin": "caf\xe9\r\n", "RQ-sjis": "\x83\x8d\x83\x4f\x83\x43\x83\x93\x82\xf0\x92\xbc\x82\xb7\n"} {
		t.Run(name, func(t *testing.T) {
			path := "requests/" + name + ".md"
			w := newWorld(t, map[string]string{path: request("status: ready\npriority: P1\n", "# T\n"+text)})
			before := w.read(path)
			w.call(409, "GET", "/api/requests/"+name, "").wants("error.reason_code", "REQUEST_NOT_UTF8", "error.context.path", path)
			w.call(409, "PUT", "/api/requests/"+name, `{"body_markdown":"lost"}`).wants("error.reason_code", "REQUEST_NOT_UTF8")
			w.call(409, "PUT", "/api/requests/"+name, `{"markdown":"lost"}`).wants("error.reason_code", "REQUEST_NOT_UTF8")
			meta := w.call(200, "GET", "/api/requests/"+name+"/meta", "").wants("meta.status", "ready", "problems.0.kind", "body_unreadable")
			if strings.Contains(string(meta.body), "markdown") || w.read(path) != before {
				t.Errorf("%s\n%q", meta.body, w.read(path))
			}
			w.call(200, "PATCH", "/api/requests/"+name+"/meta", `{"status":"done"}`).wants("meta.status", "done")
			if got := w.read(path); got != strings.Replace(before, "ready", "done", 1) {
				t.Errorf("%q", got)
			}
		})
	}
	w := newWorld(t, someRequests())
	w.call(400, "PUT", "/api/requests/RQ-1", "{\"body_markdown\":\"caf\xe9\"}").wants("error.reason_code", "INVALID_REQUEST")
	w.call(200, "GET", "/api/requests/RQ-1/meta", "").wants("body_markdown", "\n# First\n\ntext\n")
}

func TestLineEndsAreTheFiles(t *testing.T) {
	w := newWorld(t, map[string]string{
		"requests/RQ-crlf.md":   "\ufeff---\r\nstatus: ready\r\npriority: P1\r\n---\r\n\r\none\r\ntwo",
		"requests/RQ-plain.md":  "title: No fence\r\nstatus: ready\r\n",
		"requests/RQ-mix.md":    "---\nstatus: ready\npriority: P1\n---\none\r\ntwo\nthree\r\n",
		"requests/_template.md": "---\r\nid: x\r\ntitle: T\r\nstatus: draft\r\npriority: P2\r\ncreated_at: 2026-01-01\r\nupdated_at: 2026-01-01\r\n---\r\n\r\n# T\r\n",
	})
	for _, tc := range []struct{ id, sent, want string }{
		{"RQ-crlf", `{"body_markdown":"\none\nTWO\nthree"}`, "\ufeff---\r\nstatus: ready\r\npriority: P1\r\n---\r\n\r\none\r\nTWO\r\nthree"},
		{"RQ-crlf", `{"markdown":"---\nstatus: done\npriority: P1\n---\n\none\nTWO\nthree\n"}`, "\ufeff---\r\nstatus: done\r\npriority: P1\r\n---\r\n\r\none\r\nTWO\r\nthree"},
		{"RQ-plain", `{"body_markdown":"priority: P0\n"}`, "title: No fence\r\nstatus: ready\r\n\r\npriority: P0\r\n"},
		{"RQ-mix", `{"body_markdown":"ONE\ntwo\nthree\nfour\n"}`, "---\nstatus: ready\npriority: P1\n---\nONE\r\ntwo\nthree\r\nfour\r\n"},
	} {
		w.call(200, "PUT", "/api/requests/"+tc.id, tc.sent)
		if got := w.read("requests/" + tc.id + ".md"); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.sent, got, tc.want)
		}
	}
	made := w.call(201, "POST", "/api/requests", `{"title":"New","body_markdown":"# New\n\ntext\n"}`)
	if got := w.read(made.text("path")); strings.Count(got, "\r\n") != strings.Count(got, "\n") {
		t.Errorf("%q", got)
	}
}

func TestEditText(t *testing.T) {
	w := newWorld(t, someRequests())
	one := w.call(200, "GET", "/api/requests/RQ-1", "").wants("body_markdown", "\n# First\n\ntext\n", "markdown", w.read("requests/RQ-1.md"))
	at, tag := one.text("updated_at"), one.header.Get("ETag")
	body := func(v any) string { b, _ := json.Marshal(v); return string(b) }
	two := w.call(200, "PUT", "/api/requests/RQ-1", body(map[string]string{"body_markdown": "\nnew <script>\n", "expected_updated_at": at})).wants("body_markdown", "\nnew <script>\n")
	if got := w.read("requests/RQ-1.md"); !strings.HasSuffix(got, "---\n\nnew <script>\n") || strings.Contains(got, "2026-01-02") || !strings.HasPrefix(got, "---\ntitle: First\n") {
		t.Errorf("%q", got)
	}
	if two.header.Get("ETag") == tag || two.text("updated_at") == at {
		t.Error("ETag or updated_at stayed")
	}
	w.call(409, "PUT", "/api/requests/RQ-1", body(map[string]string{"body_markdown": "lost", "expected_updated_at": at})).
		wants("error.reason_code", "CONFLICT", "error.context.updated_at", two.text("updated_at"), "error.context.path", "requests/RQ-1.md")
	w.call(409, "PUT", "/api/requests/RQ-1", body(map[string]string{"body_markdown": "lost"}), "If-Match", tag).wants("error.reason_code", "CONFLICT")
	w.call(409, "PATCH", "/api/requests/RQ-1/meta", `{"priority":"P3"}`, "If-Match", tag).wants("error.reason_code", "CONFLICT")
	w.call(409, "PATCH", "/api/requests/RQ-1/meta", body(map[string]string{"priority": "P3", "expected_updated_at": at})).wants("error.reason_code", "CONFLICT")
	w.call(200, "PUT", "/api/requests/RQ-1", body(map[string]string{"body_markdown": "x"}), "If-Match", two.header.Get("ETag"))
	w.call(200, "PUT", "/api/requests/bad", body(map[string]string{"markdown": request("status: draft\n", "mended\n")})).wants("meta.status", "draft", "problems.0.level", "warning")
	w.call(400, "PUT", "/api/requests/RQ-1", `{}`).wants("error.reason_code", "INVALID_REQUEST")
	w.call(400, "PUT", "/api/requests/RQ-1", `{"body_markdown":"a","markdown":"b"}`)
	w.call(400, "PUT", "/api/requests/RQ-1", body(map[string]string{"body_markdown": "a", "expected_updated_at": "yesterday"})).wants("error.context.key", "expected_updated_at")
	w.call(400, "PUT", "/api/requests/RQ-3", body(map[string]string{"markdown": request("status: running\n", "")})).wants("error.context.key", "status")
	w.call(404, "PUT", "/api/requests/nope", `{"body_markdown":"a"}`)
	if got := w.read("requests/RQ-3.md"); got != someRequests()["requests/RQ-3.md"] {
		t.Errorf("%q", got)
	}
}

func TestChangeMeta(t *testing.T) {
	w := newWorld(t, someRequests())
	w.call(200, "PATCH", "/api/requests/RQ-3/meta", `{"status":"ready","priority":"P0","labels":["a","b, c","it's"],"depends_on":"RQ-1, RQ-2","estimate":"S"}`).
		wants("meta.status", "ready", "meta.priority", "P0", "meta.labels.1", "b, c", "meta.depends_on.1", "RQ-2", "meta.estimate", "S")
	if got, want := w.read("requests/RQ-3.md"), request("title: Third\npriority: P0\nstatus: ready\nlabels: [a, 'b, c', 'it''s']\ndepends_on: [RQ-1, RQ-2]\nestimate: S\n", "\nbody 3\n"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	w.call(200, "PATCH", "/api/requests/RQ-3/meta", `{"labels":null,"title":"名前"}`).wants("meta.labels", nil, "title", "名前")
	before := w.read("requests/RQ-1.md")
	for body, code := range map[string]string{
		`{}`:                        "INVALID_REQUEST",
		`{"status":"nope"}`:         "INVALID_REQUEST",
		`{"status":"running"}`:      "INVALID_REQUEST",
		`{"steps":"x"}`:             "INVALID_REQUEST",
		`{"id":"RQ-7"}`:             "INVALID_REQUEST",
		`{"depends_on":["a,b"]}`:    "INVALID_REQUEST",
		`{"title":["a","b"]}`:       "INVALID_REQUEST",
		`{"priority":1}`:            "INVALID_REQUEST",
		`{"title":"a\nb: c"}`:       "INVALID_REQUEST",
		`{"depends_on":["RQ-2"]}`:   "DEPENDS_CYCLE",
		`{"expected_updated_at":1}`: "INVALID_REQUEST",
	} {
		w.call(400, "PATCH", "/api/requests/RQ-1/meta", body).wants("error.reason_code", code)
	}
	w.call(400, "PATCH", "/api/requests/bad/meta", `{"priority":"P1"}`).wants("error.reason_code", "REQUEST_INVALID_FORMAT")
	if err := os.Symlink("nowhere.md", w.path("requests/RQ-link.md")); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"", "/meta"} {
		w.call(400, "GET", "/api/requests/RQ-link"+at, "").wants("error.reason_code", "REQUEST_INVALID_FORMAT", "error.context.path", "requests/RQ-link.md")
	}
	if after := w.read("requests/RQ-1.md"); after != before {
		t.Errorf("%q", after)
	}
}

func TestRunFromStartToMerge(t *testing.T) {
	w := newWorld(t, someRequests())
	st := w.listen()
	begun := w.call(202, "POST", "/api/requests/RQ-1/run", `{"mode":"safe"}`)
	run := begun.text("run_id")
	at := "/api/requests/RQ-1/runs/" + run
	if begun.header.Get("Location") != at || begun.text("run_path") != "runs/RQ-1/"+run || begun.text("stage.run_id") != run {
		t.Errorf("%s", begun.body)
	}
	st.until("stage", func(data string) bool { return strings.Contains(data, run) && strings.Contains(data, `"DONE"`) })
	w.idle()
	w.call(200, "GET", at, "").wants("stage.state", "DONE", "interrupted", false, "awaits_merge", true, "errors", nil, "planning.steps.0.step_id", "S01", "compare_url", nil)
	w.git("remote", "add", "origin", "https://github.com/o/r.git")
	w.call(200, "GET", at, "").wants("compare_url", nil) // it was never pushed
	branch := begun.text("stage.git.work_branch")
	w.git("update-ref", "refs/remotes/origin/"+branch, branch)
	w.call(200, "GET", at, "").wants("compare_url", "https://github.com/o/r/compare/main..."+branch)
	w.call(200, "GET", at+"/stage", "").wants("stage.state", "DONE")
	record := "runs/RQ-1/" + run + "/stage.json"
	w.write(record, strings.Replace(w.read(record), `"attempts": {`, `"attempts": {"calls": [{"role": "qa", "attempt": 1, "provider": "p", "started_at": "2026-01-02T03:04:05Z", "usage": {"input": 1, "cached": 2, "output": 3, "turns": 1, "duration_ms": 4}}], `, 1))
	w.call(200, "GET", "/api/requests/RQ-1/runs", "").wants("items.0.usage.output", 3.0, "items.0.run_id", run, "items.0.state", "DONE", "items.0.reason_code", nil)
	w.call(200, "GET", "/api/requests/RQ-1/latest-run", "").wants("run_id", run, "awaits_merge", true)
	w.call(404, "GET", at+"/errors", "").wants("error.reason_code", "NOT_FOUND")
	if r := w.call(200, "GET", at+"/report", ""); !strings.Contains(string(r.body), run) || r.header.Get("Content-Type") != "text/markdown; charset=utf-8" {
		t.Errorf("%s", r.body)
	}
	diff := w.call(200, "GET", at+"/diff", "").wants("stat.files", 2, "stat.additions", 3, "files.0.path", "one.txt", "files.0.status", "added", "files.0.hunks.0.lines.0.text", "one")
	w.call(304, "GET", at+"/diff", "", "If-None-Match", diff.header.Get("ETag"))
	w.call(200, "GET", at+"/diff?hunks=0", "").wants("stat.additions", 3, "files.0.truncated", true, "files.0.hunks.0", nil)
	w.call(200, "GET", at+"/diff?commit="+diff.text("parts.0.commit"), "").wants("stat.files", 1, "parts.0.step_id", "S01", "files.0.path", "one.txt")
	for _, bad := range []string{"hunks=-1", "commit=HEAD"} {
		w.call(400, "GET", at+"/diff?"+bad, "")
	}
	w.call(200, "GET", "/api/requests", "").wants("items.1.derived.latest_run.awaits_merge", true, "items.1.derived.why.reason_code", "LATEST_RUN_DONE")
	sn, err := w.s.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var several sync.WaitGroup
	for range 4 { // the race detector tells where one changes what others look at
		several.Go(func() { choose.Graph(sn.folder, sn.facts) })
	}
	several.Wait()
	testLogs(t, w, at)

	w.git("merge", "-q", begun.text("stage.git.work_branch"))
	st.until("request", has(`"RQ-1"`)) // git and the merge tell, nobody asked
	w.call(200, "GET", "/api/requests/RQ-1", "").wants("meta.status", "done")
	w.call(200, "GET", "/api/queue/next", "").wants("next.request_id", "RQ-2")
}

func testLogs(t *testing.T, w *world, at string) {
	t.Helper()
	detail := w.call(200, "GET", at, "")
	names := map[string]string{}
	for i := 0; detail.at("logs."+string(rune('0'+i))) != nil; i++ {
		p := "logs." + string(rune('0'+i))
		names[detail.text(p+".type")] = detail.text(p + ".name")
	}
	if names["unit"] != "tests/unit.S01.attempt1.log" || names["step"] == "" {
		t.Fatalf("%v in %s", names, detail.body)
	}
	step := string(w.call(200, "GET", at+"/logs/"+names["step"], "").body)
	if !strings.Contains(step, "key ********************\n") || strings.Contains(step, "AKIA") {
		t.Errorf("%q", step)
	}
	unit := w.call(200, "GET", at+"/logs/tests/unit.S01.attempt1.log", "")
	if !strings.Contains(string(unit.body), "tested\n") || unit.header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%q", unit.body)
	}
	if part := w.call(206, "GET", at+"/logs/"+names["step"], "", "Range", "bytes=-5"); string(part.body) != step[len(step)-5:] {
		t.Errorf("%q of %q", part.body, step)
	}
	if part := w.call(206, "GET", at+"/logs/"+names["step"], "", "Range", "bytes=2-4"); string(part.body) != step[2:5] {
		t.Errorf("%q of %q", part.body, step)
	}
	for _, part := range []string{"bytes=99999-", "bytes=4-2", "lines=1-2"} {
		beyond := w.call(416, "GET", at+"/logs/"+names["step"], "", "Range", part)
		beyond.wants("error.reason_code", "INVALID_REQUEST")
		beyond.wants("error.context.key", "Range")
	}
	for from := range step { // each byte stands in a line, which has a number
		part := w.call(206, "GET", at+"/logs/"+names["step"]+"?numbered=1", "", "Range", fmt.Sprintf("bytes=%d-%d", from, from))
		if want := strconv.Itoa(1 + strings.Count(step[:from], "\n")); part.header.Get("X-Log-Line") != want {
			t.Errorf("byte %d is in line %s, want %s", from, part.header.Get("X-Log-Line"), want)
		}
	}
	w.call(404, "GET", at+"/logs/nope.log", "").wants("error.reason_code", "NOT_FOUND")
	w.call(404, "GET", at+"/logs/tests", "").wants("error.reason_code", "NOT_FOUND")
}

// waits is a request whose step stands still until somebody reads from the
// FIFO "gate".
func waits() map[string]string {
	files := someRequests()
	files["requests/RQ-1.md"] = request("title: Waits\npriority: P0\nstatus: ready\nsteps:\n  - title: Wait\n    run: echo go > \"$AIFLOW_ROOT/gate\"\n", "")
	files[".gitignore"] = "runs/\n.aiflow/\ngate\n"
	return files
}

func (w *world) gate() {
	w.t.Helper()
	if err := syscall.Mkfifo(w.path("gate"), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) openGate() { w.read("gate") }

func TestConflicts(t *testing.T) {
	w := newWorld(t, waits())
	w.gate()
	begun := w.call(202, "POST", "/api/queue/run-next", "")
	run := begun.text("run_id")
	at := "/api/requests/RQ-1/runs/" + run
	ja := []string{"Accept-Language", "ja"}
	busy := w.call(409, "POST", "/api/requests/RQ-1/run", "", ja...)
	want := `{"error":{"category":"EXECUTION","reason_code":"RUN_IN_PROGRESS","message":"同一RequestのRunが実行中です",` +
		`"context":{"request_id":"RQ-1","run_id":"` + run + `"},"actions":[`
	if !strings.HasPrefix(string(busy.body), want) || busy.at("error.actions.0") == nil || busy.header.Get("Location") != at {
		t.Errorf("%s\nwant %s\nat %s", busy.body, want, busy.header.Get("Location"))
	}
	queue := w.call(409, "POST", "/api/queue/run-next", "", ja...).wants("error.reason_code", "QUEUE_IN_PROGRESS",
		"error.message", "キュー実行がすでに動作中です", "error.actions.0", "別タブ/別ウィンドウで起動していないか確認")
	if queue.header.Get("Location") != at {
		t.Error(queue.header.Get("Location"))
	}
	w.call(409, "POST", "/api/autorun/start", "").wants("error.reason_code", "QUEUE_IN_PROGRESS")
	w.call(409, "POST", at+"/resume", `{}`).wants("error.reason_code", "RUN_IN_PROGRESS", "error.context.run_id", run)
	w.call(409, "PATCH", "/api/requests/RQ-1/meta", `{"status":"draft"}`).wants("error.reason_code", "RUN_IN_PROGRESS")
	locks := w.call(200, "GET", "/api/locks", "")
	own := locks.item("items", "lock_type", "request")
	locks.wants(locks.item("items", "lock_type", "queue")+".run_id", run, own+".request_id", "RQ-1",
		own+".verdict", "held", own+".path", ".aiflow/locks/request.RQ-1.lock.json")
	if bytes.Contains(locks.body, []byte("release")) {
		t.Errorf("a forced release is offered while the holder is at work: %s", locks.body)
	}
	w.call(200, "GET", "/api/requests/RQ-1", "").wants("can_run", false)
	w.call(200, "GET", "/api/requests", "").wants("queue.locked", true, "items.0.derived.locked.run_id", run, "items.0.derived.latest_run.interrupted", false)
	w.call(200, "GET", at, "").wants("locked.run_id", run)
	w.openGate()
	w.idle()
	w.call(200, "GET", "/api/queue/next", "").wants("queue.locked", false)
}

// A run whose request's file is gone is shown and stopped, as aiflow run does it.
func TestRunWithoutItsRequest(t *testing.T) {
	w := newWorld(t, waits())
	w.gate()
	run := w.call(202, "POST", "/api/requests/RQ-1/run", "").text("run_id")
	at := "/api/requests/RQ-1/runs/" + run
	if err := poll(t.Context(), startPoll, func() (bool, error) {
		return w.call(200, "GET", at, "").at("stage.state") == "IMPLEMENTING", nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(w.path("requests/RQ-1.md"), w.path("RQ-1.md")); err != nil {
		t.Fatal(err)
	}
	w.call(200, "GET", at, "").wants("run_id", run, "interrupted", false, "locked.run_id", run)
	w.call(200, "GET", at+"/stage", "").wants("stage.run_id", run)
	w.call(202, "POST", at+"/stop", "{}").wants("run_id", run, "stop_requested", true)
	w.idle()
	w.call(200, "GET", at, "").wants("interrupted", true, "locked", nil)
	w.call(404, "POST", at+"/resume", "{}").wants("error.reason_code", "REQUEST_NOT_FOUND")
	for _, missing := range []string{"/api/requests/RQ-1/runs/RUN-20260101-000000-abcdef", "/api/requests/RQ-77/runs/" + run} {
		w.call(404, "GET", missing, "").wants("error.reason_code", "REQUEST_NOT_FOUND")
	}
}

func TestStopAndResume(t *testing.T) {
	w := newWorld(t, waits())
	w.gate()
	begun := w.call(202, "POST", "/api/requests/RQ-1/run", "")
	run := begun.text("run_id")
	at := "/api/requests/RQ-1/runs/" + run
	w.call(202, "POST", at+"/stop", "{}").wants("request_id", "RQ-1", "run_id", run, "stop_requested", true)
	w.idle()
	w.call(400, "POST", at+"/stop", "").wants("error.reason_code", "NOTHING_TO_DO")
	w.call(200, "GET", at, "").wants("interrupted", true, "locked", nil)
	w.call(400, "POST", at+"/resume", `{"mode":"nonsense"}`).wants("error.context.key", "mode")
	again := w.call(202, "POST", at+"/resume", `{"mode":"resume"}`).wants("run_id", run)
	if again.at("stage") == nil {
		t.Errorf("%s", again.body)
	}
	w.openGate()
	w.idle()
	w.call(200, "GET", at+"/stage", "").wants("stage.state", "DONE")
	w.call(404, "POST", "/api/requests/RQ-1/runs/RUN-20200101-000000-aaaaaa/resume", `{}`).wants("error.reason_code", "RUN_NOT_FOUND")
}

func TestNeedsInputAndReplan(t *testing.T) {
	files := map[string]string{"requests/RQ-1.md": request("title: Fails\npriority: P0\nstatus: ready\nsteps:\n  - title: Fail\n    run: echo password=hunter2222 >&2; echo left > left.txt; exit 3\n", "")}
	w := newWorld(t, files)
	run := w.call(202, "POST", "/api/requests/RQ-1/run", "").text("run_id")
	w.idle()
	at := "/api/requests/RQ-1/runs/" + run
	errs := w.call(200, "GET", at+"/errors", "").wants("errors.reason_code", "STEP_COMMAND_FAILED", "errors.status", "needs_input")
	detail := w.call(200, "GET", at, "").wants("stage.state", "NEEDS_INPUT", "errors.reason_code", "STEP_COMMAND_FAILED")
	inEnglish := errs.text("errors.title")
	for _, name := range []string{at, at + "/stage", at + "/errors"} {
		if r := w.call(200, "GET", name, "", "Accept-Language", "ja"); strings.Contains(string(r.body), `"title":"`+inEnglish) {
			t.Errorf("%s in Japanese says %q: %s", name, inEnglish, r.body)
		}
	}
	for _, r := range []reply{errs, detail} {
		if strings.Contains(string(r.body), "hunter2222") || !strings.Contains(string(r.body), "**********") {
			t.Errorf("%s", r.body)
		}
	}
	w.call(200, "GET", "/api/requests/RQ-1", "").wants("meta.status", "blocked", "derived.latest_run.reason_code", "STEP_COMMAND_FAILED")
	w.call(200, "POST", "/api/queue/run-next", "").wants("request_id", nil, "run_id", nil, "selection.next", nil, "selection.excluded.0.reason_code", "NOT_READY")
	w.call(200, "GET", at+"/diff", "").wants("stat.files", 0, "uncommitted.step_id", "S01", "uncommitted.attempt", 1, "uncommitted.files.0.path", "left.txt")
	again := w.call(202, "POST", at+"/resume", `{"mode":"replan"}`).wants("replaces", run)
	w.idle()
	w.call(200, "GET", at, "").wants("stage.replaced_by", again.text("run_id"))
	w.call(409, "POST", "/api/requests/RQ-1/run", `{"base_branch":"nope"}`).wants("error.reason_code", "BASE_BRANCH_NOT_FOUND")
	w.call(400, "POST", "/api/requests/RQ-1/run", `{"base_branch":"--help"}`).wants("error.context.key", "base_branch")
}

// What can be done about a run is told with it, and told anew when something is
// changed in its workspace; what is refused names fields of the API.
func TestAdviceOfARun(t *testing.T) {
	w := newWorld(t, map[string]string{"requests/RQ-1.md": steps("Fails", "P0", "echo left > left.txt; exit 3")})
	run := w.call(202, "POST", "/api/requests/RQ-1/run", "").text("run_id")
	w.idle()
	at := "/api/requests/RQ-1/runs/" + run
	w.call(200, "GET", at, "").wants("advice.3.verb", "resume", "advice.3.recommended", true, "advice.3.allowed", true, "advice.4.mode", "retry_step", "advice.4.step_id", "S01", "advice.4.force", false)
	w.write(".aiflow/worktrees/RQ-1/left.txt", "mine")
	w.call(200, "GET", at, "").wants("advice.3.force", true, "advice.4.force", true, "advice.3.recommended", true, "errors.suggested_next.force", true)
	for _, step := range []string{"S09", "s01", "x y"} {
		r := w.call(400, "POST", at+"/resume", `{"target_step_id":"`+step+`"}`).wants("error.reason_code", "STEP_NOT_AVAILABLE", "error.context.allowed", "S01", "error.advice.3.verb", "resume")
		if strings.Contains(string(r.body), "--step") || strings.Contains(string(r.body), "--help") {
			t.Errorf("%s", r.body)
		}
	}
	w.call(202, "POST", at+"/resume", `{"mode":"resume","force":true,"target_step_id":"S01"}`)
	w.idle()
	w.call(200, "GET", at, "").wants("stage.state", "DONE", "advice.3.verb", "merge")
}

// What a role asked is answered through the API, and the run goes on with it.
func TestAnswer(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "work")
	script := "#!/bin/sh\nif grep -q Blue; then echo blue > colour.txt; exit; fi\n" +
		`echo '{"version":"1.0","role":"implementer","status":"needs_input","summary":"which?","questions":["Which colour?"]}'` + "\n"
	if err := proc.WriteProgram(bin, []byte(script)); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, map[string]string{
		".aiflow/router.v1.json": `{"version": "1.0", "routing": {"implementer": {"primary": "work"}}, "commands": {"work": {"bin": ` + quoted(bin) + `}}}`,
		"requests/RQ-1.md":       request("title: Paint\nstatus: ready\n", "Paint it.\n"),
	})
	run := w.call(202, "POST", "/api/requests/RQ-1/run", "").text("run_id")
	w.idle()
	at := "/api/requests/RQ-1/runs/" + run
	w.call(200, "GET", at, "").wants("errors.questions.0", "Which colour?")
	w.call(409, "POST", at+"/answer", `{"text":"Oak.","questions":["Which wood?"]}`).wants("error.reason_code", "CONFLICT")
	w.call(202, "POST", at+"/answer", `{"text":"Blue.","questions":["Which colour?"]}`).wants("run_id", run)
	w.idle()
	w.call(200, "GET", at, "").wants("stage.state", "DONE")
	w.call(400, "POST", at+"/answer", `{"text":"Green."}`).wants("error.reason_code", "NOTHING_TO_DO")
}

// A project's own texts replace ours; a file of them that cannot be read is told of
// in the log, and ours are used.
func TestOwnTexts(t *testing.T) {
	var mu sync.Mutex
	var said []string
	own := `{"reason_codes": {"REQUEST_NOT_FOUND": {"title": "Nope"}}}`
	w := newWorld(t, map[string]string{
		".aiflow/messages/messages.v1.en.json": own, ".aiflow/messages/messages.v1.ja.json": own + "}",
	}, func(o *Options, _ *http.Server) {
		o.Log = func(line string) { mu.Lock(); defer mu.Unlock(); said = append(said, line) }
	})
	const at = "/api/requests/RQ-1"
	if text := w.call(404, "GET", at, "").text("error.message"); !strings.HasPrefix(text, "Nope: ") {
		t.Error(text)
	}
	if text := w.call(404, "GET", at, "", "Accept-Language", "ja").text("error.message"); !strings.HasPrefix(text, "リクエストが") {
		t.Error(text)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(said) != 1 || !strings.Contains(said[0], "messages.v1.ja.json") {
		t.Errorf("the log says %q", said)
	}
}

func TestAutorun(t *testing.T) {
	w := newWorld(t, waits())
	w.gate()
	st := w.listen()
	w.call(200, "GET", "/api/autorun", "").wants("state", "IDLE", "stop_reason", nil)
	w.call(400, "POST", "/api/autorun/stop", "").wants("error.reason_code", "NOTHING_TO_DO")
	started := w.call(202, "POST", "/api/autorun/start", `{"max_runs":5,"max_cost":2.5,"land_into":"nightly","stack":true,"jobs":2}`)
	if s := started.text("state"); s != "SELECTING" && s != "RUNNING" {
		t.Error(s)
	}
	st.until("autorun", has(`"RUNNING"`))
	w.call(200, "GET", "/api/autorun", "").wants("limits.max_cost_usd", 2.5, "limits.stack", true, "limits.jobs", 2, "turns.0.request_id", "RQ-1", "turns.0.slot", 1, "turns.0.title", "Waits")
	w.call(409, "POST", "/api/autorun/start", "").wants("error.reason_code", "QUEUE_IN_PROGRESS")
	w.call(202, "POST", "/api/autorun/stop", `{}`).wants("state", "STOPPING", "current_request_id", "RQ-1")
	st.until("autorun", has(`"STOPPING"`)) // whoever asked, all pages are told
	w.openGate()
	st.until("autorun", has(`"STOP_REQUESTED"`))
	w.idle()
	w.call(200, "GET", "/api/autorun", "").wants("state", "STOPPED", "counters.runs", 1, "counters.done", 1, "stop_reason.reason_code", "STOP_REQUESTED", "results.0.request_id", "RQ-1", "results.0.landed_into", "nightly")
	for _, body := range []string{`{"max_runs":-1}`, `{"max_runs":10001}`, `{"max_minutes":99999999999}`, `{"max_cost":-0.5}`, `{"max_cost":1e300}`, `{"max_cost":"much"}`, `{"land_into":"-x"}`, `{"land_into":"nightly","base_branch":"main"}`, `{"jobs":-1}`, `{"jobs":65}`} {
		w.call(400, "POST", "/api/autorun/start", body).wants("error.reason_code", "INVALID_REQUEST")
	}
}

func TestDoctorConfigMessages(t *testing.T) {
	w := newWorld(t, someRequests())
	w.call(200, "GET", "/api/doctor", "").wants("ok", true, "mode", "quick", "version", "1.0.0")
	w.call(200, "POST", "/api/doctor?mode=full", "").wants("mode", "full")
	w.call(200, "POST", "/api/doctor", `{"mode":"full","fix":true}`).wants("mode", "full")
	w.call(400, "POST", "/api/doctor", `{"mode":"x"}`).wants("error.context.key", "mode")
	before := w.call(200, "GET", "/api/config", "").wants("path", ".aiflow/config.v1.json", "restart_needed", false, "values.0.origin.kind", "default")
	changed := w.call(200, "PUT", "/api/config", `{"config":{"limits":{"max_files":7},"nonsense":1}}`, "If-Match", before.header.Get("ETag"))
	if changed.at("warnings.0") == nil || w.read(".aiflow/config.v1.json") != "{\n  \"limits\": {\n    \"max_files\": 7\n  },\n  \"nonsense\": 1\n}\n" {
		t.Errorf("%s", changed.body)
	}
	w.call(409, "PUT", "/api/config", `{"config":{}}`, "If-Match", before.header.Get("ETag")).wants("error.reason_code", "CONFLICT")
	bad := w.call(400, "PUT", "/api/config", `{"config":{"limits":{"max_files":"many"}}}`).wants("error.reason_code", "CONFIG_INVALID", "error.context.path", ".aiflow/config.v1.json", "error.context.key", "limits.max_files")
	if strings.Contains(string(bad.body), os.TempDir()) {
		t.Errorf("%s", bad.body)
	}
	w.call(200, "PUT", "/api/config", `{"config":{"paths":{"runs_dir":"other"}}}`).wants("restart_needed", true)
	dict := w.call(200, "GET", "/api/messages?lang=ja", "").wants("lang", "ja", "reason_codes.QUEUE_IN_PROGRESS.title", "キュー実行がすでに動作中です", "texts.excluded.locked", w.s.catalog("ja").All().Texts["excluded"]["locked"])
	w.call(304, "GET", "/api/messages?lang=ja", "", "If-None-Match", dict.header.Get("ETag"))
	w.call(200, "GET", "/api/messages?lang=en", "").wants("lang", "en")
}

func TestProjectLock(t *testing.T) {
	w := newWorld(t, nil)
	record := `{"version":1,"leaseId":"a","ownerId":"o","strategy":"file-lock","mtime":"2099-01-01T00:00:00Z","ttlSeconds":30,"beat":1}`
	w.call(404, "GET", "/api/project-lock", "")
	w.call(204, "PUT", "/api/project-lock", record, "If-None-Match", "*")
	w.call(200, "GET", "/api/project-lock", "").wants("leaseId", "a")
	w.call(412, "PUT", "/api/project-lock", strings.Replace(record, `"a"`, `"b"`, 1), "If-None-Match", "*")
	w.call(412, "DELETE", "/api/project-lock", "", "If-Match", `"b"`)
	w.call(204, "DELETE", "/api/project-lock", "", "If-Match", `"a"`)
	w.call(400, "POST", "/api/project-lock/events", `[{"type":"nonsense"}]`)
	w.call(204, "POST", "/api/project-lock/events", `[]`)
	w.call(400, "PUT", "/api/project-lock", record).wants("error.reason_code", "INVALID_REQUEST")
}
