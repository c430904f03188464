package queue

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"aiflow/internal/proc"
)

type realClock struct{}

func (realClock) Now() time.Time      { return time.Now() }
func (realClock) Boot() time.Duration { return proc.BootClock() }

// startDynalite serves one DynamoDB for all tests of this process. It ends with
// its standard input, which nobody but this process holds.
var startDynalite = sync.OnceValues(func() (string, error) {
	url, _, stop, err := dynalite()
	keepServer = stop
	return url, err
})

var keepServer func() // referenced, or the collector would close its input

// dynalite starts a server and waits until it answers.
func dynalite() (url string, pid int, stop func(), err error) {
	serve, err := filepath.Abs("../testdata/dynalite/serve.js")
	if err != nil {
		return "", 0, nil, err
	}
	dir := os.Getenv("AIFLOW_DYNALITE_DIR")
	if dir == "" {
		dir = filepath.Dir(serve)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "dynalite")); err != nil {
		return "", 0, nil, errors.New("dynalite is not installed: npm ci --ignore-scripts in testdata/dynalite")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return "", 0, nil, err
	}
	cmd := exec.Command(node, serve, "0")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", 0, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", 0, nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", 0, nil, err
	}
	stop = func() {
		_ = in.Close()
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	return strings.TrimSpace(line), cmd.Process.Pid, stop, err
}

func endpoint(t testing.TB) string {
	t.Helper()
	url, err := startDynalite()
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("no DynamoDB to test against: %v", err)
	}
	if err != nil {
		t.Skipf("no DynamoDB to test against: %v", err)
	}
	return url
}

func dial(t testing.TB, url string) API {
	t.Helper()
	api, err := Dial(context.Background(), Where{Endpoint: url})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

var namespaces atomic.Int64

// freshNamespace is one that no other test uses.
func freshNamespace() string {
	return "t-" + string(rune('a'+namespaces.Add(1)%26)) + "-" + strings.ReplaceAll(time.Now().Format("150405.000000"), ".", "-")
}

// open gives a store of a fresh namespace on dynalite, with its tables.
func open(t testing.TB, change ...func(*Options)) *Store {
	t.Helper()
	o := Options{API: dial(t, endpoint(t)), Namespace: freshNamespace(), Clock: realClock{}}
	for _, f := range change {
		f(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.EnsureTables(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

// beside opens another client of the same namespace.
func beside(t testing.TB, s *Store, change ...func(*Options)) *Store {
	t.Helper()
	return open(t, append([]func(*Options){func(o *Options) { o.Namespace = s.ns }}, change...)...)
}

func must[T any](t testing.TB) func(v T, err error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
