package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"aiflow/internal/config"
	"aiflow/internal/contract"
	"aiflow/internal/fault"
)

var kinds = []string{config.OutputText, config.OutputClaude, config.OutputCodex, config.OutputGemini}

var now = time.Date(2026, 11, 28, 23, 5, 0, 0, time.UTC)

// read gives a whole recorded stream to a reader, in pieces of n bytes.
func read(t testing.TB, kind string, stream []byte, n int) (r *Reader, log string, cut bool) {
	t.Helper()
	var b bytes.Buffer
	r = New(Options{Kind: kind, Log: &b, Now: func() time.Time { return now }})
	for len(stream) > 0 {
		part := stream[:min(n, len(stream))]
		if _, err := r.Write(part); err != nil {
			t.Fatal(err)
		}
		stream = stream[len(part):]
	}
	cut = r.Close()
	return r, b.String(), cut
}

func recorded(t testing.TB, name string) (kind string, stream []byte) {
	t.Helper()
	stream, err := os.ReadFile(filepath.Join("testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	program, _, _ := strings.Cut(name, "-")
	return map[string]string{"claude": config.OutputClaude, "codex": config.OutputCodex, "gemini": config.OutputGemini}[program], stream
}

func TestEventsBecomeLines(t *testing.T) {
	for name, want := range map[string]string{
		"claude-edit": `[claude 2.1.332 model-large]
I write the file first.
> Write: /w/hello.txt
> Bash: sh ./test.sh
! Bash: requires approval
< Bash: sh ./test.sh: This command requires approval
Done: hello.txt says hello.
[in 2500, cached 600, out 80, turns 3, $0.0123, 3.3s]
`,
		"codex-edit": `[codex 0199-aa]
! Model metadata for ` + "`m`" + ` not found.
I write the file first.
> add /w/hello.txt
> /bin/bash -c 'sh ./test.sh'
< exit 0: /bin/bash -c 'sh ./test.sh'
< exit 128: /bin/bash -c 'git add -A'
Done: hello.txt says hello.
[in 2700, cached 900, out 120, turns 1]
`,
		"gemini-edit": `[gemini gemini-x]
I write the file first.
> write_file: hello.txt
> run_shell_command: git commit
< run_shell_command: git commit: Tool "run_shell_command" not found. Did you mean one of: "read_file"?
Done: hello.txt says hello.
[in 2700, cached 900, out 120, turns 3, 5.1s]
`,
	} {
		kind, stream := recorded(t, name)
		for _, n := range []int{1, 7, len(stream)} {
			r, log, cut := read(t, kind, stream, n)
			if log != want || cut {
				t.Errorf("%s in pieces of %d (cut %v):\n%s\nwant:\n%s", name, n, cut, log, want)
			}
			if said := r.Text(); !strings.HasSuffix(said, "Done: hello.txt says hello.") {
				t.Errorf("%s: text %q", name, said)
			}
			if p := r.Problem(0); p.Code != "" {
				t.Errorf("%s: problem %v", name, p)
			}
		}
	}
}

func TestUsageIsWhatTheProgramReports(t *testing.T) {
	cost := 0.0123
	for name, want := range map[string]Usage{
		"claude-edit": {Input: 2500, Cached: 600, Output: 80, CostUSD: &cost, Turns: 3, SessionID: "s1", Model: "model-large", DurationMS: 3300, Denied: []string{"Bash: sh ./test.sh"}},
		"codex-edit":  {Input: 2700, Cached: 900, Output: 120, Turns: 1, SessionID: "0199-aa", Denied: []string{"/bin/bash -c 'git add -A'"}},
		"gemini-edit": {Input: 2700, Cached: 900, Output: 120, Turns: 3, SessionID: "g1", Model: "gemini-x", DurationMS: 5100, Denied: []string{"run_shell_command: git commit"}},
	} {
		kind, stream := recorded(t, name)
		r, _, _ := read(t, kind, stream, 100)
		got, _ := json.Marshal(r.Usage())
		if wanted, _ := json.Marshal(want); string(got) != string(wanted) {
			t.Errorf("%s: %s, want %s", name, got, wanted)
		}
	}
	if r, _, _ := read(t, config.OutputText, []byte("hello\n"), 3); r.Usage() != nil {
		t.Error("lines for people report no usage")
	}
	// what codex was refused may stand beside its events
	c := New(Options{Kind: config.OutputCodex, Log: discard{}})
	_, _ = c.Write([]byte(`{"type":"turn.completed"}` + "\n"))
	_, _ = c.Stderr().Write([]byte("2026-11-29T13:21:01Z ERROR codex_core::tools::router: error=patch rejected: writing outside of the project\n"))
	if c.Close(); !slices.Equal(c.Usage().Denied, []string{"apply_patch: writing outside of the project"}) {
		t.Errorf("refused: %q", c.Usage().Denied)
	}
	// what was used until a stream ends is counted too
	kind, stream := recorded(t, "claude-edit")
	lines := bytes.SplitAfter(stream, []byte("\n"))
	r, _, cut := read(t, kind, bytes.Join(lines[:4], nil), 100)
	if u := r.Usage(); !cut || u.Output != 40 || u.Input != 1250 || u.Turns != 1 {
		t.Errorf("cut %v, %+v: a message of two parts counts once", cut, u)
	}
}

func TestWhatWentWrong(t *testing.T) {
	reset := time.Unix(1795914600, 0)
	for name, want := range map[string]Problem{
		"claude-limit":   {Code: fault.ProviderLimit, Said: "You've hit your 5-hour limit · resets 1:10am (UTC)", Until: reset},
		"claude-529":     {Code: fault.ProviderOverloaded, Said: "API Error: Repeated 529 Overloaded errors"},
		"claude-toolong": {Code: fault.ContextTooLong, Said: "Prompt is too long"},
		"claude-login":   {Code: fault.CLIAuthRequired, Said: "Not logged in · Please run /login"},
		"claude-401":     {Code: fault.CLIAuthRequired, Said: "Invalid API key · Fix external API key"},
		"claude-403":     {Code: fault.CLIAuthRequired, Said: "Failed to authenticate. API Error: 403 Your account does not have access to this model."},
		"claude-429":     {Code: fault.ProviderLimit, Said: "API Error: Request rejected (429) · This request would exceed your account's rate limit."},
		"claude-credit":  {Code: fault.ProviderLimit, Said: "Credit balance is too low"},
		"claude-network": {Code: fault.ProviderUnreachable, Said: "API Error: Connection dropped (ECONNRESET)"},
		"claude-model":   {Code: fault.ModelNotFound, Said: "There's an issue with the selected model (no-such-model). It may not exist or you may not have access to it."},
		"claude-budget":  {Code: fault.BudgetExhausted, Said: "Reached maximum budget ($0.01)"},
		"claude-crash":   {Code: fault.ProcessCrashed, Said: "spawn failed"},
		"codex-limit": {
			Code: fault.ProviderLimit, Until: time.Date(2026, 11, 29, 1, 8, 0, 0, time.UTC),
			Said: "You’ve hit your usage limit. Upgrade to Plus to continue using Codex (https://openai.com/chatgpt/pricing), or try again at Nov 29th, 2026 1:08 AM.",
		},
		"codex-401":     {Code: fault.CLIAuthRequired, Said: "unexpected status 401 Unauthorized: Incorrect API key provided: test-key., url: http://127.0.0.1:1/v1/responses"},
		"codex-529":     {Code: fault.ProviderOverloaded, Said: "unexpected status 529 <unknown status code>: Overloaded"},
		"codex-500":     {Code: fault.ProviderOverloaded, Said: "We're currently experiencing high demand, which may cause temporary errors."},
		"codex-429":     {Code: fault.ProviderLimit, Said: "exceeded retry limit, last status: 429 Too Many Requests"},
		"codex-toolong": {Code: fault.ContextTooLong, Said: "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying."},
		"codex-network": {Code: fault.ProviderUnreachable, Said: "stream disconnected before completion: error sending request for url"},
		"codex-credit":  {Code: fault.ProviderLimit, Said: "Quota exceeded. Check your plan and billing details. insufficient_quota"},
		"gemini-limit": {
			Code: fault.ProviderLimit, Until: now.Add(2 * time.Hour),
			Said: "You have exhausted your daily quota on this model. Your quota will reset after 2h0m0s.",
		},
		"gemini-model": {Code: fault.ModelNotFound, Said: "models/none is not found for API version v1beta"},
	} {
		kind, stream := recorded(t, name)
		r, _, _ := read(t, kind, stream, 50)
		got := r.Problem(1)
		if got.Code != want.Code || got.Said != want.Said || !got.Until.Equal(want.Until) {
			t.Errorf("%s:\n got %v\nwant %v", name, got, want)
		}
	}
	kind, stream := recorded(t, "codex-guard")
	if r, _, _ := read(t, kind, stream, 50); r.Refused() != "/bin/bash -c 'curl --version'" {
		t.Errorf("the refused command is %q", r.Refused())
	}
}

// What is printed for people is judged by the last line, and the last one that
// calls itself an error; the prompt that a program repeats says nothing.
func TestWordsForPeople(t *testing.T) {
	prompt := "Make it blue.\nERROR: answer 401 with the words \"login required\"\nusage limit\n"
	for _, c := range []struct {
		name, stdout, stderr string
		kind                 string
		status               int
		want                 fault.Code
		said                 string
	}{
		{"codex repeats its prompt", "", "user: " + prompt + "codex\nERROR: unexpected status 529 Overloaded\n", config.OutputText, 1, fault.ProviderOverloaded, "ERROR: unexpected status 529 Overloaded"},
		{"and dies", "", "user\n" + prompt, config.OutputText, 1, fault.ProcessCrashed, "user"},
		{"claude speaks on standard output", "You've hit your 5-hour limit · resets 1:10am (UTC)\n", "", config.OutputText, 1, fault.ProviderLimit, "You've hit your 5-hour limit · resets 1:10am (UTC)"},
		{"gemini, with where it happened", "", "Loaded cached credentials.\n\x1b[31mError when talking to Gemini API TerminalQuotaError: You have exhausted your daily quota on this model.\x1b[0m\n    at classify (file:///x.js:1:2)\n    at async y {\n  cause: {\n    code: 429,\n  },\n  retryDelayMs: 7200000\n}\n", config.OutputGemini, 173, fault.ProviderLimit, "Error when talking to Gemini API TerminalQuotaError: You have exhausted your daily quota on this model."},
		{"gemini by its status", "", "Please set an Auth\n method\n", config.OutputGemini, 41, fault.CLIAuthRequired, "method"},
		{"gemini and trust", "", "Gemini CLI is not running in a trusted directory.\n", config.OutputGemini, 55, fault.CLINotTrusted, "Gemini CLI is not running in a trusted directory."},
		{"gemini, what is left of 503", "", "something\n", config.OutputGemini, 247, fault.ProviderOverloaded, "something"},
		{"a status means that of gemini alone", "", "something\n", config.OutputText, 41, fault.ProcessCrashed, "something"},
		{"network", "", "Error: fetch failed sending request\n", config.OutputText, 1, fault.ProviderUnreachable, "Error: fetch failed sending request"},
		{"an earlier line says nothing", "login required\nall is well now\n", "", config.OutputText, 1, fault.ProcessCrashed, "all is well now"},
		{"it ended well", "usage limit\n", "", config.OutputText, 0, "", ""},
		{"nothing is said", "", "", config.OutputText, 137, fault.ProcessCrashed, ""},
		{"words of a compiler", "error: call of overloaded 'f()' is ambiguous\n", "", config.OutputText, 1, fault.ProcessCrashed, "error: call of overloaded 'f()' is ambiguous"},
		{"words of a test", "--- FAIL: TestRateLimit\n", "", config.OutputText, 1, fault.ProcessCrashed, "--- FAIL: TestRateLimit"},
		{"words of a missing file", "Error: data model file not found\n", "", config.OutputText, 1, fault.ProcessCrashed, "Error: data model file not found"},
	} {
		var log bytes.Buffer
		r := New(Options{Kind: c.kind, Log: &log, Prompt: prompt, Now: func() time.Time { return now }})
		_, _ = r.Write([]byte(c.stdout))
		_, _ = r.Stderr().Write([]byte(c.stderr))
		r.Close()
		if p := r.Problem(c.status); p.Code != c.want || p.Said != c.said {
			t.Errorf("%s: %q %q, want %q %q", c.name, p.Code, p.Said, c.want, c.said)
		}
		if log.String() != c.stdout+c.stderr {
			t.Errorf("%s: the log is %q", c.name, log.String())
		}
	}
}

// A stream that is cut anywhere is told as cut, and never crashes.
func TestCutAnywhere(t *testing.T) {
	for _, name := range []string{"claude-edit", "codex-edit", "gemini-edit", "claude-limit", "codex-limit", "gemini-limit"} {
		kind, stream := recorded(t, name)
		whole := len(bytes.TrimSpace(stream))
		first := bytes.IndexByte(stream, '\n')
		for n := range whole {
			r, log, cut := read(t, kind, stream[:n], 1000)
			if cut != (n >= first) {
				t.Fatalf("%s cut at %d of %d: told %v", name, n, whole, cut)
			}
			if cut && !strings.Contains(log, "[... the stream ends ") {
				t.Fatalf("%s cut at %d: the log does not tell", name, n)
			}
			r.Problem(1)
		}
	}
}

// Programs that do not speak in events are read as what they are.
func TestNoEvents(t *testing.T) {
	for _, kind := range kinds {
		said := "{\n \"version\": \"1.0\", \"role\": \"qa\"}\nThat is all.\n{\"version\":\"1.0\",\"role\":\"qa\"}\n"
		r, log, cut := read(t, kind, []byte(said), 5)
		if r.Text() != said || log != said || cut {
			t.Errorf("%s: text %q, log %q, cut %v", kind, r.Text(), log, cut)
		}
	}
}

// Fields that became something else stop nobody.
func TestOddFields(t *testing.T) {
	for kind, line := range map[string]string{
		config.OutputClaude: `{"type":"result","subtype":"success","result":"all is well","num_turns":"many","usage":[1],"permission_denials":{"a":1},"errors":7}`,
		config.OutputCodex:  `{"type":"item.completed","item":{"type":"agent_message","text":"all is well","exit_code":"none"}}`,
		config.OutputGemini: `{"type":"message","role":"assistant","content":"all is well","delta":"yes","stats":3}`,
	} {
		r, _, _ := read(t, kind, []byte(line+"\n"), 9)
		if r.Text() != "all is well" {
			t.Errorf("%s: %q", kind, r.Text())
		}
	}
}

// A string that is too long is cut, and the event around it is read.
func TestLongStrings(t *testing.T) {
	for _, filler := range []string{"x", `\"`, `\u00e9`, "é", `\\`} {
		long := strings.Repeat(filler, (maxString+1000)/len(filler))
		line := `{"type":"result","subtype":"success","result":"` + long + `","num_turns":7}` + "\n"
		r, _, cut := read(t, config.OutputClaude, []byte(line), 1<<20)
		if u := r.Usage(); cut || u == nil || u.Turns != 7 {
			t.Errorf("%q: cut %v, usage %v", filler, cut, u)
		}
		if filler == "x" && len(r.Text()) != contract.MaxAnswer+1 {
			t.Errorf("the text has %d bytes", len(r.Text()))
		}
	}
	many := `{"type":"user","x":[` + strings.Repeat(`"y",`, maxLine) + `"y"]}` + "\n"
	_, log, _ := read(t, config.OutputClaude, []byte(many), 1<<20)
	if want := fmt.Sprintf("[... an event of %d bytes is left out ...]\n", len(many)-1); log != want {
		t.Errorf("log %q, want %q", log, want)
	}
}

func TestUntil(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	at := func(d, h, m int) time.Time { return time.Date(2026, 11, d, h, m, 0, 0, time.UTC) }
	for said, want := range map[string]time.Time{
		"resets 1:10am (UTC)":                                   at(29, 1, 10),
		"resets 1am (UTC)":                                      at(29, 1, 0),
		"resets at 11:30pm (UTC)":                               at(28, 23, 30),
		"resets 11pm (UTC)":                                     at(28, 23, 0), // five minutes ago is now
		"resets 10:50pm (UTC)":                                  at(29, 22, 50),
		"resets 12am (UTC)":                                     at(29, 0, 0),
		"resets 12:05pm (UTC)":                                  at(29, 12, 5),
		"resets 3am (Europe/Berlin)":                            time.Date(2026, 11, 29, 3, 0, 0, 0, berlin),
		"resets Dec 1, 9am (UTC)":                               time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC),
		"resets Dec 1 at 9:30am (America/New_York)":             time.Date(2026, 12, 1, 14, 30, 0, 0, time.UTC),
		"resets Jan 2, 9am (UTC)":                               time.Date(2027, 1, 2, 9, 0, 0, 0, time.UTC),
		"try again at Nov 29th, 2026 1:08 AM.":                  at(29, 1, 8),
		"try again at 1:08 AM.":                                 at(29, 1, 8),
		"try again at 11:40 PM":                                 at(28, 23, 40),
		"available again at 01:30 PST":                          at(29, 9, 30),
		"limit until 23:45":                                     at(28, 23, 45),
		"try again at Nov 20th, 2026 1:08 AM.":                  at(20, 1, 8), // past: the caller sees
		"Claude AI usage limit reached|1795914600":              time.Unix(1795914600, 0),
		`"resets_at": 1795914600`:                               time.Unix(1795914600, 0),
		"Please try again in 30s.":                              now.Add(30 * time.Second),
		"try again in 2 hours 5 minutes":                        now.Add(125 * time.Minute),
		"try again in 3 days 4 hours and 1 minute.":             now.Add(76*time.Hour + time.Minute),
		"Your quota will reset after 18h31m7s.":                 now.Add(18*time.Hour + 31*time.Minute + 7*time.Second),
		"retry after 1.5 seconds":                               now.Add(1500 * time.Millisecond),
		"available again 2026-11-29T02:00:00Z":                  at(29, 2, 0),
		"available again 2026-11-29 02:00 or so":                at(29, 2, 0),
		"until 2026-11-29T02:00:00+01:00":                       at(29, 1, 0),
		"You will regain access on 2026-12-01 at 00:00 UTC.":    time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC),
		"resets at 2026-12-01 09:00:30 +0900 JST":               time.Date(2026, 12, 1, 0, 0, 30, 0, time.UTC),
		"2026-11-28T22:00:01.5Z ERROR limit, again at 1:08 AM.": at(29, 1, 8), // when the line was written is not until when
		"resets 1:10am (UTC+09:00)":                             at(29, 16, 10),
		"resets 1:10am GMT+2":                                   at(28, 23, 10),
		"resets 1:10am UTC-0230":                                at(29, 3, 40),
		"resets at 2:00 AM ET":                                  at(29, 7, 0),
		"resets at midnight or 2:00 AM Pacific time":            {},
		"resets at 2:00 AM Pacific time":                        at(29, 10, 0),
		"resets 1:10am (UTC+99)":                                {},
		"limit until 23:45 but not later":                       at(28, 23, 45),
		"resets Thursday 9am (UTC)":                             time.Date(2026, 12, 3, 9, 0, 0, 0, time.UTC),
		"resets Sat 11pm (UTC)":                                 at(28, 23, 0),
		"resets Sat 10pm (UTC)":                                 time.Date(2026, 12, 5, 22, 0, 0, 0, time.UTC),
		"resets tomorrow at 11:30pm (UTC)":                      at(29, 23, 30),
		"again at 9:00 PM on Nov 30th":                          at(30, 21, 0),
		"resets 3 Dec at 9am (UTC)":                             time.Date(2026, 12, 3, 9, 0, 0, 0, time.UTC),
		"Retry-After: Tue, 01 Dec 2026 00:00:05 GMT":            time.Date(2026, 12, 1, 0, 0, 5, 0, time.UTC),
		"try again in about 4 hours":                            now.Add(4 * time.Hour),
		"Limit resets in: 3h 20m":                               now.Add(200 * time.Minute),
		"resets 1:10am (Atlantis/Main)":                         {},
		"resets 25:10":                                          {},
		"resets 13pm":                                           {},
		"try again at Feb 30th, 2027 1:00 AM":                   {},
		"try again at Nov 29th, 2999 1:00 AM":                   {},
		"try again later":                                       {},
		"at 10 files":                                           {},
		"":                                                      {},
		"in 99999999999999999999 days":                          {},
	} {
		if got := Until(said, now); !got.Equal(want) {
			t.Errorf("%q: %v, want %v", said, got, want)
		}
	}
	// without a zone it is the one of where we are
	if got := Until("resets 3am", now.In(berlin)); !got.Equal(time.Date(2026, 11, 29, 3, 0, 0, 0, berlin)) {
		t.Errorf("3am here is %v", got)
	}
	// and days are the zone's own: where the clock is set back a day has 25 hours
	if got := Until("resets 9am", time.Date(2026, 10, 24, 10, 0, 0, 0, berlin)); got.Hour() != 9 || got.Day() != 25 {
		t.Errorf("9am on the day of the change is %v", got)
	}
}

// However many events there are, they cost little memory: what is promised of
// 200 MB is tried with as much as would show if it were kept. Processor time is
// by `go test -bench`.
func TestMuchCostsLittle(t *testing.T) {
	big := strings.Repeat("a line of what a tool gave, nothing else. ", 25000)
	line := []byte(`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"` + big + `"}]}}` + "\n" +
		`{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"` + big + `"}],"usage":{"output_tokens":1}}}` + "\n")
	r := New(Options{Kind: config.OutputClaude, Log: discard{}})
	var before, m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	most := uint64(0)
	for n := 0; n < 48<<20; n += len(line) {
		for part := range slices.Chunk(line, 32<<10) {
			_, _ = r.Write(part)
		}
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapInuse)
	}
	if grown := int64(most) - int64(before.HeapInuse); grown > 32<<20 {
		t.Errorf("48 MB cost %d MiB", grown>>20)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func BenchmarkEvents(b *testing.B) {
	for _, name := range []string{"claude-edit", "codex-edit", "gemini-edit"} {
		kind, stream := recorded(b, name)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(stream)))
			r := New(Options{Kind: kind, Log: discard{}})
			for b.Loop() {
				_, _ = r.Write(stream)
			}
		})
	}
}

func FuzzReader(f *testing.F) {
	names, err := filepath.Glob("testdata/*.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for i, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint8(i), uint8(11))
	}
	f.Fuzz(func(t *testing.T, stream []byte, which, size uint8) {
		kind := kinds[int(which)%len(kinds)]
		whole, log, cut := read(t, kind, stream, max(1, len(stream)))
		parts, log2, cut2 := read(t, kind, stream, int(size)+1)
		if whole.Text() != parts.Text() || log != log2 || cut != cut2 || !same(whole.Problem(1), parts.Problem(1)) {
			t.Errorf("%s: read in pieces of %d it is another", kind, size)
		}
		if kind == config.OutputText && log != string(stream) {
			t.Errorf("the log of lines for people is another")
		}
	})
}

func same(a, b Problem) bool { return a.Code == b.Code && a.Said == b.Said && a.Until.Equal(b.Until) }

// What a program says of the time counts wherever it stands in a long sentence, in
// seconds or in milliseconds.
func TestUntilOfProblem(t *testing.T) {
	now := time.Date(2026, 11, 28, 23, 5, 0, 0, time.UTC)
	for _, c := range []struct {
		kind, said string
		want       time.Time
	}{
		{config.OutputGemini, `{"type":"result","status":"error","error":{"type":"ApiError","message":"You exceeded your current quota, ` + strings.Repeat("see https://example.org/quota, ", 10) + `\n* Quota exceeded for metric: requests, limit: 20\nPlease retry in 34.5s."}}`, now.Add(34500 * time.Millisecond)},
		{config.OutputText, "You've hit your usage limit. " + strings.Repeat("x", 160) + " try again at 1:08 PM.", time.Date(2026, 11, 29, 13, 8, 0, 0, time.UTC)},
		{config.OutputClaude, `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1795914600000}}` + "\n" + `{"type":"result","is_error":true,"result":"limit","api_error":"usage_limit_reached"}`, time.Unix(1795914600, 0)},
	} {
		r := New(Options{Kind: c.kind, Log: io.Discard, Now: func() time.Time { return now }})
		_, _ = r.Write([]byte(c.said + "\n"))
		r.Close()
		if p := r.Problem(1); p.Code != fault.ProviderLimit || !p.Until.Equal(c.want) || len(p.Said) > 210 {
			t.Errorf("%s: %+v, want until %v", c.kind, p, c.want)
		}
	}
}

func FuzzUntil(f *testing.F) {
	for _, s := range []string{"resets 1:10am (UTC)", "try again at Nov 29th, 2026 1:08 AM", "in 2 h", "|1795914600", "2026-11-29T02:00:00Z"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) { Until(s, now) })
}
