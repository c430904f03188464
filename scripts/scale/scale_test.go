package main

import (
	"flag"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables into docs/scale.md instead of comparing them")

// TestDocHoldsTheSimulation keeps the tables of docs/scale.md the same as what
// the program prints.
func TestDocHoldsTheSimulation(t *testing.T) {
	const path, begin, end = "../../docs/scale.md", "<!-- begin: go run ./scripts/scale -->\n", "<!-- end -->"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the tables", path)
	}
	want := report(1)
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != want {
		t.Errorf("%s is not what the simulation says; go test ./scripts/scale -update", path)
	}
}

func TestOneSeedOneDay(t *testing.T) {
	if once, again := report(1), report(1); once != again {
		t.Error("the same seed gave two days")
	}
}

// The day adds up: every task is put in, claimed and ended, with eight units.
func TestTasksCostEightUnits(t *testing.T) {
	r := simulate(1e4, rand.New(rand.NewPCG(1, 2)))
	if got := r.day.tasks / 8; got < 9_600 || got > 10_400 {
		t.Errorf("%.0f tasks in a day of 10,000", got)
	}
	if r.overQueued+r.overRunning+r.overRead != 0 {
		t.Error("10,000 tasks a day go over a limit")
	}
}
