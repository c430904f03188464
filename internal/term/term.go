// Package term knows what a terminal can show: whether colour is wanted, how
// wide a text is, which characters of foreign text must be shown as escapes,
// and how to keep one line alive while work goes on.
//
// It does not read the environment or the clock: both are passed in. It does
// not decide what is said.
package term

import (
	"os"

	xterm "golang.org/x/term"
)

// IsTerminal reports whether v is a file that is a terminal.
func IsTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && xterm.IsTerminal(int(f.Fd()))
}

// Columns is the width of the terminal v, or 80 when v is none or does not say.
func Columns(v any) int {
	if f, ok := v.(*os.File); ok {
		if w, _, err := xterm.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return 80
}

// Colour decides whether output is coloured: only on a terminal, and not when
// the --no-color flag, NO_COLOR (any text) or TERM=dumb says no.
func Colour(terminal, noColorFlag bool, getenv func(string) string) bool {
	return terminal && !noColorFlag && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

// Style is one way to paint a text.
type Style string

// The styles that our faces use.
const (
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Cyan   Style = "36"
)

// Paint puts text in style when on is true. The text must be escaped already.
func Paint(on bool, style Style, text string) string {
	if !on || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}

// ShortHash is as much of a commit's name as people read.
func ShortHash(commit string) string { return commit[:min(10, len(commit))] }
