package app

import "strconv"

// mostNamed is how many further ones of a group are named.
const mostNamed = 3

// group is what stands on one line: things that have the same key.
type group[T any] struct {
	first T
	also  []T
}

// grouped puts things of one key together, in the order in which each key comes
// first. What has none, "", stands alone.
func grouped[T any](list []T, key func(T) string) []group[T] {
	groups := make([]group[T], 0, len(list))
	at := map[string]int{}
	for _, x := range list {
		k := key(x)
		if i, ok := at[k]; ok {
			groups[i].also = append(groups[i].also, x)
			continue
		}
		if k != "" {
			at[k] = len(groups)
		}
		groups = append(groups, group[T]{first: x})
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
