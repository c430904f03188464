package server

import (
	"io"
	"net/http"
	"testing"
	"time"

	"aiflow/reqmeta/reqgen"
)

// BenchmarkList is GET /api/requests over a socket with 10,000 requests, warm.
func BenchmarkList(b *testing.B) { benchmark(b, "/api/requests") }

// BenchmarkPage is GET / until its end.
func BenchmarkPage(b *testing.B) { benchmark(b, "/") }

func benchmark(b *testing.B, path string) {
	w := newWorld(b, nil)
	if err := reqgen.Write(w.path("requests"), 1, 10000); err != nil {
		b.Fatal(err)
	}
	get := func() {
		res, err := w.http.Do(w.request("GET", path, ""))
		if err != nil || res.StatusCode != http.StatusOK {
			b.Fatal(err, res)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	get()
	var worst time.Duration
	for b.Loop() {
		begin := time.Now()
		get()
		worst = max(worst, time.Since(begin))
	}
	b.ReportMetric(float64(worst.Microseconds())/1000, "worst-ms")
}
