package flock

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// VersionText is a version of any JSON type as text; "" for none.
func VersionText(raw json.RawMessage) string {
	if string(raw) == "null" {
		return ""
	}
	return strings.Trim(string(raw), `"`)
}

// Newer reports whether v is none of the versions that are known. One that is
// no number is not: a record that cannot be judged is left to who wrote it.
func Newer(v string) bool {
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

// When is a record's time as facts show it; none is "".
func When(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}
