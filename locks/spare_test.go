package locks

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"aiflow/internal/fault"
)

func (w *world) spare() string { return filepath.Join(w.dir, spareName) }

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	fi, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return fi.Sys().(*syscall.Stat_t).Ino
}

func takeNamed(t *testing.T, m *Manager, name string) *Lease {
	t.Helper()
	l, err := m.AcquireNamed(t.Context(), name, Ask{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestOneFileForLockAfterLock(t *testing.T) {
	w := newWorld(t)
	m := w.process(1)
	for _, name := range []string{"a", strings.Repeat("long", 20), "b"} {
		l := takeNamed(t, m, name)
		if inode(t, l.Path()) != inode(t, w.spare()) {
			t.Skip("no links here")
		}
		if e, ok, err := w.process(2).Look(Named(name)); err != nil || !ok || e.Problem != nil || e.Token != l.token {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
		if err := l.Check(); err != nil {
			t.Error(err)
		}
		release(t, l)
	}
	first := takeNamed(t, m, "a")
	second := takeNamed(t, m, "b")
	if inode(t, second.Path()) == inode(t, w.spare()) {
		t.Error("written over while a lock has it")
	}
	if err := first.Renew(); err != nil {
		t.Fatal(err)
	}
	third := takeNamed(t, m, "c") // a renewal gives the file back
	if inode(t, third.Path()) != inode(t, w.spare()) || inode(t, first.Path()) == inode(t, w.spare()) {
		t.Error("the file is not free again")
	}
	for _, l := range []*Lease{first, second, third} {
		if err := l.Check(); err != nil {
			t.Error(err)
		}
		release(t, l)
	}
}

// Whatever lies at the spare's place is left alone, and the lock is taken in
// the other way.
func TestSpareThatIsNone(t *testing.T) {
	const text = "somebody's"
	other := func(w *world) string { return filepath.Join(filepath.Dir(w.dir), "other") }
	for name, put := range map[string]func(w *world) error{
		"link":        func(w *world) error { return os.Symlink(other(w), w.spare()) },
		"second name": func(w *world) error { return os.Link(other(w), w.spare()) },
		"dangling":    func(w *world) error { return os.Symlink("nowhere", w.spare()) },
		"directory":   func(w *world) error { return os.Mkdir(w.spare(), 0o777) },
		"FIFO":        func(w *world) error { return syscall.Mkfifo(w.spare(), 0o666) },
		"socket":      func(w *world) error { return listen(w.spare(), "") },
		"too long":    func(w *world) error { return os.WriteFile(w.spare(), make([]byte, maxSpare+1), 0o666) },
		"another user's": func(w *world) error {
			if err := os.WriteFile(w.spare(), []byte(text), 0o666); err != nil || os.Geteuid() != 0 {
				return err
			}
			return os.Chown(w.spare(), 4711, -1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if err := os.MkdirAll(w.dir, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(other(w), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			if err := put(w); err != nil {
				t.Skip(err)
			}
			before := inode(t, w.spare())
			l := take(t, w.process(1))
			if name != "another user's" || os.Geteuid() == 0 {
				if got := inode(t, l.Path()); got == before || inode(t, w.spare()) != before {
					t.Error("it was used")
				}
			}
			if data, err := os.ReadFile(other(w)); err != nil || string(data) != text {
				t.Errorf("written over: %q, %v", data, err)
			}
			refused(t, w.process(2))
			release(t, l)
		})
	}
}

// What a killed writer left in the spare is nobody's lock and in nobody's way.
func TestSpareHoldsAnything(t *testing.T) {
	for _, left := range []string{"", "{", seedExample, strings.Repeat("x", maxSpare)} {
		w := newWorld(t)
		if err := os.MkdirAll(w.dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(w.spare(), []byte(left), 0o666); err != nil {
			t.Fatal(err)
		}
		m := w.process(1)
		if all, err := m.List(); err != nil || len(all) != 0 {
			t.Errorf("%v, %v", all, err)
		}
		l := take(t, m)
		if got := w.content(); inode(t, l.Path()) == inode(t, w.spare()) && (len(got) < len(left) || !strings.HasSuffix(got, "\n")) {
			t.Errorf("%q", got)
		}
		wantVerdict(t, w.process(2), Held, true)
		release(t, l)
	}
}

// shown is a file whose readings are given, the last one for ever.
type shown struct {
	files
	readings []string
	n        int
}

func (s *shown) read(string) ([]byte, time.Time, flaw, error) {
	s.n++
	return []byte(s.readings[min(s.n, len(s.readings))-1]), time.Now(), "", nil
}

func TestTornRecordsAreReadAgain(t *testing.T) {
	text := func(r Record) string { data, _ := r.encode(); return string(data) }
	whole, other := text(ours()), text(ours(func(r *Record) { r.RequestID = "RQ-2" }))
	torn := func(at int) string { return whole[:at] + "x" + whole[at+1:] }
	var many []string
	for i := range 20 {
		many = append(many, torn(200+i))
	}
	for name, tc := range map[string]struct {
		readings       []string
		unguarded      int
		lone, together flaw // what is seen without the guard, and under it
		whose          string
	}{
		"whole":            {[]string{whole}, 1, "", "", "RQ-1"},
		"torn once":        {[]string{torn(200), whole}, 2, "", flawTorn, "RQ-1"},
		"cut once":         {[]string{whole[:100], whole}, 2, "", flawNotJSON, "RQ-1"},
		"other once":       {[]string{other, whole}, 2, "", "", "RQ-1"},
		"torn for good":    {[]string{torn(200)}, 2, flawTorn, flawTorn, ""},
		"torn ever anew":   {many, sightings, flawTorn, flawTorn, ""},
		"copied by hand":   {[]string{other}, 2, "", "", "RQ-2"},
		"garbage for good": {[]string{"garbage"}, 2, flawNotJSON, flawNotJSON, ""},
		"without a sum":    {[]string{seedExample}, 1, "", "", "RQ-1"},
		"newer":            {[]string{strings.Replace(whole, "1.0", "2.0", 1)}, 1, flawNewer, flawNewer, ""},
	} {
		m := newWorld(t).process(1)
		s := &shown{readings: tc.readings}
		m.files = s
		rec, _, f, err := m.read(Request("RQ-1"), false)
		if err != nil || f != tc.lone || rec.RequestID != tc.whose || s.n != tc.unguarded {
			t.Errorf("%s: %d readings, flaw %q, %+v, %v", name, s.n, f, rec, err)
		}
		s.n = 0
		if _, _, f, err := m.read(Request("RQ-1"), true); err != nil || f != tc.together || s.n != 1 {
			t.Errorf("%s, under the guard: %d readings, flaw %q, %v", name, s.n, f, err)
		}
	}
}

// A holder that finds half a record, or another lock's, has lost its own: its
// file is not written over while the lock's name is on it.
func TestHolderOfWhatWasWrittenOverHasLost(t *testing.T) {
	for reason, over := range map[string]func(w *world, whole string) string{
		"torn":     func(_ *world, whole string) string { return strings.Replace(whole, "RUN-1", "RUN-2", 1) },
		"not_json": func(_ *world, whole string) string { return whole[:len(whole)/2] },
		"vanished": func(w *world, _ string) string {
			data, _ := ours(func(r *Record) { r.RequestID = "RQ-2" }).encode()
			return string(data)
		},
	} {
		w := newWorld(t)
		l := take(t, w.process(1))
		w.put(over(w, w.content()))
		wantFacts(t, wantCode(t, l.Check(), fault.LockLost), fault.Facts{"reason": reason, "path": w.file()})
		if l.Context().Err() == nil {
			t.Errorf("%s: work goes on", reason)
		}
		wantCode(t, l.Release(), fault.LockLost)
		if w.content() == "" {
			t.Error("removed")
		}
	}
}
