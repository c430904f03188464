package edit

import (
	"strings"
	"time"

	"aiflow/reqmeta"
)

// likeDate writes now in the form that text has; "" when text is no date.
func likeDate(text string, now time.Time) string {
	old, ok := reqmeta.ParseDate(text)
	if !ok {
		return ""
	}
	if len(text) == len(reqmeta.DayForm) {
		return now.Format(reqmeta.DayForm)
	}
	sep, clock := text[len(reqmeta.DayForm):len(reqmeta.DayForm)+1], text[len(reqmeta.DayForm)+1:]
	form := reqmeta.DayForm + sep + "15:04"
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
	case reqmeta.Zoneless(text):
		return now.UTC().Format(form)
	case strings.HasSuffix(text, "Z"), strings.HasSuffix(text, "z"):
		return now.UTC().Format(form + text[len(text)-1:])
	}
	return now.In(old.Time.Location()).Format(form + "-07:00")
}
