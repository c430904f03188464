package editlock

import (
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
	return &Error{Code: c.code, Retryable: c.retryable, Cause: cause, fault: p.faultOf(c.code, cause)}
}

func (p *Lock) faultOf(code Code, cause error) error {
	facts := fault.Facts{}
	if f, ok := fault.As(cause); ok {
		maps.Copy(facts, f.Facts)
		if code == AcquireTimeout || code == ReleaseFailed {
			facts["reason"] = string(code)
			return &fault.Error{Code: f.Code, Facts: facts, Err: f.Err}
		}
	}
	facts["path"], facts["reason"] = p.path(), string(code)
	return &fault.Error{Code: faultWith(code), Facts: facts}
}

func faultWith(code Code) fault.Code {
	switch code {
	case FallbackConflict, AcquireDenied:
		return fault.LockHeld
	case LeaseStale, RenewFailed:
		return fault.LockLost
	}
	return fault.LockUnreadable
}

func invalid(err error, reason string) error {
	return fault.Wrap(err, fault.InvalidRequest, "reason", reason)
}

func notWritable(err error, path string, more ...any) error {
	return fault.Wrap(err, fault.PathNotWritable, append(more, "path", path)...)
}
