package proc

import (
	"fmt"
	"io"
	"sync"
)

// BoundedLog passes the first Head bytes on as they come, keeps the last Tail
// bytes in memory, and writes those at Close behind a line that says how much
// was left out. It is safe for use by stdout and stderr at once.
type BoundedLog struct {
	W    io.Writer
	Head int
	Tail int

	mu      sync.Mutex
	passed  int
	ring    []byte
	next    int
	skipped int64
	err     error
}

// Write never fails and never blocks on more than one write to W: a command
// must not notice that its log has no room.
func (b *BoundedLog) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(p)
	if room := b.Head - b.passed; room > 0 {
		part := p[:min(room, len(p))]
		b.pass(part)
		b.passed += len(part)
		p = p[len(part):]
	}
	b.keep(p)
	return n, nil
}

func (b *BoundedLog) pass(p []byte) {
	if b.err == nil && b.W != nil {
		_, b.err = b.W.Write(p)
	}
}

func (b *BoundedLog) keep(p []byte) {
	if len(p) > b.Tail {
		b.skipped += int64(len(p) - b.Tail)
		p = p[len(p)-b.Tail:]
	}
	if room := b.Tail - len(b.ring); room > 0 {
		part := p[:min(room, len(p))]
		b.ring = append(b.ring, part...)
		p = p[len(part):]
	}
	for len(p) > 0 {
		n := copy(b.ring[b.next:], p)
		b.next = (b.next + n) % len(b.ring)
		b.skipped += int64(n)
		p = p[n:]
	}
}

// Close writes the kept tail and tells the first error of W. W stays open.
func (b *BoundedLog) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.skipped > 0 {
		b.pass(fmt.Appendf(nil, "\n[... %d bytes left out ...]\n", b.skipped))
	}
	b.pass(b.ring[b.next:])
	b.pass(b.ring[:b.next])
	b.ring, b.next, b.skipped = nil, 0, 0
	return b.err
}
