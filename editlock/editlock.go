// Package editlock is the project lock: one browser tab or command at a time
// writes requests, and others read (docs/project-lock.md). Its rules are in
// machine.go, the twin of server/ui/src/lib/locks/machine.ts.
//
// It does not keep runs apart: package locks does.
package editlock

import (
	"crypto/rand"
	"fmt"
	"io"
	"sync"
	"time"

	"aiflow/internal/atomicfile"
	"aiflow/internal/flock"
	"aiflow/internal/proc"
)

// Strategy says how a project lock is held.
type Strategy string

// The two strategies. A command holds the file only; a browser tab holds a Web
// Lock and the file, or the file only.
const (
	WebLock  Strategy = "web-lock"
	FileLock Strategy = "file-lock"
)

// How long a project lease lives without renewal.
const (
	WebLockTTL  = 25 * time.Second
	FileLockTTL = 30 * time.Second
)

// Record is the content of .aiflow/project/.lock.
type Record struct {
	Version    int      `json:"version"`
	LeaseID    string   `json:"leaseId"`
	OwnerID    string   `json:"ownerId"`
	Strategy   Strategy `json:"strategy"`
	AcquiredAt Time     `json:"acquiredAt"`
	ExpiresAt  Time     `json:"expiresAt"`
	MTime      Time     `json:"mtime"` // last renewal
	TTLSeconds float64  `json:"ttlSeconds"`
	Beat       uint64   `json:"beat"` // grows with every renewal
}

// Options say where the project lock is and lend the world. Dir and
// Clock are required.
type Options struct {
	Dir     string // .aiflow/project; made when the lock is first taken
	Clock   proc.Clock
	Disk    atomicfile.Disk // nil: the real one
	Rand    io.Reader       // nil: crypto/rand
	OwnerID string          // shown to others; "" makes one
	// Hear is told of every event of this Lock's own leases; nil is nobody. It must
	// not call the lease that it hears of.
	Hear func(Event)
}

// Verdict is what may be done with a record.
type Verdict string

// The verdicts. Only Stale may be replaced by another lease.
const (
	Free       Verdict = "free"
	Mine       Verdict = "mine"
	Held       Verdict = "held"
	Stale      Verdict = "stale"
	Unreadable Verdict = "unreadable"
	Newer      Verdict = "newer"
)

// Lock is the project lock of one folder. It is safe for use by many
// goroutines.
type Lock struct {
	dir   string
	clock proc.Clock
	disk  atomicfile.Disk
	rand  io.Reader
	owner string
	hear  func(Event)
	guard flock.Guard
	files flock.Files

	mu      sync.Mutex
	sighted []byte        // the record as it was last seen
	since   time.Duration // when it was seen first, by the clock that nobody sets
}

// Open makes a Lock. It touches no file.
func Open(o Options) *Lock {
	p := &Lock{
		dir: o.Dir, clock: o.Clock, disk: o.Disk, rand: o.Rand, owner: o.OwnerID, hear: o.Hear,
		guard: flock.New(o.Dir), files: flock.In(o.Dir),
	}
	if p.disk == nil {
		p.disk = atomicfile.OS{}
	}
	if p.rand == nil {
		p.rand = rand.Reader
	}
	return p
}

// uuid is a random UUID, version 4.
func (p *Lock) uuid() (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(p.rand, b[:]); err != nil {
		return "", err
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}
