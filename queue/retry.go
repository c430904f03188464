package queue

import (
	"cmp"
	"context"
	"errors"
	"net"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
)

// Retry says how patient the store is. The SDK's own retries are switched off,
// so this is all there is.
type Retry struct {
	First   time.Duration // longest first wait; doubles with each try
	Ceiling time.Duration // longest single wait
	Total   time.Duration // no new try begins after this
	Attempt time.Duration // time for one try
	// Sleep waits, or ends early with the context's error. Nil: real time.
	Sleep func(context.Context, time.Duration) error
}

func (r Retry) withDefaults() Retry {
	r.First = cmp.Or(r.First, 50*time.Millisecond)
	r.Ceiling = cmp.Or(r.Ceiling, 5*time.Second)
	r.Total = cmp.Or(r.Total, 30*time.Second)
	r.Attempt = cmp.Or(r.Attempt, 5*time.Second)
	if r.Sleep == nil {
		r.Sleep = proc.Sleep
	}
	return r
}

// verdict says what a failed call means.
type verdict int

const (
	final       verdict = iota // asking again gives the same answer
	conditional                // the condition did not hold
	missing                    // the table is not there
	again                      // refused for now: throttled
	unknown                    // may have been applied: time-out, 5xx, broken connection
)

func judge(err error) verdict {
	var ccf *types.ConditionalCheckFailedException
	var gone *types.ResourceNotFoundException
	switch {
	case errors.As(err, &ccf):
		return conditional
	case errors.As(err, &gone):
		return missing
	}
	var api smithy.APIError
	if !errors.As(err, &api) { // no answer of the service: only what never left this process is final
		var build *smithy.SerializationError
		var params smithy.InvalidParamsError
		if errors.As(err, &build) || errors.As(err, &params) {
			return final
		}
		return unknown
	}
	switch api.ErrorCode() {
	case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded",
		"TransactionConflictException", "LimitExceededException", "ExpiredTokenException", "ReplicatedWriteConflictException":
		return again
	case "InternalServerError", "InternalFailure", "ServiceUnavailable", "ServiceUnavailableException", "RequestTimeout":
		return unknown
	}
	var r interface{ HTTPStatusCode() int }
	if errors.As(err, &r) && (r.HTTPStatusCode() >= 500 || r.HTTPStatusCode() == 429) {
		return unknown
	}
	return final
}

// do calls f until it succeeds, fails for good, or patience ends. A failed
// condition is handed back as it is; the caller knows what it means.
func (s *Store) do(ctx context.Context, op string, f func(context.Context) error) error {
	began := s.clock.Boot()
	for try := 0; ; try++ {
		one, cancel := context.WithTimeout(ctx, s.retry.Attempt)
		err := f(one)
		cancel()
		if err == nil {
			return nil
		}
		switch judge(err) {
		case conditional:
			return err
		case missing:
			return s.failed(err, fault.QueueNotReady, op)
		case final:
			return s.failed(err, fault.QueueNotAvailable, op)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		wait := s.wait(try)
		if s.clock.Boot()-began+wait > s.retry.Total {
			return s.failed(err, fault.QueueNotAvailable, op)
		}
		if err := s.retry.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

func (s *Store) failed(err error, code fault.Code, op string) error {
	return fault.Wrap(err, code, "command", op, "value", s.place, "namespace", s.ns, "cause", brief(err))
}

// brief is the innermost cause: the SDK wraps it in four lines.
func brief(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorMessage() != "" {
		return api.ErrorCode() + ": " + api.ErrorMessage()
	}
	var dial *net.OpError
	if errors.As(err, &dial) {
		return dial.Error()
	}
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

// wait is full jitter: anything up to First * 2^try, at most Ceiling.
func (s *Store) wait(try int) time.Duration {
	top := s.retry.Ceiling
	if try < 20 && s.retry.First<<try < top {
		top = s.retry.First << try
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Duration(s.jitter.Float64() * float64(top))
}

func conditionFailed(err error) bool { return judge(err) == conditional }
