package locks

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"aiflow/internal/flock"
)

const seedExample = `{
"version": "1.0",
"lock_type": "request",
"request_id": "RQ-1",
"run_id": "RUN-1",
"pid": 12345,
"host": "127.0.0.1",
"created_at": "2025-12-14T15:01:02+09:00",
"expires_at": "2025-12-14T15:31:02+09:00"
}`

func TestSeedsExampleIsRead(t *testing.T) {
	r, f := parse([]byte(seedExample), "")
	if f != "" || !r.hasSeedFieldsOnly() {
		t.Fatalf("flaw %q, %+v", f, r)
	}
	want := time.Date(2025, 12, 14, 6, 31, 2, 0, time.UTC)
	if r.LockType != "request" || r.RequestID != "RQ-1" || r.RunID != "RUN-1" || r.PID != 12345 ||
		r.Host != "127.0.0.1" || !r.ExpiresAt.Equal(want) {
		t.Errorf("%+v", r)
	}
}

func TestRecordOnDisk(t *testing.T) {
	w := newWorld(t)
	w.clock.wall = time.Date(2025, 12, 14, 15, 1, 2, 345678901, time.FixedZone("", 9*3600))
	l := take(t, w.process(12345))
	got := strings.Replace(w.content(), l.token, "TOKEN", 1)
	const want = `{"version":"1.0","lock_type":"request","request_id":"RQ-1","run_id":"RUN-1","pid":12345,"host":"127.0.0.1",` +
		`"created_at":"2025-12-14T15:01:02.345+09:00","expires_at":"2025-12-14T15:31:02.345+09:00","token":"TOKEN",` +
		`"pid_start":123450,"boot_id":"boot-1","machine":"m-1","pid_ns":"ns-1","hostname":"box","ttl_sec":1800}` + "\n"
	if got != want {
		t.Errorf("record\n%s\nwant\n%s", got, want)
	}
	if len(l.token) != 32 {
		t.Errorf("token %q", l.token)
	}
	release(t, l)
	q, err := w.process(1).Acquire(t.Context(), Queue(), Ask{})
	if err != nil || q.Record().LockType != "queue" || q.Record().RequestID != "" {
		t.Errorf("queue record %+v, %v", q.Record(), err)
	}
	var m map[string]any
	data, _ := json.Marshal(q.Record())
	if err := json.Unmarshal(data, &m); err != nil || m["request_id"] != "" {
		t.Errorf("queue record %s", data)
	}
}

func TestFlaws(t *testing.T) {
	ok := `"lock_type":"request","expires_at":"2025-12-14T15:31:02+09:00"`
	for _, tc := range []struct {
		in   string
		want flock.Flaw
	}{
		{seedExample, ""},
		{`{"version":"1.0",` + ok + `}`, ""},
		{`{"version":"1.0",` + ok + `,"color":"blue","nested":{"version":[1,{"a":2}],"x":"y"}}`, ""},
		{"", flawEmpty},
		{" \n\t ", flawEmpty},
		{"{}", flawNoLock},
		{"[]", flawNoLock},
		{"null", flawNoLock},
		{`"1.0"`, flawNoLock},
		{"7", flawNoLock},
		{`[` + seedExample + `]`, flawNoLock},
		{`{"version":"1.0","lock_type":"request"}`, flawNoLock},
		{`{"version":"1.0","expires_at":"2025-12-14T15:31:02+09:00"}`, flawNoLock},
		{`{` + ok + `}`, flawNoLock},
		{`{"version":"1.0","lock_type":"request","expires_at":"tomorrow"}`, flawNoLock},
		{`{"version":"1.0",` + ok + `,"pid":"12"}`, flawNoLock},
		{`{"version":"1.0",` + ok, flawNotJSON},
		{seedExample + "x", flawNotJSON},
		{"\x00\x01\x02", flawNotJSON},
		{`{"version":"1.0",` + ok + `,"run_id":"` + "\xff" + `"}`, flawNotJSON},
		{strings.Repeat("[", 60000), flawNotJSON},
		{`{"a":` + strings.Repeat(`{"a":`, 10000), flawNotJSON},
		{strings.Repeat("[", 20000) + strings.Repeat("]", 20000), flawNotJSON},
		{`{"version":"1.0",` + ok + `,"pid":1,"pid":2}`, flawDuplicate},
		{`{"version":"1.0",` + ok + `,"pid":1,"PID":2}`, flawDuplicate},
		{`{"version":"1.0",` + ok + `,"tok\u0065n":"x"}`, flawDuplicate},
		{`{"version":"1.1",` + ok + `}`, flawNewer},
		{`{"version":"2.0",` + ok + `}`, flawNewer},
		{`{"version":"10",` + ok + `}`, flawNewer},
		{`{"version":"2.0","lock_type":"request","expires_at":{"sec":1},"pid":"x"}`, flawNewer},
		{`{"version":3,"lock_type":"request"}`, flawNewer},
		{`{"version":"2.0"}`, flawNewer},
		{`{"version":"2.0","lock_type":"request"}`, flawNewer},
		{`{"version":"2.0","lock_type":"slot","until":"2026"}`, flawNewer},
		{`{"version":"1.1","lock_type":["request"],"sum":"00000000"}`, flawNewer},
		{`{"version":2}`, flawNewer},
		{`{"Version":"2.0","kind":"lease"}`, flawNewer},
		{`{"version":{"major":2}}`, flawNewer},
		{`{"version":"v2",` + ok + `}`, flawNewer},
		{`{"version":"2.0-beta",` + ok + `}`, flawNewer},
		{`{"version":"next",` + ok + `}`, flawNewer},
		{`{"version":"99999999999999999999",` + ok + `}`, flawNewer},
		{`{"version":"1.0.3",` + ok + `}`, ""},
		{`{"version":"v1",` + ok + `}`, ""},
		{`{"version":1,` + ok + `}`, flawNoLock},
		{`{"version":"",` + ok + `}`, flawNoLock},
		{`{"version":null,` + ok + `}`, flawNoLock},
		{`{"version":"0.9",` + ok + `}`, ""},
		{`{"version":"1.0",` + ok + `,"sum":"00000000"}`, ""}, // an earlier version wrote a sum
		{`{"version":"1.1",` + ok + `,"sum":[1]}`, flawNewer},
	} {
		r, got := parse([]byte(tc.in), "")
		if got != tc.want {
			t.Errorf("%.60q: %q, want %q (%+v)", tc.in, got, tc.want, r)
		}
	}
}

func TestDuplicateKeysCountAtTheTopOnly(t *testing.T) {
	for in, want := range map[string]bool{
		`{"a":1,"b":{"a":1,"a":2},"c":[{"a":1},{"a":1}],"d":"a\",\"a"}`: false,
		`{"a":"x","b":"a","a":1}`:             true,
		`{"a":{"x":"}"},"a":1}`:               true,
		`{"a\"b":1}`:                          true,
		`{ "a" : [ "b" , "b" ] , "b" : "a" }`: false,
	} {
		if got := hasDuplicateKeys([]byte(in)); got != want {
			t.Errorf("%s: %v", in, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(seedExample))
	f.Add([]byte("{}"))
	own, _ := json.Marshal(ours(group))
	f.Add(own)
	f.Fuzz(func(t *testing.T, data []byte) {
		r, flaw := parse(data, "")
		if flaw == "" && (r.Version == "" || r.LockType == "" || r.ExpiresAt.IsZero()) {
			t.Errorf("believed %q", data)
		}
	})
}
