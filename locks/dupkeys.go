package locks

import "strings"

// hasDuplicateKeys looks at the top level of a valid JSON object. Two readers
// may disagree about the value of a key that comes twice, so nobody should
// believe it. Keys that differ in case only count as equal, because
// encoding/json takes them so; keys with escapes count as suspicious.
func hasDuplicateKeys(data []byte) bool {
	var seen [32]string
	n := 0
	for _, key := range topKeys(data) {
		if strings.IndexByte(key, '\\') >= 0 || n == len(seen) {
			return true
		}
		for _, s := range seen[:n] {
			if strings.EqualFold(s, key) {
				return true
			}
		}
		seen[n] = key
		n++
	}
	return false
}

// topKeys lists the keys of a valid JSON object as written, without quotes.
func topKeys(data []byte) []string {
	keys := make([]string, 0, 24)
	depth, expectKey := 0, false
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			depth++
			expectKey = depth == 1
		case '}', ']':
			depth--
		case ',':
			expectKey = depth == 1
		case '"':
			end := stringEnd(data, i)
			if depth == 1 && expectKey {
				keys = append(keys, string(data[i+1:end]))
				expectKey = false
			}
			i = end
		}
	}
	return keys
}

// stringEnd is the index of the quote that closes the string opened at start.
func stringEnd(data []byte, start int) int {
	for i := start + 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(data) - 1
}
