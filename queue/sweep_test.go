package queue

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"aiflow/internal/proc"
)

// watcher is a sweeper whose clock is moved by hand.
type watcher struct {
	*Sweeper
	clock *handClock
	store *Store
}

func newWatcher(t testing.TB, s *Store, offset time.Duration) *watcher {
	t.Helper()
	clock := &handClock{now: time.Now().Add(offset), boot: time.Hour}
	mine := beside(t, s, func(o *Options) { o.Clock = clock })
	self := must[Runner](t)(mine.Register(context.Background(), "sweeper", "/p"))
	return &watcher{mine.Sweeper(self), clock, mine}
}

// after moves the clock, looks and sweeps, and says which tasks were ended.
func (w *watcher) after(t testing.TB, d time.Duration) []string {
	t.Helper()
	ctx := context.Background()
	_ = w.clock.sleep(ctx, d)
	if _, err := w.Look(ctx); err != nil {
		t.Fatal(err)
	}
	swept, err := w.Sweep(ctx, func(Task) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, s := range swept {
		ids = append(ids, s.Task.TaskID+" of "+s.Runner)
	}
	return ids
}

// runnerAt writes a runner record with a heartbeat of that time.
func runnerAt(t testing.TB, s *Store, id string, at time.Time) {
	t.Helper()
	err := s.updateRunner(context.Background(), Runner{RunnerID: id}, "Beat", "SET last_heartbeat = :at, #status = :status, touched = :now, instance = :instance", "",
		item{":at": str(FormatTime(at)), ":status": str("RUNNING")})
	if err != nil {
		t.Fatal(err)
	}
}

func runningBy(t testing.TB, s *Store, id, runner string, updated time.Time) {
	t.Helper()
	it := item{
		"task_id": str(id), "status": str("RUNNING"), "prompt": str("p"),
		"created_at": str(FormatTime(updated)), "updated_at": str(FormatTime(updated)),
	}
	if runner != "" {
		it["claimed_by"] = str(runner)
	}
	put(t, s, it)
}

func TestSweepNamesTheDeadRunner(t *testing.T) {
	s := open(t)
	now := time.Now()
	runnerAt(t, s, "dead", now.Add(-121*time.Second))
	runnerAt(t, s, "alive", now.Add(-100*time.Second))
	runningBy(t, s, "a", "dead", now.Add(-121*time.Second))
	runningBy(t, s, "b", "alive", now)
	w := newWatcher(t, s, 0)
	if got := w.after(t, 0); got != nil {
		t.Errorf("at first sight: %v", got)
	}
	if got := w.after(t, 16*time.Second); !reflect.DeepEqual(got, []string{"a of dead"}) {
		t.Errorf("got %v", got)
	}
	if got := w.after(t, 0); got != nil {
		t.Errorf("twice: %v", got)
	}
	a := must[Task](t)(s.Get(context.Background(), "a"))
	if a.Status != Errored || !strings.HasPrefix(a.ErrorMessage, "runner dead stopped responding: last heartbeat ") || a.ClaimedBy != "dead" {
		t.Errorf("%+v", a)
	}
	if b := must[Task](t)(s.Get(context.Background(), "b")); b.Status != Running {
		t.Errorf("%+v", b)
	}
}

// A sweeper whose clock is ten minutes off ends nothing of a runner that
// beats, and ends what a silent one holds all the same.
func TestSweepWithAWrongClock(t *testing.T) {
	for _, offset := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
		t.Run(fmt.Sprint(offset), func(t *testing.T) {
			s := open(t)
			start := time.Now()
			runningBy(t, s, "a", "silent", start)
			runningBy(t, s, "b", "beating", start)
			runnerAt(t, s, "silent", start)
			w := newWatcher(t, s, offset)
			var ended []string
			for i := range 14 { // 140 s in steps of 10
				runnerAt(t, s, "beating", start.Add(time.Duration(i)*10*time.Second))
				ended = append(ended, w.after(t, 10*time.Second)...)
			}
			if !reflect.DeepEqual(ended, []string{"a of silent"}) {
				t.Errorf("got %v", ended)
			}
		})
	}
}

func TestSweepOfTasksOfOtherClients(t *testing.T) {
	s := open(t)
	now := time.Now()
	runningBy(t, s, "no-runner-old", "", now.Add(-601*time.Second))
	runningBy(t, s, "no-runner-young", "", now.Add(-500*time.Second))
	runningBy(t, s, "no-record-old", "unknown", now.Add(-121*time.Second))
	runningBy(t, s, "no-record-young", "unknown", now.Add(-60*time.Second))
	put(t, s, item{"task_id": str("waits"), "status": str("AWAITING_RESPONSE"), "created_at": str("2020-01-01T00:00:00.000Z"), "updated_at": str("2020-01-01T00:00:00.000Z")})
	put(t, s, item{"task_id": str("parent"), "status": str("WAITING_CHILDREN"), "created_at": str("2020-01-01T00:00:00.000Z"), "updated_at": str("2020-01-01T00:00:00.000Z")})
	w := newWatcher(t, s, 0)
	w.after(t, 0)
	if got := w.after(t, 16*time.Second); !reflect.DeepEqual(got, []string{"no-runner-old of ", "no-record-old of unknown"}) {
		t.Errorf("got %v", got)
	}
	for id, want := range map[string]Status{"waits": "AWAITING_RESPONSE", "parent": "WAITING_CHILDREN"} {
		if got := must[Task](t)(s.Get(context.Background(), id)); got.Status != want {
			t.Errorf("%s is %s", id, got.Status)
		}
	}
}

// What another client does when a person asks it to try a failed task again:
// it knows its own fields only and leaves ours as they are.
func retriedByAnother(t testing.TB, s *Store, id string, at time.Time) {
	t.Helper()
	for _, status := range []Status{Queued, Running} {
		_, err := s.api.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
			TableName: aws.String(QueueTable), Key: s.key(id),
			UpdateExpression:          aws.String("SET #status = :status, updated_at = :now"),
			ExpressionAttributeNames:  map[string]string{"#status": "status"},
			ExpressionAttributeValues: item{":status": str(string(status)), ":now": str(FormatTime(at))},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A task that ended here and that another client has taken up again names our
// old runner, which is dead, gone, or this very one. It lives.
func TestSweepLeavesWhatAnotherClientTookUpAgain(t *testing.T) {
	for _, runner := range []string{"dead", "gone", "sweeper"} {
		t.Run(runner, func(t *testing.T) {
			s := open(t)
			now := time.Now()
			runnerAt(t, s, "dead", now.Add(-time.Hour))
			inState(t, s, "a", Queued)
			claimed, ok, err := s.claimTask(context.Background(), runner, "a", "token-1")
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			if err := s.Fail(context.Background(), claimed, "it broke"); err != nil {
				t.Fatal(err)
			}
			retriedByAnother(t, s, "a", now.Add(time.Second))
			w := newWatcher(t, s, 0)
			for range 30 { // five minutes
				if got := w.after(t, 10*time.Second); got != nil {
					t.Fatalf("ended a living task: %v", got)
				}
			}
			for range 100 { // it is read every ten minutes, and then watched
				if got := w.after(t, 10*time.Second); got != nil {
					return
				}
			}
			t.Error("a task without any sign for ten minutes was left")
		})
	}
}

// A known runner's silence is not enough: the task may have been renewed.
func TestSweepAsksTheTaskToo(t *testing.T) {
	s := open(t)
	now := time.Now()
	runnerAt(t, s, "dead", now.Add(-time.Hour))
	runningBy(t, s, "a", "dead", now)
	w := newWatcher(t, s, 0)
	for range 11 {
		if got := w.after(t, 10*time.Second); got != nil {
			t.Fatalf("ended although updated_at was young: %v", got)
		}
	}
	if got := append(w.after(t, 10*time.Second), w.after(t, 10*time.Second)...); !reflect.DeepEqual(got, []string{"a of dead"}) {
		t.Errorf("got %v", got)
	}
}

// Between the look and the write the runner came back: its task is left alone.
func TestSweepDoesNotEndATaskThatMoved(t *testing.T) {
	s := open(t)
	ctx := context.Background()
	held := inState(t, s, "a", Running)
	runnerAt(t, s, "r1", time.Now().Add(-time.Hour))
	w := newWatcher(t, s, 0)
	w.after(t, 0)
	_ = w.clock.sleep(ctx, 20*time.Second)
	if _, err := w.Look(ctx); err != nil {
		t.Fatal(err)
	}
	stale, err := w.running(ctx)
	if err != nil || len(stale) != 1 {
		t.Fatal(stale, err)
	}
	_ = proc.Sleep(ctx, 2*time.Millisecond) // updated_at has milliseconds
	if err := s.Heartbeat(ctx, held); err != nil {
		t.Fatal(err)
	}
	if ok, err := w.end(ctx, stale[0], "x"); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
	if err := s.Complete(ctx, held, ""); err != nil {
		t.Error(err)
	}
}

func TestTaskOfAnEarlierProcessOfTheSameRunner(t *testing.T) {
	s := open(t)
	ctx := context.Background()
	held := inState(t, s, "a", Running)
	r := must[Runner](t)(s.Register(ctx, "r1", "/p"))
	w := s.Sweeper(r)
	if _, err := w.Look(ctx); err != nil {
		t.Fatal(err)
	}
	if swept, err := w.Sweep(ctx, func(x Task) bool { return x.AttemptToken == held.AttemptToken }); len(swept) != 0 || err != nil {
		t.Errorf("its own task: %v %v", swept, err)
	}
	w = s.Sweeper(r)
	swept, err := w.Sweep(ctx, func(Task) bool { return false })
	if err != nil || len(swept) != 1 || swept[0].Runner != "r1" {
		t.Errorf("%v %v", swept, err)
	}
	if got := must[Task](t)(s.Get(ctx, "a")); got.Status != Errored || !strings.Contains(got.ErrorMessage, "r1") {
		t.Errorf("%+v", got)
	}
	assertFault(t, s.Complete(ctx, held, ""), "LOCK_LOST", "reason", LostEnded)
}

func TestAliveIsTheSeedsRule(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for ago, want := range map[time.Duration]bool{0: true, 119_999 * time.Millisecond: true, 120 * time.Second: false, -time.Hour: true} {
		if got := (Runner{LastHeartbeat: FormatTime(now.Add(-ago))}).Alive(now); got != want {
			t.Errorf("%v ago: %v", ago, got)
		}
	}
	fresh := Runner{LastHeartbeat: FormatTime(now), Status: RunnerStopped}
	if fresh.Alive(now) {
		t.Error("who stopped lives")
	}
	if (Runner{LastHeartbeat: "soon"}).Alive(now) || (Runner{}).Alive(now) {
		t.Error("a runner without a readable heartbeat lives")
	}
}

// The running tasks of everybody are read when a runner falls silent, not at
// every turn.
func TestSweepReadsTheIndexOnlyWhenItMust(t *testing.T) {
	s := open(t)
	now := time.Now()
	w := newWatcher(t, s, 0)
	runnerAt(t, s, "dead", now.Add(-119*time.Second))
	count := counted(w.store)
	reads := func(d time.Duration) int {
		count.reset()
		w.after(t, d)
		return count.calls["Query"] - 1 // one is for the runners
	}
	for i, tc := range []struct {
		after time.Duration
		want  int
	}{
		{0, 1},                // at the start
		{time.Second, 0},      // not yet watched for long enough
		{20 * time.Second, 1}, // it fell silent
		{30 * time.Second, 0},
		{30 * time.Second, 0},
		{10 * time.Minute, 1}, // now and then
		{30 * time.Second, 0},
	} {
		if got := reads(tc.after); got != tc.want {
			t.Errorf("turn %d: %d reads, want %d", i, got, tc.want)
		}
	}
}
