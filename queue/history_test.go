package queue

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// event is one accepted step of a task, as the client saw it.
type event struct {
	Kind   string // "claim", "end", "git" (a write outside the store)
	Task   string
	Runner string
	Fence  int64
	Status Status
}

// history is written by many.
type history struct {
	mu     sync.Mutex
	events []event
}

func (h *history) add(e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

// judgeHistory says what is wrong: a task with two winners of one fence or two
// claims, an end by somebody who does not hold it, two ends, a write outside
// after the task was ended or claimed by somebody else, or a task that does not
// end. final are the tasks as the table holds them.
func judgeHistory(events []event, final []Task) []string {
	var wrong []string
	claims, ends, holder := map[string][]string{}, map[string][]string{}, map[string]string{}
	ended := map[string]bool{}
	for _, e := range events {
		who := fmt.Sprintf("%s#%d", e.Runner, e.Fence)
		switch e.Kind {
		case "claim":
			claims[e.Task] = append(claims[e.Task], who)
			holder[e.Task] = who
		case "end":
			ends[e.Task] = append(ends[e.Task], who+" "+string(e.Status))
			ended[e.Task] = true
		case "git":
			if ended[e.Task] || holder[e.Task] != who {
				wrong = append(wrong, fmt.Sprintf("%s: %s wrote although the task was not its own", e.Task, who))
			}
		}
	}
	for _, t := range final {
		if n := len(claims[t.TaskID]); n > 1 || int64(n) > t.Fence {
			wrong = append(wrong, fmt.Sprintf("%s: claimed by %s, fence %d", t.TaskID, strings.Join(claims[t.TaskID], ", "), t.Fence))
		}
		if len(ends[t.TaskID]) > 1 {
			wrong = append(wrong, fmt.Sprintf("%s: ended by %s", t.TaskID, strings.Join(ends[t.TaskID], ", ")))
		}
		if !t.Status.Terminal() {
			wrong = append(wrong, fmt.Sprintf("%s: still %s", t.TaskID, t.Status))
		}
	}
	slices.Sort(wrong)
	return wrong
}

func TestJudgeHistory(t *testing.T) {
	done := []Task{{TaskID: "a", Status: Complete, Fence: 1}}
	good := []event{{Kind: "claim", Task: "a", Runner: "r", Fence: 1}, {Kind: "git", Task: "a", Runner: "r", Fence: 1}, {Kind: "end", Task: "a", Runner: "r", Fence: 1, Status: Complete}}
	if wrong := judgeHistory(good, done); wrong != nil {
		t.Errorf("a good history: %v", wrong)
	}
	for name, bad := range map[string][]event{
		"two claims":       append(good[:1:1], event{Kind: "claim", Task: "a", Runner: "s", Fence: 1}),
		"two ends":         append(good[:3:3], event{Kind: "end", Task: "a", Runner: "s", Fence: 1}),
		"write after end":  append(good[:3:3], good[1]),
		"write by another": append(good[:1:1], event{Kind: "git", Task: "a", Runner: "s", Fence: 1}),
	} {
		if wrong := judgeHistory(bad, done); len(wrong) != 1 {
			t.Errorf("%s: %v", name, wrong)
		}
	}
	if wrong := judgeHistory(nil, []Task{{TaskID: "a", Status: Running, Fence: 1}}); len(wrong) != 1 {
		t.Errorf("unfinished: %v", wrong)
	}
}

// drain lets n clients claim and complete until nothing is left.
func drain(t testing.TB, n int, client func(i int) *Store, h *history) {
	t.Helper()
	var wg sync.WaitGroup
	peers := make([]string, n)
	for i := range peers {
		peers[i] = fmt.Sprintf("r%d", i)
	}
	for i, id := range peers {
		wg.Go(func() {
			s := client(i)
			c := s.Claimer(id)
			c.SetPeers(peers)
			if err := drainOne(s, c, id, h); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func drainOne(s *Store, c *Claimer, id string, h *history) error {
	ctx := context.Background()
	for {
		task, ok, err := c.Claim(ctx)
		if err != nil || !ok {
			return err
		}
		h.add(event{Kind: "claim", Task: task.TaskID, Runner: id, Fence: task.Fence})
		if err := s.Complete(ctx, task, ""); err != nil {
			return err
		}
		h.add(event{Kind: "end", Task: task.TaskID, Runner: id, Fence: task.Fence, Status: Complete})
	}
}

func fill(t testing.TB, s *Store, n int) {
	t.Helper()
	parallel(t, n, func(i int) error {
		_, _, err := s.Enqueue(context.Background(), NewTask{TaskID: fmt.Sprintf("t%05d", i), Prompt: strings.Repeat("p", 200)})
		return err
	})
}

func parallel(t testing.TB, n int, f func(i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	var next atomic.Int64
	for range 8 {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := f(i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestTenRunnersRaceForOneTask(t *testing.T) {
	s := open(t)
	for round := range 10 {
		inState(t, s, fmt.Sprint("one-", round), Queued)
		var winners, losers atomic.Int64
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i := range 10 {
			wg.Go(func() {
				c := beside(t, s).Claimer(fmt.Sprint("r", i))
				<-start
				switch task, ok, err := c.Claim(context.Background()); {
				case err != nil:
					t.Errorf("a loser is not quiet: %v", err)
				case ok && task.Fence == 1:
					winners.Add(1)
				default:
					losers.Add(1)
				}
			})
		}
		close(start)
		wg.Wait()
		if winners.Load() != 1 || losers.Load() != 9 {
			t.Fatalf("round %d: %d winners, %d losers", round, winners.Load(), losers.Load())
		}
	}
}

func TestEveryTaskIsDoneOnceUnderFaults(t *testing.T) {
	s := open(t)
	fill(t, s, 200)
	var n atomic.Int64
	_, api := newFaulty(t, func(op, body string) fate {
		i, all := n.Add(1), fates()
		f := all[int(i/4)%len(all)]
		if i%4 != 0 || f == slow && i%7 != 0 { // a slow one costs a time-out
			return pass
		}
		return f
	})
	h := &history{}
	drain(t, 4, func(int) *Store {
		return beside(t, s, quick, func(o *Options) { o.API = api })
	}, h)
	final := must[[]Task](t)(s.List(context.Background(), Filter{}))
	if wrong := judgeHistory(h.events, final); wrong != nil {
		t.Errorf("%s", strings.Join(wrong, "\n"))
	}
	if len(final) != 200 {
		t.Errorf("%d tasks", len(final))
	}
}

// careless claims without a condition: the negative control.
type careless struct{ API }

func (c careless) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if strings.Contains(*in.UpdateExpression, "claimed_by") {
		bare := *in
		bare.ConditionExpression = nil
		bare.ExpressionAttributeValues = item{}
		for k, v := range in.ExpressionAttributeValues {
			if k != ":queued" && k != ":number" {
				bare.ExpressionAttributeValues[k] = v
			}
		}
		in = &bare
	}
	return c.API.UpdateItem(ctx, in, o...)
}

func TestClaimsWithoutAConditionAreCaught(t *testing.T) {
	s := open(t)
	fill(t, s, 100)
	h := &history{}
	ctx := context.Background()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			id := fmt.Sprint("r", i)
			bad := beside(t, s, func(o *Options) { o.API = careless{o.API} })
			c := bad.Claimer(id)
			for range 30 {
				task, ok, err := c.Claim(ctx)
				if err != nil || !ok {
					return
				}
				h.add(event{Kind: "claim", Task: task.TaskID, Runner: id, Fence: task.Fence})
				if bad.Complete(ctx, task, "") == nil {
					h.add(event{Kind: "end", Task: task.TaskID, Runner: id, Fence: task.Fence, Status: Complete})
				}
			}
		})
	}
	wg.Wait()
	wrong := judgeHistory(h.events, must[[]Task](t)(s.List(ctx, Filter{})))
	double := 0
	for _, w := range wrong {
		if strings.Contains(w, "claimed by") {
			double++
		}
	}
	if double == 0 {
		t.Error("no double claim was found: the checker would not see one")
	}
}
