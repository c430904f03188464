package queue

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// bulk writes items of one namespace, 25 at a time.
func bulk(t testing.TB, s *Store, ns, status string, n int, at func(i int) time.Time) {
	t.Helper()
	batch := s.api.(*dynamodb.Client)
	parallel(t, (n+24)/25, func(b int) error {
		var puts []types.WriteRequest
		for i := b * 25; i < min(n, b*25+25); i++ {
			stamp := str(FormatTime(at(i)))
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: item{
				"namespace": str(ns), "task_id": str(fmt.Sprintf("%s-%06d", status, i)), "status": str(status),
				"prompt": str(strings.Repeat("p", 200)), "created_at": stamp, "updated_at": stamp,
			}}})
		}
		_, err := batch.BatchWriteItem(context.Background(), &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{QueueTable: puts},
		})
		return err
	})
}

// ownServer gives a store on a server of its own: a foreign backlog would slow
// the other tests down.
func ownServer(t testing.TB) *Store {
	s, _ := ownServerPID(t)
	return s
}

func ownServerPID(t testing.TB) (*Store, int) {
	t.Helper()
	endpoint(t) // skips where there is none
	url, pid, stop, err := dynalite()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return open(t, func(o *Options) { o.API = dial(t, url) }), pid
}

// counting counts requests and the items that were read for them.
type counting struct {
	API
	calls map[string]int
	read  int
}

func (c *counting) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	c.calls["UpdateItem"]++
	return c.API.UpdateItem(ctx, in, o...)
}

func (c *counting) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	c.calls["GetItem"]++
	return c.API.GetItem(ctx, in, o...)
}

func (c *counting) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	c.calls["Query"]++
	out, err := c.API.Query(ctx, in, o...)
	if err == nil {
		c.read += int(out.ScannedCount)
	}
	return out, err
}

func (c *counting) total() int {
	n := 0
	for _, v := range c.calls {
		n += v
	}
	return n
}

func (c *counting) reset() { c.calls, c.read = map[string]int{}, 0 }

func counted(s *Store) *counting {
	c := &counting{API: s.api, calls: map[string]int{}}
	s.api = c
	return c
}

func TestOldestFirst(t *testing.T) {
	s := open(t)
	base := time.Now().Add(-time.Hour)
	bulk(t, s, s.ns, "QUEUED", 60, func(i int) time.Time { return base.Add(time.Duration(59-i) * time.Second) })
	c := s.Claimer("r1")
	for i := range 60 {
		task, ok, err := c.Claim(context.Background())
		if err != nil || !ok || task.TaskID != fmt.Sprintf("QUEUED-%06d", 59-i) {
			t.Fatalf("claim %d: %s %v %v", i, task.TaskID, ok, err)
		}
	}
	if _, ok, err := c.Claim(context.Background()); ok || err != nil {
		t.Error("something is left", err)
	}
}

// The backlog of others and one's own ended tasks starve nobody, and are not
// read again for each claim.
func TestBacklogOfOthersStarvesNobody(t *testing.T) {
	s := ownServer(t)
	base := time.Now().Add(-2 * time.Hour)
	clean := s.api
	bulk(t, s, "others", "QUEUED", 3000, func(i int) time.Time { return base.Add(time.Duration(i) * time.Second) })
	bulk(t, s, s.ns, "COMPLETE", 3000, func(i int) time.Time { return base.Add(time.Duration(i) * time.Second) })
	bulk(t, s, s.ns, "QUEUED", 30, func(i int) time.Time { return base.Add(time.Duration(1000+i*60) * time.Second) })
	count := counted(s)
	c := s.Claimer("r1")
	for i := range 30 {
		task, ok, err := c.Claim(context.Background())
		if err != nil || !ok || task.TaskID != fmt.Sprintf("QUEUED-%06d", i) {
			t.Fatalf("claim %d: %s %v %v", i, task.TaskID, ok, err)
		}
	}
	if count.read > 12_000 {
		t.Errorf("%d items read for 30 claims", count.read)
	}
	if _, ok, err := c.Claim(context.Background()); ok || err != nil { // looks once to the end
		t.Fatal(ok, err)
	}
	count.reset()
	for range 20 { // idle: one request each
		if _, ok, err := c.Claim(context.Background()); ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	if count.total() > 20 {
		t.Errorf("an idle runner sends %v in 20 polls", count.calls)
	}
	late := &Store{}
	*late = Store{api: clean, ns: s.ns, clock: s.clock, retry: s.retry, rand: s.rand, jitter: s.jitter}
	if _, _, err := late.Enqueue(context.Background(), NewTask{TaskID: "new", Prompt: "p"}); err != nil {
		t.Fatal(err)
	}
	count.reset()
	for i := 0; ; i++ {
		task, ok, err := c.Claim(context.Background())
		if err != nil || i > 2 {
			t.Fatal("a new task is not found within three polls", err)
		}
		if ok {
			if task.TaskID != "new" {
				t.Errorf("got %s", task.TaskID)
			}
			break
		}
	}
}

// A task that turns up with an old time stamp (another machine's clock, a
// foreign client) is found by the full look, at the latest after a minute.
func TestTaskWithAnOldTimeIsFound(t *testing.T) {
	clock := &handClock{now: time.Now(), boot: time.Hour}
	s := open(t, func(o *Options) { o.Clock = clock })
	ctx := context.Background()
	c := s.Claimer("r1")
	if _, ok, err := c.Claim(ctx); ok || err != nil {
		t.Fatal(ok, err)
	}
	old := FormatTime(clock.now.Add(-10 * time.Minute))
	put(t, s, item{"task_id": str("old"), "status": str("QUEUED"), "created_at": str(old), "updated_at": str(old)})
	polls := 0
	for {
		polls++
		_ = clock.sleep(ctx, time.Second)
		_, ok, err := c.Claim(ctx)
		if err != nil || polls > 70 {
			t.Fatalf("not found after %d polls: %v", polls, err)
		}
		if ok {
			break
		}
	}
	if polls < 50 {
		t.Errorf("found after %d polls: the index was read from the beginning each time", polls)
	}
}

func TestPeersShareTheCandidates(t *testing.T) {
	peers := []string{"a", "b", "c", "d"}
	shares := map[string]int{}
	for i := range 4000 {
		id := fmt.Sprint("t", i)
		who := owner(peers, "a", id)
		for _, p := range peers {
			if owner(peers, p, id) != who {
				t.Fatalf("%s: peers disagree", id)
			}
		}
		shares[who]++
		if rest := owner(peers[:3], "a", id); who != "d" && rest != who {
			t.Fatalf("%s moved although its owner stayed", id)
		}
	}
	for p, n := range shares {
		if n < 850 || n > 1150 {
			t.Errorf("%s has %d of 4000", p, n)
		}
	}
}

// A candidate that falls to a peer who is busy is not left alone for long.
func TestShareOfABusyPeerIsTaken(t *testing.T) {
	clock := &handClock{now: time.Now(), boot: time.Hour}
	s := open(t, func(o *Options) { o.Clock = clock })
	ctx := context.Background()
	base := clock.now.Add(-time.Hour)
	bulk(t, s, s.ns, "QUEUED", 40, func(i int) time.Time { return base.Add(time.Duration(i) * time.Second) })
	c := s.Claimer("me")
	c.SetPeers([]string{"me", "busy"})
	c.crowded = clock.boot + time.Hour
	oldest := func() string { return must[[]Task](t)(s.List(ctx, Filter{Status: Queued}))[0].TaskID }
	first, _, err := c.Claim(ctx)
	if err != nil || owner(c.peers, "me", first.TaskID) != "me" {
		t.Fatalf("%s %v", first.TaskID, err)
	}
	for range 10 {
		_ = clock.sleep(ctx, 20*time.Second) // each task takes a while
		want := oldest()
		got, ok, err := c.Claim(ctx)
		if err != nil || !ok || got.TaskID != want {
			t.Fatalf("got %s, oldest is %s (%v %v)", got.TaskID, want, ok, err)
		}
	}
}
