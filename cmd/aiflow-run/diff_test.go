package main

import (
	"reflect"
	"strings"
	"testing"

	"aiflow/gitops"
	"aiflow/internal/term"
)

func TestPairs(t *testing.T) {
	h := gitops.Hunk{OldStart: 4, NewStart: 6, Lines: []gitops.Line{
		{Op: " ", Text: "a"},
		{Op: "-", Text: "b"},
		{Op: "-", Text: "c"},
		{Op: "+", Text: "B"},
		{Op: "-", Text: "d"},
		{Op: " ", Text: "e\r"},
		{Op: "+", Text: "f"},
	}}
	want := [][2]side{
		{{4, "a", " "}, {6, "a", " "}},
		{{5, "b", "-"}, {7, "B", "+"}},
		{{6, "c", "-"}, {}},
		{{7, "d", "-"}, {}},
		{{8, "e", " "}, {8, "e", " "}},
		{{}, {9, "f", "+"}},
	}
	if got := pairs(h); !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %v\nwant %v", got, want)
	}
}

func TestFold(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "",
		"abcdef":               "abcd|ef",
		"日本語":                  "日本|語",
		"a日本":                  "a日|本",
		"\tx":                  "    |x",
		"a\tx":                 "a   |x",
		"\x1b[31m":             `\x1b|[31m`,
		"\u202eabc":            `\u20|2eab|c`,
		"e\u0301e\u0301":       "e\u0301e\u0301",
		"aaaabbbbccccd":        "aaaa|bbbb|cccc|d",
		strings.Repeat("x", 4): "xxxx",
	} {
		got := fold(text, 4)
		if strings.Join(got, "|") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		for _, l := range got {
			if term.Width(l) > 4 {
				t.Errorf("%q: %q is too wide", text, l)
			}
		}
	}
}
