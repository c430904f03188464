package project

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"aiflow/runs"
)

func TestWhole(t *testing.T) {
	st := &runs.Stage{RunID: "RUN-1", Steps: []runs.Step{
		{StepID: "S01", Status: runs.StepDone}, {StepID: "S02", Status: runs.StepDone}, {StepID: "S03", Status: runs.StepSkipped},
	}}
	st.Git.Commits = []runs.Commit{{StepID: "S01"}, {StepID: "S02"}, {StepID: runs.RecordStep, Subject: "done [record]"}}
	record := "done [record]\n\nAiflow-Run: RUN-1\nAiflow-Result: DONE\n"
	one := "subject\n\nAiflow-Request: RQ\nAiflow-Run: RUN-1\nAiflow-Step: S01\n"
	two := "subject\n\nAiflow-Request: RQ\nAiflow-Run: RUN-1\nAiflow-Step: S02\n"
	other := "subject\n\nAiflow-Run: RUN-2\nAiflow-Step: S02\nAiflow-Result: DONE\n"
	for _, tc := range []struct {
		name, log string
		want      bool
	}{
		{"nothing", "", false},
		{"one step picked", one, false},
		{"another run's steps", one + other, false},
		{"every step, the record dropped", one + two, true},
		{"squashed", "Squashed commit of the following:\n\n    x\n\n    Aiflow-Run: RUN-1\n    Aiflow-Result: DONE\n", true},
		{"the record alone", "\x00" + record, false},
		{"the record and one step", "\x00" + record + "\n\x00" + one, false},
		{"all of it", "\x00" + record + "\n\x00" + two + "\n\x00" + one, true},
		{"a squash in other words", "\x00" + strings.Replace(record, "done [record]", "mine", 1), true},
		{"a step without a run", "Aiflow-Step: S01\nAiflow-Step: S02\n", false},
	} {
		if got := readLanded([]byte(tc.log)).Whole(st); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
	if (Landed{}).Whole(&runs.Stage{RunID: "RUN-1"}) {
		t.Error("a run without steps is there")
	}
}

// TestEachRunOfALadderIsLookedAtOnce: where each run stands on the two before it, there are
// more ways down than anybody could go.
func TestEachRunOfALadderIsLookedAtOnce(t *testing.T) {
	p := openHere(t, "---\nstatus: ready\n---\n")
	now := p.Now()
	var all []*runs.Stage
	var want []string
	there := Branches{}
	for i := range 60 {
		id := fmt.Sprintf("RQ-%02d", i)
		st := runs.NewStage(id, runs.NewRunID(now.Add(time.Duration(i)*time.Second), 1), "x", now)
		st.State, st.EndedAt, st.Git.BaseCommit = runs.Done, &now, "base of "+id
		for _, below := range all[max(0, i-2):] {
			st.Git.StackedOn = append(st.Git.StackedOn, runs.StackedOn{RequestID: below.RequestID, RunID: below.RunID, Branch: below.RequestID, Commit: "tip"})
		}
		d := p.Run(id, st.RunID)
		if err := errors.Join(d.Create(), d.SaveStage(st)); err != nil {
			t.Fatal(err)
		}
		all, want, there[id] = append(all, st), append(want, id), "tip"
	}
	top := all[len(all)-1]
	at := began(p, top, map[string]bool{})
	if !slices.Equal(at, []string{"base of RQ-00"}) {
		t.Errorf("began at %q", at)
	}
	if is := p.StaleOn(top, there); is.On != "" {
		t.Errorf("stands on what is no longer: %+v", is)
	}
	there["RQ-00"] = "moved"
	if is := p.StaleOn(top, there); is.On != "RQ-57" {
		t.Errorf("with another lowest run: %+v", is)
	}
	if got := mergeCommand(p, "b", top, at, nil); got != "aiflow land "+strings.Join(want, " ")+" --method rebase" {
		t.Errorf("take over with %s", got)
	}
}
