package runs

import (
	"regexp"
	"testing"
	"time"
)

func TestRunIDs(t *testing.T) {
	if got := NewRunID(t0, 0xf7); got != runID {
		t.Errorf("got %s", got)
	}
	form := regexp.MustCompile(`^RUN-[0-9]{8}-[0-9]{6}-[0-9a-f]{6}$`)
	last := ""
	for us := range 5 {
		for _, now := range []time.Time{t0.Add(time.Duration(us) * time.Microsecond)} {
			id := NewRunID(now, byte(0xff))
			if !form.MatchString(id) || id <= last {
				t.Errorf("%s after %s", id, last)
			}
			last = id
		}
	}
	if got := NewRunID(time.Date(2026, 1, 2, 3, 4, 5, 999999999, time.UTC), 0); got != "RUN-20260102-030405-f423f0" {
		t.Errorf("got %s", got)
	}
}

func TestParseRunID(t *testing.T) {
	for in, suffix := range map[string]string{
		runID: "1e2407", "20261127-143255-abcdef": "abcdef", "RUN-20261127-143255-1": "1",
		"": "", "RUN-": "", "RUN-20261327-143255-abcdef": "", "RUN-20261127-143255-": "", "RUN-20261127-143255-a/b": "",
		"RUN-20261127-143255-abcdef\n": "", "run-20261127-143255-abcdef": "",
	} {
		id, ok := ParseRunID(in)
		if ok != (suffix != "") || id.Suffix != suffix {
			t.Errorf("%q: %+v %v", in, id, ok)
		}
		if ok && id.Time.Format(idLayout) != "20261127-143255" {
			t.Errorf("%q: stamp %s", in, id.Time.Format(idLayout))
		}
	}
}

// A clock that was put back must not make the newest run an old one.
func TestRunIDsSortWhateverTheClockSays(t *testing.T) {
	for _, last := range []string{
		runID, NewRunID(t0, 0xff), NewRunID(t0.Add(2*time.Hour), 0xf), NewRunID(t0.Add(-time.Hour), 0),
		"20261127-143255-ffffff", "RUN-20261127-235959-f423ff", "RUN-20261127-143255-zz", "nonsense", "",
	} {
		id := NewRunIDAfter(last, t0, 0)
		if _, ok := ParseRunID(id); !ok || sortKey(id) <= sortKey(last) && last != "nonsense" {
			t.Errorf("%s after %q", id, last)
		}
	}
	if got := NewRunIDAfter("RUN-20261127-235959-f423ff", t0, 3); got != "RUN-20261128-000000-000003" {
		t.Errorf("over midnight: %s", got)
	}
}
