package reqmeta

import (
	"strings"
	"time"
)

// likeDate writes now in the form that text has; "" when text is no date.
func likeDate(text string, now time.Time) string {
	old, ok := parseDate(text)
	if !ok {
		return ""
	}
	if len(text) == len(dayForm) {
		return now.Format(dayForm)
	}
	sep, clock := text[len(dayForm):len(dayForm)+1], text[len(dayForm)+1:]
	form := dayForm + sep + "15:04"
	if len(clock) > len("15:04") && clock[len("15:04")] == ':' {
		form += ":05"
	}
	if dot := strings.IndexByte(text, '.'); dot >= 0 {
		n := 0
		for ; dot+1+n < len(text) && text[dot+1+n] >= '0' && text[dot+1+n] <= '9'; n++ {
		}
		form += "." + strings.Repeat("0", n)
	}
	switch {
	case zoneless(text):
		return now.UTC().Format(form)
	case strings.HasSuffix(text, "Z"), strings.HasSuffix(text, "z"):
		return now.UTC().Format(form + text[len(text)-1:])
	}
	return now.In(old.Time.Location()).Format(form + "-07:00")
}
