package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	urfave "github.com/urfave/cli/v2"

	"aiflow/internal/config"
	"aiflow/internal/fault"
)

// answer is what a program left behind.
type answer struct {
	status      int
	out, errout string
}

type world struct {
	env   map[string]string
	build func(*Shell) *urfave.App
}

func (w world) run(args ...string) answer {
	var out, errout bytes.Buffer
	p := Process{
		Args: append([]string{"prog"}, args...), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errout,
		Getenv:  func(k string) string { return w.env[k] },
		Environ: func() []string { return nil },
		Now:     func() time.Time { return time.Unix(0, 0) },
		Version: "1.2.3", Commit: "abc",
	}
	build := w.build
	if build == nil {
		build = sample
	}
	return answer{Main(p, build), out.String(), errout.String()}
}

// sample prints what it was given.
func sample(s *Shell) *urfave.App {
	var n int
	var name string
	var all bool
	say := func(c *urfave.Context) error {
		s.Printf("%s n=%d name=%q all=%v args=%q json=%v\n", c.App.Name, n, name, all, c.Args().Slice(), s.JSON)
		return nil
	}
	flags := []urfave.Flag{
		&urfave.IntFlag{Name: "plan", Aliases: []string{"n"}, Usage: "plan `N` requests", Destination: &n},
		&urfave.BoolFlag{Name: "all", Usage: "all of them", Destination: &all},
	}
	return &urfave.App{
		Name: "aiflow-x", Usage: "does things", Flags: flags, ArgsUsage: "[ID...]", Action: say,
		UsageText: "aiflow-x RQ-1\naiflow-x show RQ-1",
		Commands: []*urfave.Command{
			{Name: "show", Usage: "show one", ArgsUsage: "ID", Action: say, Flags: []urfave.Flag{
				&urfave.StringFlag{Name: "name", Usage: "cli.hint", Destination: &name},
			}},
			{Name: "list", Usage: "list them", Action: say, Flags: []urfave.Flag{&urfave.DurationFlag{Name: "for"}}},
			{Name: "set", ArgsUsage: "ID KEY=VALUE...", Action: say, Flags: []urfave.Flag{
				&urfave.StringFlag{Name: "why", Required: true},
			}},
			{
				Name: "group", Usage: "of commands", Subcommands: []*urfave.Command{{Name: "inner", Action: say}},
				Flags: []urfave.Flag{&urfave.BoolFlag{Name: "deep", Destination: &all}},
			},
			{Name: "twin", Hidden: true, Action: say, Flags: flags[1:]},
			{Name: "secret", Hidden: true, Action: say},
		},
	}
}

func TestFlagsStandAnywhere(t *testing.T) {
	for line, want := range map[string]string{
		"":                              `aiflow-x n=0 name="" all=false args=[] json=false`,
		"RQ-1 --plan 3":                 `aiflow-x n=3 name="" all=false args=["RQ-1"] json=false`,
		"--plan=3 RQ-1":                 `aiflow-x n=3 name="" all=false args=["RQ-1"] json=false`,
		"-n 3 A --json B --all":         `aiflow-x n=3 name="" all=true args=["A" "B"] json=true`,
		"--json show RQ-1":              `aiflow-x show n=0 name="" all=false args=["RQ-1"] json=true`,
		"show RQ-1 --name x --json":     `aiflow-x show n=0 name="x" all=false args=["RQ-1"] json=true`,
		"show --name=x RQ-1":            `aiflow-x show n=0 name="x" all=false args=["RQ-1"] json=false`,
		"group inner --deep":            `aiflow-x group inner n=0 name="" all=true args=[] json=false`,
		"group --deep inner":            `aiflow-x group inner n=0 name="" all=true args=[] json=false`,
		"--all twin":                    `aiflow-x twin n=0 name="" all=true args=[] json=false`,
		"twin --all":                    `aiflow-x twin n=0 name="" all=true args=[] json=false`,
		"-- --plan -x":                  `aiflow-x n=0 name="" all=false args=["--plan" "-x"] json=false`,
		"-- show":                       `aiflow-x n=0 name="" all=false args=["show"] json=false`,
		"show -- --json":                `aiflow-x show n=0 name="" all=false args=["--json"] json=false`,
		"show -":                        `aiflow-x show n=0 name="" all=false args=["-"] json=false`,
		"RQ-1 show":                     `aiflow-x n=0 name="" all=false args=["RQ-1" "show"] json=false`,
		"set RQ-1 a=b --why c d=e":      `aiflow-x set n=0 name="" all=false args=["RQ-1" "a=b" "d=e"] json=false`,
		"group inner --json":            `aiflow-x group inner n=0 name="" all=false args=[] json=true`,
		"group --json=false inner":      `aiflow-x group inner n=0 name="" all=false args=[] json=false`,
		"show RQ-1 --name -- --name=-a": `aiflow-x show n=0 name="-a" all=false args=["RQ-1"] json=false`,
		"plan":                          `aiflow-x n=0 name="" all=false args=["plan"] json=false`,
	} {
		got := world{}.run(strings.Fields(line)...)
		if got.status != 0 || got.out != want+"\n" {
			t.Errorf("%s:\n got %d %s%s\nwant %s", line, got.status, got.out, got.errout, want)
		}
	}
}

// What a flag says by itself arrives whether or not another is given.
func TestWhatFlagsSayUnasked(t *testing.T) {
	for want, flag := range map[string]urfave.Flag{
		"true 0  0s []":   &urfave.BoolFlag{Name: "yes", Value: true},
		"false 7  0s []":  &urfave.IntFlag{Name: "n", Value: 7},
		"false 0 x 0s []": &urfave.StringFlag{Name: "word", Value: "x"},
		"false 0  1s []":  &urfave.DurationFlag{Name: "for", Value: time.Second},
		"false 0  0s [a]": &urfave.StringSliceFlag{Name: "list", Value: urfave.NewStringSlice("a")},
		"false 0  0s []":  &urfave.StringFlag{Name: "none"},
	} {
		build := func(s *Shell) *urfave.App {
			return &urfave.App{
				Name: "aiflow-x", ArgsUsage: "[ID...]", Flags: []urfave.Flag{flag, &urfave.BoolFlag{Name: "other"}},
				Action: func(c *urfave.Context) error {
					s.Printf("%v %v %v %v %v", c.Bool("yes"), c.Int("n"), c.String("word"), c.Duration("for"), c.StringSlice("list"))
					return nil
				},
			}
		}
		for _, line := range [][]string{{"A"}, {"--other", "A"}} {
			if got := (world{build: build}).run(line...); got.out != want || got.status != 0 {
				t.Errorf("%v %v: %q, want %q; %s", flag, line, got.out, want, got.errout)
			}
		}
	}
}

func TestUsageErrors(t *testing.T) {
	for line, want := range map[string]string{
		"--plna 3":            "aiflow-x has no flag --plna; did you mean --plan?",
		"--zebra":             "aiflow-x has no flag --zebra",
		"show RQ-1 --jsno":    "aiflow-x show has no flag --jsno; did you mean --json?",
		"--plan":              "--plan needs a value",
		"--plan x":            "--plan cannot be x; allowed: a whole number",
		"-n=x":                "-n cannot be x; allowed: a whole number",
		"--plan=":             "--plan needs a value",
		"--all=perhaps":       "--all cannot be perhaps; allowed: true, false",
		"list --for 5":        "--for cannot be 5; allowed: a time with its unit",
		"list --for -5s":      "--for cannot be -5s; allowed: a time with its unit",
		"show RQ-1 --all":     "aiflow-x show has no flag --all; that is a flag of aiflow-x itself",
		"--all show RQ-1":     "aiflow-x show has no flag --all; that is a flag of aiflow-x itself",
		"--plan 3 list":       "aiflow-x list has no flag --plan; that is a flag of aiflow-x itself",
		"list -n=3":           "aiflow-x list has no flag -n; that is a flag of aiflow-x itself",
		"--json=perhaps":      "--json cannot be perhaps; allowed: true, false",
		"--lang":              "--lang needs a value",
		"--lang fr":           "--lang cannot be fr; allowed: ja, en",
		"show":                "aiflow-x show needs ID",
		"show A B":            "aiflow-x show has no use for the argument B",
		"list A":              "aiflow-x list has no use for the argument A",
		"set RQ-1 --why x":    "aiflow-x set needs KEY=VALUE",
		"set RQ-1 a=b":        "aiflow-x set needs --why",
		"group innre":         "aiflow-x group has no command innre; did you mean inner?",
		"group banana":        "aiflow-x group has no command banana",
		"show \x1b[31m --bad": `aiflow-x show has no flag --bad`,
	} {
		got := world{}.run(strings.Fields(line)...)
		first, hint, _ := strings.Cut(got.errout, "\n")
		if got.status != 2 || got.out != "" || !strings.HasPrefix(first, "aiflow-x: USAGE_ERROR: ") || !strings.Contains(first, want) {
			t.Errorf("%s: status %d, stdout %q, stderr %q", line, got.status, got.out, got.errout)
		}
		if !strings.HasPrefix(hint, "  hint: ") {
			t.Errorf("%s: no hint: %q", line, got.errout)
		}
	}
}

func TestErrorAsJSON(t *testing.T) {
	got := world{}.run("--plna", "--json")
	var body struct {
		OK    *bool
		Error ErrorBody
	}
	if err := json.Unmarshal([]byte(got.out), &body); err != nil {
		t.Fatalf("%v: %q", err, got.out)
	}
	e := body.Error
	if body.OK == nil || *body.OK || e.Category != fault.Input || e.ReasonCode != fault.UsageError || len(e.Actions) == 0 {
		t.Errorf("%+v", e)
	}
	if want := (fault.Facts{"name": "--plna", "near": "--plan", "command": "aiflow-x", "cause": "aiflow-x has no flag --plna; did you mean --plan?"}); fmt.Sprint(e.Context) != fmt.Sprint(want) {
		t.Errorf("context %v, want %v", e.Context, want)
	}
	if !strings.HasPrefix(got.errout, "aiflow-x: USAGE_ERROR: ") || got.status != 2 {
		t.Errorf("%d %q", got.status, got.errout)
	}
}

// failing is a program whose action ends with err after it printed a word.
func failing(err error) world {
	return world{build: func(s *Shell) *urfave.App {
		return &urfave.App{Name: "aiflow-x", Action: func(*urfave.Context) error {
			s.Printf("word\n")
			return err
		}}
	}}
}

func TestExitStatus(t *testing.T) {
	for _, tc := range []struct {
		err     error
		status  int
		message string
	}{
		{nil, 0, ""},
		{Exit(1), 1, ""},
		{fmt.Errorf("deep: %w", Exit(3)), 3, ""},
		{fault.New(fault.RunInProgress, "pid", 7, "host", "a\x1bb"), 4, "aiflow-x: RUN_IN_PROGRESS: "},
		{errors.New("boom"), 9, "aiflow-x: INTERNAL_ERROR: "},
		{fault.New(fault.Interrupted), 130, "aiflow-x: INTERRUPTED: "},
		{urfave.Exit("cli's own", 5), 9, "aiflow-x: INTERNAL_ERROR: "},
		{fmt.Errorf("write: %w", syscall.EPIPE), 141, ""},
		{Reported(fault.New(fault.UnitTestFailed)), 7, "aiflow-x: UNIT_TEST_FAILED: "},
		{Reported(nil), 0, ""},
	} {
		got := failing(tc.err).run()
		if got.status != tc.status || got.out != "word\n" || !strings.HasPrefix(got.errout, tc.message) || tc.message == "" && got.errout != "" {
			t.Errorf("%v: %+v", tc.err, got)
		}
		if strings.Contains(got.errout, "\x1b") {
			t.Errorf("%v: a control character came through: %q", tc.err, got.errout)
		}
	}
}

func TestReportedPrintsNoSecondBody(t *testing.T) {
	got := failing(Reported(fault.New(fault.UnitTestFailed))).run("--json")
	if got.out != "word\n" || got.status != 7 {
		t.Errorf("%+v", got)
	}
	got = failing(fault.New(fault.UnitTestFailed)).run("--json")
	if !strings.HasPrefix(got.out, "word\n{\"ok\":false,") {
		t.Errorf("negative control: %+v", got)
	}
}

func TestPanicIsOneShortText(t *testing.T) {
	w := world{env: map[string]string{}, build: func(s *Shell) *urfave.App {
		return &urfave.App{Name: "aiflow-x", Action: func(*urfave.Context) error {
			s.Printf("half\n")
			panic("lost the plot")
		}}
	}}
	got := w.run()
	if got.status != 9 || got.out != "half\n" || !strings.Contains(got.errout, "INTERNAL_ERROR") || !strings.Contains(got.errout, "lost the plot") {
		t.Errorf("%+v", got)
	}
	if strings.Contains(got.errout, "goroutine") {
		t.Errorf("a stack for everybody: %q", got.errout)
	}
	w.env["AIFLOW_DEBUG"] = "1"
	if got := w.run(); !strings.Contains(got.errout, "goroutine") {
		t.Errorf("no stack for the curious: %q", got.errout)
	}
}

func TestLanguage(t *testing.T) {
	for _, tc := range []struct {
		env    map[string]string
		args   []string
		config string
		want   string
	}{
		{nil, nil, "", "en"},
		{map[string]string{"LANG": "ja_JP.UTF-8"}, nil, "", "ja"},
		{map[string]string{"LANG": "ja_JP.UTF-8", "LC_ALL": "C"}, nil, "", "en"},
		{map[string]string{"LANG": "ja_JP.UTF-8", "AIFLOW_LANG": "en"}, nil, "", "en"},
		{map[string]string{"AIFLOW_LANG": "en"}, []string{"--lang", "ja"}, "", "ja"},
		{nil, nil, "ja", "ja"},
		{map[string]string{"AIFLOW_LANG": "en"}, nil, "ja", "en"},
		{nil, []string{"--lang=en"}, "ja", "en"},
		{map[string]string{"AIFLOW_LANG": "fr", "LANG": "ja"}, nil, "", "ja"},
	} {
		var lang, word string
		w := world{env: tc.env, build: func(s *Shell) *urfave.App {
			return &urfave.App{Name: "x", Action: func(*urfave.Context) error {
				s.Adopt(config.Config{Lang: tc.config}, nil)
				lang, word = s.Lang(), s.Text("cli.warning")
				return nil
			}}
		}}
		w.run(tc.args...)
		if words := map[string]string{"en": "warning", "ja": "警告"}; lang != tc.want || word != words[tc.want] {
			t.Errorf("%v %v %s: %s %s, want %s", tc.env, tc.args, tc.config, lang, word, tc.want)
		}
	}
}

func TestHelp(t *testing.T) {
	want := `aiflow-x - does things

Usage:
  aiflow-x [COMMAND] [--FLAG...] [ID...]

Commands:
  group                of commands
  list                 list them
  set ID KEY=VALUE...
  show ID              show one

Flags:
  --all         all of them
  --plan, -n N  plan N requests

Flags of every command:
  --config FILE  read FILE instead of .aiflow/config.v1.json
  --help, -h     show this help
  --json         print JSON on standard output, errors too
  --lang LANG    say everything in LANG: ja or en
  --no-color     print without colour (also: NO_COLOR=1)
  --version      show version and commit

Examples:
  aiflow-x RQ-1
  aiflow-x show RQ-1
`
	for _, line := range []string{"--help", "-h", "help", "RQ-1 --help --bad"} {
		got := world{}.run(strings.Fields(line)...)
		if got.status != 0 || got.out != want || got.errout != "" {
			t.Errorf("%s: %d %s\n%s", line, got.status, got.errout, got.out)
		}
	}
	for _, line := range []string{"show --help", "help show", "--help show"} {
		got := world{}.run(strings.Fields(line)...)
		if !strings.HasPrefix(got.out, "aiflow-x show - show one\n\nUsage:\n  aiflow-x show [--FLAG...] ID\n") || !strings.Contains(got.out, "--name VALUE  hint\n") || strings.Contains(got.out, "--plan") {
			t.Errorf("%s: %s", line, got.out)
		}
	}
	if got := (world{}).run("group", "help", "bogus"); got.status != 2 || !strings.Contains(got.errout, "has no command bogus") {
		t.Errorf("help bogus: %d %s", got.status, got.errout)
	}
	if got := (world{}).run("show", "--help", "--lang", "ja"); !strings.Contains(got.out, "使い方：") || !strings.Contains(got.out, "対処") {
		t.Errorf("not Japanese: %s", got.out)
	}
}

func TestHelpAsJSON(t *testing.T) {
	for _, line := range []string{"--help --json", "help --json", "--json help"} {
		got := world{}.run(strings.Fields(line)...)
		var body helpBody
		if err := json.Unmarshal([]byte(got.out), &body); err != nil || got.status != 0 {
			t.Fatalf("%s: %v: %+v", line, err, got)
		}
		if body.Command != "aiflow-x" || body.Usage != "aiflow-x [COMMAND] [--FLAG...] [ID...]" || fmt.Sprint(body.Examples) != "[aiflow-x RQ-1 aiflow-x show RQ-1]" {
			t.Errorf("%+v", body)
		}
		if want := (helpCommand{"show", "ID", "show one"}); body.Commands[0] != want {
			t.Errorf("commands %+v", body.Commands)
		}
		if f := body.Flags[0]; fmt.Sprint(f) != "{[--plan -n] N plan N requests}" {
			t.Errorf("flags %+v", body.Flags)
		}
	}
}

func TestNoCommandShowsHelpAndFails(t *testing.T) {
	got := world{}.run("group")
	if got.status != 2 || got.out != "" || !strings.HasPrefix(got.errout, "aiflow-x group - of commands\n") {
		t.Errorf("%+v", got)
	}
	if got := (world{}).run("group", "--json"); got.status != 2 || !strings.Contains(got.out, "USAGE_ERROR") {
		t.Errorf("%+v", got)
	}
}

func TestVersion(t *testing.T) {
	if got := (world{}).run("--version"); got.out != "aiflow-x 1.2.3 (abc)\n" || got.status != 0 {
		t.Errorf("%+v", got)
	}
	if got := (world{}).run("--version", "--json"); !strings.HasPrefix(got.out, `{"commit":"abc","go":"go`) {
		t.Errorf("%+v", got)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestReaderThatWentAwayIsQuiet(t *testing.T) {
	var errout bytes.Buffer
	p := Process{
		Args: []string{"x"}, Stdout: brokenPipe{}, Stderr: &errout, Getenv: func(string) string { return "" },
		Now: func() time.Time { return time.Unix(0, 0) },
	}
	if status := Main(p, sample); status != 141 || errout.String() != "" {
		t.Errorf("%d %q", status, errout.String())
	}
}

func TestWarnings(t *testing.T) {
	w := world{build: func(s *Shell) *urfave.App {
		return &urfave.App{Name: "aiflow-x", Action: func(*urfave.Context) error {
			s.Warn("cli.usage_missing_value", fault.Facts{"name": "a\nb"})
			return nil
		}}
	}}
	if got := w.run(); got.errout != "aiflow-x: warning: a\\nb needs a value\n" {
		t.Errorf("%q", got.errout)
	}
}

func TestArity(t *testing.T) {
	for usage, want := range map[string][2]int{
		"":                   {0, 0},
		"ID":                 {1, 1},
		"[ID]":               {0, 1},
		"ID [FILE...]":       {1, -1},
		"[ID…]":              {0, -1},
		"A B":                {2, 2},
		"NAME -- COMMAND...": {2, -1},
		"[A...] B":           {1, -1},
	} {
		least, most, _ := arity(usage)
		if least != want[0] || most != want[1] {
			t.Errorf("%q: %d, %d", usage, least, most)
		}
	}
}

func TestSignalEndsContext(t *testing.T) {
	w := world{build: func(s *Shell) *urfave.App {
		return &urfave.App{Name: "aiflow-x", Action: func(*urfave.Context) error {
			ctx := s.Context()
			if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		}}
	}}
	if got := w.run(); got.status != 143 || !strings.HasPrefix(got.errout, "aiflow-x: INTERRUPTED: ") {
		t.Errorf("%+v", got)
	}
}

func TestComplete(t *testing.T) {
	for _, tc := range []struct {
		words []string
		want  string
	}{
		{nil, "group list set show"},
		{[]string{""}, "group list set show"},
		{[]string{"s"}, "set show"},
		{[]string{"--p"}, "--plan"},
		{[]string{"show", "--na"}, "--name"},
		{[]string{"show", "--pl"}, ""},
		{[]string{"group", "inner", "--d"}, "--deep"},
		{[]string{"group", "--d"}, "--deep"},
		{[]string{"--lang", ""}, "en ja"},
		{[]string{"show", "--lang=j"}, "--lang=ja"},
		{[]string{"--plan", ""}, ""},
		{[]string{"--", ""}, ""},
		{[]string{"show", ""}, ""},
		{[]string{"group", ""}, "inner"},
		{[]string{"--plan", "3", "--j"}, "--json"},
	} {
		got := world{}.run(append([]string{"--complete"}, tc.words...)...)
		if s := strings.Join(strings.Fields(got.out), " "); s != tc.want || got.status != 0 {
			t.Errorf("%q: %q, want %q", tc.words, s, tc.want)
		}
	}
	w := world{build: func(s *Shell) *urfave.App {
		return &urfave.App{
			Name: "x", ArgsUsage: "ID", Action: func(*urfave.Context) error { return nil },
			Flags: []urfave.Flag{&urfave.StringFlag{Name: "mode"}, &urfave.StringFlag{Name: "other"}},
			BashComplete: Offer(func(a Asked) []string {
				return []string{"RQ-1", "RQ-2", strings.Join(append(a.Args, "RQ", a.Word), "+")}
			}, map[string]Candidates{"mode": Words("fast", "slow")}),
		}
	}}
	for line, want := range map[string]string{
		"RQ-2": "RQ-2", "A RQ-": "RQ-1 RQ-2", "A A": "A+RQ+A", "--mode f": "fast", "--mode=s": "--mode=slow",
		"--other R": "", "--other=R": "", "--mode fast RQ-1": "RQ-1",
	} {
		got := w.run(append([]string{"--complete"}, strings.Fields(line)...)...)
		if s := strings.Join(strings.Fields(got.out), " "); s != want || got.errout != "" {
			t.Errorf("%s: %q, want %q", line, s, want)
		}
	}
}

func TestNearMissOfACommandThatIsNoRequest(t *testing.T) {
	w := world{build: func(s *Shell) *urfave.App {
		return &urfave.App{
			Name: "x", ArgsUsage: "ID", Flags: []urfave.Flag{&urfave.BoolFlag{Name: "next"}},
			Action:   func(c *urfave.Context) error { return fault.New(fault.RequestNotFound, "id", c.Args().First()) },
			Commands: []*urfave.Command{{Name: "list"}},
		}
	}}
	for word, want := range map[string]string{"lst": "Did you mean list?", "nxet": "Did you mean --next?", "RQ-1": "There is no such request: RQ-1.\n"} {
		if got := w.run(word); !strings.Contains(got.errout, want) {
			t.Errorf("%s: %s", word, got.errout)
		}
	}
}
