package locks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
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
	r, f := parse([]byte(seedExample))
	if f != "" || !r.bare() {
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
		`"pid_start":123450,"boot_id":"boot-1","machine":"m-1","pid_ns":"ns-1","hostname":"box","ttl_sec":1800,"sum":"SUM"}` + "\n"
	sum := crc32.ChecksumIEEE([]byte(w.content()[:strings.Index(w.content(), `,"sum"`)]))
	got = strings.Replace(got, fmt.Sprintf("%08x", sum), "SUM", 1)
	if got != want {
		t.Errorf("record\n%s\nwant\n%s", got, want)
	}
	if len(l.token) != 32 {
		t.Errorf("token %q", l.token)
	}
	release(t, l)
	q, err := w.process(1).AcquireQueue(t.Context(), Ask{})
	if err != nil || q.Record().LockType != "queue" || q.Record().RequestID != "" {
		t.Errorf("queue record %+v, %v", q.Record(), err)
	}
	var m map[string]any
	data, _ := q.Record().encode()
	if err := json.Unmarshal(data, &m); err != nil || m["request_id"] != "" {
		t.Errorf("queue record %s", data)
	}
}

func TestFlaws(t *testing.T) {
	ok := `"lock_type":"request","expires_at":"2025-12-14T15:31:02+09:00"`
	for _, tc := range []struct {
		in   string
		want flaw
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
		{string(seal([]byte(seedExample))), ""},
		{string(seal([]byte(seedExample))) + " \n", ""},
		{string(seal([]byte(`{"version":"1.0",` + ok + `,"hostname":"ホスト"}`))), ""},
		{strings.Replace(string(seal([]byte(seedExample))), "12345", "12346", 1), flawTorn},
		{strings.Replace(string(seal([]byte(seedExample))), `"sum":`, `"sum": `, 1), flawTorn},
		{`{"version":"1.0",` + ok + `,"sum":""}`, ""},
		{`{"version":"1.0",` + ok + `,"sum":"00000000"}`, flawTorn},
		{`{"sum":"00000000","version":"1.0",` + ok + `}`, flawTorn},
		{`{"version":"1.0","sum":"00000000"}`, flawTorn},
		{`{"version":"1.1",` + ok + `,"sum":"00000000"}`, flawNewer},
		{`{"version":"1.1",` + ok + `,"sum":[1]}`, flawNewer},
	} {
		r, got := parse([]byte(tc.in))
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

// Whatever the fast decoder takes, encoding/json reads in the same way.
func agree(t *testing.T, data []byte) {
	t.Helper()
	var fast, slow Record
	if !decodeOwn(data, &fast) || !utf8.Valid(data) {
		return
	}
	if err := json.Unmarshal(data, &slow); err != nil {
		t.Fatalf("%v: %q", err, data)
	}
	a, _ := fast.encode()
	b, _ := slow.encode()
	if string(a) != string(b) || hasDuplicateKeys(data) {
		t.Errorf("%q is\n%s and\n%s", data, a, b)
	}
}

func TestOwnRecordsAreReadFast(t *testing.T) {
	full := ours(group, func(r *Record) { r.RunID, r.Name, r.Beat = "RUN-1", "n", 7 })
	for _, r := range []Record{full, ours(), seedOnly(), {}} {
		data, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		data = bytes.TrimSpace(data)
		var got Record
		ok := decodeOwn(data, &got)
		if again, _ := got.encode(); !ok || !bytes.Equal(bytes.TrimSpace(again), data) {
			t.Errorf("%v: %s", ok, data)
		}
		for n := range data {
			if decodeOwn(data[:n], new(Record)) {
				t.Fatalf("believed %s", data[:n])
			}
			agree(t, append(bytes.Clone(data[:n]), data[n+1:]...))
		}
	}
	for _, other := range []string{`{"version":"1.0","version":"1.0"}`, `{"version":"\u0031"}`, `{"pid":01}`, `{"pid":-1}`, `{"pid":1.0}`, `{"x":1}`, `{}`, `{"pid":99999999999}`, `{"command_group":false}`} {
		if decodeOwn([]byte(other), new(Record)) {
			t.Errorf("believed %s", other)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(seedExample))
	f.Add([]byte("{}"))
	own, _ := ours(group).encode()
	f.Add(bytes.TrimSpace(own))
	f.Fuzz(func(t *testing.T, data []byte) {
		agree(t, data)
		r, flaw := parse(data)
		if flaw == "" && (r.Version == "" || r.LockType == "" || r.ExpiresAt.IsZero()) {
			t.Errorf("believed %q", data)
		}
	})
}

// What encodeOwn writes is what encoding/json would, byte for byte; the rest is
// left to it.
func TestOwnRecordsAreWrittenAsJSON(t *testing.T) {
	now := time.Date(2026, 11, 27, 14, 32, 55, 123e6, time.UTC)
	full := Record{
		Version: "1.0", LockType: "request", RequestID: "RQ-1", RunID: "RUN-1", PID: 7, Host: localHost, CreatedAt: now,
		ExpiresAt: now.Add(time.Hour), Name: "n", Token: "0123456789abcdef", PIDStart: 1 << 63, PIDInode: 1<<64 - 1, BootID: "b-1", Machine: "m",
		PIDNS: "4026531836", Hostname: "host.example", Beat: 3, TTLSec: 1800, Command: 9, CommandStart: 11, CommandGroup: true,
	}
	with := func(change func(*Record)) Record { r := full; change(&r); return r }
	for name, tc := range map[string]struct {
		rec Record
		own bool
	}{
		"full": {full, true}, "zero": {Record{}, true},
		"negative":       {with(func(r *Record) { r.PID, r.TTLSec, r.Command = -1, -2, -3 }), true},
		"no fraction":    {with(func(r *Record) { r.CreatedAt = now.Truncate(time.Second) }), true},
		"a zone":         {with(func(r *Record) { r.CreatedAt = now.In(time.FixedZone("", 9*3600)) }), true},
		"odd zone":       {with(func(r *Record) { r.CreatedAt = now.In(time.FixedZone("", 3601)) }), false},
		"too late":       {with(func(r *Record) { r.ExpiresAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }), false},
		"quote":          {with(func(r *Record) { r.Hostname = `a"b` }), false},
		"control":        {with(func(r *Record) { r.Name = "a\x01" }), false},
		"markup":         {with(func(r *Record) { r.RunID = "<&>" }), false},
		"other language": {with(func(r *Record) { r.Hostname = "ホスト" }), false},
		"no text at all": {with(func(r *Record) { r.Hostname = "\xff" }), false},
	} {
		want, err := json.Marshal(tc.rec)
		got, own := encodeOwn(tc.rec)
		if own != tc.own || own && (err != nil || string(got) != string(want)) {
			t.Errorf("%s: own %v\n got %s\nwant %s", name, own, got, want)
		}
		if all, allErr := tc.rec.encode(); (allErr == nil) != (err == nil) || err == nil && string(all) != string(seal(want))+"\n" {
			t.Errorf("%s: %s, %v", name, all, allErr)
		}
	}
	// A field that is added to Record is written here too, or this fails.
	var fields map[string]any
	data, _ := full.encode()
	if err := json.Unmarshal(data, &fields); err != nil || len(fields) != reflect.TypeFor[Record]().NumField() {
		t.Errorf("%d fields of %d, %v", len(fields), reflect.TypeFor[Record]().NumField(), err)
	}
}
