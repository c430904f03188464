package runs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiflow/internal/fault"
)

func reasonOf(err error) string {
	f, _ := fault.As(err)
	if f == nil {
		return ""
	}
	return string(f.Code) + " " + f.Facts["reason"]
}

func TestDecodeGivesBackWhatWasEncoded(t *testing.T) {
	s := stopped(t, fault.UnitTestFailed)
	s.Agent = &Agent{PID: 7, PIDStart: 1 << 60, BootID: "b"}
	s.Locks.Request = &Lock{Path: "p", Held: true, TTLSec: 1800, Holder: &Holder{PID: 7}}
	s.History[0].Detail = map[string]string{"k": "v"}
	data, err := s.Encode()
	must(t, err)
	got, err := Decode(data)
	must(t, err)
	again, err := got.Encode()
	if err != nil || string(again) != string(data) || got.raw != nil {
		t.Errorf("got  %s\nwant %s", again, data)
	}
}

func TestListsAreNeverNull(t *testing.T) {
	data, err := (&Stage{RequestID: "a", RunID: "b", State: Init, Steps: []Step{{}}}).Encode()
	must(t, err)
	for _, want := range []string{`"history": []`, `"commits": []`, `"patches": []`, `"logs": []`, `"error": null`, `"steps": {}`, `"status": "NOT_RUN"`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s is missing in %s", want, data)
		}
	}
}

func TestUnknownFieldsSurvive(t *testing.T) {
	s := stageAt(t, 2)
	data, err := s.Encode()
	must(t, err)
	text := string(data)
	for old, new := range map[string]string{
		`"title": "A title"`:                      `"title": "A title", "future": {"n": 12345678901234567890, "list": [1, {"x": null}]}`,
		`"event": "STARTED"`:                      `"event": "STARTED", "by": "somebody"`,
		`"step_id": "S02",` + "\n      \"title\"": `"cost": 1.50, "step_id": "S02", "title"`,
		`"base_branch": ""`:                       `"base_branch": "", "remote": "r"`,
		`"stop_requested": false`:                 `"stop_requested": false, "pause": true`,
		`"planning": 0`:                           `"planning": 0, "reviewer": 3`,
		`"error": null`:                           `"error": {"reason_code": "X", "why": "gone with the error"}`,
		`"unit": {`:                               `"unit": { "flaky": true,`,
	} {
		text = strings.Replace(text, old, new, 1)
	}
	got, err := Decode([]byte(text))
	must(t, err)
	got.Error = nil
	got.AddEvent(at(60), EventResumed, "S02", "")
	out, err := got.Encode()
	must(t, err)
	flat := strings.Join(strings.Fields(string(out)), "")
	for _, want := range []string{
		`"future":{"list":[1,{"x":null}],"n":12345678901234567890}`, `"by":"somebody"`, `"cost":1.50`, `"remote":"r"`,
		`"pause":true`, `"reviewer":3`, `"flaky":true`, `"RESUMED"`, `"current_step_index":1,"error":null`,
	} {
		if strings.Count(flat, want) != 1 {
			t.Errorf("%s is there %d times in %s", want, strings.Count(flat, want), flat)
		}
	}
	if strings.Contains(flat, "gonewiththeerror") {
		t.Error("what was inside the error outlived it")
	}
	again, err := Decode(out)
	must(t, err)
	if twice, err := again.Encode(); err != nil || string(twice) != string(out) {
		t.Errorf("the second writing differs: %v", err)
	}
}

func TestVersions(t *testing.T) {
	data, err := stageAt(t, 1).Encode()
	must(t, err)
	for version, want := range map[string]string{
		`"1.0"`: "", `"1.7"`: "", `"0.9"`: "", `1`: "STAGE_UNREADABLE torn", `null`: "", `""`: "", `"x"`: "",
		`"2.0"`: "STAGE_UNREADABLE newer", `2`: "STAGE_UNREADABLE newer", `2.5`: "STAGE_UNREADABLE newer", `"10"`: "STAGE_UNREADABLE newer",
	} {
		text := strings.Replace(string(data), `"version": "1.0"`, `"version": `+version, 1)
		s, err := Decode([]byte(text))
		if got := reasonOf(err); got != want {
			t.Errorf("version %s: %v", version, err)
		}
		if err == nil && (s.Version != Version || s.CurrentStepID != "S01") {
			t.Errorf("version %s: %+v", version, s)
		}
	}
	newer := `{"version":"2.0","state":{"name":"DONE"},"steps":"none"}`
	if _, err := Decode([]byte(newer)); reasonOf(err) != "STAGE_UNREADABLE newer" {
		t.Errorf("a newer shape: %v", err)
	}
}

func TestWhatIsNoRecord(t *testing.T) {
	for text, want := range map[string]string{
		``: "torn", ` `: "torn", `{`: "torn", `null`: "incomplete", `[]`: "torn", `{}`: "incomplete", "\x00\x00\x00": "torn",
		`{"request_id":"a","run_id":"b","state":"HM"}`:              "incomplete",
		`{"request_id":"a","state":"INIT"}`:                         "incomplete",
		`{"request_id":1,"run_id":"b","state":"INIT"}`:              "torn",
		strings.Repeat(`{"a":`, 20000):                              "torn",
		`{"request_id":"a","run_id":"b","state":"INIT"}{"again":1}`: "torn",
	} {
		if _, err := Decode([]byte(text)); reasonOf(err) != "STAGE_UNREADABLE "+want {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	s := NewStage(reqID, runID, "A title", t0)
	s.SetPlan(planOf(2), t0)
	data, _ := s.Encode()
	f.Add(data)
	f.Add([]byte(`{"version":0,"request_id":"a","run_id":"b","state":"RUNNING","stage":"TESTING","steps":[{"status":"x","y":[]}]}`))
	f.Add([]byte(`{"request_id":"a","run_id":"b","state":"DONE","attempts":{"steps":{"S01":{"z":1}}},"current_step_index":-5}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Decode(data)
		if err != nil {
			if fault.CodeOf(err) != fault.StageUnreadable {
				t.Fatalf("not a fault of ours: %v", err)
			}
			return
		}
		if err := s.check(); err != nil {
			t.Fatalf("read but not fit to save: %v", err)
		}
		once, err := s.Encode()
		if err != nil {
			t.Fatalf("read but not writable: %v", err)
		}
		again, err := Decode(once)
		if err != nil {
			t.Fatalf("written but not readable: %v", err)
		}
		twice, err := again.Encode()
		if err != nil || string(twice) != string(once) {
			t.Fatalf("it changes each time: %v\n%s\n%s", err, once, twice)
		}
	})
}

func TestStageIsReadableByPeople(t *testing.T) {
	d := newDir(t)
	must(t, d.SaveStage(NewStage(reqID, runID, "要望 <a> & b", t0)))
	data, err := os.ReadFile(filepath.Join(d.Path, "stage.json"))
	must(t, err)
	if !strings.Contains(string(data), "\n  \"title\": \"要望 <a> & b\",\n") || !strings.HasSuffix(string(data), "}\n") {
		t.Errorf("%s", data)
	}
}
