package reqmeta

import (
	"strings"
	"time"
)

const dayForm = "2006-01-02"

// parseDate reads a date (00:00 UTC) or an RFC 3339 time. The answer does not
// depend on the local time zone.
func parseDate(text string) (Date, bool) {
	if len(text) == len(dayForm) {
		return parseDay(text)
	}
	if strings.IndexByte(text, ',') >= 0 {
		return Date{}, false
	}
	t, err := time.ParseInLocation(time.RFC3339, text, time.UTC)
	return Date{t, text}, err == nil
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

// likeDate writes now in the form that text has; "" when text is no date.
func likeDate(text string, now time.Time) string {
	old, ok := parseDate(text)
	if !ok {
		return ""
	}
	if len(text) == len(dayForm) {
		return now.Format(dayForm)
	}
	form := "2006-01-02T15:04:05"
	if dot := strings.IndexByte(text, '.'); dot >= 0 {
		n := 0
		for ; text[dot+1+n] >= '0' && text[dot+1+n] <= '9'; n++ {
		}
		form += "." + strings.Repeat("0", n)
	}
	if strings.HasSuffix(text, "Z") {
		return now.UTC().Format(form + "Z")
	}
	return now.In(old.Time.Location()).Format(form + "-07:00")
}
