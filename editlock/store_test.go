package editlock

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/flock"
	"aiflow/internal/proc"
)

func recordText(id string, at time.Time, beat int) []byte {
	return fmt.Appendf(nil, `{"version":1,"leaseId":%q,"mtime":%q,"ttlSeconds":30,"beat":%d}`,
		id, at.UTC().Format(timeForm), beat)
}

func TestProjectCompareAndSwap(t *testing.T) {
	inProject(t, func(t *testing.T, b *bench) {
		p, _ := b.open("server")
		ctx := t.Context()
		swap := func(want fault.Code, text []byte, ifMatch string) {
			t.Helper()
			if err := p.CompareAndSwap(ctx, text, ifMatch); fault.CodeOf(err) != want {
				t.Fatalf("%v, want %q", err, want)
			}
		}
		now := time.Now()
		swap(fault.Conflict, recordText("a", now, 1), `"a"`)
		swap("", recordText("a", now, 1), "")
		swap(fault.Conflict, recordText("a", now, 2), "")
		swap(fault.Conflict, recordText("b", now, 1), "")
		swap(fault.Conflict, recordText("b", now, 1), `"b"`)
		swap(fault.Conflict, recordText("b", now, 1), `"a"`) // alive
		swap(fault.Conflict, recordText("a", now, 1), `"a"`) // no newer beat
		swap("", recordText("a", now, 2), `"a"`)
		swap(fault.InvalidRequest, []byte(`{}`), `"a"`)
		swap(fault.InvalidRequest, []byte(`{"version":2,"leaseId":"a"}`), `"a"`)
		swap(fault.InvalidRequest, append(recordText("a", now, 3), strings.Repeat(" ", flock.MaxRecord)...), `"a"`)
		time.Sleep(30 * time.Second)
		swap(fault.Conflict, recordText("b", now, 1), `"x"`)
		swap("", recordText("b", time.Now(), 1), `"a"`)
		swap(fault.Conflict, recordText("a", time.Now(), 3), `"a"`) // the sleeper wakes up
		if err := p.CompareAndRemove(ctx, `"a"`); !fault.Has(err, fault.Conflict) {
			t.Fatal(err)
		}
		if err := p.CompareAndRemove(ctx, `"b"`); err != nil {
			t.Fatal(err)
		}
		if err := p.CompareAndRemove(ctx, `"b"`); err != nil {
			t.Fatal(err)
		}
		if _, found, err := p.Read(ctx); found || err != nil {
			t.Fatal(found, err)
		}
	})
}

func TestProjectRecordsThatAreNone(t *testing.T) {
	for _, text := range []string{"", "{", "[]", "null", `{"leaseId":"a\u0000\"b"}`} {
		inProject(t, func(t *testing.T, b *bench) {
			b.write(t, text)
			p, _ := b.open("server")
			s, found, err := p.Read(t.Context())
			if !found || err != nil || s.Verdict != Unreadable || !strings.HasPrefix(s.ETag, `"unreadable-`) {
				t.Fatalf("%q: %+v %v", text, s, err)
			}
			if err := p.CompareAndSwap(t.Context(), recordText("a", time.Now(), 1), s.ETag); !fault.Has(err, fault.Conflict) {
				t.Fatal(err)
			}
			time.Sleep(35 * time.Second)
			if err := p.CompareAndSwap(t.Context(), recordText("a", time.Now(), 1), s.ETag); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestProjectFilesThatAreNone(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"folder":  func(path string) error { return os.Mkdir(path, 0o777) },
		"link":    func(path string) error { return os.Symlink("elsewhere", path) },
		"too big": func(path string) error { return os.Truncate(path, flock.MaxRecord+1) },
		"newer":   func(path string) error { return os.WriteFile(path, []byte(`{"version":2}`), 0o644) },
		"newer, as text": func(path string) error {
			return os.WriteFile(path, []byte(`{"version":"2.0","leaseId":"x","mtime":0}`), 0o644)
		},
		"zero dev": func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		t.Run(name, func(t *testing.T) {
			inProject(t, func(t *testing.T, b *bench) {
				p, _ := b.open("me")
				path := filepath.Join(b.dir, recordFile)
				b.write(t, "")
				if name != "too big" {
					_ = os.Remove(path)
				}
				if err := make(path); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Hour)
				_, err := p.acquire(t.Context(), 1)
				if fault.CodeOf(err) != fault.LockHeld {
					t.Fatalf("%v", err)
				}
				if _, err := os.Lstat(path); err != nil {
					t.Errorf("it was removed: %v", err)
				}
			})
		})
	}
}

// Eight at once want a lease that is over. One gets it.
func TestProjectTakeoverHasOneWinner(t *testing.T) {
	if n := winners(t, 100, nil); n != 0 {
		t.Errorf("%d rounds had another number of winners than one", n)
	}
}

// Negative control: without the guard there are rounds with two.
func TestProjectTakeoverNeedsTheGuard(t *testing.T) {
	if n := winners(t, 400, openGate{}); n == 0 {
		t.Error("the race shows nothing: even without a guard there was always one winner")
	}
}

type openGate struct{}

func (openGate) Lock(context.Context, bool, time.Duration) (func(), bool, error) {
	return func() {}, true, nil
}

// winners counts the rounds that had not exactly one; g replaces the guard.
func winners(t *testing.T, rounds int, g flock.Guard) int {
	dir := filepath.Join(t.TempDir(), "project")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	clock := proc.ClockOf(func() time.Time { return now }, func() time.Duration { return time.Hour })
	odd := 0
	for range rounds {
		old := recordText("old", now.Add(-time.Hour), 1)
		if err := os.WriteFile(filepath.Join(dir, recordFile), old, 0o644); err != nil {
			t.Fatal(err)
		}
		past := now.Add(-time.Hour)
		if err := os.Chtimes(filepath.Join(dir, recordFile), past, past); err != nil {
			t.Fatal(err)
		}
		var won atomic.Int32
		var all sync.WaitGroup
		start := make(chan struct{})
		for i := range 8 {
			p := Open(Options{Dir: dir, Clock: clock})
			if g != nil {
				p.guard = g
			}
			all.Go(func() {
				<-start
				if p.CompareAndSwap(t.Context(), recordText(fmt.Sprint("new", i), now, 1), `"old"`) == nil {
					won.Add(1)
				}
			})
		}
		close(start)
		all.Wait()
		if won.Load() != 1 {
			odd++
		}
	}
	return odd
}
