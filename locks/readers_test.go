package locks

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// watch is what readers without the guard see of two locks that are taken in
// turns, in one and the same file.
type watch struct {
	until int64 // so many wrong ones are enough; 0: never
	over  atomic.Bool
	seen  atomic.Int64
	wrong atomic.Int64
	first sync.Once
	what  string // the first that was wrong
}

// look reads both locks, again and again. A record says twice which lock it is of.
func (w *watch) look(m *Manager) {
	for !w.over.Load() {
		for _, id := range []string{"RQ-1", "RQ-2"} {
			e, found, err := m.LookRequest(id)
			if err == nil && !found {
				continue
			}
			w.seen.Add(1)
			if err != nil || e.Problem != nil || e.Verdict != Held || e.RequestID != id || !strings.HasPrefix(e.RunID, id+"-") {
				if w.wrong.Add(1) == w.until {
					w.over.Store(true)
				}
				w.first.Do(func() { w.what = fmt.Sprintf("%s: %v, %v, %s, %+v", id, err, e.Problem, e.Verdict, e.Record) })
			}
		}
	}
}

// turns takes and releases both locks, with records of many lengths.
func (w *watch) turns(t *testing.T, n int, change func(*Manager)) {
	t.Helper()
	world := newWorld(t)
	var readers sync.WaitGroup
	for i := range 4 {
		m := world.process(100 + i)
		change(m)
		readers.Go(func() { w.look(m) })
	}
	defer readers.Wait()
	defer w.over.Store(true)
	writer := world.process(1)
	for i := 0; i < n && !w.over.Load(); i++ {
		id := fmt.Sprint("RQ-", 1+i%2)
		l, err := writer.AcquireRequest(context.Background(), id, Ask{RunID: id + "-" + strings.Repeat("x", i%41)})
		if err != nil {
			t.Error(err)
			return
		}
		if err := l.Check(); err != nil {
			t.Error(err)
		}
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	}
}

func TestReadersSeeWholeRecordsOfTheirLock(t *testing.T) {
	n := 6000
	if testing.Short() {
		n = 1500
	}
	var w watch
	w.turns(t, n, func(*Manager) {})
	t.Logf("%d records seen", w.seen.Load())
	if w.wrong.Load() > 0 || w.seen.Load() == 0 {
		t.Errorf("%d of %d are wrong: %s", w.wrong.Load(), w.seen.Load(), w.what)
	}
}

// unsealedFiles is what a reader sees that does not look at sums.
type unsealedFiles struct{ files }

func (f unsealedFiles) read(name string) ([]byte, time.Time, flaw, error) {
	data, mtime, bad, err := f.files.read(name)
	return unsealed(data), mtime, bad, err
}

func (f unsealedFiles) many() (reader, func()) { return f, func() {} }

// Negative control: such a reader sees what is another lock's.
func TestReadersControlWithoutSums(t *testing.T) {
	w := watch{until: 1}
	late := time.AfterFunc(time.Minute, func() { w.over.Store(true) })
	defer late.Stop()
	w.turns(t, 1<<30, func(m *Manager) { m.files = unsealedFiles{m.files} })
	t.Logf("%d of %d: %s", w.wrong.Load(), w.seen.Load(), w.what)
	if w.wrong.Load() == 0 {
		t.Error("nothing wrong was seen: this test cannot find what it is for")
	}
}
