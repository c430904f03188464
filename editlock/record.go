package editlock

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"
	"time"

	"aiflow/internal/flock"
)

// evidence is everything that a verdict on a record depends on.
type evidence struct {
	now     time.Time
	leaseID string
	age     time.Duration // since the last write, by the store's clock
	aged    bool          // age is known
	seen    time.Duration // how long we ourselves have seen the very same record
}

// reading is what a record's text means.
type reading struct {
	verdict Verdict // Unreadable, Newer, or "" for a record
	leaseID string
	ownerID string
	beat    uint64
	since   time.Time // zero when the record does not say
	expires time.Time
	ttl     time.Duration
}

// looseRecord takes records of ours and of others with seed 002's fields only.
type looseRecord struct {
	Version    json.RawMessage `json:"version"`
	LeaseID    json.RawMessage `json:"leaseId"`
	OwnerID    json.RawMessage `json:"ownerId"`
	AcquiredAt json.RawMessage `json:"acquiredAt"`
	ExpiresAt  json.RawMessage `json:"expiresAt"`
	MTime      json.RawMessage `json:"mtime"`
	TTLSeconds json.RawMessage `json:"ttlSeconds"`
	Beat       json.RawMessage `json:"beat"`
}

func readRecord(text []byte) reading {
	unreadable := reading{verdict: Unreadable, ttl: FileLockTTL}
	var loose looseRecord
	if trimmed := bytes.TrimSpace(text); len(trimmed) == 0 || trimmed[0] != '{' || json.Unmarshal(text, &loose) != nil {
		return unreadable
	}
	if flock.Newer(flock.VersionText(loose.Version)) {
		return reading{verdict: Newer}
	}
	if _, ok := jsonNumber(loose.Version); loose.Version != nil && !ok {
		return unreadable
	}
	r, ok := loose.reading()
	if !ok {
		return unreadable
	}
	return r
}

func (l looseRecord) reading() (reading, bool) {
	ttl := FileLockTTL
	if seconds, ok := jsonNumber(l.TTLSeconds); l.TTLSeconds != nil && (!ok || seconds <= 0) {
		return reading{}, false
	} else if ok {
		ttl = min(time.Duration(min(seconds, 1e6)*float64(time.Second)), longestTTL)
	}
	expires, ok := jsonInstant(l.ExpiresAt)
	if l.ExpiresAt == nil {
		expires, ok = jsonInstant(l.MTime)
		expires = expires.Add(ttl)
	}
	id, _ := jsonText(l.LeaseID)
	owner, _ := jsonText(l.OwnerID)
	beat, _ := jsonNumber(l.Beat)
	since, _ := jsonInstant(l.AcquiredAt)
	return reading{
		leaseID: id, ownerID: owner, beat: uint64(max(0, beat)), since: since, expires: expires, ttl: ttl,
	}, ok && id != ""
}

func jsonNumber(raw json.RawMessage) (float64, bool) {
	var n *float64
	if raw == nil || json.Unmarshal(raw, &n) != nil || n == nil {
		return 0, false
	}
	return *n, true
}

func jsonText(raw json.RawMessage) (string, bool) {
	var s *string
	if raw == nil || json.Unmarshal(raw, &s) != nil || s == nil {
		return "", false
	}
	return *s, true
}

// jsonInstant is ISO 8601 with a zone, or milliseconds since 1970.
func jsonInstant(raw json.RawMessage) (time.Time, bool) {
	if ms, ok := jsonNumber(raw); ok && math.Abs(ms) < 1e15 {
		return time.UnixMilli(int64(ms)).UTC(), true
	}
	s, ok := jsonText(raw)
	if !ok {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, s)
	return t, err == nil
}

// judgeProject is the one place where it is decided whether a record stands in
// the way. A record is stale when its time is over and nothing contradicts it,
// or, whatever it says, when it has not changed for its time to live and more:
// a living holder would have renewed it.
func judgeProject(r reading, s evidence) Verdict {
	if r.verdict == Newer {
		return Newer
	}
	if r.verdict == "" && r.leaseID == s.leaseID {
		return Mine
	}
	unchanged := s.seen
	if s.aged {
		unchanged = max(unchanged, s.age)
	}
	switch {
	case unchanged >= r.ttl+clockTolerance:
		return Stale
	case r.verdict == Unreadable:
		return Unreadable
	case s.now.Before(r.expires), s.aged && s.age >= 0 && s.age < r.ttl:
		return Held
	}
	return Stale
}

// plainID reports whether id can stand in an ETag and in a file name as it is.
func plainID(id string) bool {
	return id != "" && len(id) <= 128 && strings.Trim(id,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == ""
}

// etagOf names a record in a condition: by its lease, or by a hash of
// what cannot be named.
func etagOf(text []byte, r reading) string {
	if r.verdict == "" && plainID(r.leaseID) {
		return leaseETag(r.leaseID)
	}
	sum := sha256.Sum256(text)
	return `"unreadable-` + hex.EncodeToString(sum[:8]) + `"`
}

func leaseETag(id string) string { return `"` + id + `"` }
