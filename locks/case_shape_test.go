package locks

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/flock"
)

func TestCase16OddRecordsAreHeldThenFree(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "whitespace": " \n\n", "object": "{}", "null": "null", "list": "[]",
		"binary": "\x7fELF\x02\x01\x01\x00", "bomb": strings.Repeat("[", 60000),
		"duplicate": strings.Replace(seedExample, "{", `{"pid": 1,`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put(content)
			m := w.process(1)
			wantVerdict(t, m, UnknownRec, true)
			e := look(t, m)
			f := wantCode(t, e.Problem, fault.LockUnreadable)
			wantFacts(t, f, fault.Facts{"path": w.file()})
			if e.RequestID != "RQ-1" || e.LockType != "request" {
				t.Errorf("whose: %+v", e.Record)
			}
			refusal := refused(t, m)
			wantFacts(t, refusal, fault.Facts{"reason": f.Facts["reason"], "path": w.file()})
			if !fault.Has(refusal.Err, fault.LockUnreadable) {
				t.Errorf("cause %v", refusal.Err)
			}
			if swept, err := m.Sweep(t.Context()); err != nil || len(swept) != 0 {
				t.Errorf("swept %v, %v", swept, err)
			}
			if w.content() != content {
				t.Error("rewritten")
			}
			w.age(DefaultTTL + Grace + time.Second)
			wantVerdict(t, m, Expired, false)
			if swept, err := m.Sweep(t.Context()); err != nil || len(swept) != 1 {
				t.Errorf("swept %v, %v", swept, err)
			}
		})
	}
}

func TestCase16SparseGiant(t *testing.T) {
	w := newWorld(t)
	w.put("{")
	if err := os.Truncate(w.file(), 2<<30); err != nil {
		t.Skip(err)
	}
	m := w.process(1)
	allocated := testing.AllocsPerRun(1, func() { wantVerdict(t, m, UnknownRec, true) })
	if allocated > 100 {
		t.Errorf("%v allocations", allocated)
	}
	wantFacts(t, refused(t, m), fault.Facts{"reason": "too_big"})
}

func TestCase17NoPlainFile(t *testing.T) {
	for name, tc := range map[string]struct {
		put    func(path, other string) error
		reason string
		stays  bool // even by force
	}{
		"link inside":       {func(p, o string) error { return os.Symlink(filepath.Base(o), p) }, "symlink", false},
		"link outside":      {func(p, _ string) error { return os.Symlink("/etc/hostname", p) }, "symlink", false},
		"dangling link":     {func(p, _ string) error { return os.Symlink("nowhere", p) }, "symlink", false},
		"link to /dev/zero": {func(p, _ string) error { return os.Symlink("/dev/zero", p) }, "symlink", false},
		"directory":         {func(p, _ string) error { return os.Mkdir(p, 0o777) }, "directory", true},
		"FIFO":              {func(p, _ string) error { return syscall.Mkfifo(p, 0o666) }, "not_a_file", false},
		"socket":            {listen, "not_a_file", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put("")
			other := filepath.Join(w.dir, "other.lock.json")
			if err := os.Rename(w.file(), other); err != nil {
				t.Fatal(err)
			}
			if err := tc.put(w.file(), other); err != nil {
				t.Fatal(err)
			}
			m := w.process(1)
			w.clock.pass(1000 * time.Hour)
			wantVerdict(t, m, UnknownRec, true)
			wantFacts(t, refused(t, m), fault.Facts{"reason": tc.reason, "path": w.file()})
			if swept, err := m.Sweep(t.Context()); err != nil || len(swept) != 0 {
				t.Errorf("swept %v, %v", swept, err)
			}
			if _, err := os.Lstat(w.file()); err != nil {
				t.Error(err)
			}
			_, gone, err := m.Break(t.Context(), Request("RQ-1"), true)
			if gone == tc.stays || (err != nil) != tc.stays {
				t.Errorf("by force: %v, %v", gone, err)
			}
			if data, err := os.ReadFile(other); err != nil || len(data) != 0 {
				t.Errorf("what the link named: %q, %v", data, err)
			}
		})
	}
}

// What is on its way through a FIFO is for somebody else.
func TestCase17FIFOIsNotRead(t *testing.T) {
	w := newWorld(t)
	w.put("")
	if err := errors.Join(os.Remove(w.file()), syscall.Mkfifo(w.file(), 0o666)); err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Open(w.file(), syscall.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if _, err := syscall.Write(fd, []byte(seedExample)); err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, w.process(1), UnknownRec, true)
	left := make([]byte, len(seedExample))
	if n, err := syscall.Read(fd, left); err != nil || string(left[:n]) != seedExample {
		t.Errorf("left in it: %d bytes, %v", n, err)
	}
}

func listen(path, _ string) error {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err == nil {
		l.SetUnlinkOnClose(false)
		err = l.Close()
	}
	return err
}

func TestCase17GuardIsNoPlainFile(t *testing.T) {
	for name, put := range map[string]func(string) error{
		"link":      func(p string) error { return os.Symlink("/etc/passwd", p) },
		"directory": func(p string) error { return os.Mkdir(p, 0o777) },
	} {
		w := newWorld(t)
		if err := os.MkdirAll(w.dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := put(filepath.Join(w.dir, flock.GuardName)); err != nil {
			t.Fatal(err)
		}
		_, err := w.process(1).Acquire(t.Context(), Queue(), Ask{})
		f := wantCode(t, err, fault.PathNotWritable)
		wantFacts(t, f, fault.Facts{"path": filepath.Join(w.dir, flock.GuardName)})
		t.Log(name, err)
	}
}

func TestCase18NewerIsHeldAndLeftAlone(t *testing.T) {
	for _, version := range []string{"1.1", "2.0", "12.3"} {
		w := newWorld(t)
		content := strings.Replace(seedExample, `"1.0"`, `"`+version+`"`, 1)
		w.put(content)
		w.age(1000 * time.Hour)
		m := w.process(1)
		wantVerdict(t, m, Newer, true)
		wantFacts(t, refused(t, m), fault.Facts{"verdict": "newer", "reason": "newer_version"})
		if p, _ := fault.As(look(t, m).Problem); p.Facts["version"] != version {
			t.Errorf("problem %v", p)
		}
		if swept, err := m.Sweep(t.Context()); err != nil || len(swept) != 0 || w.content() != content {
			t.Errorf("swept %v, %v, %s", swept, err, w.content())
		}
		_, _, err := m.Break(t.Context(), Request("RQ-1"), false)
		wantCode(t, err, fault.LockNotYours)
		if _, gone, err := m.Break(t.Context(), Request("RQ-1"), true); err != nil || !gone {
			t.Errorf("by force: %v, %v", gone, err)
		}
	}
}

func TestCase18UnknownFieldsAreLeftAlone(t *testing.T) {
	w := newWorld(t)
	l := take(t, w.process(1))
	with := strings.Replace(w.content(), "{", `{"color":"blue",`, 1)
	w.put(with)
	refused(t, w.process(2))
	if w.content() != with {
		t.Error("rewritten")
	}
	release(t, l)
}

func TestSeedOnlyRecordsOfOthers(t *testing.T) {
	w := newWorld(t)
	w.clock.wall = time.Date(2025, 12, 14, 6, 1, 3, 0, time.UTC)
	w.put(seedExample)
	m := w.process(1)
	wantFacts(t, refused(t, m), fault.Facts{
		"request_id": "RQ-1", "run_id": "RUN-1", "pid": "12345", "host": "127.0.0.1",
		"since": "2025-12-14T15:01:02+09:00", "until": "2025-12-14T15:31:02+09:00", "verdict": "held",
	})
	w.clock.pass(30 * time.Minute)
	wantVerdict(t, m, Overdue, true) // pid 12345 lives in this world
	refused(t, m)
	w.kill(12345)
	l := take(t, m)
	if r, ok := l.Recovered(); !ok || r.PID != 12345 || r.RunID != "RUN-1" {
		t.Errorf("recovered %v %+v", ok, r)
	}
	release(t, l)
}
