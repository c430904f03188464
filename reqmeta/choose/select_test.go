package choose

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"aiflow/internal/fault"
	"aiflow/reqmeta"
	"aiflow/reqmeta/folder"
	"aiflow/reqmeta/reqgen"
)

// req makes a request: "id status dep,dep key: value; key: value".
func req(line string) *reqmeta.Request {
	f := strings.SplitN(line, " ", 4)
	text := "---\nstatus: " + f[1] + "\npriority: P1\n"
	if len(f) > 2 && f[2] != "-" {
		text += "depends_on: [" + f[2] + "]\n"
	}
	if len(f) > 3 {
		text = strings.Replace(text, "priority: P1\n", "", 1) + strings.ReplaceAll(f[3], "; ", "\n") + "\n"
	}
	return reqmeta.Parse("requests/"+f[0]+".md", []byte(text+"---\n"))
}

func made(lines ...string) *folder.Folder {
	var list []*reqmeta.Request
	for _, l := range lines {
		list = append(list, req(l))
	}
	return folder.NewFolder("requests", list)
}

// texts is the English catalogue as it ships.
func texts(t *testing.T) func(key string, f fault.Facts) string {
	t.Helper()
	all := map[string]string{}
	for _, area := range []string{"problem", "excluded"} {
		data, err := os.ReadFile("../../messages/text/en/" + area + ".json")
		if err != nil {
			t.Fatal(err)
		}
		m := map[string]string{}
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatal(err)
		}
		for k, v := range m {
			all[area+"."+k] = v
		}
	}
	return func(key string, f fault.Facts) string {
		s, ok := all[key]
		if code, isCode := strings.CutPrefix(key, "codes."); isCode {
			s = code
		} else if !ok {
			t.Errorf("no text for %s", key)
		}
		for k, v := range f {
			s = strings.NewReplacer("{"+k+"}", v, "{"+k+"?}", v).Replace(s)
		}
		return s
	}
}

func TestExclusions(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	facts := Facts{
		Locked: func(id string) *Holder {
			if id == "locked" {
				return &Holder{RunID: "RUN-1", Host: "127.0.0.1", Hostname: "box", PID: 7, Since: since}
			}
			return nil
		},
		LatestRun: func(id string) *LatestRun {
			return map[string]*LatestRun{
				"asks":   {RunID: "RUN-2", State: "NEEDS_INPUT", ReasonCode: fault.UnitTestFailed},
				"merge":  {RunID: "RUN-3", State: "DONE", WorkBranch: "aiflow/merge/1", Unmerged: true},
				"merged": {RunID: "RUN-4", State: "DONE", WorkBranch: "aiflow/merged/1"},
				"RQ-2":   {RunID: "RUN-5", State: "NEEDS_INPUT", ReasonCode: fault.UnitTestFailed},
			}[id]
		},
	}
	f := made(
		"asks ready", "locked ready", "merge ready", "merged ready", "draft draft", "runs running", "old archived", "fin done",
		"RQ-2 blocked", "RQ-3 ready RQ-2", "RQ-4 ready RQ-3", "blocked blocked",
		"w1 ready fin", "w2 ready nope,draft,nope2", "w3 ready draft,runs", "w4 ready old", "w5 ready merged", "w6 ready locked", "w7 ready asks", "w8 ready merge", "w9 ready w2", "w91 ready blocked",
		"self ready self", "ring-b ready ring-a", "ring-a ready ring-c,fin", "ring-c ready ring-b", "onring ready ring-b",
		"eight-a ready eight-b", "eight-b ready eight-a,eight-c", "eight-c ready eight-b",
		"broken weird", "wb ready broken",
		"twice ready draft,draft", "cased ready DRAFT",
	)
	res := Select(f, facts)
	res.Describe(texts(t))
	got := map[string]string{}
	for _, e := range res.Excluded {
		got[e.RequestID] = string(e.ReasonCode) + " " + e.Detail
	}
	for _, c := range res.Runnable {
		got[c.RequestID] = "runnable"
	}
	ring := "ring-a → ring-c → ring-b → ring-a"
	want := map[string]string{
		"asks":    "LATEST_RUN_NEEDS_INPUT the latest run of asks needs a person[: UNIT_TEST_FAILED][ (RUN-2)]; deal with the cause, then [see with `aiflow run show RUN-2` how it can go on, or ]start afresh with `aiflow run asks --fresh`",
		"locked":  "REQUEST_LOCKED locked is being run right now[ (RUN-1)][ by process 7][ on box][ since 2026-01-02T03:04:05Z]; wait for it or stop it",
		"merge":   "LATEST_RUN_DONE merge is finished[ (RUN-3)], but its branch aiflow/merge/1 is not merged: `git merge aiflow/merge/1`, mark the request as done, or reject the result: `aiflow run drop merge`",
		"merged":  "runnable",
		"draft":   "NOT_READY draft is still a draft; when it may run: `aiflow request set draft status=ready`",
		"runs":    "NOT_READY runs has the status running; if nothing runs any more: `aiflow run runs`, or set it to ready",
		"RQ-2":    "NOT_READY RQ-2 is blocked[: UNIT_TEST_FAILED]; deal with the cause, then [see with `aiflow run show RUN-5` how it can go on, or ][start afresh with `aiflow run RQ-2 --fresh`][set it to ready: `{set}`]",
		"blocked": "NOT_READY blocked is blocked[: {reason}]; deal with the cause, then [see with `{show}` how it can go on, or ][start afresh with `{fresh}`][set it to ready: `aiflow request set blocked status=ready`]",
		"RQ-3":    "DEPENDS_NOT_DONE RQ-3 waits for RQ-2, which is blocked: UNIT_TEST_FAILED",
		"RQ-4":    "DEPENDS_NOT_DONE RQ-4 waits for RQ-3; the root cause is RQ-2, which is blocked: UNIT_TEST_FAILED",
		"w1":      "runnable",
		"w2":      "DEPENDS_NOT_FOUND w2 depends on nope, nope2, which does not exist[ (did you mean ?)]; correct depends_on or add the request",
		"w3":      "DEPENDS_NOT_DONE w3 waits for draft, runs; the root cause is draft, which is still a draft: set it to ready",
		"w4":      "DEPENDS_NOT_DONE w4 waits for old, which is archived and was never done, so this can never run: take it up again or remove it from depends_on",
		"w5":      "DEPENDS_NOT_DONE w5 waits for merged, which is ready and comes first",
		"w6":      "DEPENDS_NOT_DONE w6 waits for locked, which is running",
		"w7":      "DEPENDS_NOT_DONE w7 waits for asks, which needs a person[: UNIT_TEST_FAILED]",
		"w8":      "DEPENDS_NOT_DONE w8 waits for merge, which is finished but not merged: `git merge aiflow/merge/1` or mark it as done",
		"w9":      "DEPENDS_NOT_DONE w9 waits for w2, which depends on nope, nope2, which does not exist",
		"w91":     "DEPENDS_NOT_DONE w91 waits for blocked, which is blocked",
		"self":    "DEPENDS_CYCLE self is in a ring of requests that wait for each other: self → self; remove one of the depends_on",
		"ring-a":  "DEPENDS_CYCLE ring-a is in a ring of requests that wait for each other: " + ring + "; remove one of the depends_on",
		"ring-b":  "DEPENDS_CYCLE ring-b is in a ring of requests that wait for each other: " + ring + "; remove one of the depends_on",
		"ring-c":  "DEPENDS_CYCLE ring-c is in a ring of requests that wait for each other: " + ring + "; remove one of the depends_on",
		"onring":  "DEPENDS_NOT_DONE onring waits for ring-b; the root cause is ring-a, which is in a ring: " + ring,
		"eight-a": "DEPENDS_CYCLE eight-a is in a ring of requests that wait for each other: eight-a → eight-b → eight-a; remove one of the depends_on",
		"eight-b": "DEPENDS_CYCLE eight-b is in a ring of requests that wait for each other: eight-a → eight-b → eight-a; remove one of the depends_on",
		"eight-c": "DEPENDS_CYCLE eight-c and the ring eight-a → eight-b → eight-a wait for each other; remove one of the depends_on",
		"broken":  "REQUEST_INVALID_FORMAT requests/broken.md:2: status: \"weird\" is not one of draft, ready, running, blocked, done, archived; write one of them[;  is probably meant]",
		"wb":      "DEPENDS_NOT_DONE wb waits for broken, which is in requests/broken.md, which cannot be read[ (line 2)]: mend that file",
		"twice":   "DEPENDS_NOT_DONE twice waits for draft, which is still a draft: set it to ready",
		"cased":   "DEPENDS_NOT_FOUND cased depends on DRAFT, which does not exist[ (did you mean draft?)]; correct depends_on or add the request",
	}
	for id, w := range want {
		if got[id] != w {
			t.Errorf("%s:\ngot  %s\nwant %s", id, got[id], w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d, want %d", len(got), len(want))
	}
	checkOneByOne(t, f, facts, res)
	rings := 0
	for _, w := range res.Warnings {
		if w.Kind == "cycle" {
			rings++
		}
	}
	if rings != 3 || res.Stats != (Stats{34, 27, 2}) {
		t.Errorf("%d rings, %+v", rings, res.Stats)
	}
}

// checkOneByOne: Judge says the same as Select.
func checkOneByOne(t *testing.T, f *folder.Folder, facts Facts, res Result) {
	t.Helper()
	for _, e := range res.Excluded {
		e.Detail = ""
		if got, ok := Judge(f, facts, e.RequestID); ok || !reflect.DeepEqual(got, e) {
			t.Errorf("Judge(%s) = %+v, %v, want %+v", e.RequestID, got, ok, e)
		}
	}
	for _, c := range res.Runnable {
		if _, ok := Judge(f, facts, c.RequestID); !ok {
			t.Errorf("Judge(%s) is not runnable", c.RequestID)
		}
	}
}

// What stopped is named; what can be done about it says itself.
func TestStopped(t *testing.T) {
	stopped := &LatestRun{RunID: "RUN-1", State: "NEEDS_INPUT", ReasonCode: fault.StepTooLarge}
	facts := Facts{LatestRun: func(string) *LatestRun { return stopped }}
	for _, e := range Select(made("a ready", "b blocked"), facts).Excluded {
		if e.Fact("reason") != "STEP_TOO_LARGE" || e.Fact("run_id") != "RUN-1" {
			t.Errorf("%+v", e)
		}
	}
}

func TestJudgeOthers(t *testing.T) {
	f := made("a done", "b archived", "c draft", "d blocked c")
	for id, kind := range map[string]string{"a": "not_ready_done", "b": "not_ready_archived", "zzz": "not_found"} {
		if e, ok := Judge(f, Facts{}, id); ok || e.Kind != kind {
			t.Errorf("%s: %+v", id, e)
		}
	}
	if e, ok := JudgeNamed(f, Facts{}, "c"); !ok {
		t.Errorf("a draft by name: %+v", e)
	}
	if e, ok := JudgeNamed(f, Facts{}, "d"); ok || e.ReasonCode != fault.DependsNotDone {
		t.Errorf("by name, waiting: %+v", e)
	}
	held := Facts{Locked: func(string) *Holder { return &Holder{} }, LatestRun: func(string) *LatestRun { return &LatestRun{State: "NEEDS_INPUT"} }}
	if e, ok := JudgeNamed(f, held, "c"); ok || e.ReasonCode != fault.RequestLocked {
		t.Errorf("by name, locked: %+v", e)
	}
}

func TestOrder(t *testing.T) {
	f := made(
		"a ready - priority: P1; updated_at: 2025-01-02",
		"b ready - priority: P1; updated_at: 2025-01-01T23:59:59Z",
		"c ready - priority: P1; updated_at: 2025-01-02T01:00:00+09:00",
		"d ready - priority: P0",
		"e ready - priority: P0; updated_at: 2030-01-01",
		"f ready - priority: P9; updated_at: 2000-01-01",
		"g ready - title: none",
		"h ready - priority: P3; created_at: 2024-01-02",
		"i ready - priority: P3; created_at: 2024-01-01",
		"j ready - priority: P3",
		"B ready - priority: P3; updated_at: 2024-01-01; created_at: 2024-01-01",
		"A ready - priority: P3; updated_at: 2024-01-01; created_at: 2024-01-01",
	)
	got := ""
	for _, c := range Select(f, Facts{}).Runnable {
		got += c.RequestID + " "
	}
	if got != "e d c b a A B i h j f g " {
		t.Errorf("order %s", got)
	}
}

func TestQueueLockExcludesNobody(t *testing.T) {
	res := Select(made("a ready"), Facts{Queue: &Holder{RunID: "RUN-1", PID: 5}})
	if res.Next == nil || !res.Queue.Locked || res.Queue.Holder.PID != 5 {
		t.Errorf("%+v", res)
	}
}

func TestJSON(t *testing.T) {
	res := Select(made("a ready - title: T; priority: P0; created_at: 2025-01-01", "b ready a"), Facts{})
	res.Describe(texts(t))
	got, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"next":{"request_id":"a","priority":"P0","status":"ready","title":"T","path":"requests/a.md"},` +
		`"stats":{"total":2,"ready":2,"runnable":1},` +
		`"excluded":[{"request_id":"b","reason_code":"DEPENDS_NOT_DONE","detail":"b waits for a, which is ready and comes first"}],` +
		`"queue":{"locked":false,"holder":null},"warnings":[]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	empty, _ := json.Marshal(Select(folder.NewFolder("requests", nil), Facts{}))
	if string(empty) != `{"next":null,"stats":{"total":0,"ready":0,"runnable":0},"excluded":[],"queue":{"locked":false,"holder":null},"warnings":[]}` {
		t.Errorf("empty: %s", empty)
	}
}

func TestPlan(t *testing.T) {
	f := made("a ready", "b ready a", "c ready a,b", "d ready nope", "e draft", "f ready e", "g done", "h ready g priority: P0", "i ready c,c priority: P0")
	ids := func(list []Choice) (s string) {
		for _, c := range list {
			s += c.RequestID + " "
		}
		return s
	}
	if got := ids(Plan(f, Facts{}, 0)); got != "h a b c i " {
		t.Errorf("plan %s", got)
	}
	if got := ids(Plan(f, Facts{}, 2)); got != "h a " {
		t.Errorf("plan of 2: %s", got)
	}
	locked := Facts{Locked: func(id string) *Holder {
		if id == "a" {
			return &Holder{}
		}
		return nil
	}}
	if got := ids(Plan(f, locked, 0)); got != "h " {
		t.Errorf("plan with a locked: %s", got)
	}
}

func TestLongChainAndLargeRing(t *testing.T) {
	var lines []string
	const chain = 5000
	for i := range chain {
		dep := fmt.Sprintf("c%04d", i+1)
		if i == chain-1 {
			dep = "end"
		}
		lines = append(lines, fmt.Sprintf("c%04d ready %s", i, dep))
	}
	lines = append(lines, "end draft")
	for i := range 500 {
		lines = append(lines, fmt.Sprintf("r%03d ready r%03d", i, (i+1)%500))
	}
	f := made(lines...)
	start := time.Now()
	res := Select(f, Facts{})
	if d := time.Since(start); d > time.Minute {
		t.Errorf("took %v", d)
	}
	byID := map[string]Exclusion{}
	for _, e := range res.Excluded {
		byID[e.RequestID] = e
	}
	if e := byID["c0000"]; e.Kind != "waits_chain" || e.Fact("root") != "end" || e.Fact("ids") != "c0001" {
		t.Errorf("%+v", e)
	}
	e := byID["r499"]
	if e.Kind != "cycle" || !strings.HasPrefix(e.Fact("ring"), "r000 → r001 →") || !strings.HasSuffix(e.Fact("ring"), "r019 → … (500) → r000") {
		t.Errorf("%+v", e)
	}
	if n := len(Plan(f, Facts{}, 0)); n != 0 {
		t.Errorf("%d planned", n)
	}
}

// A list of many missing ids, one of them twice, is read a few times, not once
// for each.
func TestManyMissing(t *testing.T) {
	var ids []string
	for i := range 2000 {
		ids = append(ids, fmt.Sprintf("x%d", i))
	}
	f := made("a ready " + strings.Join(append(ids, ids[0]), ","))
	if allocs := testing.AllocsPerRun(3, func() { Select(f, Facts{}) }); allocs > 500 {
		t.Errorf("%v allocations", allocs)
	}
	if e := Select(f, Facts{}).Excluded[0]; strings.Count(e.Fact("ids"), "x") != len(ids) {
		t.Errorf("%d ids", strings.Count(e.Fact("ids"), "x"))
	}
}

// Requests of a large folder are judged as each is judged alone, whatever is known
// of locks and runs.
func TestSelectOfMany(t *testing.T) {
	const many = 4096
	lines := []string{"lone draft", "ring-a ready ring-z", "ring-z ready ring-a", "twice ready lone,lone,nope,nope", "held ready", "after ready held", "asks blocked"}
	for i := range many {
		lines = append(lines, fmt.Sprintf("r%05d %s r%05d,x%05d", i, []string{"ready", "draft", "done", "blocked", "archived"}[i%5], (i*7)%many, many-i),
			fmt.Sprintf("x%05d ready %s priority: P%d; updated_at: 2025-01-%02d", i, []string{"-", "lone", "after", "ring-a", "asks"}[i%5], i%4, 1+i%30))
	}
	f := made(lines...)
	var askedFor []string
	facts := Facts{
		Locked: func(id string) *Holder {
			askedFor = append(askedFor, id)
			return map[string]*Holder{"held": {RunID: "RUN-1"}}[id]
		},
		LatestRun: func(id string) *LatestRun {
			return map[string]*LatestRun{"asks": {RunID: "RUN-2", State: "NEEDS_INPUT", ReasonCode: fault.UnitTestFailed}}[id]
		},
	}
	all := Select(f, facts)
	askedFor, facts.Concerned = nil, []string{"held", "asks", "gone", "lone"}
	some := Select(f, facts)
	slices.Sort(askedFor)
	if !slices.Equal(askedFor, []string{"held"}) {
		t.Errorf("asked for %q", askedFor)
	}
	if got, want := toJSON(t, some), toJSON(t, all); got != want {
		t.Error("what is told of everybody and of those concerned differs")
	}
	checkWhole(t, f, some)
	some.Excluded, some.Runnable = thin(some.Excluded), thin(some.Runnable)
	checkOneByOne(t, f, facts, some)
}

// checkWhole: everybody who is not over is told of once, in the queue's order.
func checkWhole(t *testing.T, f *folder.Folder, res Result) {
	t.Helper()
	var told [2][]*reqmeta.Request
	for _, c := range res.Runnable {
		told[0] = append(told[0], c.Request)
	}
	for _, e := range res.Excluded {
		told[1] = append(told[1], f.Unique(e.RequestID))
	}
	for _, list := range told {
		if !slices.IsSortedFunc(list, func(a, b *reqmeta.Request) int {
			return cmp.Or(cmp.Compare(rank(a.Meta.Priority), rank(b.Meta.Priority)), after(a, b))
		}) || len(list) == 0 {
			t.Error("not in the order of the queue")
		}
	}
	seen := map[*reqmeta.Request]bool{}
	for _, r := range slices.Concat(told[0], told[1]) {
		seen[r] = true
	}
	for _, r := range f.Requests {
		if seen[r] == r.Over() {
			t.Errorf("%s: %v", r.ID, seen[r])
		}
	}
}

// thin keeps some of a list, its ends among them.
func thin[T any](list []T) []T {
	var some []T
	for i := range list {
		if i < 40 || i%37 == 0 || i > len(list)-40 {
			some = append(some, list[i])
		}
	}
	return some
}

func toJSON(t *testing.T, r Result) string {
	t.Helper()
	r.Describe(texts(t))
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The number by which the queue is sorted first never says otherwise than the
// dates themselves.
func TestRoughly(t *testing.T) {
	list := []moment{momentOf(reqmeta.Date{}), {-1 << 62, 0}, {1 << 40, 5}, {math.MaxInt64, 1}}
	for _, text := range []string{"0000-01-01T00:00:00Z", "1969-12-31T23:59:59.999999999Z", "1970-01-01T00:00:00Z", "2025-01-02T03:04:05Z", "2025-01-02T03:04:05.000001Z", "2025-01-02T03:04:05.000002Z", "2025-01-02T03:04:05.9Z", "9999-12-31T23:59:59Z"} {
		d, ok := reqmeta.ParseDate(text)
		if !ok {
			t.Fatal(text)
		}
		list = append(list, momentOf(d))
	}
	told := 0
	for _, a := range list {
		for _, b := range list {
			if c := cmp.Compare(a.roughly(), b.roughly()); c != 0 && c != cmp.Compare(a.compare(b), 0) {
				t.Errorf("%v %v: %d", a, b, c)
			} else if c != 0 {
				told++
			}
		}
		if a.roughly() >= 1<<60 {
			t.Errorf("%v: %x", a, a.roughly())
		}
	}
	if told < 90 {
		t.Errorf("only %d pairs told apart", told)
	}
}

// The pick must not depend on the order in which the files come.
func TestSelectionIsDeterministic(t *testing.T) {
	var list []*reqmeta.Request
	for n := range 300 {
		name, data := reqgen.File(5, n)
		list = append(list, reqmeta.Parse("requests/"+name, data))
	}
	list = append(list, req("same-b ready"), req("same-a ready"), req("x ready y"), req("y ready x"))
	f := folder.NewFolder("requests", list)
	want, _ := json.Marshal(Select(f, Facts{}))
	plan, _ := json.Marshal(Plan(f, Facts{}, 0))
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		shuffled := make([]*reqmeta.Request, len(list))
		for i, k := range rnd.Perm(len(list)) {
			shuffled[i] = list[k]
		}
		again := &folder.Folder{Dir: "requests", Requests: shuffled}
		again = folder.NewFolder(again.Dir, again.Requests)
		got, _ := json.Marshal(Select(again, Facts{}))
		gotPlan, _ := json.Marshal(Plan(again, Facts{}, 0))
		if string(got) != string(want) || string(gotPlan) != string(plan) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
}

// Plan must be what repeated selection would give.
func TestPlanEqualsPlayingTheQueue(t *testing.T) {
	var list []*reqmeta.Request
	for n := range 120 {
		name, data := reqgen.File(6, n)
		list = append(list, reqmeta.Parse("requests/"+name, data))
	}
	plan := Plan(folder.NewFolder("requests", list), Facts{}, 0)
	for i := 0; ; i++ {
		res := Select(folder.NewFolder("requests", list), Facts{})
		if res.Next == nil {
			if i != len(plan) {
				t.Errorf("played %d, planned %d", i, len(plan))
			}
			return
		}
		if i >= len(plan) || plan[i].RequestID != res.Next.RequestID {
			t.Fatalf("step %d: %s", i, res.Next.RequestID)
		}
		res.Next.Request.Meta.Status = reqmeta.Done
	}
}

func BenchmarkSelect(b *testing.B) {
	var list []*reqmeta.Request
	for n := range 10_000 {
		name, data := reqgen.File(5, n)
		list = append(list, reqmeta.Parse("requests/"+name, data))
	}
	f := folder.NewFolder("requests", list)
	b.ReportAllocs()
	for b.Loop() {
		if Select(f, Facts{}).Next == nil {
			b.Fatal("nothing")
		}
	}
}

// A dependency whose file is broken is not missing, also when the file's name
// holds more than the id.
func TestDependencyInABrokenFile(t *testing.T) {
	f := folder.NewFolder("requests", []*reqmeta.Request{
		reqmeta.Parse("requests/A.md", []byte("---\nstatus: ready\npriority: P1\ndepends_on: [RQ-1]\n---\n")),
		reqmeta.Parse("requests/B.md", []byte("---\nstatus: ready\npriority: P1\ndepends_on: [RQ]\n---\n")),
		reqmeta.Parse("requests/sub/RQ-1-login.md", []byte("---\nid: RQ-1\nstatus: done\ntitle: \"x\n---\n")),
		reqmeta.Parse("requests/RQ-2-other.md", []byte("---\nstatus: ready\npriority: P1\ndepends_on: [RQ-2]\n---\n")),
	})
	for id, want := range map[string]string{
		"A":          "A waits for RQ-1, which is in requests/sub/RQ-1-login.md, which cannot be read[ (line 4)]",
		"RQ-2-other": "RQ-2-other depends on RQ-2, which does not exist",
	} {
		e, _ := Judge(f, Facts{}, id)
		e.Describe(texts(t))
		if !strings.HasPrefix(e.Detail, want) {
			t.Errorf("%s\nwant %s", e.Detail, want)
		}
	}
	if _, err := f.Get("RQ"); err == nil {
		t.Error("RQ names one of two")
	}
}

// Who lists everything does not ask for the whole folder at every one of many.
func TestMeantIsAskedForTheFirst(t *testing.T) {
	lines := []string{"there-login draft"}
	for i := range folder.MaxMeant + 5 {
		lines = append(lines, fmt.Sprintf("r%03d ready there", i))
	}
	asked := 0
	res := Select(made(lines...), Facts{})
	for i := range res.Excluded {
		if res.Excluded[i].Fact("meant") == "there-login" {
			asked++
		}
	}
	if asked != folder.MaxMeant {
		t.Errorf("%d, want %d", asked, folder.MaxMeant)
	}
}

func TestWaitsForAnIDOfSeveral(t *testing.T) {
	f := made("RQ-1 ready", "RQ-1-again ready - id: RQ-1", "RQ-1-third done - id: RQ-1", "rq-1 ready", "RQ-2 ready RQ-1")
	paths := "requests/RQ-1-again.md, requests/RQ-1-third.md, requests/RQ-1.md"
	e, ok := Judge(f, Facts{}, "RQ-2")
	if ok || e.ReasonCode != fault.DependsNotDone || e.sub.key != "excluded.state_duplicate" || e.sub.with["paths"] != paths {
		t.Errorf("%+v", e)
	}
	res := Select(f, Facts{})
	if res.Stats != (Stats{5, 2, 1}) {
		t.Errorf("%+v", res.Stats)
	}
}
