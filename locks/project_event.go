package locks

import "time"

// ProjectLockCode says why a project lock could not be taken, kept or given
// back (seed 002).
type ProjectLockCode string

// The codes.
const (
	WebLockUnsupported ProjectLockCode = "web-lock-unsupported"
	AcquireDenied      ProjectLockCode = "acquire-denied"
	AcquireTimeout     ProjectLockCode = "acquire-timeout"
	FallbackConflict   ProjectLockCode = "fallback-conflict"
	LeaseStale         ProjectLockCode = "lease-stale"
	RenewFailed        ProjectLockCode = "renew-failed"
	ReleaseFailed      ProjectLockCode = "release-failed"
)

// ProjectTime is a time as JavaScript writes it: UTC, with milliseconds.
type ProjectTime struct{ time.Time }

const projectTimeForm = "2006-01-02T15:04:05.000Z"

// MarshalText always writes three digits after the second.
func (t ProjectTime) MarshalText() ([]byte, error) {
	return []byte(t.UTC().Format(projectTimeForm)), nil
}

// MarshalJSON is MarshalText in quotes.
func (t ProjectTime) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.UTC().Format(projectTimeForm) + `"`), nil
}

// ProjectLeaseInfo is a lease as events show it.
type ProjectLeaseInfo struct {
	LeaseID    string          `json:"leaseId"`
	Strategy   ProjectStrategy `json:"strategy"`
	AcquiredAt ProjectTime     `json:"acquiredAt"`
	ExpiresAt  ProjectTime     `json:"expiresAt"`
}

// ProjectReadonly says why writing is over.
type ProjectReadonly struct {
	Reason ProjectLockCode `json:"reason"`
}

// ProjectEvent is one of seed 002's events; fields that an event does not have
// are nil.
type ProjectEvent struct {
	Type              string            `json:"type"`
	Operation         string            `json:"operation,omitempty"`
	Strategy          ProjectStrategy   `json:"strategy,omitempty"`
	Retry             *int              `json:"retry,omitempty"`
	LeaseID           string            `json:"leaseId,omitempty"`
	Lease             *ProjectLeaseInfo `json:"lease,omitempty"`
	NextHeartbeatInMS *int64            `json:"nextHeartbeatInMs,omitempty"`
	Info              *ProjectReadonly  `json:"info,omitempty"`
	Force             *bool             `json:"force,omitempty"`
	DurationMS        *int64            `json:"durationMs,omitempty"`
}
