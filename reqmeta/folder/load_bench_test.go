package folder

import (
	"fmt"
	"testing"

	"aiflow/reqmeta"
	"aiflow/reqmeta/reqgen"
)

func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			if n > 10_000 && testing.Short() {
				b.Skip("large")
			}
			root := b.TempDir()
			if err := reqgen.Write(root+"/requests", 1, n); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				f, err := Cache{}.Load(root, "requests")
				if err != nil || len(f.Requests) != n {
					b.Fatal(err, len(f.Requests))
				}
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	_, data := reqgen.File(1, 123)
	b.ReportAllocs()
	for b.Loop() {
		r := reqmeta.Request{ID: "RQ-20250101-124", Path: "requests/RQ-20250101-124.md"}
		r.Read(data)
		if len(r.Problems) > 0 {
			b.Fatal(r.Problems)
		}
	}
}
