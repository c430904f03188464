package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"aiflow/internal/verify"
	"aiflow/project"
)

// world is a project in real git, and a server for it.
type world struct {
	t    testing.TB
	dir  string
	p    *project.Project
	s    *Server
	ts   *httptest.Server
	http *http.Client
}

const token = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func environ(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C", "TZ=UTC", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=" + filepath.Join(home, "gitconfig"), "TMPDIR=" + os.TempDir(),
		"GORACE=" + os.Getenv("GORACE"),
	}
}

func newWorld(t testing.TB, files map[string]string, change ...func(*Options, *http.Server)) *world {
	t.Helper()
	base := t.TempDir()
	w := &world{t: t, dir: filepath.Join(base, "project")}
	w.write("../gitconfig", "[user]\n\tname = T\n\temail = t@example.invalid\n[init]\n\tdefaultBranch = main\n[maintenance]\n\tauto = false\n")
	w.write(".gitignore", "runs/\n.aiflow/\n")
	for name, text := range files {
		w.write(name, text)
	}
	if err := os.MkdirAll(filepath.Join(w.dir, "requests"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.git("init", "-q")
	w.git("add", ".")
	w.git("commit", "-q", "-m", "start")
	p, err := project.Open(testEnv(w.dir, environ(base)))
	if err != nil {
		t.Fatal(err)
	}
	w.p = p
	w.serve(change...)
	return w
}

func (w *world) serve(change ...func(*Options, *http.Server)) {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	o := Options{
		Project: w.p, Lang: "en", Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, Token: token,
		RunBin: filepath.Join(programs, "aiflow-run"), LandBin: filepath.Join(programs, "aiflow-land"), Version: "test", Log: func(line string) { w.t.Log("server: " + line) },
	}
	ctx, cancel := context.WithCancel(context.Background())
	config := &http.Server{}
	for _, c := range change {
		c(&o, config)
	}
	w.s = New(o)
	h := w.s.httpServer(ctx)
	for _, c := range change {
		c(&o, h)
	}
	w.ts = &httptest.Server{Listener: l, Config: h}
	w.ts.Start()
	ts := w.ts
	w.http = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	var watching sync.WaitGroup
	s := w.s
	watching.Go(func() { _ = s.Watch(ctx) })
	w.t.Cleanup(func() {
		cancel()
		watching.Wait()
		s.surveying.Lock() // nothing writes any more
		w.http.CloseIdleConnections()
		ts.Close()
	})
}

func (w *world) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

func (w *world) git(args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = w.dir, environ(filepath.Dir(w.dir))
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// reply is an answer that agrees with docs/openapi.yaml.
type reply struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

// call calls a route as a script with the token does. headers are names and
// values in turn; a name "-" is dropped.
func (w *world) call(want int, method, path, body string, headers ...string) reply {
	w.t.Helper()
	r := w.request(method, path, body, headers...)
	res, err := w.http.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if res.StatusCode != want {
		w.t.Fatalf("%s %s: %d, want %d: %s", method, path, res.StatusCode, want, data)
	}
	validate(w.t, r, res, data)
	if want >= 400 && bytes.Contains(data, []byte(" ?`")) { // a command without what a sentence was to name
		w.t.Errorf("%s %s: %s", method, path, data)
	}
	return reply{w.t, res.StatusCode, res.Header, data}
}

func (w *world) request(method, path, body string, headers ...string) *http.Request {
	w.t.Helper()
	r, err := http.NewRequest(method, w.ts.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if method == "POST" || method == "PUT" || method == "PATCH" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "-" {
			r.Header.Del(headers[i])
		} else {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	return r
}

// at is the value at a path such as items.0.id; nil when there is none.
func (r reply) at(path string) any {
	r.t.Helper()
	var v any
	if err := json.Unmarshal(r.body, &v); err != nil {
		r.t.Fatalf("%v: %s", err, r.body)
	}
	for part := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[part]
		case []any:
			i := 0
			for _, c := range part {
				i = i*10 + int(c-'0')
			}
			if i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

func (r reply) text(path string) string {
	r.t.Helper()
	s, ok := r.at(path).(string)
	if !ok {
		r.t.Fatalf("%s is no text in %s", path, r.body)
	}
	return s
}

// item is the path of the entry of a list that has the value, wherever it
// stands: a run at work holds other locks for moments.
func (r reply) item(list, key string, value any) string {
	r.t.Helper()
	for i := 0; r.at(list+"."+strconv.Itoa(i)) != nil; i++ {
		if at := list + "." + strconv.Itoa(i); r.at(at+"."+key) == value {
			return at
		}
	}
	r.t.Fatalf("none of %s has %s %v: %s", list, key, value, r.body)
	return ""
}

func (r reply) wants(pairs ...any) reply {
	r.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		want := pairs[i+1]
		if n, ok := want.(int); ok {
			want = float64(n)
		}
		if got := r.at(pairs[i].(string)); got != want {
			r.t.Errorf("%s is %v, want %v in %.2000s", pairs[i], got, want, r.body)
		}
	}
	return r
}

var (
	seenMu sync.Mutex
	seen   = map[string]bool{} // "GET /api/health 200"
)

func validate(t testing.TB, r *http.Request, res *http.Response, body []byte) {
	t.Helper()
	name, err := verify.Answer(r.Method, r.URL.Path, res.StatusCode, res.Header, body)
	switch {
	case err != nil:
		t.Errorf("%s %s: %v\n%.3000s", r.Method, r.URL, err, body)
	case name == "" && strings.HasPrefix(r.URL.Path, "/api/") && res.StatusCode < 400:
		t.Errorf("docs/openapi.yaml does not have %s %s", r.Method, r.URL.Path)
	}
	seenMu.Lock()
	defer seenMu.Unlock()
	seen[name+" "+strconv.Itoa(res.StatusCode)] = true
}

// stream reads events.
type stream2 struct {
	t    testing.TB
	in   chan streamEvent
	end  func()
	seen []string
}

type streamEvent struct{ id, kind, data string }

func (w *world) listen(headers ...string) *stream2 {
	w.t.Helper()
	r := w.request("GET", "/api/events", "", headers...)
	ctx, cancel := context.WithCancel(context.Background())
	res, err := w.http.Do(r.WithContext(ctx))
	if err != nil {
		w.t.Fatal(err)
	}
	if res.StatusCode != 200 {
		w.t.Fatalf("events: %d", res.StatusCode)
	}
	validate(w.t, r, res, nil)
	st := &stream2{t: w.t, in: make(chan streamEvent, 1000), end: cancel}
	go func() {
		defer close(st.in)
		defer res.Body.Close()
		var buf bytes.Buffer
		b := make([]byte, 4096)
		for {
			n, err := res.Body.Read(b)
			buf.Write(b[:n])
			for {
				block, rest, ok := bytes.Cut(buf.Bytes(), []byte("\n\n"))
				if !ok {
					break
				}
				e := parseEvent(string(block))
				rest = bytes.Clone(rest)
				buf.Reset()
				buf.Write(rest)
				if e.id != "" {
					st.in <- e
				}
			}
			if err != nil {
				return
			}
		}
	}()
	w.t.Cleanup(cancel)
	if first := st.next(); first.kind != "" && first.kind != "reset" {
		st.in <- first
	} else if first.kind == "reset" {
		st.in <- first
	}
	return st
}

func parseEvent(block string) streamEvent {
	var e streamEvent
	for line := range strings.SplitSeq(block, "\n") {
		switch name, value, _ := strings.Cut(line, ": "); name {
		case "id":
			e.id = value
		case "event":
			e.kind = value
		case "data":
			e.data = value
		}
	}
	return e
}

// eventData are the definitions of what events say.
var eventData = map[string]string{
	"stage": "EventStage", "log": "EventLog", "request": "EventRequest", "lock": "EventLock", "queue": "EventLock",
	"autorun": "ApiSession", "reset": "EventReset",
}

func (s *stream2) next() streamEvent {
	s.t.Helper()
	select {
	case e, ok := <-s.in:
		if !ok {
			s.t.Fatal("the stream ended")
		}
		if e.kind == "" { // only an id
			return e
		}
		if err := verify.JSON(eventData[e.kind], []byte(e.data)); err != nil {
			s.t.Errorf("event %s: %v: %s", e.kind, err, e.data)
		}
		return e
	case <-time.After(2 * time.Minute):
		s.t.Fatalf("no event after %q", s.seen)
	}
	return streamEvent{}
}

// until reads on to the event that passes.
func (s *stream2) until(kind string, pass func(data string) bool) streamEvent {
	s.t.Helper()
	for {
		e := s.next()
		if e.kind == kind && pass(e.data) {
			return e
		}
		s.seen = append(s.seen, e.kind+" "+e.data)
	}
}

func has(part string) func(string) bool {
	return func(data string) bool { return strings.Contains(data, part) }
}

// gone waits until nobody holds a lock any more, and what was started is over.
func (w *world) idle() {
	w.t.Helper()
	err := poll(context.Background(), 10*time.Millisecond, func() (bool, error) {
		entries, err := entries(w.s)
		for _, e := range entries {
			if e.Live {
				return false, err
			}
		}
		return true, err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
}
