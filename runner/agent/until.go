package agent

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Until is the moment from which a program says that it may be asked again; zero
// when it says none, or one that cannot be. A time of day is the next one after
// now, but one that was a moment ago is now: programs round. What names no zone
// is meant where now is.
func Until(said string, now time.Time) time.Time {
	for _, read := range []func(string, time.Time) time.Time{epoch, stamp, moment, span} {
		if t := read(said, now); !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// justNow is how long ago a time of day may be that is not tomorrow's.
const justNow = 10 * time.Minute

// farthest is how far off a named time may be; no provider has limits of longer.
const farthest = 62 * 24 * time.Hour

var untilWords = sync.OnceValue(func() map[string]*regexp.Regexp {
	all := map[string]string{
		"epoch": `\|\s*(\d{10}|\d{13})\b|\bresets?_?at\W{1,4}(\d{10}|\d{13})\b`,
		"stamp": `\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?`,
		"moment": `(?:resets?|again|until|available|after|on|at)\s+(?:at\s+|on\s+|after\s+)?` +
			`(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+)?` +
			`(?:(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(?:(\d{4}),?\s+)?(?:at\s+)?)?` +
			`(\d{1,2})(?::(\d\d))?(?::\d\d)?(?:\s*([ap])\.?m\b\.?)?(?:\s*\(([A-Za-z0-9_+/-]+)\)|\s+(UTC|GMT|[A-Z]{2,4}T)\b)?`,
		"span": `(?:in|after|within)\s+((?:\d+(?:\.\d+)?\s*(?:days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)\b?[\s,]*(?:and\s+)?)+)`,
		"unit": `(\d+(?:\.\d+)?)\s*([dhms])`,
	}
	words := map[string]*regexp.Regexp{}
	for name, re := range all {
		words[name] = regexp.MustCompile(`(?i)` + re)
	}
	return words
})

func epoch(said string, _ time.Time) time.Time {
	m := untilWords()["epoch"].FindStringSubmatch(said)
	if m == nil {
		return time.Time{}
	}
	digits := m[1] + m[2]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return time.Time{}
	}
	if len(digits) == 13 {
		return time.UnixMilli(n)
	}
	return time.Unix(n, 0)
}

func stamp(said string, now time.Time) time.Time {
	text := strings.Replace(untilWords()["stamp"].FindString(said), " ", "T", 1)
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return t
		}
	}
	return time.Time{}
}

// moment reads `resets 1:10am (UTC)`, `try again at Nov 29th, 2026 1:08 AM`.
func moment(said string, now time.Time) time.Time {
	for _, m := range untilWords()["moment"].FindAllStringSubmatch(said, -1) {
		zone := now.Location()
		if name := m[7] + m[8]; name != "" {
			named := location(name)
			if named == nil {
				continue // a time in a zone that nobody knows is none
			}
			zone = named
		}
		hour, minute, ok := clock(m[4], m[5], m[6])
		if !ok {
			continue
		}
		if t := dated(m[1], m[2], m[3], hour, minute, now.In(zone)); !t.IsZero() && t.Sub(now) < farthest {
			return t
		}
	}
	return time.Time{}
}

// dated is a time of day on the day that is named, or on the next that fits.
func dated(month, day, year string, hour, minute int, now time.Time) time.Time {
	if month == "" {
		t := time.Date(now.Year(), now.Month(), now.Day(), hour, minute, 0, 0, now.Location())
		if t.Before(now.Add(-justNow)) {
			t = time.Date(now.Year(), now.Month(), now.Day()+1, hour, minute, 0, 0, now.Location())
		}
		return t
	}
	m := strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", strings.ToLower(month))/3 + 1
	d, _ := strconv.Atoi(day)
	y := now.Year()
	if year != "" {
		y, _ = strconv.Atoi(year)
	}
	t := time.Date(y, time.Month(m), d, hour, minute, 0, 0, now.Location())
	if t.Day() != d {
		return time.Time{} // no such day
	}
	if year == "" && t.Before(now.Add(-31*24*time.Hour)) {
		t = time.Date(y+1, time.Month(m), d, hour, minute, 0, 0, now.Location()) // said in December of January
	}
	return t
}

// clock is a time of day; half is "a", "p" or "".
func clock(h, m, half string) (hour, minute int, ok bool) {
	hour, _ = strconv.Atoi(h)
	if m != "" {
		minute, _ = strconv.Atoi(m)
	}
	switch strings.ToLower(half) {
	case "":
		return hour, minute, m != "" && hour < 24 && minute < 60 // a bare number is no time
	case "p":
		ok = hour >= 1 && hour <= 12
		hour = hour%12 + 12
	default:
		ok = hour >= 1 && hour <= 12
		hour %= 12
	}
	return hour, minute, ok && minute < 60
}

// location knows the names of places, and the letters by which people shorten
// their zones.
func location(name string) *time.Location {
	hours, known := map[string]int{
		"UTC": 0, "GMT": 0, "Z": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
		"WET": 0, "WEST": 1, "BST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "MSK": 3, "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11,
	}[strings.ToUpper(name)]
	if known {
		return time.FixedZone(strings.ToUpper(name), hours*3600)
	}
	if !strings.Contains(name, "/") {
		return nil
	}
	place, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	return place
}

// span reads `try again in 2 hours 5 minutes`, `will reset after 18h31m7s`.
func span(said string, now time.Time) time.Time {
	m := untilWords()["span"].FindStringSubmatch(said)
	if m == nil {
		return time.Time{}
	}
	var all time.Duration
	for _, u := range untilWords()["unit"].FindAllStringSubmatch(m[1], -1) {
		n, err := strconv.ParseFloat(u[1], 64)
		if err != nil || n > 1e6 {
			return time.Time{}
		}
		each := map[string]time.Duration{"d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second}[strings.ToLower(u[2])]
		all += time.Duration(n * float64(each))
	}
	if all <= 0 || all > farthest {
		return time.Time{}
	}
	return now.Add(all)
}

// longestPause is how long a session waits at most where nobody says until when.
const longestPause = 15 * time.Minute

// Pause doubles with each try in a row.
func Pause(first time.Duration, tries int) time.Duration {
	for ; tries > 1 && first < longestPause; tries-- {
		first *= 2
	}
	return min(first, longestPause)
}

// Spread is a little more than was named: clocks differ, and not everybody should
// come back in the same second.
func Spread(wait time.Duration, random byte) time.Duration {
	most := min(max(wait/10, 0), 30*time.Second)
	return time.Second + most*time.Duration(random)/255
}
