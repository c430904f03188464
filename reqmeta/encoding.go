package reqmeta

import (
	"bytes"
	"unicode/utf8"
)

// Foreign reports whether data is something else than UTF-8 text: the file line
// of the first byte that shows it, from 1, and the encoding that is likely, by
// its IANA name; "" where nothing is. Line 0: it is UTF-8.
//
// A text of another encoding is never decoded: a guess is good enough to tell a
// person, and not good enough to write back or to hand on.
func Foreign(data []byte) (line int, encoding string) {
	if wide := wideEncoding(data); wide != "" {
		return 1, wide
	}
	if utf8.Valid(data) {
		return 0, ""
	}
	var odd []byte // the lines that are not UTF-8: the others say nothing
	n := 0
	for text := range bytes.Lines(data) {
		if n++; utf8.Valid(text) {
			continue
		}
		if line == 0 {
			line = n
		}
		odd = append(odd, text...)
		if len(odd) >= enoughToGuess {
			break
		}
	}
	return line, guess(odd)
}

// enoughToGuess is how many bytes are looked at for the likely encoding.
const enoughToGuess = 64 << 10

// wideEncoding names the encodings of two and four bytes for each character:
// by their mark, or by the zeros of a text that begins with ASCII as all heads
// do.
func wideEncoding(data []byte) string {
	for _, w := range []struct{ mark, name string }{
		{"\xff\xfe\x00\x00", "UTF-32LE"}, {"\x00\x00\xfe\xff", "UTF-32BE"}, {"\xff\xfe", "UTF-16LE"}, {"\xfe\xff", "UTF-16BE"},
	} {
		if bytes.HasPrefix(data, []byte(w.mark)) {
			return w.name
		}
	}
	if len(data) < 4 {
		return ""
	}
	switch b := data[:4]; {
	case b[0] != 0 && b[1] == 0 && b[2] == 0 && b[3] == 0:
		return "UTF-32LE"
	case b[0] == 0 && b[1] == 0 && b[2] == 0 && b[3] != 0:
		return "UTF-32BE"
	case b[0] != 0 && b[1] == 0 && b[2] != 0 && b[3] == 0:
		return "UTF-16LE"
	case b[0] == 0 && b[1] != 0 && b[2] == 0 && b[3] != 0:
		return "UTF-16BE"
	}
	return ""
}

// guess names the likely encoding of lines that are not UTF-8. Japanese is told
// by its kana, which stand in rows of their own in each encoding and in hardly
// any other text; of what has only ideographs the lead bytes decide.
func guess(text []byte) string {
	sjis, euc, gb := count(text, sjisChar), count(text, eucChar), count(text, gbChar)
	switch {
	case sjis.fits() && (sjis.kana*5 >= sjis.wide || sjis.low*2 >= sjis.wide && sjis.runs*3 <= sjis.wide*2):
		return "Shift_JIS"
	case euc.fits() && euc.kana*8 >= euc.wide:
		return "EUC-JP"
	case gb.fits() && gb.high*10 >= gb.wide*8 && gb.runs*3 <= gb.wide*2:
		return "GB18030"
	}
	return guessLatin(text)
}

// guessLatin names the encoding of a text in Latin letters, most of which are
// ASCII.
func guessLatin(text []byte) string {
	ascii, high, c1, never := 0, 0, 0, 0
	for _, c := range text {
		switch {
		case isAlnum(c):
			ascii++
		case c == 0x81 || c == 0x8d || c == 0x8f || c == 0x90 || c == 0x9d:
			never++
		case c >= 0x80 && c < 0xa0:
			c1++
		case c >= 0xa0:
			high++
		}
	}
	switch {
	case never > 0 || high+c1 > ascii:
		return ""
	case c1 > 0:
		return "windows-1252"
	}
	return "ISO-8859-1"
}

// tally counts what a text holds when it is read in one encoding.
type tally struct {
	wide int // characters of two or more bytes
	kana int // of those, kana and Japanese punctuation
	low  int // of those, with a lead byte below 0xa0
	high int // of those, with no ASCII byte
	runs int // rows of wide characters one behind the other
	bad  bool
}

func (t tally) fits() bool { return !t.bad && t.wide > 0 }

// count reads text character by character. size gives how many bytes one takes
// and whether it is kana; 0: there is no such character.
func count(text []byte, size func(b []byte) (n int, kana bool)) (t tally) {
	inRun := false
	for len(text) > 0 {
		if text[0] < 0x80 {
			text, inRun = text[1:], false
			continue
		}
		n, kana := size(text)
		if n == 0 {
			t.bad = true
			return t
		}
		if kana {
			t.kana++
		}
		if n > 1 {
			t.wide++
			if text[0] < 0xa0 {
				t.low++
			}
			if text[1] >= 0x80 {
				t.high++
			}
			if !inRun {
				t.runs++
			}
		}
		text, inRun = text[n:], true
	}
	return t
}

func sjisChar(b []byte) (n int, kana bool) {
	c := b[0]
	switch {
	case c >= 0xa1 && c <= 0xdf: // a narrow kana; in Latin text a letter
		return 1, false
	case c == 0x80 || c == 0xa0 || c > 0xfc || len(b) < 2 || b[1] < 0x40 || b[1] == 0x7f || b[1] > 0xfc:
		return 0, false
	}
	return 2, c == 0x82 && b[1] >= 0x9f && b[1] <= 0xf1 || c == 0x83 && b[1] <= 0x96 || c == 0x81 && b[1] <= 0x9a
}

func eucChar(b []byte) (n int, kana bool) {
	n = 2
	if b[0] == 0x8f {
		n = 3
	} else if b[0] != 0x8e && (b[0] < 0xa1 || b[0] == 0xff) {
		return 0, false
	}
	if len(b) < n {
		return 0, false
	}
	for _, c := range b[1:n] {
		if c < 0xa1 || c == 0xff {
			return 0, false
		}
	}
	return n, b[0] == 0xa4 || b[0] == 0xa5 || b[0] == 0x8e
}

func gbChar(b []byte) (n int, kana bool) {
	switch {
	case b[0] == 0x80 || b[0] == 0xff || len(b) < 2:
		return 0, false
	case b[1] >= 0x40 && b[1] != 0x7f && b[1] != 0xff:
		return 2, false
	case len(b) >= 4 && '0' <= b[1] && b[1] <= '9' && b[2] >= 0x81 && b[2] != 0xff && '0' <= b[3] && b[3] <= '9':
		return 4, false
	}
	return 0, false
}

// Readable is the body of a request as text for a reader, a person or a role;
// nil where the file is not UTF-8.
func Readable(data []byte) []byte {
	if line, _ := Foreign(data); line > 0 {
		return nil
	}
	return Body(data)
}

// checkBody warns of a body that is not UTF-8. A role could not read it, so it
// is an error where one would have to.
func (r *Request) checkBody(data []byte, body int) {
	if utf8.Valid(data[body:]) {
		return
	}
	line, encoding := Foreign(data)
	p := NewProblem(LevelWarning, "body_not_utf8", line, "encoding", encoding)
	if !r.SaysOver() && r.needsReader() {
		p.Level, p.Kind = LevelError, "body_unreadable"
	}
	r.add(p)
}

// needsReader reports whether somebody must read the body to do the request.
func (r *Request) needsReader() bool {
	for _, s := range r.Meta.Steps {
		if s.Run == "" {
			return true
		}
	}
	return len(r.Meta.Steps) == 0
}
