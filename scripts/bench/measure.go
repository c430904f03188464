package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// job is one command line that is timed from its start to its end.
type job struct {
	name    string
	argv    []string
	dir     string
	env     []string
	promise string // what was promised, in words
	against int    // index of the job that the ratio is taken of; -1 = none
	before  func(i int) error
}

// result is what one job took. The ratio is the median of the ratios within one
// round, so that a load that comes and goes hits both sides; cpu is the ratio of
// the least processor times.
type result struct {
	median, least time.Duration
	ratio, cpu    float64 // 0: compared with nothing
}

// took is one run: from start to end, and on the processors.
type took struct{ wall, cpu time.Duration }

// compare runs the jobs in turn, n times, so that whatever else the machine
// does hits all of them; the first round only warms up.
func compare(n int, jobs []job) ([]result, error) {
	times := make([][]took, len(jobs))
	for i := range n + 1 {
		for k := range jobs {
			j := (k + i) % len(jobs) // nobody is always the one after the slow one
			t, err := once(jobs[j], i)
			if err != nil {
				return nil, err
			}
			if i > 0 {
				times[j] = append(times[j], t)
			}
		}
	}
	results := make([]result, len(jobs))
	for j := range jobs {
		results[j] = summary(times[j], nil)
		if a := jobs[j].against; a >= 0 && a != j {
			results[j] = summary(times[j], times[a])
		}
	}
	return results, nil
}

func summary(times, against []took) result {
	wall, cpu := sorted(times)
	r := result{median: wall[len(wall)/2], least: wall[0]}
	if against == nil {
		return r
	}
	ratios := make([]float64, len(times))
	for i := range times {
		ratios[i] = float64(times[i].wall) / float64(against[i].wall)
	}
	slices.Sort(ratios)
	_, base := sorted(against)
	r.ratio, r.cpu = ratios[len(ratios)/2], float64(cpu[0])/float64(base[0])
	return r
}

func sorted(times []took) (wall, cpu []time.Duration) {
	for _, t := range times {
		wall, cpu = append(wall, t.wall), append(cpu, t.cpu)
	}
	slices.Sort(wall)
	slices.Sort(cpu)
	return wall, cpu
}

func once(j job, i int) (took, error) {
	if j.before != nil {
		if err := j.before(i); err != nil {
			return took{}, err
		}
	}
	argv := make([]string, len(j.argv))
	for k, a := range j.argv {
		argv[k] = strings.ReplaceAll(a, "{i}", fmt.Sprint(i))
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = j.dir, append(os.Environ(), j.env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start := time.Now()
	err := cmd.Run()
	d := time.Since(start)
	if err != nil {
		return took{}, fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, stderr.String())
	}
	return took{d, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}, nil
}

// show measures jobs and prints them under title.
func (b *bench) show(title string, jobs []job) error {
	results, err := compare(b.runs, jobs)
	if err != nil {
		return err
	}
	head(title)
	for i, j := range jobs {
		ratio := ""
		if results[i].ratio > 0 {
			ratio = fmt.Sprintf("%.2fx (cpu %.2fx)", results[i].ratio, results[i].cpu)
		}
		row(j.name, ms(results[i].median), ms(results[i].least), ratio, j.promise)
	}
	return nil
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/1e6) }

// head and row print a table as it goes, so that a long bench shows what it has.
func head(title string) {
	fmt.Printf("\n%s\n  %-44s %10s %10s %18s  %s\n", title, "", "median ms", "least ms", "ratio", "promised")
}

func row(name, median, least, ratio, promise string) {
	fmt.Printf("  %-44s %10s %10s %18s  %s\n", name, median, least, ratio, promise)
}
