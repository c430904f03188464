package locks

import (
	"testing"

	"aiflow/internal/fault"
)

// As many may have a slot as there are; who comes next is told who has them, and
// the slot of a holder that died is free at once.
func TestSlots(t *testing.T) {
	w := newWorld(t)
	slot := func(pid int, run string) (*Lease, error) {
		return w.process(pid).AcquireSlot(t.Context(), 2, Ask{RunID: run})
	}
	mustTake := func(pid int, run string, want int) *Lease {
		t.Helper()
		l, err := slot(pid, run)
		if err != nil {
			t.Fatal(err)
		}
		if l.Path() != w.process(pid).path(Slot(want)) {
			t.Errorf("process %d has %s, want slot %d", pid, l.Path(), want)
		}
		return l
	}
	mustRefuse := func(holders, request, run string) {
		t.Helper()
		_, err := slot(9, "RUN-9")
		wantFacts(t, wantCode(t, err, fault.SlotsTaken), fault.Facts{
			"count": "2", "holders": holders, "request_id": request, "run_id": run,
		})
	}
	if _, err := w.process(1).Acquire(t.Context(), Request("RQ-1"), Ask{RunID: "RUN-1"}); err != nil {
		t.Fatal(err)
	}
	mustTake(1, "RUN-1", 1)
	second := mustTake(2, "RUN-2", 2)
	mustRefuse("RQ-1 RUN-1 (1), RUN-2 (2)", "RQ-1", "RUN-1")

	w.kill(1)
	mustTake(3, "RUN-3", 1)
	mustRefuse("RUN-3 (3), RUN-2 (2)", "", "RUN-3")

	release(t, second)
	mustTake(4, "RUN-4", 2)
	mustRefuse("RUN-3 (3), RUN-4 (4)", "", "RUN-3")
}
