package queue

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// fate is what the proxy does with one request.
type fate int

const (
	pass        fate = iota
	dropBefore       // never reaches the server; the connection breaks
	dropAfter        // is applied; the answer is lost
	failBefore       // 500, not applied
	failAfter        // applied, answered with 500
	throttle         // refused as throttled
	duplicate        // sent twice; the second answer is given
	slow             // applied, answered after the client gave up
	lateApply        // the client sees a broken connection at once; applied after the next request of this kind
	unavailable      // 503 of a load balancer: no JSON
)

func fates() []fate {
	return []fate{pass, dropBefore, dropAfter, failBefore, failAfter, throttle, duplicate, slow, lateApply, unavailable}
}

func (f fate) String() string {
	return [...]string{"pass", "dropBefore", "dropAfter", "failBefore", "failAfter", "throttle", "duplicate", "slow", "lateApply", "unavailable"}[f]
}

// mayApply says whether the server may have seen the request.
func (f fate) mayApply() bool { return f != dropBefore && f != failBefore && f != throttle }

// faulty is a reverse proxy in front of the server. decide is asked for each
// request: its operation and its body.
type faulty struct {
	target string
	decide func(op, body string) fate

	mu    sync.Mutex
	late  []func() // requests that are applied after the next one
	count map[string]int
}

func newFaulty(t testing.TB, decide func(op, body string) fate) (*faulty, API) {
	t.Helper()
	f := &faulty{target: endpoint(t), decide: decide, count: map[string]int{}}
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	return f, dial(t, srv.URL)
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	f.mu.Lock()
	f.count[op]++
	f.mu.Unlock()
	send := func() *answer { return f.forward(r, body) }
	switch f.decide(op, string(body)) {
	case dropBefore:
		panic(http.ErrAbortHandler)
	case dropAfter:
		send()
		f.flush()
		panic(http.ErrAbortHandler)
	case failBefore:
		aws500(w)
	case failAfter:
		send()
		f.flush()
		aws500(w)
	case throttle:
		awsError(w, 400, "ProvisionedThroughputExceededException")
	case duplicate:
		send()
		f.reply(w, send())
	case slow:
		a := send()
		<-r.Context().Done()
		f.reply(w, a)
	case lateApply:
		f.mu.Lock()
		f.late = append(f.late, func() { send() })
		f.mu.Unlock()
		panic(http.ErrAbortHandler)
	case unavailable:
		http.Error(w, "<html>no backend</html>", http.StatusServiceUnavailable)
	default:
		f.reply(w, send())
	}
}

// flush applies what was held back.
func (f *faulty) flush() {
	f.mu.Lock()
	late := f.late
	f.late = nil
	f.mu.Unlock()
	for _, send := range late {
		send()
	}
}

func (f *faulty) reply(w http.ResponseWriter, a *answer) {
	f.flush()
	if a == nil {
		panic(http.ErrAbortHandler)
	}
	for k, v := range a.header {
		w.Header()[k] = v
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

func (f *faulty) forward(r *http.Request, body []byte) *answer {
	req, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, f.target, bytes.NewReader(body))
	if err != nil {
		return nil
	}
	req.Header = r.Header.Clone()
	req.Header.Del("Accept-Encoding")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil
	}
	defer func() { _ = res.Body.Close() }()
	b, _ := io.ReadAll(res.Body)
	return &answer{res.StatusCode, res.Header, b}
}

func (f *faulty) requests() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, c := range f.count {
		n += c
	}
	return n
}

func aws500(w http.ResponseWriter) { awsError(w, 500, "InternalServerError") }

func awsError(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#`+code+`","message":"made by the proxy"}`)
}

// quick makes retries fast enough for tests.
func quick(o *Options) {
	o.Retry = Retry{First: time.Millisecond, Ceiling: 5 * time.Millisecond, Total: 20 * time.Second, Attempt: 2 * time.Second}
}

// once gives a fate to the first request that matches, and pass to the rest.
func once(what fate, match func(op, body string) bool) func(op, body string) fate {
	var mu sync.Mutex
	done := false
	return func(op, body string) (f fate) {
		mu.Lock()
		defer mu.Unlock()
		if done || !match(op, body) {
			return pass
		}
		done = true
		return what
	}
}
