package locks

import (
	"crypto/rand"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
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
	AcquiredAt ProjectTime     `json:"acquiredAt"`
	ExpiresAt  ProjectTime     `json:"expiresAt"`
	MTime      ProjectTime     `json:"mtime"` // last renewal
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
type Project struct {
	dir   string
	clock Clock
	disk  atomicfile.Disk
	rand  io.Reader
	owner string
	guard guard
	files files

	mu        sync.Mutex
	listeners map[int]func(ProjectEvent)
	lastID    int
	sighted   []byte        // the record as it was last seen
	since     time.Duration // when it was seen first, by the clock that nobody sets
}

// OpenProject makes a Project. It touches no file.
func OpenProject(o ProjectOptions) *Project {
	p := &Project{
		dir: o.Dir, clock: o.Clock, disk: o.Disk, rand: o.Rand, owner: o.OwnerID,
		guard: newFlockGuard(o.Dir), files: &osFiles{dir: o.Dir}, listeners: map[int]func(ProjectEvent){},
	}
	if p.disk == nil {
		p.disk = atomicfile.OS{}
	}
	if p.rand == nil {
		p.rand = rand.Reader
	}
	return p
}

// Subscribe sends every event of this Project's own leases to listen until the
// returned function is called. listen must not call the lease that it hears of.
func (p *Project) Subscribe(listen func(ProjectEvent)) (stop func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastID++
	id := p.lastID
	p.listeners[id] = listen
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.listeners, id)
	}
}

func (p *Project) publish(events []ProjectEvent) {
	p.mu.Lock()
	ids := slices.Sorted(maps.Keys(p.listeners))
	hear := make([]func(ProjectEvent), 0, len(ids))
	for _, id := range ids {
		hear = append(hear, p.listeners[id])
	}
	p.mu.Unlock()
	for _, e := range events {
		for _, h := range hear {
			h(e)
		}
	}
}

// uuid is a random UUID, version 4.
func (p *Project) uuid() (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(p.rand, b[:]); err != nil {
		return "", err
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}
