package stage

import (
	"fmt"
	"strings"

	"aiflow/reqmeta"
	"aiflow/runner/agent"
	"aiflow/runs"
)

var regressionWord = agent.Lazily(`(?i)\bregressions?\b|回帰|リグレッション`)

// regression is the type of a criterion that says that what is there goes on
// working. AC-03 is one by convention (D46).
const regression = "regression"

// Criteria are the acceptance criteria of a request, numbered (D46).
func Criteria(body []byte) []runs.Criterion {
	all := []runs.Criterion{}
	for _, c := range reqmeta.Criteria(body) {
		all = append(all, criterion(len(all)+1, c.ID, c.Text))
	}
	return all
}

func criterion(n int, id, text string) runs.Criterion {
	if id == "" {
		id = fmt.Sprintf("AC-%02d", n)
	}
	c := runs.Criterion{ID: id, Text: strings.TrimSpace(text), Type: "functional"}
	if id == "AC-03" || regressionWord().MatchString(text) {
		c.Type = regression
	}
	return c
}
