// Package near finds the word that somebody probably meant.
//
// It does not know any words itself.
package near

// Word gives the candidate closest to word, or "" when none is close: at most
// a third of the letters may differ (one in a short word). Two neighbouring
// letters that changed places count as one difference.
func Word(word string, candidates []string) string {
	best, least := "", len([]rune(word))/3+1
	if least > 3 {
		least = 3
	}
	for _, c := range candidates {
		if d := distance([]rune(word), []rune(c), least); d < least || d == least && best == "" && d < len([]rune(c)) {
			best, least = c, d
		}
	}
	return best
}

// distance is the optimal string alignment distance, or something above limit
// when it is above limit.
func distance(a, b []rune, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost(a[i] != b[j]))
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

func cost(differs bool) int {
	if differs {
		return 1
	}
	return 0
}
