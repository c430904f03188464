package app

import "strconv"

// mostNamed is how many further ones of a group are named.
const mostNamed = 3

// Grouped puts things of one key together, in the order in which each key comes
// first. What has none, "", stands alone.
func Grouped[T any](list []T, key func(T) string) [][]T {
	groups := make([][]T, 0, len(list))
	at := map[string]int{}
	for _, x := range list {
		k := key(x)
		if i, ok := at[k]; ok {
			groups[i] = append(groups[i], x)
			continue
		}
		if k != "" {
			at[k] = len(groups)
		}
		groups = append(groups, []T{x})
	}
	return groups
}

// some is a number in a sentence that does without none.
func some(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
