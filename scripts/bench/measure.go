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

type result struct{ median, least time.Duration }

// compare runs the jobs in turn, n times, so that whatever else the machine
// does hits all of them; the first round only warms up.
func compare(n int, jobs []job) ([]result, error) {
	times := make([][]time.Duration, len(jobs))
	for i := range n + 1 {
		for j, job := range jobs {
			d, err := once(job, i)
			if err != nil {
				return nil, err
			}
			if i > 0 {
				times[j] = append(times[j], d)
			}
		}
	}
	results := make([]result, len(jobs))
	for j, t := range times {
		slices.Sort(t)
		results[j] = result{t[len(t)/2], t[0]}
	}
	return results, nil
}

func once(j job, i int) (time.Duration, error) {
	if j.before != nil {
		if err := j.before(i); err != nil {
			return 0, err
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
		return 0, fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, stderr.String())
	}
	return d, nil
}

// show measures jobs and prints them under title.
func (b *bench) show(title string, jobs []job) error {
	results, err := compare(b.runs, jobs)
	if err != nil {
		return err
	}
	b.table.head(title)
	for i, j := range jobs {
		ratio := ""
		if j.against >= 0 {
			ratio = fmt.Sprintf("%.2fx", float64(results[i].median)/float64(results[j.against].median))
		}
		b.table.row(j.name, ms(results[i].median), ms(results[i].least), ratio, j.promise)
	}
	return nil
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/1e6) }
