// Command scale computes the tables of docs/scale.md: what the queue's fixed
// schema costs at 10, 10^4, 10^6 and 10^8 tasks a day. It simulates a day
// second by second, from a seed.
//
// It does not talk to a DynamoDB: request units follow from the sizes of items
// and from what package queue sends, prices and limits are those below.
package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
)

func main() {
	seed := flag.Uint64("seed", 1, "seed of the simulation")
	flag.Parse()
	fmt.Fprint(os.Stdout, report(*seed))
}

// Prices in dollars: on demand, one region, as published for us-east-1 since
// November 2024. Look them up before you rely on them.
const (
	perMillionWrites = 0.625
	perMillionReads  = 0.125
	perGBMonth       = 0.25
)

func (r result) money() (tasks, renew, beats, reads, storage float64) {
	w, rd := perMillionWrites/1e6, perMillionReads/1e6
	return r.day.tasks * w, r.day.renew * w, r.day.beats * w, r.day.reads() * rd, r.storageGB * perGBMonth / 30
}

func report(seed uint64) string {
	var all []result
	for _, n := range []float64{10, 1e4, 1e6, 1e8} {
		all = append(all, simulate(n, rand.New(rand.NewPCG(seed, uint64(n)))))
	}
	var b strings.Builder
	table(&b, all, "tasks a day", func(r result) string { return big(r.perDay) }, []row{
		{"runners (namespaces)", func(r result) string { return big(r.runners) + " (" + big(r.spaces) + ")" }},
		{"index partition QUEUED, writes/s at most", func(r result) string { return limited(r.peak.queued, partitionWrites) }},
		{"index partition RUNNING, writes/s at most", func(r result) string { return limited(r.peak.running, partitionWrites) }},
		{"index partition COMPLETE, writes/s at most", func(r result) string { return limited(r.peak.ended, partitionWrites) }},
		{"index partitions QUEUED and RUNNING, reads/s at most", func(r result) string { return limited(r.peak.hotRead, partitionReads) }},
		{"part of the day over a limit", func(r result) string {
			return fmt.Sprintf("%.0f %%", 100*(math.Max(r.overQueued, math.Max(r.overRunning, r.overRead))/day))
		}},
		{"all writes/s at most", func(r result) string { return big(r.peak.tasks) }},
		{"all reads/s at most", func(r result) string { return big(r.peak.search) }},
		{"a task waits, mean", func(r result) string { return fmt.Sprintf("%.1f s", r.waitMean) }},
	})
	b.WriteString("\n")
	table(&b, all, "dollars a day", func(r result) string { return big(r.perDay) }, []row{
		{"tasks: put in, claimed, ended", func(r result) string { v, _, _, _, _ := r.money(); return dollars(v) }},
		{"updated_at while running", func(r result) string { _, v, _, _, _ := r.money(); return dollars(v) }},
		{"heartbeats of runners", func(r result) string { _, _, v, _, _ := r.money(); return dollars(v) }},
		{"reads", func(r result) string { _, _, _, v, _ := r.money(); return dollars(v) }},
		{"storage, ended tasks kept 30 days", func(r result) string { _, _, _, _, v := r.money(); return dollars(v) }},
		{"**sum**", func(r result) string { a, b, c, d, e := r.money(); return "**" + dollars(a+b+c+d+e) + "**" }},
		{"for 1,000 tasks", func(r result) string {
			a, b, c, d, e := r.money()
			return dollars((a + b + c + d + e) / r.perDay * 1000)
		}},
	})
	return b.String()
}

type row struct {
	name string
	of   func(result) string
}

func table(b *strings.Builder, all []result, corner string, head func(result) string, rows []row) {
	line := func(first string, of func(result) string) {
		b.WriteString("| " + first + " |")
		for _, r := range all {
			b.WriteString(" " + of(r) + " |")
		}
		b.WriteString("\n")
	}
	line(corner, head)
	b.WriteString("|---|" + strings.Repeat("---:|", len(all)) + "\n")
	for _, r := range rows {
		line(r.name, r.of)
	}
}

// big writes a number with three figures and thousands apart.
func big(v float64) string {
	if v < 10 && v != math.Trunc(v) {
		return fmt.Sprintf("%.1f", v)
	}
	if v >= 1000 {
		scale := math.Pow(10, math.Floor(math.Log10(v))-2)
		v = math.Round(v/scale) * scale
	}
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// limited marks what is above the limit.
func limited(v, limit float64) string {
	if v > limit {
		return "**" + big(v) + "**"
	}
	return big(v)
}

func dollars(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.2f", v)
	}
	return big(v)
}
