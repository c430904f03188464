package locks

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"aiflow/internal/proc"
)

const recordVersion = "1.0"

// Record is what a lock file says: seed 000's fields and, after them, ours.
type Record struct {
	Version   string    `json:"version"`
	LockType  string    `json:"lock_type"`
	RequestID string    `json:"request_id"`
	RunID     string    `json:"run_id"`
	PID       int       `json:"pid"`
	Host      string    `json:"host"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`

	Name     string `json:"name,omitempty"` // of a named lock
	Token    string `json:"token,omitempty"`
	PIDStart uint64 `json:"pid_start,omitempty"`
	PIDInode uint64 `json:"pid_inode,omitempty"`
	BootID   string `json:"boot_id,omitempty"`
	Machine  string `json:"machine,omitempty"`
	PIDNS    string `json:"pid_ns,omitempty"`
	Hostname string `json:"hostname,omitempty"`
	Beat     uint64 `json:"beat,omitempty"`    // grows with every renewal
	TTLSec   int64  `json:"ttl_sec,omitempty"` // rounded up
	// A command that runs under the lock: its first process, and whether that
	// leads a group of its own.
	Command      int    `json:"command,omitempty"`
	CommandStart uint64 `json:"command_start,omitempty"`
	CommandGroup bool   `json:"command_group,omitempty"`
	// Sum is the last field; encode makes it, parse has checked it.
	Sum string `json:"sum,omitempty"`
}

// localHost is seed 000's example value: the record's holder is on the machine
// that reads it. The name of the machine is in hostname.
const localHost = "127.0.0.1"

func (m *Manager) newRecord(k Key, runID string, now time.Time) Record {
	r := Record{
		Version: recordVersion, LockType: k.Type, RunID: runID,
		PID: m.self.PID, Host: localHost, CreatedAt: stamp(now), ExpiresAt: stamp(now.Add(m.ttl)),
		PIDStart: m.self.PIDStart, PIDInode: m.self.PIDInode, BootID: m.self.BootID, Machine: m.self.Machine,
		PIDNS: m.self.PIDNS, Hostname: m.self.Hostname,
		TTLSec: int64((m.ttl + time.Second - 1) / time.Second),
	}
	r.setKey(k)
	return r
}

func (r *Record) setKey(k Key) {
	r.LockType = k.Type
	switch k.Type {
	case TypeRequest:
		r.RequestID = k.ID
	case TypeName, TypeSlot:
		r.Name = k.ID
	}
}

// key is the lock that the record names.
func (r Record) key() Key {
	switch r.LockType {
	case TypeRequest:
		return Request(r.RequestID)
	case TypeName, TypeSlot:
		return Key{r.LockType, r.Name}
	}
	return Key{Type: r.LockType}
}

func stamp(t time.Time) time.Time { return t.Round(0).Truncate(time.Millisecond) }

// isOf reports whether the holder is on the machine of self: equal names are
// not enough, and an unknown machine is nobody's.
func (r Record) isOf(self proc.Identity) bool {
	return r.Machine != "" && r.Machine == self.Machine && r.Hostname == self.Hostname
}

// bare records carry only the seed's fields.
func (r Record) bare() bool {
	return r.Token == "" && r.BootID == "" && r.Machine == "" && r.PIDNS == ""
}

// namesOther reports whether a bare record says that it is of another host.
func (r Record) namesOther(self proc.Identity) bool {
	for _, host := range []string{r.Host, r.Hostname} {
		switch host = strings.ToLower(host); host {
		case "", localHost, "::1", "localhost", strings.ToLower(self.Hostname):
		default:
			return true
		}
	}
	return false
}

// flaw says why a lock file cannot be read as a record of ours. Whatever it
// is, the lock counts as held.
type flaw string

// The kinds of flaws; facts name them as "reason".
const (
	flawEmpty     flaw = "empty"
	flawTooBig    flaw = "too_big"
	flawNotJSON   flaw = "not_json"
	flawNoLock    flaw = "not_a_lock"
	flawDuplicate flaw = "duplicate_key"
	flawTorn      flaw = "torn"
	flawNewer     flaw = "newer_version"
	flawSymlink   flaw = "symlink"
	flawNotFile   flaw = "not_a_file"
	flawDirectory flaw = "directory"
	flawNoAccess  flaw = "no_access"
)

func (f flaw) Error() string { return string(f) }

// irregular things are never replaced or removed without force.
func (f flaw) irregular() bool {
	return f == flawSymlink || f == flawNotFile || f == flawDirectory || f == flawNoAccess
}

// parse reads a record as strictly as a lock deserves. The version is looked at
// first: what a later one has in its other fields, or lacks, is its own affair.
func parse(data []byte) (Record, flaw) {
	var r Record
	if data = bytes.TrimSpace(data); len(data) == 0 {
		return r, flawEmpty
	}
	if !utf8.Valid(data) {
		return r, flawNotJSON
	}
	has, right := sealed(data)
	if has == right && decodeOwn(data, &r) {
		return r, judgeFields(r, has)
	}
	var head struct {
		Version json.RawMessage `json:"version"`
	}
	err := json.Unmarshal(data, &head)
	v := versionText(head.Version)
	switch {
	case err == nil && newer(v):
		return Record{Version: v}, flawNewer
	case has && !right:
		return Record{}, flawTorn
	case err != nil && !json.Valid(data):
		return Record{}, flawNotJSON
	}
	r = Record{}
	if err != nil || json.Unmarshal(data, &r) != nil {
		return Record{}, flawNoLock
	}
	f := judgeFields(r, has)
	if f != flawNoLock && hasDuplicateKeys(data) {
		f = flawDuplicate
	}
	return r, f
}

func judgeFields(r Record, sealed bool) flaw {
	switch {
	case newer(r.Version):
		return flawNewer
	case r.Version == "" || r.LockType == "" || r.ExpiresAt.IsZero():
		return flawNoLock
	case r.Sum != "" && !sealed: // it is not where we write it
		return flawTorn
	}
	return ""
}

// versionText is a version of any JSON type as text; "" for none.
func versionText(raw json.RawMessage) string {
	if string(raw) == "null" {
		return ""
	}
	return strings.Trim(string(raw), `"`)
}

// newer reports whether v is none of the versions that are known. One that is
// no number is not: a record that cannot be judged is left to who wrote it.
func newer(v string) bool {
	if v == "" {
		return false
	}
	major, rest, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(v), "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, err := strconv.ParseUint(major, 10, 64)
	if err != nil || minor == "" {
		return err != nil || a > 1
	}
	b, err := strconv.ParseUint(minor, 10, 64)
	return err != nil || a > 1 || a == 1 && b > 0
}
