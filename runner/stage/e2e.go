package stage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/reqmeta"
	"aiflow/runner/agent"
	"aiflow/runs"
)

var (
	testsHeading = agent.Lazily(`(?i)^(#{1,6})\s+(?:.*テスト|.*\btests?\b)`)
	e2eHeading   = agent.Lazily(`(?i)^#{1,6}\s+(?:e2e|end-to-end)`)
	unitHeading  = agent.Lazily(`(?i)^#{1,6}\s+(?:unit|単体|ユニット)`)
	comment      = agent.Lazily(`(?s)<!--.*?-->`)
	nothingAsked = agent.Lazily(`(?i)^[-*+]?\s*(?:(?:none|n/a|not needed|waived|なし|無し|不要)(?:[\s.,:;(（、。：].*)?)?$`)
	anyHeading   = agent.Lazily(`^#{1,6}\s`)
	e2eWord      = agent.Lazily(`(?i)\be2e\b|\bend-to-end\b`)

	regressionWord = agent.Lazily(`(?i)\bregressions?\b|回帰|リグレッション`)
)

// regression is the type of a criterion that says that what is there goes on
// working. AC-03 is one by convention (D46).
const regression = "regression"

// Criteria are the acceptance criteria of a request, numbered (D46).
func Criteria(body []byte) []runs.Criterion {
	all := []runs.Criterion{}
	for _, said := range reqmeta.Criteria(body) {
		c := runs.Criterion{ID: cmp.Or(said.ID, fmt.Sprintf("AC-%02d", len(all)+1)), Text: strings.TrimSpace(said.Text), Type: "functional"}
		if c.ID == "AC-03" || regressionWord().MatchString(c.Text) {
			c.Type = regression
		}
		all = append(all, c)
	}
	return all
}

// Instructions are the request's words below E2E and Unit in its section about
// tests (D46). A dash, "none" and comments ask for nothing.
func Instructions(body []byte) runs.TestInstructions {
	var t runs.TestInstructions
	var into *string
	depth := 0
	for line := range strings.Lines(comment().ReplaceAllString(string(body), "")) {
		line = strings.TrimRight(line, "\r\n")
		level := 0
		if anyHeading().MatchString(line) {
			level = len(line) - len(strings.TrimLeft(line, "#"))
		}
		switch {
		case level == 0:
			if into != nil && !nothingAsked().MatchString(strings.TrimSpace(line)) {
				*into += line + "\n"
			}
		case depth > 0 && level > depth && e2eHeading().MatchString(line):
			into = &t.E2E
		case depth > 0 && level > depth && unitHeading().MatchString(line):
			into = &t.Unit
		case depth == 0 || level <= depth:
			into, depth = nil, 0
			if testsHeading().MatchString(line) {
				depth = level
			}
		default:
			into = nil
		}
	}
	t.E2E, t.Unit = strings.TrimSpace(t.E2E), strings.TrimSpace(t.Unit)
	return t
}

// wantsE2E: there is a regression criterion, and it or the section about tests
// asks for end-to-end tests.
func wantsE2E(c runs.Context) bool {
	return slices.ContainsFunc(c.AcceptanceCriteria, func(a runs.Criterion) bool {
		return a.Type == regression && (c.TestInstructions.E2E != "" || e2eWord().MatchString(a.Text+" "+a.Then))
	})
}

// checkE2EPlan refuses a plan that cannot prove its regression criteria, before
// any work is done.
func checkE2EPlan(p *runs.Plan, cfg config.Config) error {
	switch {
	case !p.Gates.RequireE2EForRegressionAC:
		return nil
	case !cfg.Tests.E2E.Enabled:
		return e2eRequired(p, "not_configured")
	case !slices.ContainsFunc(p.Steps, func(s runs.PlanStep) bool { return s.Gates.E2E }):
		return e2eRequired(p, "no_step")
	}
	return nil
}

// checkE2ERun holds the last step to the plan: by then an end-to-end test must have
// passed, also when the configuration changed under the run. A person may have
// waived it in the request meanwhile.
func checkE2ERun(run *Run, i int) error {
	if !run.Plan.Gates.RequireE2EForRegressionAC || i < len(run.Stage.Steps)-1 {
		return nil
	}
	now := run.Plan.Context
	now.TestInstructions = Instructions(reqmeta.Readable(run.Text))
	if !wantsE2E(now) || slices.ContainsFunc(run.Stage.Steps, func(s runs.Step) bool { return s.Test.E2E.Status == runs.TestPass }) {
		return nil
	}
	return e2eRequired(run.Plan, "not_run")
}

func e2eRequired(p *runs.Plan, reason string) error {
	id := ""
	if i := slices.IndexFunc(p.Context.AcceptanceCriteria, func(c runs.Criterion) bool { return c.Type == regression }); i >= 0 {
		id = p.Context.AcceptanceCriteria[i].ID
	}
	return fault.New(fault.E2ERequired, "reason", reason, "id", id, "key", "tests.e2e")
}
