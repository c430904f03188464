package choose

import (
	"slices"
	"testing"

	"aiflow/internal/fault"
	"aiflow/reqmeta"
)

// What a request depends on counts as it is in the base from which it starts.
func TestBases(t *testing.T) {
	f := made(
		"fin done", "open ready", "there ready",
		"here ready fin", "far ready fin base: main", "farther ready open base: main", "both ready fin,open base: main",
		"gone ready only-there base: main", "behind ready far", "lost ready - base: mian", "ring-a ready ring-b base: main", "ring-b ready ring-a",
		"again ready - base: main", "waits ready again",
	)
	bases := &Bases{
		Of:   func(r *reqmeta.Request) string { return r.Meta.Base },
		Done: map[string]map[string]bool{"main": {"open": true, "only-there": true, "again": true}},
	}
	missing := &Obstacle{Kind: "base_missing", Err: fault.New(fault.BaseBranchNotFound, "branch", "mian")}
	facts := Facts{Bases: func() *Bases { return bases }, Obstacles: func() func(*reqmeta.Request) *Obstacle {
		return func(r *reqmeta.Request) *Obstacle {
			if r.Meta.Base == "mian" {
				return missing
			}
			return nil
		}
	}}
	res := Select(f, facts)
	res.Describe(texts(t))
	got := map[string]string{}
	for _, c := range res.Runnable {
		got[c.RequestID] = "runnable " + c.Base
	}
	for _, e := range res.Excluded {
		got[e.RequestID] = string(e.ReasonCode) + " " + e.Kind
	}
	for id, want := range map[string]string{
		"open": "runnable ", "here": "runnable ", "far": "DEPENDS_NOT_DONE waits", "farther": "runnable main", "both": "DEPENDS_NOT_DONE waits",
		"gone": "runnable main", "behind": "DEPENDS_NOT_DONE waits_chain", "lost": "BASE_BRANCH_NOT_FOUND base_missing",
		"ring-a": "DEPENDS_CYCLE cycle", "again": "NOT_READY not_ready_done_in", "waits": "DEPENDS_NOT_DONE waits",
	} {
		if got[id] != want {
			t.Errorf("%s: %q, want %q", id, got[id], want)
		}
	}
	var plan []string
	for _, c := range Plan(f, facts, 0) {
		plan = append(plan, c.RequestID)
	}
	for id, planned := range map[string]bool{"here": true, "farther": true, "gone": true, "far": false, "both": false, "again": false} {
		if slices.Contains(plan, id) != planned {
			t.Errorf("plan %v: %s", plan, id)
		}
	}
	for _, e := range Graph(f, facts).Edges {
		if want := map[string]string{"far": EdgeWaiting, "here": EdgeDone, "farther": EdgeDone, "gone": EdgeDone}[e.From]; want != "" && e.State != want {
			t.Errorf("edge %s -> %s: %s, want %s", e.From, e.To, e.State, want)
		}
	}
	if _, ok := JudgeNamed(f, facts, "again"); !ok {
		t.Error("what is done in its base cannot be done again by name")
	}
	if e, ok := JudgeNamed(f, facts, "far"); ok || e.ReasonCode != fault.DependsNotDone {
		t.Errorf("by name: %v, %v", e, ok)
	}
}
