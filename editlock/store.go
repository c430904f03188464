package editlock

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/internal/flock"
)

const recordFile = ".lock"

// Stored is what the lock file holds and what is thought of it.
type Stored struct {
	Text    []byte
	ETag    string        // quoted: the lease id, or a hash of what is unreadable
	Age     time.Duration // since the last write
	Verdict Verdict
	OwnerID string
	Expires time.Time

	reading reading
}

func (p *Lock) path() string { return filepath.Join(p.dir, recordFile) }

// Read shows the record; found is false when there is none.
func (p *Lock) Read(context.Context) (s Stored, found bool, err error) {
	return p.look("")
}

// look reads and judges the record as the lease leaseID sees it.
func (p *Lock) look(leaseID string) (Stored, bool, error) {
	data, mtime, bad, err := p.files.Read(recordFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Stored{Verdict: Free}, false, nil
	}
	if err != nil {
		return Stored{}, false, fault.Wrap(err, fault.LockUnreadable, "path", p.path())
	}
	r := readRecord(data)
	s := Stored{
		Text: data, ETag: etagOf(data, r), Age: p.clock.Now().Sub(mtime),
		OwnerID: r.ownerID, Expires: r.expires, reading: r,
	}
	sight := evidence{now: p.clock.Now(), leaseID: leaseID, age: s.Age, aged: true, seen: p.seenFor(data)}
	s.Verdict = judgeProject(r, sight)
	if bad != "" { // a link, a folder, something huge: nothing that may be replaced
		s.Verdict = Unreadable
	}
	return s, true, nil
}

// seenFor is how long this Lock has seen the very same record.
func (p *Lock) seenFor(data []byte) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Boot()
	if !bytes.Equal(p.sighted, data) {
		p.sighted, p.since = bytes.Clone(data), now
	}
	return now - p.since
}

// CompareAndSwap writes the record text when the stored one has the ETag
// ifMatch ("" asks for none to be there). Another lease's record is replaced
// only when it is stale, and a record of the same lease only by a newer beat.
// CONFLICT otherwise.
func (p *Lock) CompareAndSwap(ctx context.Context, text []byte, ifMatch string) error {
	next := readRecord(text)
	if next.verdict != "" || len(text) > flock.MaxRecord {
		return invalid(nil, "bad_lock_record")
	}
	unlock, firm, err := p.guard.Lock(ctx, true, flock.Patience)
	if err != nil {
		return err
	}
	defer unlock()
	old, found, err := p.look(next.leaseID)
	if err != nil {
		return err
	}
	if !mayReplace(old, found, next, ifMatch, firm) {
		return p.conflict(old)
	}
	return p.write(text)
}

func mayReplace(old Stored, found bool, next reading, ifMatch string, firm bool) bool {
	switch {
	case !found || ifMatch == "":
		return !found && ifMatch == ""
	case old.ETag != ifMatch:
		return false
	case old.Verdict == Mine:
		return next.beat > old.reading.beat
	}
	return old.Verdict == Stale && firm
}

// CompareAndRemove removes the record that has the ETag ifMatch, but none of a
// newer version. CONFLICT when another is there; none is fine.
func (p *Lock) CompareAndRemove(ctx context.Context, ifMatch string) error {
	return p.remove(ctx, "", func(s Stored) bool { return s.ETag == ifMatch && s.Verdict != Newer })
}

func (p *Lock) remove(ctx context.Context, leaseID string, wanted func(Stored) bool) error {
	if _, found, err := p.look(leaseID); err == nil && !found {
		return nil
	}
	unlock, _, err := p.guard.Lock(ctx, false, flock.Patience)
	if err != nil {
		return err
	}
	defer unlock()
	old, found, err := p.look(leaseID)
	if err != nil || !found {
		return err
	}
	if !wanted(old) {
		return p.conflict(old)
	}
	if err := p.disk.Remove(p.path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.NotWritable(err, p.path())
	}
	return nil
}

// write puts the record in place; its file's time is our clock's, which is
// what ages are taken by.
func (p *Lock) write(text []byte) error {
	var suffix [8]byte
	if _, err := io.ReadFull(p.rand, suffix[:]); err != nil {
		return err
	}
	o := atomicfile.Options{Volatile: true, TempSuffix: hex.EncodeToString(suffix[:])}
	if err := atomicfile.Write(p.disk, p.path(), text, o); err != nil {
		return fault.NotWritable(err, p.path())
	}
	if err := p.files.Touch(recordFile, p.clock.Now()); err != nil {
		return fault.NotWritable(err, p.path())
	}
	return nil
}

func (p *Lock) conflict(s Stored) error {
	return fault.New(fault.Conflict, "path", p.path(), "verdict", s.Verdict,
		"name", s.OwnerID, "since", flock.When(s.reading.since), "until", flock.When(s.Expires))
}
