package project

import (
	"strings"
	"testing"

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
