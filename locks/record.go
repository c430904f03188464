package locks

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"aiflow/internal/flock"
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

func stamp(t time.Time) time.Time { return t.Round(0).Truncate(time.Millisecond) }

// isOnMachine reports whether the holder is on the machine of self: equal names are
// not enough, and an unknown machine is nobody's.
func (r Record) isOnMachine(self proc.Identity) bool {
	return r.Machine != "" && r.Machine == self.Machine && r.Hostname == self.Hostname
}

// hasSeedFieldsOnly reports whether the record carries only the fields of seed 000.
func (r Record) hasSeedFieldsOnly() bool {
	return r.Token == "" && r.BootID == "" && r.Machine == "" && r.PIDNS == ""
}

// isOfOtherHost reports whether a record of the seed alone says that it is of another host.
func (r Record) isOfOtherHost(self proc.Identity) bool {
	for _, host := range []string{r.Host, r.Hostname} {
		switch host = strings.ToLower(host); host {
		case "", localHost, "::1", "localhost", strings.ToLower(self.Hostname):
		default:
			return true
		}
	}
	return false
}

// What may be wrong with the text of a record, beside what flock.Read finds.
// Whatever it is, the lock counts as held.
const (
	flawEmpty     flock.Flaw = "empty"
	flawNotJSON   flock.Flaw = "not_json"
	flawNoLock    flock.Flaw = "not_a_lock"
	flawDuplicate flock.Flaw = "duplicate_key"
	flawNewer     flock.Flaw = "newer_version"
)

// isIrregular: such things are never replaced or removed without force.
func isIrregular(f flock.Flaw) bool {
	return f == flock.Symlink || f == flock.NotFile || f == flock.Directory || f == flock.NoAccess
}

// parse reads a record as strictly as a lock deserves, unless its file already
// has a flaw. The version is looked at first: what a later one has in its other
// fields, or lacks, is its own affair.
func parse(data []byte, f flock.Flaw) (Record, flock.Flaw) {
	if data = bytes.TrimSpace(data); f == "" && len(data) == 0 {
		f = flawEmpty
	}
	if f != "" {
		return Record{}, f
	}
	if !utf8.Valid(data) {
		return Record{}, flawNotJSON
	}
	var r Record
	if err := json.Unmarshal(data, &r); err != nil {
		return flawOf(data)
	}
	switch {
	case flock.Newer(r.Version):
		return Record{Version: r.Version}, flawNewer
	case r.Version == "" || r.LockType == "" || r.ExpiresAt.IsZero():
		return r, flawNoLock
	case hasDuplicateKeys(data):
		return r, flawDuplicate
	}
	return r, ""
}

// hasDuplicateKeys looks at the top level of a valid JSON object. Two readers
// may disagree about the value of a key that comes twice, so nobody should
// believe it. Keys that differ in case only count as equal, because
// encoding/json takes them so; keys with escapes, and more than anybody writes,
// count as suspicious. By hand, since each look at a lock does it: a decoder
// takes five times as long.
func hasDuplicateKeys(data []byte) bool {
	const most = 32
	seen := make([]string, 0, most)
	depth, expectKey := 0, false
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			depth++
			expectKey = depth == 1
		case '}', ']':
			depth--
		case ',':
			expectKey = depth == 1
		case '"':
			from := i + 1
			for i++; data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			if depth != 1 || !expectKey {
				continue
			}
			key := string(data[from:i])
			if strings.Contains(key, `\`) || len(seen) == most || slices.ContainsFunc(seen, func(s string) bool { return strings.EqualFold(s, key) }) {
				return true
			}
			seen, expectKey = append(seen, key), false
		}
	}
	return false
}

// flawOf says what is wrong with data that is no record of ours.
func flawOf(data []byte) (Record, flock.Flaw) {
	var head struct {
		Version json.RawMessage `json:"version"`
	}
	err := json.Unmarshal(data, &head)
	switch v := flock.VersionText(head.Version); {
	case err == nil && flock.Newer(v):
		return Record{Version: v}, flawNewer
	case !json.Valid(data):
		return Record{}, flawNotJSON
	}
	return Record{}, flawNoLock
}
