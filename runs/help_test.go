package runs

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"aiflow/internal/atomicfile"
)

var osDisk = atomicfile.OS{}

var t0 = time.Date(2026, 11, 27, 14, 32, 55, 123456000, time.UTC)

func at(sec int) time.Time { return t0.Add(time.Duration(sec) * time.Second) }

const (
	reqID = "RQ-1"
	runID = "RUN-20261127-143255-1e2407"
)

// d34 is how often D34 lets a step be tried again.
const d34 = 3

func suffixes() func() string {
	var n atomic.Int64
	return func() string { return fmt.Sprint("t", n.Add(1)) }
}

func newDir(t *testing.T) *Dir {
	t.Helper()
	return newDirOn(t, atomicfile.OS{}, t.TempDir())
}

func newDirOn(t *testing.T, disk atomicfile.Disk, root string) *Dir {
	t.Helper()
	d := OpenDir(disk, root, "runs", reqID, runID, suffixes())
	must(t, d.Create())
	return d
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// planOf is a plan with n steps.
func planOf(n int) *Plan {
	p := &Plan{Version: Version, RequestID: reqID, RunID: runID, CreatedAt: t0, Source: SourceFrontmatter}
	p.Limits.MaxDiffLines = 400
	p.Gates.ForbidGH = true
	for i := range n {
		p.Steps = append(p.Steps, PlanStep{StepID: StepID(i + 1), Title: fmt.Sprint("step ", i+1), Role: "implementer"})
	}
	return p
}

// stageAt is a stage in the middle of step n (from 1) of three.
func stageAt(t *testing.T, n int) *Stage {
	t.Helper()
	s := NewStage(reqID, runID, "A title", t0)
	must(t, s.Move(Planning, at(1)))
	s.SetPlan(planOf(3), at(2))
	for i := 1; i <= n; i++ {
		must(t, s.Move(Implementing, at(10*i)))
		_, err := s.Begin(at(10*i), StepID(i))
		must(t, err)
		if i < n {
			must(t, s.Move(Testing, at(10*i+1)))
			must(t, s.Finish(at(10*i+2), ""))
			s.Git.Commits = append(s.Git.Commits, Commit{StepID: StepID(i), Hash: fmt.Sprint("c", i), Subject: "x"})
		}
	}
	return s
}
