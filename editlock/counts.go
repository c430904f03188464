package editlock

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// Counts is what an operator wants to know of the project lock.
type Counts struct {
	Since    *Time `json:"since"` // the first line; null when there is none
	Until    *Time `json:"until"`
	Lines    int   `json:"lines"`
	BadLines int   `json:"bad_lines"`
	// Attempts by operation ("acquire", "renew", "release") and strategy.
	Attempts map[string]map[Strategy]int `json:"attempts"`
	Acquired map[Strategy]int            `json:"acquired"`
	Renewed  int                         `json:"renewed"`
	// Recoveries are renewals that succeeded after n failed tries.
	Recoveries     map[string]int `json:"recoveries"`
	ReadonlyByCode map[Code]int   `json:"readonly_entered"`
	ReleaseFailed  int            `json:"release_failed"`
	Released       int            `json:"released"`
	Hold           Hold           `json:"hold_ms"`
}

// Hold sums up how long leases were held, in milliseconds.
type Hold struct {
	Total  int64 `json:"total"`
	Min    int64 `json:"min"`
	Median int64 `json:"median"`
	P95    int64 `json:"p95"`
	Max    int64 `json:"max"`
}

// CountSince counts the lines that are not older than from.
func (j *Journal) CountSince(from time.Time) (Counts, error) {
	c := Counts{
		Attempts: map[string]map[Strategy]int{}, Acquired: map[Strategy]int{},
		Recoveries: map[string]int{}, ReadonlyByCode: map[Code]int{},
	}
	var holds []int64
	bad, err := j.Each(func(l Line) {
		if l.TS.Before(from) {
			return
		}
		c.add(l)
		if l.DurationMS != nil {
			holds = append(holds, *l.DurationMS)
		}
	})
	c.BadLines, c.Hold = bad, holdOf(holds)
	return c, err
}

func (c *Counts) add(l Line) {
	c.Lines++
	if c.Since == nil || l.TS.Before(c.Since.Time) {
		c.Since = &l.TS
	}
	if c.Until == nil || l.TS.After(c.Until.Time) {
		c.Until = &l.TS
	}
	switch l.Type[len(linePrefix):] {
	case "attempt":
		operation := cmp.Or(l.Operation, "acquire") // lines of the seed's fields only name none
		if c.Attempts[operation] == nil {
			c.Attempts[operation] = map[Strategy]int{}
		}
		c.Attempts[operation][l.Strategy]++
	case "acquired":
		c.Acquired[l.Strategy]++
	case "renewed":
		c.Renewed++
		if l.Retry != nil && *l.Retry > 0 {
			c.Recoveries[strconv.Itoa(*l.Retry)]++
		}
	case "readonly-entered":
		c.ReadonlyByCode[l.Reason]++
	case "release-failed":
		c.ReleaseFailed++
	case "released":
		c.Released++
	}
}

func holdOf(ms []int64) Hold {
	if len(ms) == 0 {
		return Hold{}
	}
	slices.Sort(ms)
	at := func(percent int) int64 { return ms[(len(ms)*percent+99)/100-1] }
	h := Hold{Min: ms[0], Median: at(50), P95: at(95), Max: ms[len(ms)-1]}
	for _, n := range ms {
		h.Total += n
	}
	return h
}
