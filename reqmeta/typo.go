package reqmeta

import "strings"

var knownKeys = [...]string{
	"id", "title", "priority", "status", "labels", "depends_on", "estimate",
	"created_at", "updated_at", "base", "steps",
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
		if len(k) > 4 && distance(plain, k, limit) <= limit {
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

// distance counts insertions, deletions, replacements and swaps of neighbours
// between a and b; anything above limit may come out as limit+1.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row := rows[0], rows[1], rows[2]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		rows = [3][]int{last, row, before}
	}
	return rows[1][len(b)]
}
