package stage

import (
	"testing"

	"aiflow/reqmeta"
	"aiflow/runs"
)

func TestInstructionsOfTests(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want runs.TestInstructions
	}{
		"ja":        {"## テスト指示\n### E2E\n- ログイン\n### Unit\n- 全部\n## 補足\nE2E\n", runs.TestInstructions{E2E: "- ログイン", Unit: "- 全部"}},
		"en":        {"## Tests\n\n### E2E\n\nlog in\nlog out\n\n# Notes\nx", runs.TestInstructions{E2E: "log in\nlog out"}},
		"dashes":    {"## Tests\n### E2E\n-\n### Unit\n*\n", runs.TestInstructions{}},
		"waived":    {"## テスト指示\n### E2E\n- 不要（承認済み）\n### Unit\nnone.\n", runs.TestInstructions{}},
		"comment":   {"## Tests\n<!-- ### E2E\nx -->\n### E2E\n<!-- y\nz -->\n", runs.TestInstructions{}},
		"elsewhere": {"## Notes\n### E2E\nx\n", runs.TestInstructions{}},
		"word":      {"## Tests\n### E2E\nnonexistent user\n", runs.TestInstructions{E2E: "nonexistent user"}},
		"none":      {"", runs.TestInstructions{}},
	} {
		if got := Instructions([]byte(c.body)); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestWantsE2E(t *testing.T) {
	asks := "## Tests\n### E2E\nlog in\n"
	for name, c := range map[string]struct {
		body string
		want bool
	}{
		"AC-03 and E2E":       {"## Acceptance criteria\n- [ ] AC-01: a\n- [ ] AC-03: b\n" + asks, true},
		"AC-03, no E2E":       {"## Acceptance criteria\n- [ ] AC-03: b\n", false},
		"no regression":       {"## Acceptance criteria\n- [ ] AC-01: a\n" + asks, false},
		"by its word":         {"## 受け入れ条件\n- [ ] AC-01: 回帰なし\n" + asks, true},
		"the criterion asks":  {"## Acceptance criteria\n- [ ] AC-03: the shop works (E2E)\n", true},
		"another one asks":    {"## Acceptance criteria\n- [ ] AC-01: e2e\n- [ ] AC-03: b\n", false},
		"the template, en":    {string(reqmeta.Body(reqmeta.Template("en"))), false},
		"the template, ja":    {string(reqmeta.Body(reqmeta.Template("ja"))), false},
		"nothing":             {"", false},
		"a checkbox in Tests": {"## Tests\n### E2E\n- [ ] AC-03: x\n", false},
	} {
		got := wantsE2E(runs.Context{AcceptanceCriteria: Criteria([]byte(c.body)), TestInstructions: Instructions([]byte(c.body))})
		if got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
