package runner

import (
	"regexp"
	"strings"
	"sync"

	"aiflow/reqmeta"
	"aiflow/runs"
)

var (
	criterionLine = lazily(`^\s*[-*] \[[ xX]\]\s*(?:\*\*)?(AC-[0-9]+)?(?:\*\*)?[::\s]*(.*)$`)
	acHeading     = lazily(`(?i)^#{1,6}\s.*(受け入れ(条件|基準)|acceptance criteria)`)
	anyHeading    = lazily(`^#{1,6}\s`)

	regressionWord = lazily(`(?i)\bregressions?\b|回帰|リグレッション`)
)

// lazily compiles an expression when it is first asked for, not at every start.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// regression is the type of a criterion that says that what is there goes on
// working. AC-03 is one by convention (D46).
const regression = "regression"

// Criteria reads the acceptance criteria of a request: the checkbox items below
// its heading for them (D46). What the template put there is none.
func Criteria(body []byte) []runs.Criterion {
	all, inside := []runs.Criterion{}, false
	for line := range strings.Lines(string(reqmeta.WithoutComments(body))) {
		line = strings.TrimRight(line, "\r\n")
		if anyHeading().MatchString(line) {
			inside = acHeading().MatchString(line) || inside && strings.HasPrefix(line, "###")
			continue
		}
		if m := criterionLine().FindStringSubmatch(line); inside && m != nil && !reqmeta.Placeholder(m[2]) {
			all = append(all, criterion(len(all)+1, m[1], m[2]))
		}
	}
	return all
}

func criterion(n int, id, text string) runs.Criterion {
	if id == "" {
		id = "AC-" + twoDigits(n)
	}
	c := runs.Criterion{ID: id, Text: strings.TrimSpace(text), Type: "functional"}
	if id == "AC-03" || regressionWord().MatchString(text) {
		c.Type = regression
	}
	return c
}

func twoDigits(n int) string {
	return string([]byte{'0' + byte(n/10%10), '0' + byte(n%10)})
}
