package agent

import (
	"cmp"
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

// What a time is written with. at names the parts of what stands at one place.
const (
	clockWords = `(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?::(?P<second>\d\d)(?:\.\d+)?)?(?:\s*(?P<half>[ap])\.?m\b\.?)?`
	zoneName   = `(?:UTC|GMT)\s?[+-]\d\d?(?::?\d\d)?|[+-]\d\d:?\d\d|(?-i:UTC|GMT|Z|[A-Z]{1,4}T|[A-Z][a-z]+/[A-Za-z0-9_+/-]+)\b|(?:pacific|mountain|central|eastern)\s(?:\w+\s)?time`
	zoneWords  = `(?:\s*(?:\((?P<zone>` + zoneName + `|[a-z0-9_+-]+/[a-z0-9_+/-]+)\)|(?P<bare>` + zoneName + `)))?`
	monthWord  = `(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)`
)

func dayWords(at string) string {
	named := func(name, re string) string { return `(?P<` + name + at + `>` + re + `)` }
	weekday := named("weekday", `mon|tue|wed|thu|fri|sat|sun`) + `(?:[a-z]*day|r?s?)\b,?`
	return `(?:` + named("tomorrow", `tomorrow`) + `|` +
		`(?:` + weekday + `\s+)?(?:` + named("month", monthWord) + `[a-z]*\.?\s+` + named("day", `\d{1,2}`) + `(?:st|nd|rd|th)?\b(?:,?\s+` + named("year", `\d{4}`) + `\b)?` +
		`|` + named("eday", `\d{1,2}`) + `(?:st|nd|rd|th)?\s+` + named("emonth", monthWord) + `[a-z]*\.?(?:,?\s+` + named("eyear", `\d{4}`) + `\b)?)` +
		`|` + strings.ReplaceAll(weekday, "<weekday", "<only") + `)`
}

var untilWords = sync.OnceValue(func() map[string]*regexp.Regexp {
	all := map[string]string{
		"epoch": `\|\s*(\d{10}|\d{13})\b|\bresets?_?at\W{1,4}(\d{10}|\d{13})\b`,
		"stamp": `\b(?P<date>\d{4}-\d\d-\d\d)(?:T|,?\s+(?:at\s+)?)` + clockWords + zoneWords,
		"moment": `\b(?:resets?|again|until|available|after|on|at):?\s+(?:(?:at|on|after)\s+)?(?:` + dayWords("") + `,?\s+(?:at\s+)?)?` +
			clockWords + zoneWords + `(?:,?\s+(?:on\s+)?` + dayWords("2") + `)?` + strings.NewReplacer("<zone", "<zone2", "<bare", "<bare2").Replace(zoneWords),
		"span":   `(?:in|after|within):?\s+(?:about\s+|~\s?)?((?:\d+(?:\.\d+)?\s*(?:days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)\b?[\s,]*(?:and\s+)?)+)`,
		"offset": `^(?:UTC|GMT)?\s?([+-])(\d\d?):?(\d\d)?$`,
		"unit":   `(\d+(?:\.\d+)?)\s*([dhms])`,
	}
	words := map[string]*regexp.Regexp{}
	for name, re := range all {
		words[name] = regexp.MustCompile(`(?i)` + re)
	}
	return words
})

// parts are what each place in the text has, by the names of the expression's groups.
func parts(re *regexp.Regexp, said string) []map[string]string {
	var list []map[string]string
	for _, m := range re.FindAllStringSubmatch(said, -1) {
		named := map[string]string{}
		for i, name := range re.SubexpNames() {
			if m[i] != "" && name != "" {
				named[strings.TrimSuffix(name, "2")] = m[i]
			}
		}
		list = append(list, named)
	}
	return list
}

func epoch(said string, _ time.Time) time.Time {
	m := untilWords()["epoch"].FindStringSubmatch(said)
	if m == nil {
		return time.Time{}
	}
	n, err := strconv.ParseInt(m[1]+m[2], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return fromEpoch(n)
}

// fromEpoch reads seconds, or milliseconds, of which there are more than seconds
// of any year that can be written.
func fromEpoch(n int64) time.Time {
	if n > 1e11 {
		return time.UnixMilli(n)
	}
	return time.Unix(n, 0)
}

// stamp reads `on 2026-12-01 at 00:00 UTC`. One that is over is that of a log's
// line, not until when.
func stamp(said string, now time.Time) time.Time {
	for _, m := range parts(untilWords()["stamp"], said) {
		day, err := time.Parse(time.DateOnly, m["date"])
		zone := zoneOf(m, now)
		if err != nil || zone == nil {
			continue
		}
		if t := onDay(day, m, zone); t.After(now) {
			return t
		}
	}
	return time.Time{}
}

// onDay is the time of day that m names on day in zone; zero: it names none.
func onDay(day time.Time, m map[string]string, zone *time.Location) time.Time {
	hour, minute, ok := clock(m["hour"], m["minute"], m["half"])
	if !ok {
		return time.Time{}
	}
	second, _ := strconv.Atoi(m["second"])
	return time.Date(day.Year(), day.Month(), day.Day(), hour, minute, second, 0, zone)
}

// zoneOf is the zone that m names, that of now where it names none, and nil where
// nobody knows the one that it names: such a time is none.
func zoneOf(m map[string]string, now time.Time) *time.Location {
	if name := cmp.Or(m["zone"], m["bare"]); name != "" {
		return location(name)
	}
	return now.Location()
}

// moment reads `resets 1:10am (UTC)`, `try again at Nov 29th, 2026 1:08 AM`.
func moment(said string, now time.Time) time.Time {
	said = untilWords()["stamp"].ReplaceAllString(said, " ")
	for _, m := range parts(untilWords()["moment"], said) {
		if zone := zoneOf(m, now); zone != nil {
			if t := dated(m, now.In(zone)); !t.IsZero() && t.Sub(now) < farthest {
				return t
			}
		}
	}
	return time.Time{}
}

// dated is a time of day on the day that is named, or on the next that fits.
func dated(m map[string]string, now time.Time) time.Time {
	weekday, tomorrow := strings.ToLower(m["only"]), m["tomorrow"] != ""
	month, year := strings.ToLower(cmp.Or(m["month"], m["emonth"])), cmp.Or(m["year"], m["eyear"])
	if month == "" {
		day := now
		if tomorrow {
			day = now.AddDate(0, 0, 1)
		}
		t := onDay(day, m, now.Location())
		for !t.IsZero() && (t.Before(now.Add(-justNow)) || weekday != "" && !strings.HasPrefix(strings.ToLower(t.Weekday().String()), weekday)) {
			day = day.AddDate(0, 0, 1)
			t = onDay(day, m, now.Location())
		}
		return t
	}
	d, _ := strconv.Atoi(cmp.Or(m["day"], m["eday"]))
	y := now.Year()
	if year != "" {
		y, _ = strconv.Atoi(year)
	}
	day := time.Date(y, time.Month(strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", month)/3+1), d, 12, 0, 0, 0, now.Location())
	if day.Day() != d {
		return time.Time{} // no such day
	}
	t := onDay(day, m, now.Location())
	if year == "" && !t.IsZero() && t.Before(now.Add(-31*24*time.Hour)) {
		t = onDay(day.AddDate(1, 0, 0), m, now.Location()) // said in December of January
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

// location knows the names of places, the letters by which people shorten their
// zones, and how far from UTC one is.
func location(name string) *time.Location {
	if strings.Contains(name, "/") {
		return place(name)
	}
	name = strings.ToUpper(name)
	hours, known := map[string]int{
		"UTC": 0, "GMT": 0, "Z": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
		"WET": 0, "WEST": 1, "BST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "MSK": 3, "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11,
	}[name]
	if known {
		return time.FixedZone(name, hours*3600)
	}
	if m := untilWords()["offset"].FindStringSubmatch(name); m != nil {
		hours, _ := strconv.Atoi(m[2])
		minutes, _ := strconv.Atoi(m[3])
		if hours > 14 || minutes > 59 {
			return nil
		}
		east := hours*3600 + minutes*60
		if m[1] == "-" {
			east = -east
		}
		return time.FixedZone(name, east)
	}
	first, _, _ := strings.Cut(name, " ")
	for _, coast := range [][3]string{
		{"PT", "PACIFIC", "America/Los_Angeles"}, {"MT", "MOUNTAIN", "America/Denver"}, {"CT", "CENTRAL", "America/Chicago"}, {"ET", "EASTERN", "America/New_York"},
	} {
		if first == coast[0] || first == coast[1] {
			return place(coast[2])
		}
	}
	return nil
}

func place(name string) *time.Location {
	there, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	return there
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
