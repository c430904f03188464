package edit

import (
	"testing"

	"aiflow/reqmeta"
)

func TestKeepLineEnds(t *testing.T) {
	for _, tc := range []struct{ name, was, text, want string }{
		{"crlf from a browser", "---\r\nstatus: ready\r\n---\r\na\r\nb\r\n", "---\r\nstatus: ready\r\n---\r\na\nB\nc\n", "---\r\nstatus: ready\r\n---\r\na\r\nB\r\nc\r\n"},
		{"lf from a client of windows", "---\nstatus: ready\n---\na\nb\n", "---\nstatus: ready\n---\na\r\nB\r\nc\r\n", "---\nstatus: ready\n---\na\nB\nc\n"},
		{"mixed, first line changed", "a\nb\r\nc\nd\r\n", "A\nb\nc\nd\n", "A\nb\r\nc\nd\r\n"},
		{"mixed, two lines changed far apart", "a\nb\r\nc\nd\r\ne\nf\r\n", "A\nb\nc\nd\ne\nF\n", "A\nb\r\nc\nd\r\ne\nF\n"},
		{"mixed, lines moved and doubled", "a\r\nb\r\nc\r\nd\n", "b\nb\nd\n", "b\r\nb\r\nd\n"},
		{"most lines of the body count", "---\r\nstatus: ready\r\nx: y\r\n---\r\na\nb\n", "---\r\nstatus: ready\r\nx: y\r\n---\r\na\nb\nc\n", "---\r\nstatus: ready\r\nx: y\r\n---\r\na\nb\nc\n"},
		{"an empty body takes those of the head", "---\r\nstatus: ready\r\n---\r\n", "---\r\nstatus: ready\r\n---\r\na\nb", "---\r\nstatus: ready\r\n---\r\na\r\nb"},
		{"no line end anywhere", "a", "b\r\nc\n", "b\r\nc\n"},
		{"last line without end stays so", "a\r\nb", "A\nb\n", "A\r\nb"},
		{"last line that had an end keeps it", "a\nb\n", "A\nb", "A\nb\n"},
		{"a line behind the last one", "a\nb", "a\nb\nc", "a\nb\nc"},
		{"the last line is new", "a\r\nb\r\n", "a\nc", "a\r\nc"},
		{"the last lines are gone", "a\r\nb\r\nc", "a", "a"},
		{"lone carriage returns", "10%\r20%\r\nb\r\n", "10%\n20%\nB\n", "10%\r20%\r\nB\r\n"},
		{"byte order mark", "\ufeff---\nstatus: ready\n---\na\n", "---\nstatus: ready\n---\nb\n", "\ufeff---\nstatus: ready\n---\nb\n"},
		{"emptied", "a\r\n", "", ""},
		{"not utf-8: as it is", "\xff\r\n", "a\n", "a\n"},
	} {
		if got := string(KeepLineEnds([]byte(tc.was), []byte(tc.text))); got != tc.want {
			t.Errorf("%s:\ngot  %q\nwant %q", tc.name, got, tc.want)
		}
	}
}

// A client that turns all line ends into its own and changes nothing changes
// nothing.
func FuzzKeepLineEnds(f *testing.F) {
	for _, s := range []string{"a\r\nb\nc", "\ufeffa\r\rb\n\n", "---\r\nstatus: ready\r\n---\r\n\r\n- x\n", "\n\r\n\r"} {
		f.Add(s, "a\nb")
	}
	f.Fuzz(func(t *testing.T, was, text string) {
		if line, _ := reqmeta.Foreign([]byte(was)); line > 0 {
			return
		}
		var plain []byte
		for _, l := range textLines([]byte(was)) {
			plain = append(plain, l.text...)
			if l.end != "" {
				plain = append(plain, '\n')
			}
		}
		if got := string(KeepLineEnds([]byte(was), plain)); got != was {
			t.Fatalf("%q becomes %q", was, got)
		}
		once := KeepLineEnds([]byte(was), []byte(text))
		if again := KeepLineEnds([]byte(was), once); string(again) != string(once) {
			t.Fatalf("%q over %q: %q, then %q", text, was, once, again)
		}
	})
}
