// Package reqgen makes folders of request files for benchmarks and tests: the
// same seed gives the same bytes.
//
// It does not read or judge requests, and nothing but tests and `make bench`
// uses it.
package reqgen

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ID is the id of the n-th request, from 0.
func ID(n int) string {
	day := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, n/200)
	return fmt.Sprintf("RQ-%s-%03d", day.Format("20060102"), n%200+1)
}

// File gives name and bytes of the n-th request.
func File(seed uint64, n int) (name string, data []byte) {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	var b strings.Builder
	day := time.Date(2025, 1, 1, 9, 0, 0, 0, time.UTC).AddDate(0, 0, n/200)
	fmt.Fprintf(&b, "---\nid: %s\ntitle: %s\n", ID(n), title(r, n))
	fmt.Fprintf(&b, "priority: P%d\nstatus: %s\n", r.IntN(4), status(r))
	fmt.Fprintf(&b, "labels: [%s]\ndepends_on: [%s]\n", strings.Join(labels(r), ", "), strings.Join(depends(r, n), ", "))
	fmt.Fprintf(&b, "estimate: %s\ncreated_at: %s\n", []string{"S", "M", "L"}[r.IntN(3)], day.Format("2006-01-02"))
	fmt.Fprintf(&b, "updated_at: %s\n---\n\n", day.Add(time.Duration(r.IntN(5_000_000))*time.Second).Format(time.RFC3339))
	body(&b, r, n)
	return ID(n) + ".md", []byte(b.String())
}

func title(r *rand.Rand, n int) string {
	verbs := []string{"Add", "Fix", "Speed up", "Document", "ログインを直す", "検索を速くする"}
	things := []string{"login", "search", "export", "the settings page", "retry", "画面"}
	return fmt.Sprintf("%s %s %d", verbs[r.IntN(len(verbs))], things[r.IntN(len(things))], n)
}

func status(r *rand.Rand) string {
	switch n := r.IntN(100); {
	case n < 50:
		return "done"
	case n < 85:
		return "ready"
	case n < 93:
		return "draft"
	case n < 96:
		return "blocked"
	case n < 97:
		return "running"
	}
	return "archived"
}

func labels(r *rand.Rand) []string {
	all := []string{"api", "ui", "docs", "infra", "bug"}
	i := r.IntN(len(all))
	return all[i:min(len(all), i+r.IntN(3))]
}

// depends names up to three earlier requests, mostly near ones.
func depends(r *rand.Rand, n int) []string {
	var ids []string
	for range min(r.IntN(4), n) {
		ids = append(ids, ID(n-1-r.IntN(min(n, 50))))
	}
	return ids
}

func body(b *strings.Builder, r *rand.Rand, n int) {
	fmt.Fprintf(b, "## 要望\nRequest number %d.\n\n## 受け入れ条件\n", n)
	for i := 1; i <= 3; i++ {
		fmt.Fprintf(b, "- [ ] AC-%02d: Given a user, When it happens, Then %d is shown\n", i, r.IntN(1000))
	}
	b.WriteString("\n## 補足\n")
	for range r.IntN(12) {
		b.WriteString("One more sentence that nobody reads, but that takes up some room in the file.\n")
	}
}

// Write makes n request files in dir, which it creates.
func Write(dir string, seed uint64, n int) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for i := range n {
		name, data := File(seed, i)
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			return err
		}
	}
	return nil
}
