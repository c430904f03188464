package locks

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"aiflow/internal/atomicfile"
)

// spareName is a file that is written over for one lock after the other and
// then gets the lock's name too, because to make a file and to delete its last
// name costs most of what a lock costs. It is never read under its own name.
const spareName = ".spare"

// maxSpare is a length that more than records must have brought about.
const maxSpare = 4 << 10

var errNoSpare = errors.New("no spare file")

// linkSpare writes a record over the spare and links it to the lock's name, at
// which there is nothing: that was looked at first, although link(2) would say
// so too, because a slow reader may still see what is written, and should see
// no record of one who is refused. The guard is held. On any error the lock is
// written in the other way; one whose link was made all the same is replaced by
// the same record.
func (m *Manager) linkSpare(k Key, data []byte) ([]byte, error) {
	data, err := m.fillSpare(data)
	if err != nil {
		return nil, err
	}
	return data, m.disk.(atomicfile.Reuser).Link(m.spare, m.path(k))
}

// swapSpare writes a record over the spare and lets it change places with the
// lock's file, which is our own and is the spare then. The guard is held. On any
// error the lock is written in the other way, which is the same record again.
func (m *Manager) swapSpare(k Key, data []byte) ([]byte, error) {
	d, able := m.disk.(atomicfile.Exchanger)
	if !able {
		return nil, errNoSpare
	}
	data, err := m.fillSpare(data)
	if err != nil {
		return nil, err
	}
	return data, d.Exchange(m.spare, m.path(k))
}

// fillSpare writes a record over the spare, and gives it as it was written.
func (m *Manager) fillSpare(data []byte) ([]byte, error) {
	d, able := m.disk.(atomicfile.Reuser)
	if !able || m.files.shared() { // another machine may remember how many names it has
		return nil, errNoSpare
	}
	f, size, err := d.Reuse(m.spare, 0o666)
	if err != nil {
		return nil, err
	}
	data, err = pad(data, size)
	if err == nil {
		_, err = f.Write(data)
	}
	return data, errors.Join(err, f.Close())
}

// pad fills a record up to the length of what it is written over: to cut that
// off would cost more.
func pad(record []byte, size int64) ([]byte, error) {
	if size > maxSpare {
		return nil, errNoSpare
	}
	more := int(size) - len(record)
	if more <= 0 {
		return record, nil
	}
	blanks := bytes.Repeat([]byte{' '}, more)
	return slices.Concat(record[:len(record)-1], blanks, record[len(record)-1:]), nil
}

// sightings bounds how often a record is read that does not fit.
const sightings = 10

// read gives a lock's record. What is read under the guard is exact. Without it
// the file may be written over for another lock after it was opened; then the
// name means another file by now, or none, and is looked up again. The same
// bytes twice are no such accident: every record has a token of its own.
func (m *Manager) read(k Key, guarded bool) (rec Record, mtime time.Time, f flaw, err error) {
	return readFrom(m.files, k, guarded)
}

func readFrom(from reader, k Key, guarded bool) (rec Record, mtime time.Time, f flaw, err error) {
	var last []byte
	for range sightings {
		var data []byte
		data, mtime, f, err = from.read(k.file())
		if err != nil || f != "" {
			return rec, mtime, f, err
		}
		rec, f = parse(data)
		if guarded || fitsFile(rec, f, k) || last != nil && bytes.Equal(data, last) {
			break
		}
		last = bytes.Clone(data)
	}
	return rec, mtime, f, nil
}

// fitsFile reports whether a record is whole and of the lock that it was read
// for. One without a sum is believed, and one of a newer version left to it.
func fitsFile(r Record, f flaw, k Key) bool {
	return f == flawNewer || f == "" && (r.Sum == "" || r.key() == k)
}
