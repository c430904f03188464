package reqmeta

import (
	"strings"
	"time"
)

const DayForm = "2006-01-02"

// parseDate reads a date (00:00 UTC), an RFC 3339 time, or such a time without
// seconds, with a blank for its T, or without a zone: then it is UTC (see
// zoneless). The answer does not depend on the local time zone.
func ParseDate(text string) (Date, bool) {
	if len(text) == len(DayForm) {
		return parseDay(text)
	}
	if strings.IndexByte(text, ',') >= 0 || len(text) <= len(DayForm) {
		return Date{}, false
	}
	clock := text[len(DayForm)+1:]
	if c := text[len(DayForm)]; c != 'T' && c != 't' && c != ' ' {
		return Date{}, false
	}
	form := "15:04:05Z07:00"
	if len(clock) == len("15:04") || len(clock) > len("15:04") && clock[len("15:04")] != ':' {
		form = "15:04Z07:00"
	}
	if Zoneless(text) {
		form = strings.TrimSuffix(form, "Z07:00")
	}
	t, err := time.ParseInLocation(DayForm+" "+form, text[:len(DayForm)]+" "+strings.ToUpper(clock), time.UTC)
	return Date{t, text}, err == nil
}

// zoneless reports whether text, a date that was read, is a time of day that
// does not say in which zone.
func Zoneless(text string) bool {
	return len(text) > len(DayForm) && !strings.ContainsAny(text[len(DayForm):], "Zz+-")
}

func parseDay(text string) (Date, bool) {
	y, ok1 := digits(text[:4])
	m, ok2 := digits(text[5:7])
	d, ok3 := digits(text[8:])
	if !ok1 || !ok2 || !ok3 || text[4] != '-' || text[7] != '-' || m < 1 || m > 12 || d < 1 {
		return Date{}, false
	}
	t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	return Date{t, text}, t.Day() == d
}

func digits(s string) (int, bool) {
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}
