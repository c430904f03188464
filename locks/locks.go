// Package locks keeps two runs from doing the same work: leases on requests,
// on the queue and on names of the user's own, as JSON records below
// .aiflow/locks that say who holds them, since when and until when.
//
// A lease is won, renewed and released under a kernel lock, belongs to a random
// token, ends with its holder's death, and is given up by its holder before
// anybody else may take it. docs/locks.md has the whole promise.
//
// It does not exclude anybody on a file system without working flock(2), does
// not order waiters, and does not keep records over a power cut: they mean
// nothing then.
package locks

import (
	"crypto/rand"
	"encoding/hex"
	"io"
	"path/filepath"
	"sync"
	"time"

	"aiflow/internal/atomicfile"
	"aiflow/internal/flock"
	"aiflow/internal/proc"
)

// DefaultTTL is how long a lease lives without renewal (D39).
const DefaultTTL = 30 * time.Minute

// Options say where the locks are and lend the world. Clock and Self are
// required.
type Options struct {
	Dir   string        // .aiflow/locks; made when the first lock is taken
	TTL   time.Duration // 0: DefaultTTL
	Clock proc.Clock
	Self  proc.Identity
	Disk  atomicfile.Disk // nil: the real one
	Rand  io.Reader       // nil: crypto/rand
}

// Manager takes and shows the locks of one directory. It is safe for use by
// many goroutines, which exclude each other like processes do.
type Manager struct {
	dir       string
	ttl       time.Duration
	clock     proc.Clock
	self      proc.Identity
	disk      atomicfile.Disk
	rand      io.Reader
	processes processes
	guard     flock.Guard
	files     flock.Files
	// startHeartbeat runs a new lease's heartbeat; the simulation calls it itself.
	startHeartbeat func(*Lease)

	mu   sync.Mutex
	held map[string]*Lease // by file name
}

// Open makes a manager. It touches no file.
func Open(o Options) *Manager {
	m := &Manager{
		dir: filepath.Clean(o.Dir), ttl: o.TTL, clock: o.Clock, self: o.Self, disk: o.Disk, rand: o.Rand,
		held: map[string]*Lease{},
	}
	if m.ttl <= 0 {
		m.ttl = DefaultTTL
	}
	if m.disk == nil {
		m.disk = atomicfile.OS{}
	}
	if m.rand == nil {
		m.rand = rand.Reader
	}
	m.processes = processes{proc.Alive, proc.AliveAs, func(pid int) (time.Time, bool) {
		return proc.Began(pid, m.clock.Now(), m.clock.Boot())
	}}
	m.guard, m.files = flock.New(m.dir), flock.In(m.dir)
	m.startHeartbeat = (*Lease).heartbeat
	return m
}

// newToken is 128 random bits in hex.
func (m *Manager) newToken() (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(m.rand, b[:]); err != nil {
		return "", err
	}
	return hex.EncodeToString(b[:]), nil
}

// holds reports whether a living lease of this manager has the token.
func (m *Manager) holds(name, token string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.held[name]
	return l != nil && token != "" && l.token == token
}

// forget takes l, and no later lease of the same name, out of the table.
func (m *Manager) forget(l *Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held[l.file] == l {
		delete(m.held, l.file)
	}
}
