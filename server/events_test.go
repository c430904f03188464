package server

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"aiflow/locks"
	"aiflow/runs"
)

func TestHub(t *testing.T) {
	h := newHub(time.UnixMilli(1000))
	first := h.now()
	h.publish("a", 1)
	_, _, _, wake := h.since(first + 1)
	h.publish("b", 2)
	<-wake
	events, reset, last, _ := h.since(first)
	if reset || len(events) != 2 || events[1].kind != "b" || string(events[1].data) != "2" || events[0].id != first+1 || last != first+2 {
		t.Errorf("%v %v %v", events, reset, last)
	}
	if events, reset, _, _ = h.since(first + 1); reset || len(events) != 1 {
		t.Errorf("%v %v", events, reset)
	}
	for range kept {
		h.publish("c", nil)
	}
	if _, reset, _, _ = h.since(first + 1); !reset {
		t.Error("what is forgotten is not told of")
	}
	if events, reset, _, _ = h.since(first + 2); reset || len(events) != kept {
		t.Errorf("%d %v", len(events), reset)
	}
	if _, reset, _, _ = h.since(h.now() + 1); !reset {
		t.Error("an id that was never given")
	}
	if later := newHub(time.UnixMilli(1010)); later.now() <= h.now() {
		t.Error("ids of the next server do not grow")
	}
}

func TestEventsReplay(t *testing.T) {
	w := newWorld(t, someRequests())
	st := w.listen()
	w.write("requests/RQ-3.md", request("status: draft\ntitle: a\n", ""))
	one := st.until("request", has(`["RQ-3"]`))
	st.end()
	w.write("requests/RQ-2.md", request("status: draft\ntitle: b\n", ""))
	for { // it is published without anybody listening
		if events, _, _, _ := w.s.hub.since(w.s.hub.now() - 1); len(events) == 1 && strings.Contains(string(events[0].data), "RQ-2") {
			break
		}
	}
	again := w.listen("Last-Event-ID", one.id)
	if e := again.until("request", has("RQ-2")); e.id <= one.id {
		t.Errorf("%s after %s", e.id, one.id)
	}
	for _, old := range []string{"1", "nonsense", "99999999999999999"} {
		if e := w.listen("Last-Event-ID", old).next(); e.kind != "reset" || e.data != "{}" {
			t.Errorf("%s: %+v", old, e)
		}
	}
}

// TestStageIsToldSoon writes a record as a runner in another process does.
func TestStageIsToldSoon(t *testing.T) {
	w := newWorld(t, someRequests())
	const run = "RUN-20260101-000000-aaaaaa"
	lease, err := w.p.Locks().Acquire(context.Background(), locks.Request("RQ-1"), locks.Ask{RunID: run})
	if err != nil {
		t.Fatal(err)
	}
	d := w.p.Run("RQ-1", run)
	stage := runs.NewStage("RQ-1", run, "First", time.Now())
	st := w.listen()
	if err := d.Create(); err != nil {
		t.Fatal(err)
	}
	var worst time.Duration
	for i := range 5 {
		stage.Progress.Percent = i + 1
		begin := time.Now()
		if err := d.SaveStage(stage); err != nil {
			t.Fatal(err)
		}
		e := st.until("stage", has(`"percent":`+string(rune('1'+i))))
		worst = max(worst, time.Since(begin))
		var v stageEvent
		if err := json.Unmarshal([]byte(e.data), &v); err != nil || v.RunID != run || v.State != runs.Init {
			t.Errorf("%s %v", e.data, err)
		}
	}
	t.Logf("a stage change is on the stream after at most %v", worst)
	if err := d.AppendLog(runs.LogStep, "S01", 1, []byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	st.until("log", has(`"name":"step-1.log","size":6`))
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	st.until("lock", has(`"held":false`))
}

// TestLockBetweenTwoLooks: a page that read the project while a command held its
// lock for a moment is told to read again, though no look saw that lock.
func TestLockBetweenTwoLooks(t *testing.T) {
	w := newWorld(t, someRequests())
	s := New(w.s.Options)
	defer s.folder.close()
	look := newWatcher(s)
	look.begin(t.Context())
	for range 3 {
		look.lockFolder(t.Context())
	}
	before := s.hub.now()
	lease, err := w.p.Locks().Acquire(t.Context(), locks.Request("RQ-1"), locks.Ask{})
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	look.lockFolder(t.Context())
	if events, _, _, _ := s.hub.since(before); len(events) != 1 || events[0].kind != "request" || string(events[0].data) != `{"ids":[]}` {
		t.Errorf("told %v", events)
	}
	s.surveying.Lock()
}

// TestRunBetweenTwoLooks: a run that begins and ends while nobody looks is told
// of like any other, once; so is one that another process dropped.
func TestRunBetweenTwoLooks(t *testing.T) {
	w := newWorld(t, someRequests())
	const run = "RUN-20260101-000000-aaaaaa"
	under := func(do func()) {
		t.Helper()
		lease, err := w.p.Locks().Acquire(t.Context(), locks.Request("RQ-1"), locks.Ask{RunID: run})
		if err != nil {
			t.Fatal(err)
		}
		do()
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
	}
	d, stage := w.p.Run("RQ-1", run), runs.NewStage("RQ-1", run, "First", time.Now())
	save := func() {
		if err := d.SaveStage(stage); err != nil {
			t.Fatal(err)
		}
	}
	s := New(w.s.Options)
	defer s.folder.close()
	look := newWatcher(s)
	look.begin(t.Context())
	at := s.hub.now()
	told := func() (all []string) {
		for range 3 {
			look.look(t.Context())
		}
		events, _, _, _ := s.hub.since(at)
		for _, e := range events {
			at = e.id
			switch e.kind {
			case "stage":
				var v stageEvent
				if err := json.Unmarshal(e.data, &v); err != nil || v.RunID != run {
					t.Errorf("%s %v", e.data, err)
				}
				all = append(all, fmt.Sprint(v.Title, " ", v.State, " ", v.SetAside))
			case "log":
				all = append(all, string(e.data))
			}
		}
		return all
	}
	under(func() {
		if err := d.Create(); err != nil {
			t.Fatal(err)
		}
		if err := d.AppendLog(runs.LogStep, "S01", 1, []byte("hello\n")); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		stage.State, stage.EndedAt = runs.NeedsInput, &now
		save()
	})
	const log = `{"request_id":"RQ-1","run_id":"` + run + `","name":"step-1.log","size":6}`
	if all := told(); !slices.Equal(all, []string{"First NEEDS_INPUT false", log}) {
		t.Errorf("of the run: %q", all)
	}
	under(func() {
		now := time.Now()
		stage.DroppedAt = &now
		save()
	})
	if all := told(); !slices.Equal(all, []string{"First NEEDS_INPUT true", log}) {
		t.Errorf("of the drop: %q", all)
	}
	under(func() {})
	if all := told(); len(all) > 0 {
		t.Errorf("of nothing: %q", all)
	}
	s.surveying.Lock()
}

// TestDeadRunnerIsNoticed leaves a lock and a running request as kill -9 does.
func TestDeadRunnerIsNoticed(t *testing.T) {
	w := newWorld(t, waits())
	w.gate()
	st := w.listen()
	run := w.call(202, "POST", "/api/requests/RQ-1/run", "").text("run_id")
	st.until("stage", has(`"IMPLEMENTING"`))
	e, found, err := w.s.lookLock("RQ-1")
	if err != nil || !found {
		t.Fatal(err, found)
	}
	p, err := os.FindProcess(e.PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	st.until("lock", has(`"held":false,"verdict":"dead"`))
	for w.call(200, "GET", "/api/requests/RQ-1", "").text("meta.status") != "ready" {
		st.next()
	}
	w.call(200, "GET", "/api/requests/RQ-1", "").wants("derived.latest_run.run_id", run, "derived.latest_run.interrupted", true, "derived.queue_eligible", true)
	if f, err := os.OpenFile(w.path("gate"), os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
		f.Close() // what the dead runner left behind, if anything, may end
	}
}

func (s *Server) lookLock(id string) (locks.Entry, bool, error) {
	return s.Project.Locks().Look(locks.Request(id))
}

func TestManyStreams(t *testing.T) {
	w := newWorld(t, someRequests())
	var all []*stream2
	for range 100 {
		all = append(all, w.listen())
	}
	w.write("requests/RQ-3.md", request("status: draft\ntitle: a\n", ""))
	for _, st := range all {
		st.until("request", has("RQ-3"))
	}
	if open := w.s.open.Add(maxStreams - 100); open != maxStreams {
		t.Fatal("streams:", open)
	}
	w.call(503, "GET", "/api/events", "").wants("error.reason_code", "INVALID_REQUEST")
}

// TestServerMayEnd: a run does not notice that its server is gone, and the next
// server shows it.
func TestServerMayEnd(t *testing.T) {
	w := newWorld(t, waits())
	w.gate()
	run := w.call(202, "POST", "/api/queue/run-next", "").text("run_id")
	w.http.CloseIdleConnections()
	w.ts.CloseClientConnections()
	w.serve() // a second one; the first one does nothing for the run
	st := w.listen()
	w.call(409, "POST", "/api/queue/run-next", "").wants("error.reason_code", "QUEUE_IN_PROGRESS", "error.context.run_id", run)
	w.openGate()
	st.until("stage", has(`"DONE"`))
	w.idle()
	w.call(200, "GET", "/api/requests/RQ-1/latest-run", "").wants("run_id", run, "state", "DONE")
}

// TestPageSaysTheLastEvent: what was told after the page was sent is told to its stream, and nothing else.
func TestPageSaysTheLastEvent(t *testing.T) {
	w := newWorld(t, map[string]string{"requests/RQ-1.md": request("title: First\nstatus: ready\n", "")})
	said := func() string {
		got := w.call(200, "GET", "/requests/RQ-1", "")
		if tag := got.header.Get("ETag"); tag != "" || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("the index can be kept: %q, %q", tag, got.header.Get("Cache-Control"))
		}
		_, rest, _ := strings.Cut(string(got.body), lastEvent)
		id, _, _ := strings.Cut(rest, `"`)
		return id
	}
	<-w.s.ready
	before, _ := strconv.ParseInt(said(), 10, 64)
	w.s.hub.publish("lock", struct{}{})
	if events, reset, _, _ := w.s.hub.since(before); reset || len(events) != 1 {
		t.Errorf("after the page: %d events, reset %v", len(events), reset)
	}
	if after, _ := strconv.ParseInt(said(), 10, 64); after <= before {
		t.Errorf("the last event was %d, then %d", before, after)
	}
}

// Another folder in the place of the requests, also behind a link, is the one that is shown and watched.
func TestAnotherFolderOfRequests(t *testing.T) {
	w := newWorld(t, someRequests())
	at := func(name string) string { return filepath.Join(w.dir, name) }
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	p := w.tab(openBrowser(t), "/")
	p.until("document.querySelectorAll('.rq').length > 0")
	st := w.listen()
	whole := has(`"ids":[]`)
	do(os.Rename(at("requests"), at("one")))
	st.until("request", whole)
	w.call(409, "GET", "/api/requests/RQ-1", "").wants("error.reason_code", "REQUESTS_DIR_NOT_FOUND")
	p.sees("The requests folder was not found")
	do(os.Symlink("one", at("requests")))
	st.until("request", whole)
	w.call(200, "GET", "/api/requests/RQ-1", "")
	w.write("one/RQ-3.md", request("status: draft\ntitle: behind the link\n", ""))
	st.until("request", has(`["RQ-3"]`))
	w.call(200, "GET", "/api/requests/RQ-3", "").wants("title", "behind the link")
	w.write("two/RQ-4.md", request("status: draft\ntitle: of another folder\n", ""))
	do(os.Symlink("two", at("next")))
	do(os.Rename(at("next"), at("requests")))
	st.until("request", whole)
	w.call(200, "GET", "/api/requests/RQ-4", "")
	w.call(404, "GET", "/api/requests/RQ-1", "")
	p.until("document.querySelectorAll('.rq').length === 1 && !document.querySelector('.card.bad')")
}
