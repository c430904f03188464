package editlock

import (
	"cmp"
	"maps"

	"aiflow/internal/fault"
)

// Error says which of seed 002's codes ended an acquire, a renewal
// or a release. It is also a fault: LOCK_HELD, LOCK_LOST or what the disk said.
type Error struct {
	Code      Code
	Retryable bool
	Cause     error // nil, or what the store said
	fault     error
}

func (e *Error) Error() string { return "project lock: " + string(e.Code) }

// Unwrap gives the fault and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.fault}
	}
	return []error{e.fault, e.Cause}
}

func (p *Lock) failure(c command, cause error) *Error {
	is := &fault.Error{Code: fault.LockUnreadable, Facts: fault.Facts{}}
	f, ok := fault.As(cause)
	if ok {
		maps.Copy(is.Facts, f.Facts)
	}
	is.Facts["path"] = p.path()
	switch c.code {
	case AcquireTimeout, ReleaseFailed:
		if ok { // what the disk said
			is.Code, is.Err, is.Facts["path"] = f.Code, f.Err, cmp.Or(f.Facts["path"], p.path())
		}
	case FallbackConflict, AcquireDenied:
		is.Code = fault.LockHeld
	case LeaseStale, RenewFailed:
		is.Code = fault.LockLost
	}
	is.Facts["reason"] = string(c.code)
	return &Error{Code: c.code, Retryable: c.retryable, Cause: cause, fault: is}
}

func invalid(err error, reason string) error {
	return fault.Wrap(err, fault.InvalidRequest, "reason", reason)
}
