package server

import (
	"bytes"
	"regexp"
	"sync"
)

// sure are shapes that nothing but a secret has; the last group of each is
// what is hidden.
var sure = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:\b(?:AKIA|ASIA)[0-9A-Z]{16}\b)` +
		`|\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{30,}|\bglpat-[A-Za-z0-9_-]{16,}` +
		`|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bsk-[A-Za-z0-9_-]{16,}|\bAIza[0-9A-Za-z_-]{35}|\bnpm_[A-Za-z0-9]{30,}` +
		`|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}` +
		`|-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`)
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
	for _, m := range sure().FindAllIndex(text, -1) {
		hide(m[0], m[1])
	}
	for _, m := range userinfo().FindAllSubmatchIndex(text, -1) {
		hide(m[2], m[3])
	}
	if !all {
		return out
	}
	for _, m := range likely().FindAllSubmatchIndex(text, -1) {
		if looksRandom(text[m[2]:m[3]]) {
			hide(m[2], m[3])
		}
	}
	return out
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
