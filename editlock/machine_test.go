package editlock

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func onEpoch(ms int64) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }

type vector struct {
	Name  string
	Steps []struct {
		At    int64
		Input struct {
			Type, LeaseID string
			Web, Force    bool
			RetryLimit    *int
			BackoffMs     []int64
			Code          Code
			StartedAt     int64
		}
		State    stateName
		Emitted  json.RawMessage
		Commands []string
	}
}

func readVectors(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", "locks", "project-"+name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func TestProjectFollowsTheVectors(t *testing.T) {
	for _, name := range []string{"acquire", "renew", "release", "page"} {
		var scenarios []vector
		readVectors(t, name, &scenarios)
		if len(scenarios) < 10 {
			t.Fatalf("%s: %d scenarios", name, len(scenarios))
		}
		for _, v := range scenarios {
			t.Run(name+"/"+v.Name, func(t *testing.T) { follow(t, v) })
		}
	}
}

func follow(t *testing.T, v vector) {
	s := idleProject("")
	for _, step := range v.Steps {
		in := input{
			kind: step.Input.Type, leaseID: step.Input.LeaseID, web: step.Input.Web, force: step.Input.Force,
			code: step.Input.Code, started: onEpoch(step.Input.StartedAt), limit: maxTries,
		}
		if step.Input.RetryLimit != nil {
			in.limit = *step.Input.RetryLimit
		}
		for _, ms := range step.Input.BackoffMs {
			in.backoff = append(in.backoff, time.Duration(ms)*time.Millisecond)
		}
		next := s.step(in, onEpoch(step.At))
		s = next.state
		if s.name != step.State {
			t.Fatalf("at %d after %s: %s, want %s", step.At, in.kind, s.name, step.State)
		}
		var words []string
		for _, c := range next.commands {
			words = append(words, spelt(c))
		}
		if have, want := strings.Join(words, ", "), strings.Join(step.Commands, ", "); have != want {
			t.Fatalf("at %d after %s: commands %s, want %s", step.At, in.kind, have, want)
		}
		sameJSON(t, next.emitted, step.Emitted)
	}
}

// spelt is a command as the vectors name it.
func spelt(c command) string {
	switch {
	case c.do == "fail" && c.retryable:
		return fmt.Sprintf("fail %s retryable", c.code)
	case c.do == "fail":
		return fmt.Sprintf("fail %s final", c.code)
	case c.do == "wait" || c.do == "heartbeat" || c.wait > 0:
		return fmt.Sprintf("%s %d", c.do, c.wait.Milliseconds())
	}
	return c.do
}

func sameJSON(t *testing.T, have any, want json.RawMessage) {
	t.Helper()
	data, err := json.Marshal(have)
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if json.Unmarshal(data, &a) != nil || json.Unmarshal(want, &b) != nil {
		t.Fatalf("no JSON: %s, %s", data, want)
	}
	if empty, ok := b.([]any); ok && len(empty) == 0 && a == nil {
		return
	}
	if !reflect.DeepEqual(a, b) {
		t.Fatalf("have %s\nwant %s", data, want)
	}
}

func TestProjectVerdicts(t *testing.T) {
	var vectors []struct {
		Name        string
		Text        *string
		Now, SeenMs int64
		AgeMs       *int64
		Verdict     Verdict
	}
	readVectors(t, "verdicts", &vectors)
	for _, v := range vectors {
		s := evidence{now: onEpoch(v.Now), leaseID: "lease-a", seen: time.Duration(v.SeenMs) * time.Millisecond}
		if v.AgeMs != nil {
			s.age, s.aged = time.Duration(*v.AgeMs)*time.Millisecond, true
		}
		have := Free
		if v.Text != nil {
			have = judgeProject(readRecord([]byte(*v.Text)), s)
		}
		if have != v.Verdict {
			t.Errorf("%s: %s, want %s", v.Name, have, v.Verdict)
		}
	}
}
