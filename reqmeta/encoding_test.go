package reqmeta

import (
	"strings"
	"testing"
	"unicode/utf16"
)

// The texts are what editors of other encodings write: the bytes of the
// sentences in the comments.
func TestForeignNamesTheLikelyEncoding(t *testing.T) {
	wide := func(order, mark string) string {
		var b strings.Builder
		for _, u := range utf16.Encode([]rune(mark + "---\nstatus: ready\n---\n日本\n")) {
			if order == "LE" {
				b.WriteString(string([]byte{byte(u), byte(u >> 8)}))
			} else {
				b.WriteString(string([]byte{byte(u >> 8), byte(u)}))
			}
		}
		return b.String()
	}
	for _, tc := range []struct{ name, text, want string }{
		{"utf-8", "日本語 café", ""},
		{"empty", "", ""},
		{"nul", "---\na\x00b", ""},
		{"café", "caf\xe9\n", "ISO-8859-1"},
		{"Über größere Fälle", "\xdcber gr\xf6\xdfere F\xe4lle\n", "ISO-8859-1"},
		{"été, une fenêtre à côté", "\xe9t\xe9, une fen\xeatre \xe0 c\xf4t\xe9\n", "ISO-8859-1"},
		{"don’t “do” it – ever", "don\x92t \x93do\x94 it \x96 ever\n", "windows-1252"},
		{"ログインを直す", "\x83\x8d\x83\x4f\x83\x43\x83\x93\x82\xf0\x92\xbc\x82\xb7\n", "Shift_JIS"},
		{"東京都", "\x93\x8c\x8b\x9e\x93\x73\n", "Shift_JIS"},
		{"- [ ] 表示する", "- [ ] \x95\x5c\x8e\xa6\x82\xb7\x82\xe9\n", "Shift_JIS"},
		{"ログインを直す, EUC", "\xa5\xed\xa5\xb0\xa5\xa4\xa5\xf3\xa4\xf2\xc4\xbe\xa4\xb9\n", "EUC-JP"},
		{"修复登录问题", "\xd0\xde\xb8\xb4\xb5\xc7\xc2\xbc\xce\xca\xcc\xe2\n", "GB18030"},
		{"Привет, мир (cp1251)", "\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0\n", ""},
		{"le", wide("LE", ""), "UTF-16LE"},
		{"le, mark", wide("LE", "\ufeff"), "UTF-16LE"},
		{"be", wide("BE", ""), "UTF-16BE"},
		{"be, mark", wide("BE", "\ufeff"), "UTF-16BE"},
		{"utf-32", "-\x00\x00\x00-\x00\x00\x00", "UTF-32LE"},
		{"one bad line among others", "日本\ncaf\xe9\n", "ISO-8859-1"},
	} {
		line, got := Foreign([]byte(tc.text))
		if got != tc.want || (line == 0) != (tc.want == "" && !strings.Contains(tc.name, "cp1251")) {
			t.Errorf("%s: %q on line %d, want %q", tc.name, got, line, tc.want)
		}
	}
	if line, _ := Foreign([]byte("a\nb\nc\xe9\nd\xe9")); line != 3 {
		t.Errorf("line %d, want 3", line)
	}
}
