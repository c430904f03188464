package editlock

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"aiflow/internal/fault"
	"aiflow/internal/flock"
)

// Line is one line of .aiflow/project/autosave/locks-DAY.jsonl (seed
// 002's telemetry table). Fields that a line does not have are nil or empty.
type Line struct {
	TS         Time     `json:"ts"`
	Type       string   `json:"type"`
	Feature    string   `json:"feature"`
	Operation  string   `json:"operation,omitempty"`
	Strategy   Strategy `json:"strategy,omitempty"`
	Reason     Code     `json:"reason,omitempty"`
	Retry      *int     `json:"retry,omitempty"`
	LeaseID    string   `json:"leaseId,omitempty"`
	ExpiresAt  *Time    `json:"expiresAt,omitempty"`
	Force      *bool    `json:"force,omitempty"`
	DurationMS *int64   `json:"durationMs,omitempty"`
}

const (
	linePrefix = "autosave.lock."
	feature    = "autosave"
)

// Line is the telemetry of e; false for events that the table does not list.
func (e Event) Line(at time.Time) (Line, bool) {
	l := Line{
		TS: Time{at}, Type: linePrefix + strings.TrimPrefix(e.Type, "lock:"), Feature: feature,
		Operation: e.Operation, Strategy: e.Strategy, Retry: e.Retry, LeaseID: e.LeaseID, Force: e.Force, DurationMS: e.DurationMS,
	}
	if e.Lease != nil {
		l.LeaseID, l.Strategy = e.Lease.LeaseID, e.Lease.Strategy
	}
	switch e.Type {
	case "lock:renew-scheduled", "lock:release-requested":
		return Line{}, false
	case "lock:acquired":
		l.ExpiresAt = &e.Lease.ExpiresAt
	case "lock:readonly-entered":
		l.Reason = e.Info.Reason
	}
	return l, true
}

// CheckLine reads a line that a page sent. It takes nothing but the
// table's types, fields and values, so that whatever is written can be counted.
func CheckLine(raw []byte) (Line, error) {
	var l Line
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return Line{}, invalid(err, "bad_lock_event")
	}
	if _, err := d.Token(); err != io.EOF || !l.valid() {
		return Line{}, invalid(nil, "bad_lock_event")
	}
	return l, nil
}

func (l Line) valid() bool {
	kind, ok := strings.CutPrefix(l.Type, linePrefix)
	return ok && l.Feature == feature && !l.TS.IsZero() &&
		slices.Contains([]string{"attempt", "acquired", "renewed", "readonly-entered", "release-failed", "released"}, kind) &&
		slices.Contains([]string{"", "acquire", "renew", "release"}, l.Operation) &&
		slices.Contains([]Strategy{"", WebLock, FileLock}, l.Strategy) &&
		slices.Contains([]Code{
			"", WebLockUnsupported, AcquireDenied, AcquireTimeout, FallbackConflict, LeaseStale, RenewFailed, ReleaseFailed,
		}, l.Reason) &&
		(l.LeaseID == "" || plainID(l.LeaseID)) &&
		(l.Retry == nil || *l.Retry >= 0 && *l.Retry <= 1000) && (l.DurationMS == nil || *l.DurationMS >= 0)
}

// Journal writes and reads the lines of one project. It keeps a file a
// day, for thirty days, and renames none.
type Journal struct {
	dir string
	now func() time.Time
	mu  sync.Mutex
}

// maxJournal is more than a day of editing makes; what comes after it is
// refused, so that a page gone wild cannot fill the disk.
const maxJournal = 16 << 20

// A day's file is called by its day and kept for so many days.
const (
	journalForm = "locks-2006-01-02.jsonl"
	journalDays = 30
)

// OpenJournal is the journal in dir, .aiflow/project/autosave. It
// touches no file.
func OpenJournal(dir string, now func() time.Time) *Journal {
	return &Journal{dir: dir, now: now}
}

// Append adds lines to today's file. Each is one write, so that lines of
// several processes do not mix.
func (j *Journal) Append(lines ...Line) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := os.MkdirAll(j.dir, 0o777); err != nil {
		return fault.NotWritable(err, j.dir)
	}
	path := filepath.Join(j.dir, j.now().UTC().Format(journalForm))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW, 0o666)
	if err != nil {
		return fault.NotWritable(err, path)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > maxJournal {
		return fault.NotWritable(nil, path, "reason", "journal_full")
	}
	if fi.Size() == 0 {
		j.prune()
	}
	for _, l := range lines {
		data, err := json.Marshal(l)
		if err == nil {
			_, err = f.Write(append(data, '\n'))
		}
		if err != nil {
			return fault.NotWritable(err, path)
		}
	}
	return nil
}

// prune removes the files of days that are too long ago; what it cannot remove
// stays. It touches no file that is called otherwise.
func (j *Journal) prune() {
	entries, err := os.ReadDir(j.dir)
	if err != nil {
		return
	}
	oldest := j.now().UTC().AddDate(0, 0, -journalDays).Format(journalForm)
	for _, e := range entries {
		if _, err := time.Parse(journalForm, e.Name()); err == nil && e.Name() < oldest && e.Type().IsRegular() {
			_ = os.Remove(filepath.Join(j.dir, e.Name()))
		}
	}
}

// Record returns a listener for Options.Hear that writes what it hears.
// A line that cannot be written is lost: telemetry never stops an editor.
func (j *Journal) Record() func(Event) {
	return func(e Event) {
		if l, ok := e.Line(j.now()); ok {
			_ = j.Append(l)
		}
	}
}

// Each gives every line of the lock's telemetry, oldest file first. Lines of
// other features are passed over; bad counts those that are no JSON of ours.
func (j *Journal) Each(line func(Line)) (bad int, err error) {
	entries, err := os.ReadDir(j.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fault.NotWritable(err, j.dir)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || filepath.Ext(e.Name()) != ".jsonl" {
			continue
		}
		n, err := eachLine(filepath.Join(j.dir, e.Name()), line)
		bad += n
		if err != nil {
			return bad, fault.NotWritable(err, filepath.Join(j.dir, e.Name()))
		}
	}
	return bad, nil
}

func eachLine(path string, line func(Line)) (bad int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, flock.MaxRecord)
	for s.Scan() {
		if len(bytes.TrimSpace(s.Bytes())) == 0 {
			continue
		}
		l, ours, ok := readLine(s.Bytes())
		if ours && ok {
			line(l)
		}
		if !ok {
			bad++
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return bad + 1, nil
	}
	return bad, s.Err()
}

// readLine tolerates fields that we do not know: other tools may add some.
func readLine(raw []byte) (l Line, ours, ok bool) {
	var kind struct{ Type, Feature string }
	if json.Unmarshal(raw, &kind) != nil {
		return l, false, false
	}
	if kind.Feature != feature || !strings.HasPrefix(kind.Type, linePrefix) {
		return l, false, true
	}
	if json.Unmarshal(raw, &l) != nil || !l.valid() {
		return l, true, false
	}
	return l, true, true
}
