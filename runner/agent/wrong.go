package agent

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"aiflow/internal/config"
	"aiflow/internal/fault"
)

// Problem is what went wrong with a call.
type Problem struct {
	Code  fault.Code // "": nothing
	Said  string     // the program's own sentence
	Until time.Time  // of PROVIDER_LIMIT, where the program says it; zero: it does not
}

// failure is what an event said of the end.
type failure struct {
	there  bool
	said   string
	status int      // of the model's server
	words  []string // what the program calls it
	resets int64    // epoch; 0: not said
}

// Problem says what went wrong with a call that ended with status. It goes by
// events, then by the status, then by the last lines that the program said; it
// is PROCESS_CRASHED when none of them tells.
func (r *Reader) Problem(status int) Problem {
	r.mu.Lock()
	defer r.mu.Unlock()
	if status == 0 && !(r.failed.there && r.ended) {
		return Problem{}
	}
	now := r.o.Now()
	p := r.judged(status)
	whole := ansi().ReplaceAllString(p.Said[:min(len(p.Said), maxWords)], "") // the time may stand where nobody is shown it
	p.Said = ShortLine(whole)
	if p.Code == fault.ProviderLimit {
		if resets := r.failed.resets; resets > 0 {
			p.Until = fromEpoch(resets)
		} else {
			p.Until = Until(OneLine(whole), now)
		}
		if !p.Until.After(now) {
			p.Until = time.Time{}
		}
	}
	return p
}

func (r *Reader) judged(status int) Problem {
	if f := r.failed; f.there {
		for _, words := range append(slices.Clone(f.words), f.said) {
			if code := meaning(words); code != "" {
				return Problem{Code: code, Said: f.said}
			}
		}
		if code := served(f.status); code != "" {
			return Problem{Code: code, Said: f.said}
		}
	}
	lines := r.spoken.last()
	for _, line := range lines {
		if code := meaning(line); code != "" {
			return Problem{Code: code, Said: line}
		}
	}
	said := r.failed.said
	if said == "" && len(lines) > 0 {
		said = lines[len(lines)-1]
	}
	code := fault.ProcessCrashed
	if r.o.Kind == config.OutputGemini {
		code = cmp.Or(geminiStatus(status), code)
	}
	return Problem{Code: code, Said: said}
}

// served is what an HTTP status of the model's server means.
func served(status int) fault.Code {
	switch {
	case status == 401, status == 403:
		return fault.CLIAuthRequired
	case status == 404:
		return fault.ModelNotFound
	case status == 429:
		return fault.ProviderLimit
	case status >= 500 && status < 600:
		return fault.ProviderOverloaded
	}
	return ""
}

// geminiStatus: gemini ends with statuses of its own, or with what is left of
// the server's in one byte.
func geminiStatus(status int) fault.Code {
	switch status {
	case 41:
		return fault.CLIAuthRequired
	case 55:
		return fault.CLINotTrusted
	}
	for _, http := range []int{401, 403, 404, 429, 500, 502, 503, 504, 529} {
		if status == http%256 {
			return served(http)
		}
	}
	return ""
}

type phrase struct {
	code fault.Code
	re   *regexp.Regexp
}

// phrases are the words by which failures are known, as the programs say them.
// The first that fits counts: money and limits before what a server answers,
// that before logins, for a limit may come as a 403.
var phrases = sync.OnceValue(func() []phrase {
	var list []phrase
	for _, p := range []struct {
		code fault.Code
		re   string
	}{
		{fault.BudgetExhausted, `error_max_budget|budget_exhausted|(maximum|max) budget|budget (limit|of \$?[\d.]+) (was )?(reached|exceeded)`},
		{fault.ContextTooLong, `prompt_too_long|prompt is too long|context_length_exceeded|exceeds the (model'?s )?context|(ran out of room|exceed\w*|too long|maximum).{0,40}context (window|length)|input token count.{0,40}exceeds`},
		{fault.ProviderLimit, `usage_limit_reached|usage limit|hit your .{0,24}limit|limit reached|terminalquota|quota (exceeded|exhausted)|exhausted your .{0,24}quota|exceeded your current quota|insufficient_quota|credit balance|rate.?limit (was )?(reached|exceeded|error)|rate_limit_(error|exceeded)|exceed your .{0,40}rate limit|resource_exhausted|too many requests|rejected \(429\)|\bstatus:? 429\b|"code": ?429`},
		{fault.ModelNotFound, `issue with the selected model|modelnotfound|model_not_found|\bmodels?\b[:=/]?\s*(['"][^'"]+['"]|[\w./:-]*[-/.:\d][\w./:-]*)\s*(was |is )?(not found|does not exist|not supported|not available)|unknown model\b`},
		{fault.CLINotTrusted, `not (running )?in a trusted (directory|folder|workspace)|(workspace|folder|directory) (is not|has not been) trusted`},
		{fault.CLIAuthRequired, `not logged in|please (run .{0,30})?log ?in|login required|invalid (x-)?api[ -]?key|incorrect api key|invalid_api_key|authentication required|failed to authenticate|authentication_error|oauth token (has )?(expired|revoked)|missing environment variable|set an auth method|specify the gemini_api_key|\b40[13] (unauthorized|forbidden)|api error: 40[13]|\bstatus:? 40[13]\b|"code": ?40[13]|unauthenticated`},
		{fault.ProviderOverloaded, `overloaded_error|overloaded errors?\b|\boverloaded\W*$|(model|server|service) is (currently )?overloaded|high demand|at capacity|service unavailable|internal server error|bad gateway|\b(status:?|api error:) 5\d\d\b|"code": ?50\d|"status": ?"unavailable"`},
		{fault.ProviderUnreachable, `econnre(set|fused)|enotfound|eai_again|etimedout|econnaborted|connection (was )?(dropped|error|refused|reset|closed)|stream disconnected|fetch failed|socket hang up|network (error|is unreachable)|could not resolve|error sending request|unable to connect`},
	} {
		list = append(list, phrase{p.code, regexp.MustCompile(`(?i)` + p.re)})
	}
	return list
})

func meaning(said string) fault.Code {
	if said == "" {
		return ""
	}
	said = strings.ReplaceAll(said, "’", "'")
	for _, p := range phrases() {
		if p.re.MatchString(said) {
			return p.code
		}
	}
	return ""
}

// Lazily compiles an expression when it is first asked for, not at every start.
func Lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

var (
	geminiRefuses = Lazily(`(?i)tool ".*" not found|path not in workspace|denied|not allowed`)
	ansi          = Lazily(`\x1b\[[0-9;?]*[A-Za-z]`)
	// traced is a line of a stack trace, of a dumped object, or of what node says
	// besides.
	traced  = Lazily(`^\s+(at |\w+: )|^\s*[\[\]{}(),;]+$|^\s+['"]?\w+['"]?:|^Node\.js v|^An unexpected critical error|^Full report available`)
	isError = Lazily(`(?i)^\W*([\w.]*error|fatal|panic|failed)\b|\w+Error\b`)
)

// noteRefusal keeps the command that a guard refused.
func (r *Reader) noteRefusal(command, said string) {
	if r.refused == "" && strings.Contains(said, Refusal) {
		r.refused = ShortLine(command)
	}
}

// What is kept of lines for people: the last ones are enough to tell what went
// wrong.
const (
	keptWords = 64
	maxWords  = 4 << 10
)

// words are the last lines that a program said to people.
type words struct {
	prompt string
	lines  []string
}

func (w *words) add(line []byte) {
	if len(line) == 0 {
		return
	}
	if len(w.lines) == 2*keptWords {
		w.lines = append(w.lines[:0], w.lines[keptWords:]...)
	}
	w.lines = append(w.lines, string(line[:min(len(line), maxWords)]))
}

// last are the lines that may be the program's word about its end: its last one,
// and its last one that calls itself an error, which may be followed by where
// in the program it happened. What the program repeats of its prompt is neither.
func (w *words) last() []string {
	prompt := map[string]bool{}
	for line := range strings.Lines(w.prompt) {
		prompt[strings.TrimSpace(line)] = true
	}
	var last, wrong string
	for _, line := range slices.Backward(w.lines) {
		line = strings.TrimRight(ansi().ReplaceAllString(line, ""), " \t\r")
		said := strings.TrimSpace(line)
		if said == "" || prompt[said] || !strings.ContainsFunc(said, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) || traced().MatchString(line) {
			continue
		}
		if last == "" {
			last = said
		}
		if isError().MatchString(line) {
			wrong = said
			break
		}
	}
	var list []string
	for _, line := range []string{last, wrong} {
		if line != "" && !slices.Contains(list, line) {
			list = append(list, line)
		}
	}
	return list
}
