package queue

import (
	"context"
	"strings"
	"testing"

	"aiflow/internal/fault"
)

// Every write, under every fate of its first request, ends as if nothing had
// happened: applied exactly once, and known to be ours.
func TestWritesUnderEveryFate(t *testing.T) {
	type write struct {
		name   string
		before Status
		match  string // in the request's body
		do     func(*Store, Task) error
		check  func(testing.TB, Task)
	}
	ctx := context.Background()
	status := func(want Status, fence int64) func(testing.TB, Task) {
		return func(t testing.TB, got Task) {
			t.Helper()
			if got.Status != want || got.Fence != fence {
				t.Errorf("left as %s fence %d, want %s fence %d", got.Status, got.Fence, want, fence)
			}
		}
	}
	writes := []write{
		{"enqueue", "", "enqueue_token", func(s *Store, held Task) error {
			_, created, err := s.Enqueue(ctx, NewTask{TaskID: held.TaskID, Prompt: "p"})
			if err == nil && !created {
				t.Error("our own item counts as somebody else's")
			}
			return err
		}, status(Queued, 0)},
		{"claim", Queued, "claimed_by", func(s *Store, held Task) error {
			got, ok, err := s.claimTask(ctx, "r1", held.TaskID, "tok")
			if err == nil && (!ok || got.Fence != 1 || got.AttemptToken != "tok") {
				t.Errorf("our own claim counts as lost: %v %+v", ok, got)
			}
			return err
		}, status(Running, 1)},
		{"heartbeat", Running, "updated_at", func(s *Store, held Task) error { return s.Heartbeat(ctx, held) }, status(Running, 1)},
		{"complete", Running, "COMPLETE", func(s *Store, held Task) error { return s.Complete(ctx, held, "out") }, status(Complete, 1)},
		{"fail", Running, "ERROR", func(s *Store, held Task) error { return s.Fail(ctx, held, "e") }, status(Errored, 1)},
		{"cancel waiting", Queued, "CANCELLED", func(s *Store, held Task) error { _, err := s.Cancel(ctx, held.TaskID); return err }, status(Cancelled, 0)},
		{"cancel running", Running, "CANCELLED", func(s *Store, held Task) error { _, err := s.Cancel(ctx, held.TaskID); return err }, status(Cancelled, 1)},
	}
	calm := open(t)
	for _, w := range writes {
		for _, f := range fates() {
			t.Run(w.name+"/"+f.String(), func(t *testing.T) {
				proxy, api := newFaulty(t, once(f, func(op, body string) bool {
					return strings.HasSuffix(op, "Item") && op != "GetItem" && strings.Contains(body, w.match)
				}))
				s := beside(t, calm, quick, func(o *Options) { o.API = api })
				held := Task{TaskID: strings.ReplaceAll(w.name, " ", "-") + "-" + f.String()}
				if w.before != "" {
					held = inState(t, calm, held.TaskID, w.before)
				}
				if err := w.do(s, held); err != nil {
					t.Fatal(err)
				}
				proxy.flush()
				w.check(t, must[Task](t)(calm.Get(ctx, held.TaskID)))
			})
		}
	}
}

// Two clients, one unlucky: whoever wins, only one does.
func TestLostClaimIsNotMistakenForOurs(t *testing.T) {
	calm := open(t)
	ctx := context.Background()
	for _, f := range fates() {
		id := "contested-" + f.String()
		inState(t, calm, id, Queued)
		_, api := newFaulty(t, once(f, func(op, body string) bool {
			if op != "UpdateItem" {
				return false
			}
			if !f.mayApply() || f == lateApply { // the rival is quicker
				_, ok, err := calm.claimTask(ctx, "rival", id, "rival")
				if err != nil || !ok {
					t.Errorf("rival: %v %v", ok, err)
				}
			}
			return true
		}))
		s := beside(t, calm, quick, func(o *Options) { o.API = api })
		got, ok, err := s.claimTask(ctx, "r1", id, "mine")
		if err != nil {
			t.Errorf("%s: %v", f, err)
		}
		there := must[Task](t)(calm.Get(ctx, id))
		if ok != (there.ClaimedBy == "r1") || ok && got.AttemptToken != "mine" || there.Fence != 1 {
			t.Errorf("%s: ok %v, table says %s fence %d", f, ok, there.ClaimedBy, there.Fence)
		}
	}
}

// The answer of a claim never comes, not even after all retries: the claim was
// applied, the runner finds out at its next poll and goes on with it.
func TestClaimWithoutAnyAnswerIsTakenUpLater(t *testing.T) {
	calm := open(t)
	ctx := context.Background()
	inState(t, calm, "a", Queued)
	cut := true
	_, api := newFaulty(t, func(op, body string) fate {
		if cut && op == "UpdateItem" && strings.Contains(body, "claimed_by") {
			return dropAfter
		}
		if cut && op == "GetItem" {
			return dropBefore
		}
		return pass
	})
	s := beside(t, calm, quick, func(o *Options) { o.API = api; o.Retry.Total = 20e6 })
	c := s.Claimer("r1")
	_, ok, err := c.Claim(ctx)
	assertFault(t, err, fault.QueueNotAvailable)
	there := must[Task](t)(calm.Get(ctx, "a"))
	if ok || there.Status != Running {
		t.Fatalf("%v %+v", ok, there)
	}
	if !c.Holds(there) {
		t.Error("a sweep would take it for a task of an earlier process")
	}
	cut = false
	got, ok, err := c.Claim(ctx)
	if err != nil || !ok || got.TaskID != "a" || got.Fence != 1 {
		t.Fatalf("%+v %v %v", got, ok, err)
	}
	if err := s.Complete(ctx, got, ""); err != nil {
		t.Error(err)
	}
}

// A claim that is applied long after its caller gave up is found, too.
func TestClaimThatIsAppliedLate(t *testing.T) {
	calm := open(t)
	ctx := context.Background()
	inState(t, calm, "a", Queued)
	cut := true
	proxy, api := newFaulty(t, func(op, body string) fate {
		if cut && op == "UpdateItem" && strings.Contains(body, "claimed_by") {
			return lateApply
		}
		return pass
	})
	s := beside(t, calm, quick, func(o *Options) { o.API = api; o.Retry.Total = 20e6 })
	c := s.Claimer("r1")
	if _, ok, err := c.Claim(ctx); ok || err == nil {
		t.Fatal(ok, err)
	}
	if there := must[Task](t)(calm.Get(ctx, "a")); there.Status != Queued {
		t.Fatalf("%+v", there)
	}
	proxy.flush()
	cut = false
	got, ok, err := c.Claim(ctx)
	if err != nil || !ok || got.TaskID != "a" || got.Fence != 1 {
		t.Fatalf("%+v %v %v", got, ok, err)
	}
}

func TestMissingTablesAreSaid(t *testing.T) {
	_, api := newFaulty(t, func(string, string) fate { return pass })
	s := open(t, func(o *Options) { o.API = missingTables{api} })
	_, err := s.Get(context.Background(), "a")
	assertFault(t, err, fault.QueueNotReady)
}
