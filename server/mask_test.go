package server

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// maskSlowly looks at all of the text with every expression.
func maskSlowly(text []byte) []byte {
	out := bytes.Clone(text)
	hide := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' && out[i] != '\r' {
				out[i] = '*'
			}
		}
	}
	for _, m := range append(sure().FindAllIndex(text, -1), keyBlock().FindAllIndex(text, -1)...) {
		hide(m[0], m[1])
	}
	for _, m := range userinfo().FindAllSubmatchIndex(text, -1) {
		hide(m[2], m[3])
	}
	for _, m := range likely().FindAllSubmatchIndex(text, -1) {
		if looksRandom(text[m[2]:m[3]]) {
			hide(m[2], m[3])
		}
	}
	return out
}

// Looking only where a hint stands hides just what looking everywhere does.
func TestMaskMissesNothing(t *testing.T) {
	pieces := []string{
		"AKIAIOSFODNN7EXAMPLE", "ghp_" + strings.Repeat("a1", 20), "github_pat_" + strings.Repeat("b", 30), "glpat-abcdefgh12345678", "xoxb-1234567890", "task-1", "sk-abcdefghijklmnop1",
		"AIza" + strings.Repeat("x", 35), "npm_" + strings.Repeat("c", 30), "eyJabcdefghijk.abcdefghijk.abcde", "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", "MIIabc",
		"https://user:pw@host/", "http://", "PassWord", "passwd", "PWD", "Secret_Key", "api-key", "TOKEN", "Authorization", "Bearer", "basic", ":", "=", "\"", "'", " ", " ", "\n", "\n", "\r\n", "\t",
		"hunter22hunter", "12345678", "日本語", "word", "\\\"", ",", "{", "}",
	}
	r := rand.New(rand.NewPCG(1, 2))
	hidden := 0
	for range 4_000 {
		var b strings.Builder
		for range 1 + r.IntN(25) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		text := []byte(b.String())
		got, want := mask(text, true), maskSlowly(text)
		if !bytes.Equal(got, want) {
			t.Fatalf("%q\nis %q\nnot %q", text, got, want)
		}
		if !bytes.Equal(want, text) {
			hidden++
		}
	}
	if hidden < 1_000 {
		t.Errorf("only %d texts had a secret", hidden)
	}
}

func BenchmarkMaskLog(b *testing.B) {
	text := []byte(strings.Repeat("000123 the quick brown fox jumps over the dog in /a/path/of/a/file.go\n", 1000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		mask(text, true)
	}
}
