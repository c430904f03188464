package runs

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// RunID is the parts of a run's name.
type RunID struct {
	Time   time.Time // of the name, without a zone: UTC stands for the zone that was used
	Suffix string
}

var runIDRE = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:RUN-)?([0-9]{8}-[0-9]{6})-([0-9A-Za-z]{1,32})$`) })

// IDPrefix is what a run's name begins with.
const IDPrefix = "RUN-"

const idLayout = "20060102-150405"

// NewRunID makes RUN-YYYYMMDD-HHMMSS-<6 hex>: five digits are the microsecond
// of the second, so that names sort by time, and the last one is the low four
// bits of digit (a random byte).
func NewRunID(now time.Time, digit byte) string {
	return fmt.Sprintf("RUN-%s-%05x%x", now.Format(idLayout), now.Nanosecond()/1000, digit&0xf)
}

// NewRunIDAfter is NewRunID, but sorts after last whatever the clock says: a
// clock that was put back does not make the newest run an old one.
func NewRunIDAfter(last string, now time.Time, digit byte) string {
	id := NewRunID(now, digit)
	prev, ok := ParseRunID(last)
	if !ok || sortKey(id) > sortKey(last) {
		return id
	}
	return NewRunID(prev.Time.Add(prev.fraction()+time.Microsecond), digit)
}

// fraction is the part of the second that the suffix holds, as far as it is
// one of ours.
func (r RunID) fraction() time.Duration {
	var us int64
	if len(r.Suffix) == 6 {
		if _, err := fmt.Sscanf(r.Suffix[:5], "%x", &us); err == nil && us < 1e6 {
			return time.Duration(us) * time.Microsecond
		}
	}
	return time.Second - time.Microsecond
}

// ParseRunID reads our names and the older ones without the prefix or with
// another suffix.
func ParseRunID(s string) (RunID, bool) {
	m := runIDRE().FindStringSubmatch(s)
	if m == nil {
		return RunID{}, false
	}
	t, err := time.Parse(idLayout, m[1])
	if err != nil {
		return RunID{}, false
	}
	return RunID{Time: t, Suffix: m[2]}, true
}

// sortKey orders names by time, with and without the prefix alike.
func sortKey(id string) string { return strings.TrimPrefix(id, IDPrefix) }
