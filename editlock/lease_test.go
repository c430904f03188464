package editlock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
)

// jumpClock is the bubble's clock, which tests may set forward: both readings
// for a sleep, the wall alone for somebody who turns it.
type jumpClock struct {
	mu         sync.Mutex
	wall, boot time.Duration
	start      time.Time
}

func newJumpClock() *jumpClock { return &jumpClock{start: time.Now()} }

func (c *jumpClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.wall)
}

func (c *jumpClock) Boot() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.start) + c.boot
}

func (c *jumpClock) jump(wall, boot time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall += wall
	c.boot += boot
}

// failingDisk refuses the next renames and removals.
type failingDisk struct {
	atomicfile.OS
	mu               sync.Mutex
	renames, removes int
}

var errDisk = errors.New("the disk says no")

func (d *failingDisk) take(n *int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if *n > 0 {
		*n--
		return errDisk
	}
	return nil
}

func (d *failingDisk) fail(renames, removes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.renames, d.removes = renames, removes
}

func (d *failingDisk) Rename(from, to string) error {
	if err := d.take(&d.renames); err != nil {
		return err
	}
	return d.OS.Rename(from, to)
}

func (d *failingDisk) Remove(path string) error {
	if filepath.Base(path) == recordFile {
		if err := d.take(&d.removes); err != nil {
			return err
		}
	}
	return d.OS.Remove(path)
}

type bench struct {
	dir   string
	clock *jumpClock
	disk  *failingDisk
	start time.Time
}

func inProject(t *testing.T, f func(t *testing.T, b *bench)) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	synctest.Test(t, func(t *testing.T) {
		f(t, &bench{dir: dir, clock: newJumpClock(), disk: &failingDisk{}, start: time.Now()})
	})
}

func (b *bench) open(owner string) (*Lock, *heard) {
	h := &heard{}
	return Open(Options{Dir: b.dir, Clock: b.clock, Disk: b.disk, OwnerID: owner, Hear: h.hear}), h
}

func (b *bench) record(t *testing.T) Record {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, recordFile))
	if err != nil {
		t.Fatal(err)
	}
	var r Record
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func (b *bench) gone(t *testing.T) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(b.dir, recordFile)); !os.IsNotExist(err) {
		t.Fatalf("the record is still there (%v)", err)
	}
}

func (b *bench) write(t *testing.T, text string) {
	t.Helper()
	path := filepath.Join(b.dir, recordFile)
	if err := os.MkdirAll(b.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
}

// heard keeps events as short words.
type heard struct {
	mu    sync.Mutex
	words []string
}

func (h *heard) hear(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := strings.TrimPrefix(e.Type, "lock:")
	if e.Operation != "" {
		w += " " + e.Operation
	}
	if e.Info != nil {
		w += " " + string(e.Info.Reason)
	}
	for _, n := range []any{e.Retry, e.NextHeartbeatInMS, e.DurationMS} {
		if v := reflect.ValueOf(n); !v.IsNil() {
			w += fmt.Sprint(" ", v.Elem())
		}
	}
	h.words = append(h.words, w)
}

func (h *heard) wants(t *testing.T, want ...string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !reflect.DeepEqual(h.words, want) {
		t.Fatalf("heard\n %s\nwant\n %s", strings.Join(h.words, "\n "), strings.Join(want, "\n "))
	}
	h.words = nil
}

func (h *heard) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.words = nil
}

func acquireProject(t *testing.T, p *Lock) *Lease {
	t.Helper()
	l, err := p.Acquire(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func wantLockError(t *testing.T, err error, code Code, retryable bool, f fault.Code) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Code != code || e.Retryable != retryable || fault.CodeOf(err) != f {
		t.Fatalf("%#v (fault %s), want %s retryable %v, fault %s", err, fault.CodeOf(err), code, retryable, f)
	}
}

func TestProjectLeaseFromAcquireToRelease(t *testing.T) {
	inProject(t, func(t *testing.T, b *bench) {
		p, h := b.open("me")
		l := acquireProject(t, p)
		h.wants(t, "attempt acquire 0", "acquired", "renew-scheduled 25000")
		want := Record{
			Version: 1, LeaseID: l.id, OwnerID: "me", Strategy: FileLock, AcquiredAt: Time{b.start.UTC()},
			ExpiresAt: Time{b.start.Add(30 * time.Second).UTC()}, MTime: Time{b.start.UTC()}, TTLSeconds: 30, Beat: 1,
		}
		if r := b.record(t); !reflect.DeepEqual(r, want) {
			t.Fatalf("have %+v\nwant %+v", r, want)
		}
		time.Sleep(25*time.Second + time.Millisecond)
		h.wants(t, "attempt renew 0", "renewed 0", "renew-scheduled 25000")
		if r := b.record(t); r.Beat != 2 || !r.ExpiresAt.Equal(b.start.Add(55*time.Second)) {
			t.Fatalf("%+v", r)
		}
		if err := l.Check(); err != nil {
			t.Fatal(err)
		}
		if err := l.Release(context.Background()); err != nil {
			t.Fatal(err)
		}
		h.wants(t, "release-requested", "attempt release 0", "released 25001")
		b.gone(t)
		if l.Check() == nil || l.Release(context.Background()) != nil {
			t.Fatal("a released lease still lets write, or cannot be released twice")
		}
	})
}

func TestProjectConflictIsLockHeld(t *testing.T) {
	inProject(t, func(t *testing.T, b *bench) {
		p, _ := b.open("first")
		l := acquireProject(t, p)
		q, h := b.open("second")
		began := time.Now()
		_, err := q.Acquire(context.Background())
		wantLockError(t, err, FallbackConflict, false, fault.LockHeld)
		if took := time.Since(began); took != 1500*time.Millisecond {
			t.Errorf("refused after %s", took)
		}
		f, _ := fault.As(err)
		if f.Facts["name"] != "first" || f.Facts["verdict"] != "held" || f.Facts["until"] == "" {
			t.Errorf("facts %v", f.Facts)
		}
		h.wants(t, "attempt acquire 0", "attempt acquire 1", "attempt acquire 2", "readonly-entered fallback-conflict 3")
		if b.record(t).LeaseID != l.id {
			t.Error("the record changed")
		}
		_ = l.Release(context.Background())
		_ = acquireProject(t, q).Release(context.Background())
	})
}

func TestProjectTakesOverWhenALeaseIsOver(t *testing.T) {
	inProject(t, func(t *testing.T, b *bench) {
		b.write(t, `{"leaseId":"crashed","mtime":"`+b.start.UTC().Format(time.RFC3339)+`","ttlSeconds":30}`)
		p, _ := b.open("me")
		time.Sleep(30*time.Second - time.Millisecond)
		if _, err := p.acquire(context.Background(), 1); fault.CodeOf(err) != fault.LockHeld {
			t.Fatalf("a millisecond early: %v", err)
		}
		time.Sleep(time.Millisecond)
		l, err := p.acquire(context.Background(), 1)
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Release(context.Background())
	})
}

// A clock was ahead when the record was written, and is right now: whoever asks, each in
// a process of its own, waits for the record's time and no longer.
func TestProjectRecordFromTheFutureEnds(t *testing.T) {
	inProject(t, func(t *testing.T, b *bench) {
		ahead := b.start.Add(10 * time.Hour)
		b.write(t, `{"leaseId":"ahead","mtime":"`+ahead.UTC().Format(time.RFC3339)+`","ttlSeconds":30}`)
		if err := os.Chtimes(filepath.Join(b.dir, recordFile), ahead, ahead); err != nil {
			t.Fatal(err)
		}
		first, _ := b.open("first")
		if _, err := first.acquire(context.Background(), 1); fault.CodeOf(err) != fault.LockHeld {
			t.Fatal(err)
		}
		time.Sleep(FileLockTTL + clockTolerance)
		second, _ := b.open("second")
		l, err := second.acquire(context.Background(), 1)
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Release(context.Background())
	})
}

// Seed 002's third telemetry test.
func TestProjectRenewsAtTheThirdTry(t *testing.T) {
	inProject(t, func(t *testing.T, b *bench) {
		p, h := b.open("me")
		l := acquireProject(t, p)
		h.forget()
		b.disk.fail(2, 0)
		time.Sleep(26500*time.Millisecond + time.Millisecond)
		h.wants(t, "attempt renew 0", "attempt renew 1", "attempt renew 2", "renewed 2", "renew-scheduled 25000")
		_ = l.Release(context.Background())
	})
}

func TestProjectEndsWhenItCannotRenew(t *testing.T) {
	inProject(t, func(t *testing.T, b *bench) {
		p, h := b.open("me")
		l := acquireProject(t, p)
		h.forget()
		b.disk.fail(100, 0)
		<-l.heartbeatEnded
		if took := time.Since(b.start); took >= 29*time.Second {
			t.Errorf("given up after %s, others may take over after 30 s", took)
		}
		wantLockError(t, l.Check(), RenewFailed, false, fault.LockLost)
		synctest.Wait()
		h.wants(t, "attempt renew 0", "attempt renew 1", "attempt renew 2", "attempt renew 3", "readonly-entered renew-failed 4")
		time.Sleep(2 * time.Second)
		b.gone(t)
		_ = l.Release(context.Background())
	})
}

func TestProjectRenewByHandFailsRetryably(t *testing.T) {
	inProject(t, func(t *testing.T, b *bench) {
		p, _ := b.open("me")
		l := acquireProject(t, p)
		b.disk.fail(3, 0)
		wantLockError(t, l.Renew(context.Background()), RenewFailed, true, fault.LockLost)
		if err := l.Check(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second) // the heartbeat goes on by itself
		if r := b.record(t); r.Beat != 5 {
			t.Errorf("beat %d", r.Beat)
		}
		if err := l.Renew(context.Background()); err != nil {
			t.Fatal(err)
		}
		_ = l.Release(context.Background())
	})
}

func TestProjectLosesToAnotherRecord(t *testing.T) {
	for name, change := range map[string]func(b *bench){
		"another's": func(b *bench) { b.write(t, `{"leaseId":"other","mtime":"2030-01-01T00:00:00Z"}`) },
		"none":      func(b *bench) { _ = os.Remove(filepath.Join(b.dir, recordFile)) },
	} {
		t.Run(name, func(t *testing.T) {
			inProject(t, func(t *testing.T, b *bench) {
				p, _ := b.open("me")
				l := acquireProject(t, p)
				change(b)
				wantLockError(t, l.Renew(context.Background()), LeaseStale, false, fault.LockLost)
				<-l.heartbeatEnded
				wantLockError(t, l.Check(), LeaseStale, false, fault.LockLost)
				time.Sleep(2 * time.Second)
				if name == "another's" && b.record(t).LeaseID != "other" {
					t.Error("another's record was removed")
				}
				_ = l.Release(context.Background())
			})
		})
	}
}

func TestProjectSleepIsNoticedBeforeTheFirstWrite(t *testing.T) {
	for name, jump := range map[string][2]time.Duration{
		"sleep":              {time.Hour, time.Hour},
		"clock set forward":  {time.Hour, 0},
		"sleep and set back": {-time.Hour, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			inProject(t, func(t *testing.T, b *bench) {
				p, h := b.open("me")
				l := acquireProject(t, p)
				h.forget()
				b.clock.jump(jump[0], jump[1])
				wantLockError(t, l.Check(), LeaseStale, false, fault.LockLost)
				h.wants(t, "readonly-entered lease-stale 0")
				_ = l.Release(context.Background())
			})
		})
	}
}

func TestProjectClockSetBackGoesOn(t *testing.T) {
	inProject(t, func(t *testing.T, b *bench) {
		p, _ := b.open("me")
		l := acquireProject(t, p)
		b.clock.jump(-2*time.Hour, 0)
		time.Sleep(10 * time.Second)
		if err := l.Renew(context.Background()); err != nil {
			t.Fatal(err)
		}
		_ = l.Release(context.Background())
	})
}

// Seed 002's fourth telemetry test.
func TestProjectReleaseIsTriedAgain(t *testing.T) {
	inProject(t, func(t *testing.T, b *bench) {
		p, h := b.open("me")
		l := acquireProject(t, p)
		h.forget()
		b.disk.fail(0, 2)
		if err := l.Release(context.Background()); err != nil {
			t.Fatal(err)
		}
		h.wants(t, "release-requested", "attempt release 0", "release-failed 0",
			"attempt release 1", "release-failed 1", "attempt release 2", "released 1500")
		b.gone(t)
	})
}

func TestProjectReleaseFailsAtLast(t *testing.T) {
	inProject(t, func(t *testing.T, b *bench) {
		p, _ := b.open("me")
		l := acquireProject(t, p)
		b.disk.fail(0, 3)
		wantLockError(t, l.Release(context.Background()), ReleaseFailed, true, fault.PathNotWritable)
		if err := l.Release(context.Background()); err != nil {
			t.Fatal(err)
		}
		b.gone(t)
	})
}

func TestProjectAbort(t *testing.T) {
	inProject(t, func(t *testing.T, b *bench) {
		p, _ := b.open("first")
		l := acquireProject(t, p)
		q, h := b.open("second")
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(700*time.Millisecond, func() { cancel(enough) })
		_, err := q.Acquire(ctx)
		if !errors.Is(err, enough) || time.Since(b.start) != 700*time.Millisecond {
			t.Fatalf("%v after %s", err, time.Since(b.start))
		}
		h.wants(t, "attempt acquire 0", "attempt acquire 1")
		if b.record(t).LeaseID != l.id {
			t.Error("the holder's record changed")
		}
		_ = l.Release(context.Background())
	})
}

func TestProjectReleaseAfterTheCallersEnd(t *testing.T) {
	inProject(t, func(t *testing.T, b *bench) {
		p, _ := b.open("me")
		l := acquireProject(t, p)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = l.Release(ctx)
		b.gone(t)
	})
}

func TestProjectDiskRefuses(t *testing.T) {
	inProject(t, func(t *testing.T, b *bench) {
		p, h := b.open("me")
		b.disk.fail(100, 0)
		_, err := p.Acquire(context.Background())
		wantLockError(t, err, AcquireTimeout, false, fault.PathNotWritable)
		if !errors.Is(err, errDisk) {
			t.Errorf("the cause is lost: %v", err)
		}
		h.wants(t, "attempt acquire 0", "attempt acquire 1", "attempt acquire 2", "readonly-entered acquire-timeout 3")
		b.gone(t)
	})
}
