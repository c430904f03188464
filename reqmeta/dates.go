package reqmeta

import (
	"strings"
	"time"
)

// DayForm is how a date without a time of day is written, as time.Parse has it.
const DayForm = "2006-01-02"

// ParseDate reads a date (00:00 UTC), an RFC 3339 time, or such a time without
// seconds, with a blank for its T, or without a zone: then it is UTC (see
// Zoneless). The answer does not depend on the local time zone.
func ParseDate(text string) (Date, bool) {
	if len(text) == len(DayForm) {
		t, err := time.Parse(DayForm, text)
		return Date{t, text}, err == nil
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
	t, err := time.Parse(DayForm+" "+form, text[:len(DayForm)]+" "+strings.ToUpper(clock))
	return Date{t, text}, err == nil
}

// Zoneless reports whether text, a date that was read, is a time of day that
// does not say in which zone.
func Zoneless(text string) bool {
	return len(text) > len(DayForm) && !strings.ContainsAny(text[len(DayForm):], "Zz+-")
}
