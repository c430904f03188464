package editlock

import "time"

// Code says why a project lock could not be taken, kept or given
// back (seed 002).
type Code string

// The codes.
const (
	WebLockUnsupported Code = "web-lock-unsupported"
	AcquireDenied      Code = "acquire-denied"
	AcquireTimeout     Code = "acquire-timeout"
	FallbackConflict   Code = "fallback-conflict"
	LeaseStale         Code = "lease-stale"
	RenewFailed        Code = "renew-failed"
	ReleaseFailed      Code = "release-failed"
)

// Time is a time as JavaScript writes it: UTC, with milliseconds.
type Time struct{ time.Time }

const timeForm = "2006-01-02T15:04:05.000Z"

// MarshalJSON always writes three digits after the second.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.UTC().Format(timeForm) + `"`), nil
}

// LeaseInfo is a lease as events show it.
type LeaseInfo struct {
	LeaseID    string   `json:"leaseId"`
	Strategy   Strategy `json:"strategy"`
	AcquiredAt Time     `json:"acquiredAt"`
	ExpiresAt  Time     `json:"expiresAt"`
}

// Readonly says why writing is over.
type Readonly struct {
	Reason Code `json:"reason"`
}

// Event is one of seed 002's events; fields that an event does not have
// are nil.
type Event struct {
	Type              string     `json:"type"`
	Operation         string     `json:"operation,omitempty"`
	Strategy          Strategy   `json:"strategy,omitempty"`
	Retry             *int       `json:"retry,omitempty"`
	LeaseID           string     `json:"leaseId,omitempty"`
	Lease             *LeaseInfo `json:"lease,omitempty"`
	NextHeartbeatInMS *int64     `json:"nextHeartbeatInMs,omitempty"`
	Info              *Readonly  `json:"info,omitempty"`
	Force             *bool      `json:"force,omitempty"`
	DurationMS        *int64     `json:"durationMs,omitempty"`
}
