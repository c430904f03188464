package editlock

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aiflow/internal/fault"
)

func TestProjectTelemetryFollowsTheVectors(t *testing.T) {
	var vectors []struct {
		At    int64
		Event Event
		Line  json.RawMessage
	}
	readVectors(t, "telemetry", &vectors)
	for _, v := range vectors {
		l, ok := v.Event.Line(onEpoch(v.At))
		if ok != (string(v.Line) != "null") {
			t.Fatalf("%s: a line %v, want %s", v.Event.Type, ok, v.Line)
		}
		if !ok {
			continue
		}
		sameJSON(t, l, v.Line)
		back, err := CheckLine(v.Line)
		if err != nil {
			t.Fatalf("%s: %v", v.Line, err)
		}
		sameJSON(t, back, v.Line)
	}
}

func TestProjectLinesFromOutside(t *testing.T) {
	good := `{"ts":"2026-01-01T00:00:00.000Z","type":"autosave.lock.attempt","feature":"autosave","strategy":"file-lock","retry":0}`
	if _, err := CheckLine([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{
		"autosave.lock.attempt":   "autosave.lock.other",
		"autosave.lock":           "merge.lock",
		`"feature":"autosave"`:    `"feature":"merge"`,
		`"file-lock"`:             `"no-lock"`,
		`"retry":0`:               `"retry":-1`,
		`0}`:                      `0,"secret":"x"}`,
		`:0}`:                     `:0}{}`,
		`}`:                       ``,
		`2026-01-01T00:00:00.000`: `yesterday`,
		`"strategy":"file-lock"`:  `"leaseId":"a b"`,
		`"retry":`:                `"durationMs":-1,"retry":`,
		`"strategy":`:             `"reason":"because","strategy":`,
		`"feature":`:              `"operation":"steal","feature":`,
	} {
		bad := strings.Replace(good, from, to, 1)
		if _, err := CheckLine([]byte(bad)); bad != good && !fault.Has(err, fault.InvalidRequest) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestProjectJournalCounts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "autosave")
	now := onEpoch(0)
	j := OpenJournal(dir, func() time.Time { return now })
	if c, err := j.CountSince(time.Time{}); err != nil || c.Lines != 0 || c.Since != nil {
		t.Fatalf("%+v %v", c, err)
	}
	var vectors []struct{ Event Event }
	readVectors(t, "telemetry", &vectors)
	record := j.Record()
	for i, v := range vectors {
		now = onEpoch(int64(i) * 1000)
		record(v.Event)
	}
	now = onEpoch(86_400_000)
	for _, ms := range []int64{100, 200, 300} {
		record(Event{Type: "lock:released", LeaseID: "a", Strategy: FileLock, DurationMS: &ms})
	}
	other := "{\"type\":\"autosave.snapshot\",\"feature\":\"autosave\"}\nnot json\n\n" +
		`{"ts":"2026-01-01T00:00:00Z","type":"autosave.lock.released","feature":"autosave","durationMs":1,"extra":true}`
	if err := os.WriteFile(filepath.Join(dir, "other.jsonl"), []byte(other), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := j.CountSince(time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, c, json.RawMessage(`{
		"since": "2026-01-01T00:00:00.000Z", "until": "2026-01-02T00:00:00.000Z", "lines": 11, "bad_lines": 1,
		"attempts": {"acquire": {"web-lock": 1}}, "acquired": {"web-lock": 1}, "renewed": 1, "recoveries": {"2": 1},
		"readonly_entered": {"fallback-conflict": 1}, "release_failed": 2, "released": 5,
		"hold_ms": {"total": 12946, "min": 1, "median": 200, "p95": 12345, "max": 12345}}`))
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	if fmt.Sprint(names) != fmt.Sprint([]string{
		filepath.Join(dir, "locks-2026-01-01.jsonl"), filepath.Join(dir, "locks-2026-01-02.jsonl"), filepath.Join(dir, "other.jsonl"),
	}) {
		t.Error(names)
	}
}

// Seed 002's fifth telemetry test: what a lease left behind still counts.
func TestProjectJournalOfALease(t *testing.T) {
	inProject(t, func(t *testing.T, b *bench) {
		dir := filepath.Join(b.dir, "autosave")
		j := OpenJournal(dir, b.clock.Now)
		l := acquireProject(t, Open(Options{Dir: b.dir, Clock: b.clock, Hear: j.Record()}))
		time.Sleep(26 * time.Second)
		_ = l.Release(t.Context())
		c, err := j.CountSince(time.Time{})
		if err != nil || c.Attempts["acquire"][FileLock] != 1 || c.Attempts["renew"][FileLock] != 1 ||
			c.Attempts["release"][FileLock] != 1 || c.Hold.Max != 26_000 || c.BadLines != 0 {
			t.Fatalf("%+v %v", c, err)
		}
		data, _ := os.ReadFile(filepath.Join(dir, "locks-2000-01-01.jsonl"))
		for line := range strings.Lines(string(data)) {
			if !strings.Contains(line, `"feature":"autosave"`) || !json.Valid([]byte(line)) {
				t.Errorf("line %q", line)
			}
		}
	})
}

func TestProjectJournalRefusesALink(t *testing.T) {
	dir := t.TempDir()
	now := onEpoch(0)
	j := OpenJournal(dir, func() time.Time { return now })
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "locks-2026-01-01.jsonl")); err != nil {
		t.Fatal(err)
	}
	ms := int64(1)
	l, _ := Event{Type: "lock:released", DurationMS: &ms}.Line(now)
	if err := j.Append(l); !fault.Has(err, fault.PathNotWritable) {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "elsewhere")); err == nil {
		t.Error("written through the link")
	}
}

func TestProjectJournalForgetsOldDays(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	keep := []string{"locks-2026-01-31.jsonl", "locks-2026-03-01.jsonl", "locks-2025-13-99.jsonl", "other-2020-01-01.jsonl"}
	old := []string{"locks-2026-01-30.jsonl", "locks-1999-12-31.jsonl"}
	for _, name := range append(keep, old...) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	j := OpenJournal(dir, func() time.Time { return now })
	if err := j.Append(Line{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(keep, "locks-2026-03-02.jsonl") {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	for _, name := range old {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Error(name, "is still there")
		}
	}
}

func TestProjectJournalCountsSince(t *testing.T) {
	now := onEpoch(0)
	j := OpenJournal(t.TempDir(), func() time.Time { return now })
	record := j.Record()
	for i := range int64(4) {
		now = onEpoch(i * 1000)
		record(Event{Type: "lock:released", LeaseID: "a", Strategy: FileLock, DurationMS: &i})
	}
	c, err := j.CountSince(onEpoch(2000))
	if err != nil || c.Released != 2 || c.Hold.Min != 2 || c.Since == nil || !c.Since.Equal(onEpoch(2000)) {
		t.Fatalf("%+v %v", c, err)
	}
}
