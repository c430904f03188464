package server

import (
	"bytes"
	"regexp"
	"slices"
	"sync"
)

// sure are shapes that nothing but a secret has.
var sure = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:\b(?:AKIA|ASIA)[0-9A-Z]{16}\b)` +
		`|\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{30,}|\bglpat-[A-Za-z0-9_-]{16,}` +
		`|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bsk-[A-Za-z0-9_-]{16,}|\bAIza[0-9A-Za-z_-]{35}|\bnpm_[A-Za-z0-9]{30,}` +
		`|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}`)
})

var keyBlock = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`)
})

// userinfo is what stands before the host of a URL.
var userinfo = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://([^\s/@"'\\<>]+)@`)
})

// likely are values behind a telling name.
var likely = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:password|passwd|pwd|secret|secret[_-]?(?:access[_-]?)?key|api[_-]?key|private[_-]?key|` +
		`access[_-]?key(?:[_-]?id)?|auth[_-]?token|access[_-]?token|session[_-]?token|token|authorization|bearer)` +
		`(?:\\?["'])?\s*(?:[:=]|\s)\s*(?:\\?["'])?(?:bearer\s+|basic\s+)?([^\s"'\\,;&<>(){}\[\]]{8,})`)
})

// mask hides secrets behind stars, byte for byte, so that places in a text
// stay what they are. all also hides what only looks like one by its name.
func mask(text []byte, all bool) []byte {
	out := text
	hide := func(from, to int) {
		if &out[0] == &text[0] {
			out = bytes.Clone(text)
		}
		for i := from; i < to; i++ {
			if out[i] != '\n' && out[i] != '\r' {
				out[i] = '*'
			}
		}
	}
	if len(text) == 0 {
		return text
	}
	low := lower(text)
	for _, at := range places(text, text, sureHints, 0) {
		for _, m := range sure().FindAllIndex(text[at[0]:at[1]], -1) {
			hide(at[0]+m[0], at[0]+m[1])
		}
	}
	if bytes.Contains(text, []byte("-----BEGIN ")) {
		for _, m := range keyBlock().FindAllIndex(text, -1) {
			hide(m[0], m[1])
		}
	}
	for _, at := range places(text, text, urlHints, 0) {
		for _, m := range userinfo().FindAllSubmatchIndex(text[at[0]:at[1]], -1) {
			hide(at[0]+m[2], at[0]+m[3])
		}
	}
	if !all {
		return out
	}
	for _, at := range places(text, low, nameHints, linesAfterName) {
		part := text[at[0]:at[1]]
		for _, m := range likely().FindAllSubmatchIndex(part, -1) {
			if looksRandom(part[m[2]:m[3]]) {
				hide(at[0]+m[2], at[0]+m[3])
			}
		}
	}
	return out
}

// What every secret of a kind has in it. Expressions are slow and logs are
// long, so that only lines with one of these are looked at closely.
var (
	sureHints = fieldsOf("AKIA ASIA ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- xox sk- AIza npm_ eyJ")
	urlHints  = fieldsOf("://")
	nameHints = fieldsOf("passw pwd secret key token authorization bearer")
)

const linesAfterName = 4 // a value may stand below its name

func fieldsOf(list string) [][]byte { return bytes.Fields([]byte(list)) }

func lower(text []byte) []byte {
	low := bytes.Clone(text)
	for i, c := range low {
		if 'A' <= c && c <= 'Z' {
			low[i] = c + 'a' - 'A'
		}
	}
	return low
}

// places are the parts of text, in whole lines, where searched has a hint, each
// with so many filled lines after it.
func places(text, searched []byte, hints [][]byte, more int) [][2]int {
	var found [][2]int
	for _, hint := range hints {
		for at := 0; ; {
			i := bytes.Index(searched[at:], hint)
			if i < 0 {
				break
			}
			from := bytes.LastIndexByte(text[:at+i], '\n') + 1
			to := lineEnd(text, at+i)
			at = to
			for range more {
				to = lineEnd(text, filled(text, to))
			}
			found = append(found, [2]int{from, to})
		}
	}
	slices.SortFunc(found, func(a, b [2]int) int { return a[0] - b[0] })
	return joined(found)
}

// joined makes one of parts that touch.
func joined(parts [][2]int) [][2]int {
	var all [][2]int
	for _, p := range parts {
		if n := len(all); n > 0 && p[0] <= all[n-1][1] {
			all[n-1][1] = max(all[n-1][1], p[1])
		} else {
			all = append(all, p)
		}
	}
	return all
}

func lineEnd(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(text)
}

// filled is where the next text after at begins.
func filled(text []byte, at int) int {
	return at + len(text[at:]) - len(bytes.TrimLeft(text[at:], " \t\r\n\f\v"))
}

// looksRandom spares words: a value of a secret has a digit in it.
func looksRandom(value []byte) bool { return bytes.ContainsAny(value, "0123456789") }

// maskTree hides secrets in every text of a decoded JSON value.
func maskTree(v any) any {
	switch v := v.(type) {
	case string:
		return string(mask([]byte(v), true))
	case []any:
		for i := range v {
			v[i] = maskTree(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = maskTree(v[k])
		}
	}
	return v
}
