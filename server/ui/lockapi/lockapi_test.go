package lockapi

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aiflow/editlock"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

type bench struct {
	t    *testing.T
	now  time.Time
	dir  string
	lock http.Handler
	post http.Handler
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, now: noon, dir: filepath.Join(t.TempDir(), "project")}
	clock := proc.ClockOf(func() time.Time { return b.now }, func() time.Duration { return b.now.Sub(noon) })
	fail := func(w http.ResponseWriter, _ *http.Request, err error) { w.WriteHeader(fault.HTTPStatus(err)) }
	b.lock = Record(editlock.Open(editlock.Options{Dir: b.dir, Clock: clock}), fail)
	b.post = Events(editlock.OpenJournal(filepath.Join(b.dir, "autosave"), clock.Now), fail)
	return b
}

func (b *bench) call(h http.Handler, want int, method, body string, headers ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequest(method, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != want {
		b.t.Fatalf("%s %v: %d, want %d: %s", method, headers, w.Code, want, w.Body)
	}
	return w
}

func text(id, beat string, at time.Time) string {
	return `{"version":1,"leaseId":"` + id + `","mtime":"` + at.Format(time.RFC3339) + `","ttlSeconds":30,"beat":` + beat + `}`
}

func TestRecord(t *testing.T) {
	b := newBench(t)
	b.call(b.lock, 404, "GET", "")
	b.call(b.lock, 204, "DELETE", "", "If-Match", `"a"`)
	b.call(b.lock, 412, "PUT", text("a", "1", noon), "If-Match", `"a"`)
	b.call(b.lock, 204, "PUT", text("a", "1", noon), "If-None-Match", "*")
	b.call(b.lock, 412, "PUT", text("b", "1", noon), "If-None-Match", "*")
	b.call(b.lock, 412, "PUT", text("b", "1", noon), "If-Match", `"a"`)
	b.now = noon.Add(1500 * time.Millisecond)
	w := b.call(b.lock, 200, "GET", "")
	if w.Header().Get("ETag") != `"a"` || w.Header().Get("X-Lock-Age-Ms") != "1500" || w.Body.String() != text("a", "1", noon) {
		t.Fatal(w.Header(), w.Body)
	}
	b.call(b.lock, 204, "PUT", text("a", "2", b.now), "If-Match", `"a"`)
	b.now = b.now.Add(30 * time.Second)
	b.call(b.lock, 204, "PUT", text("b", "1", b.now), "If-Match", `"a"`)
	b.call(b.lock, 412, "DELETE", "", "If-Match", `"a"`)
	b.call(b.lock, 204, "DELETE", "", "If-Match", `"b"`)
}

func TestRecordRefusesWhatIsNoRequestOfOurs(t *testing.T) {
	b := newBench(t)
	good := text("a", "1", noon)
	b.call(b.lock, 400, "PUT", good)
	b.call(b.lock, 400, "PUT", good, "If-None-Match", `"a"`)
	b.call(b.lock, 400, "PUT", good, "If-None-Match", "*", "If-Match", `"a"`)
	b.call(b.lock, 400, "DELETE", "")
	b.call(b.lock, 400, "PUT", good, "If-None-Match", "*", "Content-Type", "text/plain")
	b.call(b.lock, 400, "PUT", "{}", "If-None-Match", "*")
	b.call(b.lock, 400, "PUT", good+strings.Repeat(" ", maxBody), "If-None-Match", "*")
	b.call(b.lock, 405, "POST", good)
	if _, err := os.Stat(b.dir); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
}

func TestEvents(t *testing.T) {
	b := newBench(t)
	line := `{"ts":"2026-01-01T12:00:00.000Z","type":"autosave.lock.released","feature":"autosave","strategy":"web-lock","leaseId":"a","durationMs":5}`
	b.call(b.post, 204, "POST", "["+line+","+line+"]")
	b.call(b.post, 204, "POST", "[]")
	b.call(b.post, 400, "POST", line)
	b.call(b.post, 400, "POST", "["+line+",{}]")
	b.call(b.post, 400, "POST", "["+line+"]", "Content-Type", "text/plain")
	data, err := os.ReadFile(filepath.Join(b.dir, "autosave", "locks-2026-01-01.jsonl"))
	if err != nil || string(data) != line+"\n"+line+"\n" {
		t.Fatalf("%s %v", data, err)
	}
}
