package locks

import (
	"context"
	"io"
	"time"

	"aiflow/internal/atomicfile"
)

// ProjectStrategy says how a project lock is held.
type ProjectStrategy string

// The two strategies. A command holds the file only; a browser tab holds a Web
// Lock and the file, or the file only.
const (
	WebLock  ProjectStrategy = "web-lock"
	FileLock ProjectStrategy = "file-lock"
)

// How long a project lease lives without renewal.
const (
	WebLockTTL  = 25 * time.Second
	FileLockTTL = 30 * time.Second
)

// ProjectRecord is the content of .aiflow/project/.lock.
type ProjectRecord struct {
	Version    int             `json:"version"`
	LeaseID    string          `json:"leaseId"`
	OwnerID    string          `json:"ownerId"`
	Strategy   ProjectStrategy `json:"strategy"`
	AcquiredAt time.Time       `json:"acquiredAt"`
	ExpiresAt  time.Time       `json:"expiresAt"`
	MTime      time.Time       `json:"mtime"` // last renewal
	TTLSeconds float64         `json:"ttlSeconds"`
	Beat       uint64          `json:"beat"` // grows with every renewal
}

// ProjectOptions say where the project lock is and lend the world. Dir and
// Clock are required.
type ProjectOptions struct {
	Dir     string // .aiflow/project; made when the lock is first taken
	Clock   Clock
	Disk    atomicfile.Disk // nil: the real one
	Rand    io.Reader       // nil: crypto/rand
	OwnerID string          // shown to others; "" makes one
}

// ProjectAsk says how much one wants the project lock.
type ProjectAsk struct {
	RetryLimit int              // 0: three tries
	Backoff    [3]time.Duration // zero: 500 ms, 1 s, 2 s
}

// StoredProject is what the lock file holds and what is thought of it.
type StoredProject struct {
	Record  ProjectRecord
	Text    []byte
	ETag    string        // quoted: the lease id, or a hash of what is unreadable
	Age     time.Duration // since the last write, by the file system's clock
	Verdict ProjectVerdict
}

// ProjectVerdict is what may be done with a record.
type ProjectVerdict string

// The verdicts. Only ProjectStale may be replaced by another lease.
const (
	ProjectFree       ProjectVerdict = "free"
	ProjectMine       ProjectVerdict = "mine"
	ProjectHeld       ProjectVerdict = "held"
	ProjectStale      ProjectVerdict = "stale"
	ProjectUnreadable ProjectVerdict = "unreadable"
	ProjectNewer      ProjectVerdict = "newer"
)

// Project is the project lock of one folder. It is safe for use by many
// goroutines.
type Project struct{ o ProjectOptions }

// OpenProject makes a Project. It touches no file.
func OpenProject(o ProjectOptions) *Project { return &Project{o} }

// Read shows the record; found is false when there is none.
func (p *Project) Read(ctx context.Context) (s StoredProject, found bool, err error) {
	return StoredProject{}, false, nil
}

// CompareAndSwap writes the record text when the stored one has the ETag
// ifMatch ("" asks for none to be there). Another lease's record is replaced
// only when it is stale, and a record never grows older. CONFLICT otherwise.
func (p *Project) CompareAndSwap(ctx context.Context, text []byte, ifMatch string) error { return nil }

// CompareAndRemove removes the record that has the ETag ifMatch. CONFLICT when
// another is there; none is fine.
func (p *Project) CompareAndRemove(ctx context.Context, ifMatch string) error { return nil }

// Acquire takes the lock with the file strategy. An error is a
// *ProjectLockError, which is LOCK_HELD when somebody else has it.
func (p *Project) Acquire(ctx context.Context, a ProjectAsk) (*ProjectLease, error) { return nil, nil }

// Subscribe sends every event to listen until the returned function is called.
func (p *Project) Subscribe(listen func(ProjectEvent)) (stop func()) { return func() {} }

// ProjectLease is a project lock that is held; it is renewed by itself until
// Release.
type ProjectLease struct{}

// Context ends when the lease is lost or released.
func (l *ProjectLease) Context() context.Context { return context.Background() }

// Check is nil while one may write; ask before each write.
func (l *ProjectLease) Check() error { return nil }

// Renew renews at once instead of at the next heartbeat.
func (l *ProjectLease) Renew(ctx context.Context) error { return nil }

// Release gives the lock up. It is idempotent.
func (l *ProjectLease) Release(ctx context.Context) error { return nil }
