package stage

import (
	"strings"
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
	if f := fault.NewFacts(agent.NamedCommand("one\ntwo")...); f["command"] != "one …" || f[fault.WholeCommandFact] != "one\ntwo" {
		t.Errorf("%v", f)
	}
	if got := agent.Shown(strings.Repeat("長", 130)); got != strings.Repeat("長", 120)+" …" {
		t.Errorf("%q", got)
	}
	if f := fault.NewFacts(agent.NamedCommand("one")...); len(f) != 1 {
		t.Errorf("%v", f)
	}
	f := fault.New(fault.StepCommandFailed, append(agent.NamedCommand("one\ntwo"), "exit_status", 3)...)
	if e := evidenceOf(f); *e.Command != "one\ntwo" || *e.ExitCode != 3 {
		t.Errorf("%+v", e)
	}
}
