package reqmeta

import (
	"strings"

	"aiflow/internal/near"
)

var knownKeys = [...]string{
	"id", "title", "priority", "status", "labels", "depends_on", "estimate",
	"created_at", "updated_at", "base", "touches", "steps",
}

// typo gives the known key that key is probably meant to be; "" for none.
func typo(key string) string {
	plain := squeeze(key)
	for _, known := range knownKeys {
		k := strings.ReplaceAll(known, "_", "")
		if plain == k || len(plain) >= 5 && strings.HasPrefix(k, plain) {
			return known
		}
		limit := 2
		if len(k) < 6 {
			limit = 1
		}
		if len(k) > 4 && near.Distance(plain, k, limit) <= limit {
			return known
		}
	}
	return ""
}

// squeeze drops case and the signs between words.
func squeeze(key string) string {
	b := make([]byte, 0, len(key))
	for i := 0; i < len(key); i++ {
		switch c := key[i]; {
		case c >= 'A' && c <= 'Z':
			b = append(b, c+'a'-'A')
		case c != '_' && c != '-' && c != ' ':
			b = append(b, c)
		}
	}
	return string(b)
}
