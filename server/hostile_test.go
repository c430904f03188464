package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"aiflow/internal/fault"
)

// raw sends text as it is and gives the status and what came back.
func (w *world) raw(text string) (int, string) {
	w.t.Helper()
	c, err := net.Dial("tcp", w.ts.Listener.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
	if _, err := io.WriteString(c, text); err != nil {
		w.t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	return res.StatusCode, fmt.Sprint(res.Header) + string(body)
}

// TestWhoMayCall is case 42: hosts, origins, methods, tokens and addresses. The
// first rows are the negative control: the same calls, as they should be.
func TestWhoMayCall(t *testing.T) {
	w := newWorld(t, someRequests())
	port := strconv.Itoa(w.s.Port)
	auth := "Authorization: Bearer " + token + "\r\n"
	cookie := "Cookie: aiflow_" + port + "=" + token + "\r\n"
	host := "Host: 127.0.0.1:" + port + "\r\n"
	list := "GET /api/requests HTTP/1.1\r\n"
	start := "POST /api/requests HTTP/1.1\r\n"
	content := "Content-Type: application/json\r\nContent-Length: 2\r\n"
	rest := "Connection: close\r\n\r\n"
	before := dirNames(t, w.path("requests"))
	for _, tc := range []struct {
		name string
		text string
		want int
	}{
		{"as it should be", list + host + auth + rest, 200},
		{"cookie", list + host + cookie + rest, 200},
		{"localhost", list + "Host: localhost:" + port + "\r\n" + auth + rest, 200},
		{"IPv6", list + "Host: [::1]:" + port + "\r\n" + auth + rest, 200},
		{"our own page", list + host + cookie + "Origin: http://127.0.0.1:" + port + "\r\nSec-Fetch-Site: same-origin\r\n" + rest, 200},
		{"our own page writes", start + host + cookie + "Origin: http://127.0.0.1:" + port + "\r\nSec-Fetch-Site: same-origin\r\n" + content + rest + "{}", 400},

		{"foreign host", list + "Host: evil.example\r\n" + auth + rest, 403},
		{"foreign host, our port", list + "Host: evil.example:" + port + "\r\n" + auth + rest, 403},
		{"longer name", list + "Host: 127.0.0.1.evil.com:" + port + "\r\n" + auth + rest, 403},
		{"127.evil.com", list + "Host: 127.evil.com:" + port + "\r\n" + auth + rest, 403},
		{"dot at the end", list + "Host: localhost.:" + port + "\r\n" + auth + rest, 403},
		{"empty host", list + "Host: \r\n" + auth + rest, 403},
		{"no host", list + auth + rest, 400},
		{"two hosts", list + host + host + auth + rest, 400},
		{"other port", list + "Host: 127.0.0.1:1\r\n" + auth + rest, 403},
		{"no port", list + "Host: 127.0.0.1\r\n" + auth + rest, 403},
		{"127.1", list + "Host: 127.1:" + port + "\r\n" + auth + rest, 403},
		{"with a user", list + "Host: a@127.0.0.1:" + port + "\r\n" + auth + rest, 400},
		{"absolute form", "GET http://127.0.0.1:" + port + "/api/requests HTTP/1.1\r\n" + host + auth + rest, 403},
		{"absolute form, foreign", "GET http://evil.example/api/requests HTTP/1.1\r\n" + host + auth + rest, 403},
		{"HTTP/1.0", "GET /api/requests HTTP/1.0\r\n" + host + auth + "\r\n", 403},
		{"OPTIONS *", "OPTIONS * HTTP/1.1\r\n" + host + auth + rest, 404},
		{"CONNECT", "CONNECT 127.0.0.1:" + port + " HTTP/1.1\r\n" + host + auth + rest, 403},

		{"foreign origin reads", list + host + cookie + "Origin: http://evil.example\r\n" + rest, 403},
		{"other port reads", list + host + cookie + "Origin: http://127.0.0.1:1\r\n" + rest, 403},
		{"https origin", list + host + cookie + "Origin: https://127.0.0.1:" + port + "\r\n" + rest, 403},
		{"null origin", start + host + cookie + "Origin: null\r\n" + content + rest + "{}", 403},
		{"cross site", list + host + cookie + "Sec-Fetch-Site: cross-site\r\n" + rest, 403},
		{"same site, other port", list + host + cookie + "Sec-Fetch-Site: same-site\r\n" + rest, 403},
		{"cross site, writes", start + host + cookie + "Sec-Fetch-Site: cross-site\r\n" + content + rest + "{}", 403},
		{"script of another site", "GET /lib/locks.js HTTP/1.1\r\n" + host + cookie + "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n" + rest, 403},
		{"link from another site", "GET / HTTP/1.1\r\n" + host + cookie + "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n" + rest, 200},
		{"events for another site", "GET /api/events HTTP/1.1\r\n" + host + cookie + "Origin: http://evil.example\r\n" + rest, 403},
		{"socket of another site", "GET /api/events HTTP/1.1\r\n" + host + cookie + "Origin: http://evil.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 403},

		{"no token", list + host + rest, 401},
		{"no token, page", "GET / HTTP/1.1\r\n" + host + "Accept: text/html\r\n" + rest, 401},
		{"no token, file", "GET /lib/locks.js HTTP/1.1\r\n" + host + rest, 401},
		{"wrong token", list + host + "Authorization: Bearer " + strings.Repeat("0", 64) + "\r\n" + rest, 401},
		{"wrong token beside a right cookie", list + host + cookie + "Authorization: Bearer x\r\n" + rest, 401},
		{"token of another port", list + host + "Cookie: aiflow_1=" + token + "\r\n" + rest, 401},
		{"token in the address of a route", "GET /api/requests?token=" + token + " HTTP/1.1\r\n" + host + rest, 401},
		{"wrong token in the address", "GET /?token=x HTTP/1.1\r\n" + host + rest, 401},
		{"token in the address", "GET /?token=" + token + " HTTP/1.1\r\n" + host + rest, 303},

		{"text", start + host + auth + "Content-Type: text/plain\r\nContent-Length: 2\r\n" + rest + "{}", 415},
		{"form", start + host + auth + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 2\r\n" + rest + "{}", 415},
		{"no type", start + host + auth + "Content-Length: 2\r\n" + rest + "{}", 415},
		{"no type, no body", "POST /api/queue/run-next HTTP/1.1\r\n" + host + auth + "Content-Length: 0\r\n" + rest, 415},
		{"gzip", start + host + auth + content + "Content-Encoding: gzip\r\n" + rest + "{}", 415},

		{"a GET with effect", "GET /api/queue/run-next HTTP/1.1\r\n" + host + auth + rest, 405},
		{"a GET with effect, run", "GET /api/requests/RQ-1/run HTTP/1.1\r\n" + host + auth + rest, 405},
		{"HEAD with effect", "HEAD /api/autorun/start HTTP/1.1\r\n" + host + auth + rest, 405},
		{"DELETE", "DELETE /api/requests/RQ-1 HTTP/1.1\r\n" + host + auth + rest, 405},
		{"override", "GET /api/queue/run-next?_method=POST HTTP/1.1\r\n" + host + auth + "X-HTTP-Method-Override: POST\r\n" + rest, 405},
		{"no route", "GET /api/nope HTTP/1.1\r\n" + host + auth + rest, 404},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, text := w.raw(tc.text)
			if status != tc.want || status == 403 && !strings.Contains(text, string(fault.AccessDenied)) {
				t.Errorf("%d, want %d: %s", status, tc.want, text)
			}
			if tc.want >= 400 && (strings.Contains(text, "evil") || strings.Contains(text, w.dir) || strings.Contains(text, "RQ-2") || strings.Contains(text, token)) {
				t.Errorf("tells too much: %s", text)
			}
		})
	}
	if after := dirNames(t, w.path("requests")); after != before {
		t.Errorf("requests: %s, before %s", after, before)
	}
	if _, err := os.Stat(w.path(".aiflow/cache/serve")); err == nil {
		t.Error("something was started")
	}
}

func dirNames(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestCookieIsOutOfReachOfScripts(t *testing.T) {
	w := newWorld(t, nil)
	r := w.request("GET", "/requests/RQ-1?a=b&token="+token, "", "Authorization", "-", "Accept", "text/html")
	res, err := w.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	want := "aiflow_" + strconv.Itoa(w.s.Port) + "=" + token + "; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict"
	if res.StatusCode != 303 || res.Header.Get("Location") != "/requests/RQ-1?a=b" || res.Header.Get("Set-Cookie") != want {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	for _, path := range []string{"/", "/requests/22.10", "/lib/locks.js"} {
		res, err := w.http.Do(w.request("GET", path, ""))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		csp := res.Header.Get("Content-Security-Policy")
		if res.StatusCode != 200 || !strings.Contains(csp, "script-src 'self';") || strings.Contains(csp, "unsafe") || len(body) == 0 ||
			res.Header.Get("X-Content-Type-Options") != "nosniff" || strings.Contains(string(body), "<script>") {
			t.Errorf("%s: %d %v", path, res.StatusCode, res.Header)
		}
	}
	open := newWorld(t, nil, func(o *Options, _ *http.Server) { o.Token = "" })
	open.call(200, "GET", "/api/requests", "", "Authorization", "-")
	open.call(403, "GET", "/api/requests", "", "Origin", "http://evil.example")
}

// TestPathsStayInside is the rest of case 42: whatever stands in the address,
// no file but those of the run is read, and no path comes back.
func TestPathsStayInside(t *testing.T) {
	w := newWorld(t, someRequests())
	run := w.call(202, "POST", "/api/requests/RQ-1/run", "").text("run_id")
	w.idle()
	at := "/api/requests/RQ-1/runs/" + run
	w.write("secret.txt", "the secret\n")
	w.write("runs/RQ-1/"+run+"/logs/here.log", "fine\n")
	logs := w.path("runs/RQ-1/" + run + "/logs/")
	for link, to := range map[string]string{
		"out.log": "/etc/hostname", "in.log": "../../../../secret.txt", "beside.log": "here.log", "dir": "../../../..", "up": "..",
	} {
		if err := os.Symlink(to, logs+"/"+link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(w.path("runs/RQ-1"), w.path("elsewhere")); err != nil {
		t.Fatal(err)
	}
	w.write("runs/keep", "")
	for _, link := range []string{"runs/RQ-3", "runs/RQ-2"} {
		if err := os.Symlink("../elsewhere", w.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	w.call(404, "GET", "/api/requests/RQ-3/runs/"+run, "").wants("error.reason_code", "RUN_NOT_FOUND")
	w.call(404, "GET", "/api/requests/RQ-3/runs/"+run+"/logs/here.log", "")
	w.call(200, "GET", "/api/requests/RQ-3/runs", "").wants("items.0", nil)
	// The finished branch tells of the run whose record is away: the server may
	// have recorded it again meanwhile, or do so now.
	if err := poll(t.Context(), 10*time.Millisecond, func() (bool, error) {
		return os.RemoveAll(w.path("runs/RQ-1")) == nil && os.Rename(w.path("elsewhere"), w.path("runs/RQ-1")) == nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	if got := w.call(200, "GET", at+"/logs/here.log", ""); string(got.body) != "fine\n" {
		t.Fatalf("%q", got.body) // the negative control
	}
	for _, path := range []string{
		at + "/logs/out.log", at + "/logs/in.log", at + "/logs/beside.log", at + "/logs/dir/secret.txt", at + "/logs/up/stage.json",
		at + "/logs/../stage.json", at + "/logs/..%2fstage.json", at + "/logs/%2e%2e/stage.json", at + "/logs/%2e%2e%2fstage.json",
		at + "/logs/..%5cstage.json", at + "/logs/%252e%252e%252fstage.json", at + "/logs//etc/passwd", at + "/logs/%2fetc%2fpasswd",
		at + "/logs/here.log%00.txt", at + "/logs/.", at + "/logs/", at + "/logs", at + "/logs/./here.log", at + "/logs/tests/",
		"/api/requests/RQ-1/runs/..%2f..%2f", "/api/requests/RQ-1/runs/..", "/api/requests/..%2fREADME.md", "/api/requests/%2e%2e", "/api/requests/../requests/RQ-1",
		"/api/requests/RQ-1/runs/%252e%252e", "/api/requests/RQ-1/../RQ-2", "/api//requests", "/api/requests/RQ-1%5c", "/api/requests/requests%2fRQ-1.md", "/api/requests/RQ-1.md",
		"/../secret.txt", "/..%2fsecret.txt", "/%2e%2e/secret.txt", "/lib/../../secret.txt", "/secret.txt", "/lib/", "/.git/config",
	} {
		status, text := w.raw("GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1:" + strconv.Itoa(w.s.Port) + "\r\nAuthorization: Bearer " + token + "\r\nConnection: close\r\n\r\n")
		if status != 404 && status != 400 {
			t.Errorf("%s: %d %s", path, status, text)
		}
		for _, part := range []string{"secret", "passwd", "hostname", w.dir, "stage.json"} {
			if strings.Contains(text, part) {
				t.Errorf("%s: %s", path, text)
			}
		}
	}
}

func headersUpTo(n int) string { return "X-Pad: " + strings.Repeat("a", n) + "\r\n" }

// TestAbuse is case 43: each connection is bounded, the others do not notice.
func TestAbuse(t *testing.T) {
	w := newWorld(t, someRequests(), func(_ *Options, h *http.Server) {
		h.ReadHeaderTimeout, h.ReadTimeout = h.ReadHeaderTimeout/20, h.ReadTimeout/60
	})
	host := "Host: 127.0.0.1:" + strconv.Itoa(w.s.Port) + "\r\nAuthorization: Bearer " + token + "\r\n"
	json := "POST /api/requests HTTP/1.1\r\n" + host + "Content-Type: application/json\r\n"
	closed := func(name, text string, more ...string) {
		t.Helper()
		c, err := net.Dial("tcp", w.ts.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, text)
		for _, m := range more {
			_, _ = io.WriteString(c, m)
		}
		_ = c.SetReadDeadline(time.Now().Add(2 * time.Minute))
		if _, err := io.Copy(io.Discard, c); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Errorf("%s: still open", name)
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { closed("slow header", "GET / HTTP/1.1\r\nHost: 127") })
	wg.Go(func() { closed("nothing", "") })
	wg.Go(func() { closed("slow body", json+"Content-Length: 100\r\n\r\n{\"title\":") })
	wg.Go(func() { closed("chunks without end", json+"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n") })
	idle := make([]net.Conn, 0, 500)
	for range 500 {
		if c, err := net.Dial("tcp", w.ts.Listener.Addr().String()); err == nil {
			idle = append(idle, c)
		}
	}
	if len(idle) < 100 {
		t.Errorf("only %d idle connections", len(idle))
	}
	w.call(200, "GET", "/api/requests", "")
	wg.Wait()
	for _, c := range idle {
		c.Close()
	}
	if status, _ := w.raw("GET /api/requests HTTP/1.1\r\n" + host + headersUpTo(8<<10) + "Connection: close\r\n\r\n"); status != 200 {
		t.Errorf("8 kB of headers: %d", status)
	}
	if status, _ := w.raw("GET /api/requests HTTP/1.1\r\n" + host + headersUpTo(60<<10) + "Connection: close\r\n\r\n"); status != 431 {
		t.Errorf("60 kB of headers: %d", status)
	}
	if status, _ := w.raw("POST /api/doctor HTTP/1.1\r\n" + host + "Content-Type: application/json\r\nContent-Length: 1073741824\r\n\r\n{}"); status != 413 {
		t.Errorf("1 GB: %d", status)
	}
	body := bytes.Repeat([]byte(" "), defaultBody+1)
	r := w.request("POST", "/api/doctor", "")
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), -1
	if res, err := w.http.Do(r); err != nil || res.StatusCode != 413 {
		t.Errorf("1 MB of chunks: %v %v", res, err)
	} else {
		res.Body.Close()
	}
	w.call(400, "POST", "/api/requests", `{"title":`+strings.Repeat("[", 100000))
}

func TestPanicTellsNothing(t *testing.T) {
	var mu sync.Mutex
	var said []string
	w := newWorld(t, nil, func(o *Options, _ *http.Server) {
		o.Log = func(line string) { mu.Lock(); defer mu.Unlock(); said = append(said, line) }
	})
	h := w.s.guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("at /home/me password=hunter2222") }))
	r := w.request("GET", "/api/health", "")
	r.URL.Scheme, r.URL.Host = "", ""
	r.Host = "127.0.0.1:" + strconv.Itoa(w.s.Port)
	rec := recorder{header: http.Header{}}
	h.ServeHTTP(&rec, r.WithContext(context.Background()))
	mu.Lock()
	defer mu.Unlock()
	if rec.status != 500 || strings.Contains(rec.body.String(), "home") || len(said) == 0 || strings.Contains(strings.Join(said, ""), "hunter2222") {
		t.Errorf("%d %s %q", rec.status, rec.body.String(), said)
	}
}

type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }
