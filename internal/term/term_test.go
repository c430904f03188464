package term

import (
	"bytes"
	"os"
	"testing"
	"time"
	"unicode/utf8"
)

func TestColour(t *testing.T) {
	for _, tc := range []struct {
		name           string
		terminal, flag bool
		env            map[string]string
		want           bool
	}{
		{"terminal", true, false, nil, true},
		{"pipe", false, false, nil, false},
		{"flag", true, true, nil, false},
		{"NO_COLOR", true, false, map[string]string{"NO_COLOR": "1"}, false},
		{"empty NO_COLOR", true, false, map[string]string{"NO_COLOR": ""}, true},
		{"dumb", true, false, map[string]string{"TERM": "dumb"}, false},
	} {
		get := func(k string) string { return tc.env[k] }
		if got := Colour(tc.terminal, tc.flag, get); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestPaint(t *testing.T) {
	if got := Paint(true, Red, "no"); got != "\x1b[31mno\x1b[0m" {
		t.Errorf("%q", got)
	}
	if got := Paint(false, Red, "no"); got != "no" {
		t.Errorf("%q", got)
	}
}

func TestIsTerminal(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if IsTerminal(f) || IsTerminal(&bytes.Buffer{}) || Columns(f) != 80 || Columns(nil) != 80 {
		t.Error("a file or a buffer counts as a terminal")
	}
}

func TestEscape(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"", ""},
		{"plain", "plain"},
		{"a\x1b[31mred", `a\x1b[31mred`},
		{"one\ntwo\r\tx\x00", `one\ntwo\r\tx\x00`},
		{"del\x7f", `del\x7f`},
		{"c1\u009bx\u0085", `c1\u009bx\u0085`},
		{"raw\x9b\xff", `raw\x9b\xff`},
		{"cut\xe6\x97", `cut\xe6\x97`},
		{"bidi\u202eabc\u2066", `bidi\u202eabc\u2066`},
		{"zero\u200bwidth\ufeff\u00ad", `zero\u200bwidth\ufeff\u00ad`},
		{"a\u200db\u200cc", `a\u200db\u200cc`},
		{"line\u2028sep\u2029", `line\u2028sep\u2029`},
		{"tag\U000e0041", `tag\U000e0041`},
		{"private\ue000", `private\ue000`},
		{"a\ufe0f", `a\ufe0f`},
		{"日本語 é ñ 한글 emoji 👩\u200d👩\u200d👧 ❤\ufe0f 1\ufe0f⃣ می\u200cخواهم क्\u200dष", "日本語 é ñ 한글 emoji 👩\u200d👩\u200d👧 ❤\ufe0f 1\ufe0f⃣ می\u200cخواهم क्\u200dष"},
		{"replacement \ufffd stays", "replacement \ufffd stays"},
		{"\u200d\u200d日\u200d\u200d", `\u200d\u200d日` + "\u200d" + `\u200d`},
	} {
		if got := Escape(tc.in); got != tc.want {
			t.Errorf("Escape(%q)\n got %s\nwant %s", tc.in, got, tc.want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("a\x1b\u202e日")
	f.Fuzz(func(t *testing.T, s string) {
		got := Escape(s)
		if !utf8.ValidString(got) || Escape(got) != got {
			t.Fatalf("%q -> %q", s, got)
		}
	})
}

func TestLines(t *testing.T) {
	got := Lines("a\x1b\r\nb\n\n")
	if len(got) != 2 || got[0] != `a\x1b` || got[1] != "b" {
		t.Errorf("%q", got)
	}
}

func TestWidth(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want int
	}{
		{"", 0},
		{"abc", 3},
		{"日本語", 6},
		{"ｱｲｳ", 3},
		{"ＡＢ", 4},
		{"é", 1},
		{"e\u0301", 1},
		{"한글", 4},
		{"🎉", 2},
		{"─│", 2},
	} {
		if got := Width(tc.in); got != tc.want {
			t.Errorf("Width(%q) = %d, want %d", tc.in, got, tc.want)
		}
	}
}

func TestTruncate(t *testing.T) {
	for _, tc := range []struct {
		in   string
		cols int
		want string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"日本語", 6, "日本語"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日…"},
		{"日本語", 1, "…"},
		{"abc", 0, ""},
		{"abc", -1, ""},
	} {
		got := Truncate(tc.in, tc.cols)
		if got != tc.want || Width(got) > max(tc.cols, 0) {
			t.Errorf("Truncate(%q, %d) = %q, want %q", tc.in, tc.cols, got, tc.want)
		}
	}
	if got := Pad("日", 4); got != "日  " {
		t.Errorf("Pad: %q", got)
	}
}

func TestElapsed(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second:                    "0s",
		7*time.Second + 900*1e6:         "7s",
		185 * time.Second:               "3m05s",
		2*time.Hour + 4*time.Minute:     "2h04m",
		59*time.Minute + 59*time.Second: "59m59s",
	} {
		if got := Elapsed(d); got != want {
			t.Errorf("Elapsed(%v) = %s, want %s", d, got, want)
		}
	}
}

func TestProgressLive(t *testing.T) {
	var b bytes.Buffer
	now := time.Unix(0, 0)
	p := NewProgress(ProgressOptions{W: &b, Live: true, Columns: func() int { return 20 }, Now: func() time.Time { return now }})
	p.Set("", "step 1 of 3")
	p.Tick() // the same second: nothing new to draw
	now = now.Add(2 * time.Second)
	p.Tick()
	p.Line("kept")
	p.Set("", "step 2 of 3 is a long text")
	p.Clear()
	p.Tick()
	want := "step 1 of 3 0s" +
		"\r\x1b[Kstep 1 of 3 2s" +
		"\r\x1b[Kkept\nstep 1 of 3 2s" +
		"\r\x1b[Kstep 2 of 3 is … 0s" +
		"\r\x1b[K"
	if got := b.String(); got != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

// Several lines stay below each other in the order in which they began; one that is done
// leaves the others.
func TestProgressOfSeveral(t *testing.T) {
	var b bytes.Buffer
	p := NewProgress(ProgressOptions{W: &b, Live: true, Now: func() time.Time { return time.Unix(0, 0) }})
	p.Set("one", "1")
	p.Set("two", "2")
	p.Set("one", "1b")
	p.Line("kept")
	p.Done("one")
	p.Done("two")
	const up = "\r\x1b[K\x1b[A\r\x1b[K"
	want := "1 0s" +
		"\r\x1b[K1 0s\n2 0s" +
		up + "1b 0s\n2 0s" +
		up + "kept\n1b 0s\n2 0s" +
		up + "2 0s" +
		"\r\x1b[K"
	if got := b.String(); got != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

func TestProgressPlain(t *testing.T) {
	var b bytes.Buffer
	p := NewProgress(ProgressOptions{W: &b, Now: func() time.Time { return time.Unix(0, 0) }})
	p.Set("", "step 1")
	p.Set("", "step 1")
	p.Tick()
	p.Line("kept")
	p.Set("other", "step 2")
	p.Done("")
	if got := b.String(); got != "step 1\nkept\nstep 2\n" {
		t.Errorf("%q", got)
	}
}
