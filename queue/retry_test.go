package queue

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"aiflow/internal/fault"
)

// missingTables answers as if nobody had made the tables.
type missingTables struct{ API }

func (missingTables) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return nil, &types.ResourceNotFoundException{}
}

// scripted answers UpdateItem and GetItem from a list; the last one stays.
type scripted struct {
	API
	updates []error
	item    item
	updated int
	read    int
}

func (s *scripted) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	err := s.updates[min(s.updated, len(s.updates)-1)]
	s.updated++
	if err != nil {
		return nil, err
	}
	return &dynamodb.UpdateItemOutput{Attributes: s.item}, nil
}

func (s *scripted) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	s.read++
	return &dynamodb.GetItemOutput{Item: s.item}, nil
}

// handClock moves only when somebody sleeps.
type handClock struct {
	now   time.Time
	boot  time.Duration
	slept []time.Duration
}

func (c *handClock) Now() time.Time      { return c.now }
func (c *handClock) Boot() time.Duration { return c.boot }
func (c *handClock) sleep(_ context.Context, d time.Duration) error {
	c.slept = append(c.slept, d)
	c.now, c.boot = c.now.Add(d), c.boot+d
	return nil
}

func scriptedStore(t testing.TB, api API) (*Store, *handClock) {
	t.Helper()
	clock := &handClock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), boot: time.Hour}
	s, err := New(Options{API: api, Namespace: "n", Clock: clock, Retry: Retry{Sleep: clock.sleep}})
	if err != nil {
		t.Fatal(err)
	}
	return s, clock
}

func apiError(code string) error { return &smithy.GenericAPIError{Code: code} }

func TestAnswersAndWhatTheyMean(t *testing.T) {
	ours := readable("RUNNING", "r1", "tok", 1)
	theirs := readable("RUNNING", "r2", "other", 2)
	ccf := &types.ConditionalCheckFailedException{}
	withItem := &types.ConditionalCheckFailedException{Item: theirs}
	for _, tc := range []struct {
		name    string
		updates []error
		item    item
		ok      bool
		code    fault.Code
		tries   int
		reads   int
	}{
		{"at once", []error{nil}, ours, true, "", 1, 0},
		{"throttled twice", []error{&types.ProvisionedThroughputExceededException{}, apiError("ThrottlingException"), nil}, ours, true, "", 3, 0},
		{"request limit", []error{&types.RequestLimitExceeded{}, nil}, ours, true, "", 2, 0},
		{"server error", []error{&types.InternalServerError{}, nil}, ours, true, "", 2, 0},
		{"transaction conflict", []error{&types.TransactionConflictException{}, nil}, ours, true, "", 2, 0},
		{"expired credentials", []error{apiError("ExpiredTokenException"), nil}, ours, true, "", 2, 0},
		{"time-out, applied", []error{context.DeadlineExceeded, ccf}, ours, true, "", 2, 1},
		{"broken connection, applied", []error{&net.OpError{Op: "read", Err: errors.New("reset")}, ccf}, ours, true, "", 2, 1},
		{"time-out, a rival was quicker", []error{context.DeadlineExceeded, ccf}, theirs, false, "", 2, 1},
		{"lost, item in the answer", []error{withItem}, theirs, false, "", 1, 0},
		{"lost, item to be read", []error{ccf}, theirs, false, "", 1, 1},
		{"gone", []error{ccf}, nil, false, "", 1, 1},
		{"no table", []error{&types.ResourceNotFoundException{}}, nil, false, fault.QueueNotReady, 1, 0},
		{"not allowed", []error{apiError("AccessDeniedException")}, nil, false, fault.QueueNotAvailable, 1, 0},
		{"wrong request", []error{apiError("ValidationException")}, nil, false, fault.QueueNotAvailable, 1, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			api := &scripted{updates: tc.updates, item: tc.item}
			s, _ := scriptedStore(t, api)
			_, ok, err := s.claimTask(context.Background(), "r1", "a", "tok")
			if ok != tc.ok || (err != nil) != (tc.code != "") {
				t.Errorf("ok %v, err %v", ok, err)
			}
			if tc.code != "" {
				assertFault(t, err, tc.code, "command", "Claim")
			}
			if api.updated != tc.tries || api.read != tc.reads {
				t.Errorf("%d tries %d reads, want %d and %d", api.updated, api.read, tc.tries, tc.reads)
			}
		})
	}
}

func readable(status, by, token string, fence int64) item {
	return item{"task_id": str("a"), "status": str(status), "claimed_by": str(by), "attempt_token": str(token), "fence": num(fence)}
}

func TestBackoffHasJitterAndACeiling(t *testing.T) {
	api := &scripted{updates: []error{&types.InternalServerError{}}}
	s, clock := scriptedStore(t, api)
	err := s.Heartbeat(context.Background(), Task{TaskID: "a"})
	assertFault(t, err, fault.QueueNotAvailable)
	var total time.Duration
	distinct := map[time.Duration]bool{}
	for i, d := range clock.slept {
		top := min(50*time.Millisecond<<min(i, 20), 5*time.Second)
		if d < 0 || d > top {
			t.Errorf("wait %d is %v, at most %v", i, d, top)
		}
		distinct[d] = true
		total += d
	}
	if total > 30*time.Second || total < 15*time.Second {
		t.Errorf("gave up after %v", total)
	}
	if len(distinct) < len(clock.slept)-1 || len(clock.slept) < 8 {
		t.Errorf("no jitter: %v", clock.slept)
	}
}

func TestCancelledCallerIsNotKept(t *testing.T) {
	api := &scripted{updates: []error{&types.InternalServerError{}}}
	s, _ := scriptedStore(t, api)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ErrStopped)
	if err := s.Heartbeat(ctx, Task{TaskID: "a"}); !errors.Is(err, ErrStopped) || api.updated != 1 {
		t.Errorf("%v after %d tries", err, api.updated)
	}
}

func TestTheSDKDoesNotRetryBesideUs(t *testing.T) {
	proxy, api := newFaulty(t, func(string, string) fate { return failBefore })
	_, err := api.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: aws.String(QueueTable), Key: item{"namespace": str("n"), "task_id": str("x")}})
	if err == nil || proxy.requests() != 1 {
		t.Errorf("%d requests, %v", proxy.requests(), err)
	}
}
