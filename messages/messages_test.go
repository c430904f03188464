package messages

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"aiflow/internal/fault"
)

func TestFill(t *testing.T) {
	facts := fault.Facts{"x": "1", "y": "2", "bad": "a\x1b[2Jb\nc", "place": "{y}[z]"}
	for _, tc := range []struct{ in, want string }{
		{"plain", "plain"},
		{"{x} and {y}", "1 and 2"},
		{"{none}", "?"},
		{"a{none?}b{x?}c", "ab1c"},
		{"a {none|<ID>} {x|<ID>}", "a <ID> 1"},
		{"{none|--next}[ {none|b}]", "--next b"},
		{"a[ ({x})]b", "a (1)b"},
		{"a[ ({none})]b", "ab"},
		{"a[ {x} {none}]b", "ab"},
		{"a[ {x}[ on {none}]]b", "a 1b"},
		{"a[ {x}[ on {y}]]b", "a 1 on 2b"},
		{"a[ {none}[ on {y}]]b", "ab"},
		{"a[ {!none}b {y}][{!x}c]", "a b 2"},
		{"- [ ] {x} [RUN|REQUEST]", "- [ ] 1 [RUN|REQUEST]"},
		{"{{prompt}} {x}", "{{prompt}} 1"},
		{"{ {X} {x", "{ {X} {x"},
		{"[ {x}", "[ 1"},
		{"{x} ]", "1 ]"},
		{"{bad}", `a\x1b[2Jb\nc`},
		{"{place}", "{y}[z]"},
		{"「{x}」は[「{none}」で]す", "「1」はす"},
	} {
		if got := fill(tc.in, facts); got != tc.want {
			t.Errorf("fill(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

func FuzzFill(f *testing.F) {
	f.Add("a[ {x}[ on {y}]]b{{z}}")
	f.Fuzz(func(t *testing.T, s string) {
		fill(s, fault.Facts{"x": "1"})
	})
}

func TestFaultInWords(t *testing.T) {
	ja := Open("ja_JP.UTF-8")
	got := ja.Fault(fault.New(fault.QueueInProgress))
	want := Rendered{
		Code:    fault.QueueInProgress,
		Title:   "キュー実行がすでに動作中です",
		Message: "Auto-runは同時に1つのみ実行できます。",
		Actions: []string{
			"別タブ/別ウィンドウで起動していないか確認",
			"しばらく待つ（TTLで回収されます）",
			"必要なら doctor(full) でロック回収を実施",
			"終わるのを待って1件実行するには `aiflow run --next --wait 10m`（`aiflow run auto` は待ちません）、様子は `aiflow run status`。終わったプロセスのロックは自動で回収され、動いていないはずなら `aiflow lock list` で確認",
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	often := fault.New(fault.RetryLimitExceeded, "name", "qa", "allowed", 2, "reason", fault.ProcessCrashed, "cause", `PROCESS_CRASHED command="sh"`)
	if got := Open("en").Fault(often).Message; got != "The limit of tries (2) for qa is used up. Last reason: PROCESS_CRASHED, The command crashed." {
		t.Errorf("got %q", got)
	}
	often = fault.New(fault.RetryLimitExceeded, "name", "qa", "allowed", 2, "reason", fault.JSONSchemaInvalid, "key", "diff", "cause", "x")
	if got := ja.Fault(often).Message; got != "qaのやり直しが上限（2回）に達しました。最後の理由：JSON_SCHEMA_INVALID「AIの回答が求めた形と違います」（diff）：x。" {
		t.Errorf("got %q", got)
	}
	held := fault.Wrap(errors.New("x"), fault.RunInProgress, "run_id", "RUN-1", "pid", 7, "host", "h", "since", "10:00")
	if got := Open("fr").Fault(held).Message; got != "A request runs only once at a time. Run: RUN-1. Process: 7 on h. Since 10:00." {
		t.Errorf("got %q", got)
	}
	held.Facts["hostname"] = "desk"
	if got := Open("en").Fault(held).Message; got != "A request runs only once at a time. Run: RUN-1. Process: 7 on desk. Since 10:00." {
		t.Errorf("got %q", got)
	}
}

func TestErrorsThatAreNotFaults(t *testing.T) {
	c := Open("en")
	if got := c.Fault(nil); got.Code != "" || got.Title != "" {
		t.Errorf("nil gave %+v", got)
	}
	if got := c.Fault(errors.New("boom\x07")); got.Code != fault.InternalError || got.Message != `This is probably a mistake in aiflow. (boom\x07)` {
		t.Errorf("got %+v", got)
	}
	if got := c.Code("OLD_NAME", nil); got.Code != fault.UnknownError || !strings.Contains(got.Message, "(OLD_NAME)") {
		t.Errorf("got %+v", got)
	}
}

func TestCauseKey(t *testing.T) {
	err := fault.New(fault.ConfigInvalid, "path", "p", "cause", "raw", "cause_key", "config.too_big")
	if got := Open("en").Fault(err).Message; !strings.Contains(got, Open("en").Text("config.too_big", nil)) || strings.Contains(got, "raw") {
		t.Errorf("got %q", got)
	}
	err = fault.New(fault.ConfigInvalid, "cause", "raw", "cause_key", "no.such")
	if got := Open("en").Fault(err).Message; !strings.Contains(got, "(raw)") {
		t.Errorf("got %q", got)
	}
}

func TestCommandsNameTheRun(t *testing.T) {
	err := fault.New(fault.UnitTestFailed, "run_id", "RUN-1", "command", "make test")
	if got := Open("en").Fault(err).Actions[0]; got != "see which ones with `aiflow run logs RUN-1`" {
		t.Errorf("got %q", got)
	}
}

func TestUnknownKeysComeBackAsTheyAre(t *testing.T) {
	c := Open("en")
	for _, key := range []string{"", "x", "no.such", "codes.title", "../en/run.x"} {
		if got := c.Text(key, nil); got != key || c.Has(key) {
			t.Errorf("Text(%q) = %q", key, got)
		}
	}
}

func TestOverride(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "ja", `{"version":"1.0","reason_codes":{"UNIT_TEST_FAILED":{"title":"だめでした"},"OURS":{"title":"t","summary":"s {x?}","actions":["a"]}}}`)
	c := OpenWith("ja", dir)
	shipped := Open("ja").Code(fault.UnitTestFailed, nil)
	got := c.Code(fault.UnitTestFailed, nil)
	if got.Title != "だめでした" || got.Message != shipped.Message || !reflect.DeepEqual(got.Actions, shipped.Actions) {
		t.Errorf("got %+v", got)
	}
	if got := c.Code("OURS", fault.Facts{"x": "1"}); got.Code != "OURS" || got.Message != "s 1" {
		t.Errorf("got %+v", got)
	}
	if err := c.Problem(); err != nil {
		t.Error(err)
	}
	if got := OpenWith("en", dir).Code(fault.UnitTestFailed, nil); got.Title != "The unit tests failed" {
		t.Errorf("the other language changed: %+v", got)
	}
}

func TestBrokenOverrideChangesNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "en", `{"reason_codes":{"UNIT_TEST_FAILED":{"title":`)
	c := OpenWith("en", dir)
	if got := c.Code(fault.UnitTestFailed, nil); got.Title != "The unit tests failed" {
		t.Errorf("got %+v", got)
	}
	if got := fault.CodeOf(c.Problem()); got != fault.ConfigInvalid {
		t.Errorf("got %s", got)
	}
	if err := os.Remove(filepath.Join(dir, "messages.v1.en.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "messages.v1.en.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := fault.CodeOf(OpenWith("en", dir).Problem()); got != fault.ConfigInvalid {
		t.Errorf("a folder: got %s", got)
	}
}

func write(t *testing.T, dir, lang, text string) {
	t.Helper()
	if !json.Valid([]byte(text)) {
		t.Log("writing a file that is not JSON")
	}
	if err := os.WriteFile(filepath.Join(dir, "messages.v1."+lang+".json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
