package shipped

import (
	_ "embed"
	"strings"

	"aiflow/internal/config"
)

// AgentsFile is where AI agents look for what holds in a repository.
const AgentsFile = "AGENTS.md"

const (
	agentsBegin = "<!-- aiflow begin: `aiflow init --agents` renews this part, `aiflow deinit` takes it away -->"
	agentsEnd   = "<!-- aiflow end -->"
)

//go:embed files/agents.en.md
var agentsEN string

//go:embed files/agents.ja.md
var agentsJA string

// WithAgents is the text of AGENTS.md with our part: in its place, or at the end
// (then added); there is whether the file was.
func WithAgents(text string, there bool, lang string, c config.Config) (all string, added bool) {
	part := agentsEN
	if lang == "ja" {
		part = agentsJA
	}
	part = strings.NewReplacer("{{requests}}", c.Paths.RequestsDir, "{{runs}}", c.Paths.RunsDir).Replace(part)
	part = agentsBegin + "\n" + part + agentsEnd + "\n"
	from, to, ok := agentsPart(text)
	if !ok {
		return with(text, there, part), true
	}
	if strings.Contains(text, "\r\n") {
		part = strings.ReplaceAll(part, "\n", "\r\n")
	}
	return text[:from] + part + text[to:], false
}

// WithoutAgents is the text as it was before.
func WithoutAgents(text string) (rest string, had bool) {
	from, to, ok := agentsPart(text)
	if !ok {
		return text, false
	}
	return without(text[:from], text[to:]), true
}

// agentsPart is where our part stands, with the end of its last line. What follows a
// begin whose end somebody took away is not ours.
func agentsPart(text string) (from, to int, ok bool) {
	limit := len(text)
	for {
		from = strings.LastIndex(text[:limit], agentsBegin)
		if from < 0 {
			return 0, 0, false
		}
		if n := strings.Index(text[from:limit], agentsEnd); n >= 0 {
			to = from + n + len(agentsEnd)
			break
		}
		limit = from
	}
	for _, end := range []string{"\r", "\n"} {
		if strings.HasPrefix(text[to:], end) {
			to++
		}
	}
	return from, to, true
}
