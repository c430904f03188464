package project

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"aiflow/internal/proc"
	"aiflow/reqmeta"
	"aiflow/runs"
)

// TestRepairLooksAgain: between the look at the requests and the lock of one,
// another command goes on with the run and ends it. Its record stays.
func TestRepairLooksAgain(t *testing.T) {
	p := openHere(t, "---\ntitle: x\nstatus: running\n---\n")
	st := begun(t, p)
	if st.State.Ended() {
		t.Fatal("it has ended")
	}
	s, err := p.Look(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	s.Latest("RQ-1")

	now, err := p.Run("RQ-1", st.RunID).LoadStage()
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []runs.State{runs.Planning, runs.Implementing, runs.Reporting} {
		if err := now.Move(to, p.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if err := now.Complete(p.Now()); err != nil {
		t.Fatal(err)
	}
	if err := p.Run("RQ-1", st.RunID).SaveStage(now); err != nil {
		t.Fatal(err)
	}
	write(t, p, "requests/RQ-1.md", "---\ntitle: x\nstatus: ready\n---\n")

	s.repair(context.Background())
	after, err := p.Run("RQ-1", st.RunID).LoadStage()
	if err != nil || after.State != runs.Done {
		t.Errorf("the record says %s, %v", after.State, err)
	}
	if len(s.Notes) > 0 || s.Folder.Requests[0].Meta.Status != reqmeta.Ready || s.Latest("RQ-1").State != runs.Done {
		t.Errorf("judged by what was: %+v", s.Notes)
	}
}

func openHere(t *testing.T, request string) *Project {
	t.Helper()
	dir := realTemp(t)
	env := SystemEnv(dir, os.Environ(), proc.ClockOf(time.Now, func() time.Duration { return time.Hour }), os.Getpid())
	write(t, &Project{Root: Root{Dir: dir}}, "requests/RQ-1.md", request)
	git(t, dir, "init", "-q")
	p, err := Open(env)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func write(t *testing.T, p *Project, name, text string) {
	t.Helper()
	path := filepath.Join(p.Dir, name)
	mkdir(t, filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func begun(t *testing.T, p *Project) *runs.Stage {
	t.Helper()
	now := p.Now()
	st := runs.NewStage("RQ-1", runs.NewRunID(now, 1), "x", now)
	d := p.Run("RQ-1", st.RunID)
	if err := d.Create(); err != nil {
		t.Fatal(err)
	}
	if err := d.SaveStage(st); err != nil {
		t.Fatal(err)
	}
	return st
}
