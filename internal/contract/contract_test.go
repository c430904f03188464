package contract

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"aiflow/internal/fault"
)

func TestObject(t *testing.T) {
	long := `{"a": "` + strings.Repeat("x", MaxAnswer) + `"}`
	for _, tc := range []struct{ name, text, want, err string }{
		{"alone", `{"a":1}`, `{"a":1}`, ""},
		{"blank lines", "\n\n  {\"a\":1}  \n\n", `{"a":1}`, ""},
		{"byte order mark", "\ufeff{\"a\":1}", `{"a":1}`, ""},
		{"fence", "```json\n{\"a\":\n 1}\n```\n", "{\"a\":\n 1}", ""},
		{"fence closed on its line", "```json\n{\"a\":1}```", `{"a":1}`, ""},
		{"chatter", "Here is the plan:\n{\"a\":{\n\"b\":2}}\nDone.", "{\"a\":{\n\"b\":2}}", ""},
		{"braces in chatter", "I use {x} here\n{\"a\":1}", `{"a":1}`, ""},
		{"brace in a string", `{"a":"}{"}`, `{"a":"}{"}`, ""},
		{"CRLF", "{\"a\":1}\r\nok\r\n", `{"a":1}`, ""},

		{"nothing", "", "", "none"},
		{"prose", "I could not do it.", "", "none"},
		{"a list", `[{"a":1}]`, "", "none"},
		{"inside a line", `Result: {"a":1}`, "", "none"},
		{"cut off", "{\"a\":\n{\"b\":1}", "", "broken"},
		{"single quotes", "{'a':1}", "", "broken"},
		{"trailing comma", `{"a":1,}`, "", "broken"},
		{"text behind", `{"a":1} and more`, "", "broken"},
		{"two", "{\"a\":1}\n{\"a\":2}", "", "several"},
		{"same twice", "{\"a\":1}\n```\n{\"a\":1}\n```", "", "several"},
		{"too large", long, "", "too_large"},
	} {
		got, err := Object(tc.text)
		word := ""
		if err != nil {
			word = err.Error()
		}
		if string(got) != tc.want || word != tc.err {
			t.Errorf("%s: %q %q, want %q %q", tc.name, got, word, tc.want, tc.err)
		}
	}
}

const goodPlan = `{"version":"1.0","role":"planner","status":"ok","summary":"s","planning":{"steps":[{"id":"S01","title":"t","gates":{"e2e":true},"targets":{"paths":["a"]}}]}}`

// said are the flaws of an answer in a line, without the key of the first.
func said(f fault.Facts) string {
	var list []flaw
	if json.Unmarshal([]byte(f["flaws"]), &list) != nil {
		return f["cause"]
	}
	texts := make([]string, len(list))
	for i, w := range list {
		if i == 0 {
			w.Key = ""
		}
		texts[i] = strings.Join(strings.Fields(w.Key+" "+w.Wrong+" "+w.Value+" "+w.Allowed), " ")
	}
	return strings.Join(texts, "; ")
}

func TestRead(t *testing.T) {
	for _, tc := range []struct {
		name, role, text string
		code             fault.Code
		key, cause       string
	}{
		{"plan", "planner", goodPlan, "", "", ""},
		{"D27's version", "planner", strings.Replace(goodPlan, `"version"`, `"contract_version"`, 1), "", "", ""},
		{"unknown keys", "planner", strings.Replace(goodPlan, `"summary"`, `"x":[1],"summary"`, 1), "", "", ""},
		{"rubbish", "planner", "no", fault.JSONParseError, "", "none"},
		{"no version", "planner", strings.Replace(goodPlan, `"version":"1.0",`, "", 1), fault.JSONSchemaInvalid, "version", "missing"},
		{"newer version", "planner", strings.Replace(goodPlan, `1.0`, "2.0", 1), fault.JSONSchemaInvalid, "version", `pattern "2.0" ^1(\.[0-9]+)?$`},
		{"other role", "qa", goodPlan, fault.JSONSchemaInvalid, "issues", "missing"},
		{"wrong role", "implementer", goodPlan, fault.JSONSchemaInvalid, "role", "enum planner [implementer]"},
		{"status", "planner", strings.Replace(goodPlan, `"ok"`, `"fine"`, 1), fault.JSONSchemaInvalid, "status", "enum fine [ok needs_input error blocked failed]"},
		{"empty summary", "planner", strings.Replace(goodPlan, `"s"`, `" "`, 1), fault.JSONSchemaInvalid, "summary", "empty"},
		{"no steps", "planner", strings.Replace(goodPlan, `[{"id"`, `[],"old":[{"id"`, 1), fault.JSONSchemaInvalid, "planning.steps", "items 0 1"},
		{"steps an object", "planner", strings.Replace(goodPlan, `[{"id":"S01"`, `{"S01":1},"old":[{"id":"S01"`, 1), fault.JSONSchemaInvalid, "planning.steps", "type object array"},
		{"step id", "planner", strings.Replace(goodPlan, "S01", "1", 1), fault.JSONSchemaInvalid, "planning.steps[0].id", `pattern "1" ^S[0-9]{2,3}$`},
		{"step without title", "planner", strings.Replace(goodPlan, `"title":"t",`, "", 1), fault.JSONSchemaInvalid, "planning.steps[0].title", "missing"},
		{"gate a text", "planner", strings.Replace(goodPlan, "true", `"yes"`, 1), fault.JSONSchemaInvalid, "planning.steps[0].gates.e2e", "type string boolean | null"},
		{"limit of nothing", "planner", strings.Replace(goodPlan, `"gates"`, `"constraints":{"max_diff_lines":0},"gates"`, 1), fault.JSONSchemaInvalid, "planning.steps[0].constraints.max_diff_lines", "minimum 0 1"},
		{"limit a fraction", "planner", strings.Replace(goodPlan, `"gates"`, `"constraints":{"max_diff_lines":1.5},"gates"`, 1), fault.JSONSchemaInvalid, "planning.steps[0].constraints.max_diff_lines", "type number integer"},
	} {
		_, err := Read(tc.role, tc.text, nil)
		f, _ := fault.As(err)
		first := ""
		if f != nil {
			first, _, _ = strings.Cut(said(f.Facts), "; ")
		}
		switch {
		case tc.code == "" && err != nil, tc.code != "" && f == nil:
			t.Errorf("%s: %v", tc.name, err)
		case f != nil && (f.Code != tc.code || f.Facts["key"] != tc.key || first != tc.cause):
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// An answer is judged whole: its author hears of every mistake at once, of ten
// at most.
func TestAllFlawsAreNamed(t *testing.T) {
	read := func(role, text, own string) fault.Facts {
		t.Helper()
		_, err := Read(role, text, []byte(own))
		f, ok := fault.As(err)
		if !ok {
			t.Fatalf("%s is taken: %v", text, err)
		}
		return f.Facts
	}
	f := read("qa", `{"version":"2.0","role":"qa","status":"fine","issues":[{"severity":"Major"},{"description":"d"}]}`, `{"required":["summary","ticket"]}`)
	want := `missing; issues[0].description missing; issues[1].severity missing; status enum fine [ok needs_input error blocked failed]; ` +
		`version pattern "2.0" ^1(\.[0-9]+)?$; ticket missing`
	if f["key"] != "summary" || said(f) != want {
		t.Errorf("%v", f)
	}
	f = read("qa", `{"version":"1.0","role":"qa","status":"ok","summary":"s","issues":[`+strings.Repeat(`{},`, 50)+`{}]}`, `{}`)
	if n := strings.Count(said(f), ";"); n != maxFlaws || !strings.HasSuffix(said(f), "; more") {
		t.Errorf("%d: %v", n, f)
	}
	if f := read("planner", `{"version":"1.0","role":"planner","status":"fine","summary":"s"}`, `{}`); strings.Contains(said(f), ";") {
		t.Errorf("%v", f)
	}
}

func TestOwnContractCountsToo(t *testing.T) {
	own := []byte(`{"required":["ticket"]}`)
	_, err := Read("planner", goodPlan, own)
	if f, _ := fault.As(err); f == nil || f.Facts["key"] != "ticket" {
		t.Errorf("%v", err)
	}
	if _, err := Read("planner", strings.Replace(goodPlan, `"role"`, `"ticket":1,"role"`, 1), own); err != nil {
		t.Error(err)
	}
}

func TestAnswer(t *testing.T) {
	read := func(role, rest string) Answer {
		t.Helper()
		a, err := Read(role, `{"version":"1.0","role":"`+role+`","summary":"s",`+rest+`}`, nil)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := read("implementer", `"status":"needs_input","risk_flags":["STEP_TOO_LARGE"],"questions":["a",{"id":"Q","text":" b "},""]`)
	if !a.Asks() || a.Failed() || !a.TooLarge() || strings.Join(a.Questions, "|") != "a|b" {
		t.Errorf("%+v", a)
	}
	if a := read("implementer", `"status":"ok","patch":{"format":"unified_diff","diff":"d"},"risk_flags":["STEP_TOO_LARGE"]`); a.UnifiedDiff() != "d" || a.TooLarge() || a.Asks() || a.Failed() {
		t.Errorf("%+v", a)
	}
	if a := read("implementer", `"status":"error","diff":null`); !a.Failed() || a.UnifiedDiff() != "" {
		t.Errorf("%+v", a)
	}
	for rest, want := range map[string]bool{
		`"issues":[{"severity":"Blocker","description":"d"}],"auto_merge_recommended":false`: true,
		`"issues":[{"severity":"HIGH","description":"d"}],"auto_merge_recommended":false`:    true,
		`"issues":[{"severity":"Major","description":"d"}],"auto_merge_recommended":false`:   false,
		`"issues":[{"severity":"Blocker","description":"d"}],"auto_merge_recommended":true`:  false,
		`"issues":[{"severity":"Blocker","description":"d"}]`:                                false,
		`"issues":[],"auto_merge_recommended":false`:                                         false,
	} {
		if got := read("qa", `"status":"ok",`+rest).SendsBack(); got != want {
			t.Errorf("%s: %v", rest, got)
		}
	}
}

// The whole answers that the documentation shows are ones.
func TestDocumentedAnswers(t *testing.T) {
	doc, err := os.ReadFile("../../docs/answers.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, part := range strings.Split(string(doc), "```json\n")[1:] {
		text, _, _ := strings.Cut(part, "```")
		for _, role := range []string{"planner", "implementer", "qa"} {
			if !strings.Contains(text, `"role": "`+role+`"`) {
				continue
			}
			shown[role] = true
			if _, err := Read(role, text, nil); err != nil {
				t.Errorf("%s: %v\n%s", role, err, text)
			}
		}
	}
	if len(shown) != 3 {
		t.Errorf("answers of %v are shown", shown)
	}
}
