package folder

import (
	"math/rand/v2"
	"slices"
	"testing"

	"aiflow/reqmeta"
)

func TestSortByPath(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		var list []*reqmeta.Request
		var want []string
		for range round % 40 {
			name := []byte("requests/RQ-"[:rnd.IntN(13)])
			for range rnd.IntN(14) {
				name = append(name, "\x01ab\xff"[rnd.IntN(4)])
			}
			list = append(list, &reqmeta.Request{Path: string(name)})
			want = append(want, string(name))
		}
		slices.Sort(want)
		sortByPath(list)
		for i, r := range list {
			if r.Path != want[i] {
				t.Fatalf("%d: %q, want %q", i, r.Path, want[i])
			}
		}
	}
}
