package agent

import (
	"testing"

	"aiflow/internal/config"
	"aiflow/internal/contract"
	"aiflow/internal/fault"
)

func TestRefusalIn(t *testing.T) {
	r := Reply{Call: config.Call{Provider: "p"}, Log: "l"}
	for text, want := range map[string]fault.Code{
		`"status":"ok"`:          "",
		`"status":"needs_input"`: fault.NeedsClarification,
		`"status":"blocked"`:     fault.NeedsClarification,
		`"status":"needs_input","risk_flags":["STEP_TOO_LARGE"]`: fault.StepTooLarge,
		`"status":"needs_input","reason_code":"STEP_TOO_LARGE"`:  fault.StepTooLarge,
		`"status":"error"`: fault.ProcessCrashed,
		`"status":"ok","risk_flags":["STEP_TOO_LARGE"],"diff":"anything"`: "",
	} {
		a, err := contract.Read("implementer", `{"version":"1.0","role":"implementer","summary":"why",`+text+`}`, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := RefusalIn(a, r)
		if code := fault.CodeOf(got); code != want {
			t.Errorf("%s: %v", text, got)
		}
		if f, ok := fault.As(got); ok && f.Code == fault.NeedsClarification && f.Facts["value"] != "why" {
			t.Errorf("a question without questions: %v", got)
		}
	}
}

func TestLooksLikeAnswer(t *testing.T) {
	for text, want := range map[string]bool{
		"I changed a.go":          false,
		`{"a": 1}`:                false,
		`{"role": "implementer"}`: false,
		`{"role": "implementer", "status": "ok"}`:                                  true,
		"done\n{\"role\": \"x\", \"status\": \"y\"}":                               true,
		"{\"role\": \"x\", \"status\":":                                            false,
		"?\n{\"role\": \"x\", \"status\": \"needs_input\", \"summary\": \"a\nb\"}": true, // a line break in a string
		`{"role": "x", "status": "blocked",}`:                                      true,
		"{\"role\": \"x\", \"status\": \"failed\"}\n{\"a\": 1}":                    true,
		`{"role": "x", "status": "NEEDS_INPUT",}`:                                  true,
		`{"role": "x", "status": "OK",}`:                                           false,
		`{"role": "x", "status": "ok",}`:                                           false, // its work is there
		`I say "role": "x", "status": "failed"`:                                    false,
	} {
		if got := LooksLikeAnswer(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
