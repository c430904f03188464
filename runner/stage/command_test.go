package stage

import (
	"testing"

	"aiflow/internal/fault"
	"aiflow/runner/agent"
)

func TestCommandInWords(t *testing.T) {
	for text, want := range map[string]string{
		"make":            "make",
		" make \n":        "make",
		"one\ntwo\nthree": "one …",
	} {
		if got := agent.FirstLine(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if f := fault.New("", namedCommand("one\ntwo")...).Facts; f["command"] != "one …" || f[fault.WholeCommandFact] != "one\ntwo" {
		t.Errorf("%v", f)
	}
	if f := fault.New("", namedCommand("one")...).Facts; len(f) != 1 {
		t.Errorf("%v", f)
	}
	f := fault.New(fault.StepCommandFailed, append(namedCommand("one\ntwo"), "exit_status", 3)...)
	if e := evidenceOf(f); *e.Command != "one\ntwo" || *e.ExitCode != 3 {
		t.Errorf("%+v", e)
	}
}
