package cmd

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"aiflow/internal/fault"
)

var update = flag.Bool("update", false, "write the published files instead of comparing them")

// TestExitCodesArePublished keeps docs/exit-codes.md the same as the code.
func TestExitCodesArePublished(t *testing.T) {
	const path = "../docs/exit-codes.md"
	want := exitCodes()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what internal/fault says; go test ./cmd -run Published -update", path)
	}
}

func statuses() [][2]string {
	return [][2]string{
		{"0", "done, or nothing to do"},
		{"1", "the answer is no, where a flag asked for that (`aiflow-next --exit-code`)"},
		{"2", "the input is wrong: command line, request file, configuration"},
		{"3", "the environment is not ready: git, a folder, a port, a program"},
		{"4", "somebody else holds a lock, or the request cannot run now"},
		{"5", "a model's answer cannot be used"},
		{"6", "git refused"},
		{"7", "a test failed"},
		{"8", "a step failed, was too large or took too long"},
		{"9", "a mistake in aiflow, or its record cannot be written"},
		{"129, 130, 143", "stopped by SIGHUP, SIGINT, SIGTERM; the run can be resumed"},
		{"141", "the reader of the output went away"},
	}
}

func exitCodes() string {
	var b strings.Builder
	b.WriteString("# Exit statuses and reason codes\n\n" +
		"Every binary ends with one of these. A failure is one line on stderr, `NAME: REASON_CODE: text`, then hints;\n" +
		"with `--json` also `{\"ok\":false,\"error\":{category,reason_code,message,actions[],context{}}}` on stdout.\n" +
		"A status or a code never changes its meaning; new ones may come.\n\n| exit | meaning |\n|---|---|\n")
	for _, s := range statuses() {
		fmt.Fprintf(&b, "| %s | %s |\n", s[0], s[1])
	}
	b.WriteString("\n\"Again\" says whether the same command may succeed later with nothing changed.\n\n" +
		"| reason code | exit | HTTP | category | severity | again |\n|---|---|---|---|---|---|\n")
	for _, c := range byExit() {
		info := c.Info()
		fmt.Fprintf(&b, "| %s | %d | %d | %s | %s | %s |\n", c, info.Exit, info.HTTP, info.Category, info.Severity, yes(info.Retryable))
	}
	return b.String()
}

func byExit() []fault.Code {
	codes := fault.Codes()
	sort.SliceStable(codes, func(i, j int) bool { return codes[i].Info().Exit < codes[j].Info().Exit })
	return codes
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

func TestEveryExitStatusIsExplained(t *testing.T) {
	explained := map[string]bool{}
	for _, s := range statuses() {
		for _, n := range strings.Split(s[0], ", ") {
			explained[n] = true
		}
	}
	for _, c := range fault.Codes() {
		if n := fmt.Sprint(c.Info().Exit); !explained[n] {
			t.Errorf("%s ends with %s, which docs/exit-codes.md does not explain", c, n)
		}
	}
}

// injected are the tests of the codes that no script can bring about: what is
// wrong is put in by the test.
var injected = map[fault.Code]string{
	fault.AccessDenied:       "server.TestWhoMayCall",
	fault.MaxDurationReached: "runner.TestWhatEndsASession",
	fault.FailedInARow:       "runner.TestWhatEndsASession",
	fault.MaxSkipsReached:    "runner.TestWhatEndsASession",
	fault.LockStaleDetected:  "locks.TestCase07NoFlock",
	fault.StageWriteFailed:   "runs.TestFullDiskSaysSo",
	fault.InternalError:      "cmd/internal/cli.TestExitStatus",
	fault.UnknownError:       "runs.TestErrorsOfOtherKinds",
}

// TestEveryCodeIsMet: each code has a producer, and a script in which a person
// meets it or the test that is named for it.
func TestEveryCodeIsMet(t *testing.T) {
	names, used, met := codeNames(t), producers(t), expected(t)
	for _, c := range fault.Codes() {
		name := names[c]
		if !used[name] {
			t.Errorf("%s is never given: no code but a test says fault.%s", c, name)
		}
		test, listed := injected[c]
		switch {
		case met[string(c)] && listed:
			t.Errorf("%s is met in a script; %s need not be named", c, test)
		case met[string(c)]:
		case !listed:
			t.Errorf("no script expects %s, and no test is named for it", c)
		case !testSays(t, test, "fault."+name, string(c)):
			t.Errorf("%s: %s is not there, or does not say fault.%s or %s", c, test, name, c)
		}
	}
	if testSays(t, "server.TestWhoMayCall", "fault.Nothing", "NOTHING_OF_THE_KIND") || testSays(t, "server.TestNothing", "") {
		t.Error("negative control: a test is found that is not there")
	}
}

// codeNames are the constants of the codes.
func codeNames(t *testing.T) map[fault.Code]string {
	t.Helper()
	names := map[fault.Code]string{}
	text, err := os.ReadFile("../internal/fault/codes.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+) +Code = "(\w+)"`).FindAllSubmatch(text, -1) {
		names[fault.Code(m[2])] = string(m[1])
	}
	return names
}

// producers are the constants that the programs use.
func producers(t *testing.T) map[string]bool {
	t.Helper()
	used := map[string]bool{}
	re := regexp.MustCompile(`\bfault\.([A-Z]\w+)`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "node_modules" {
			return fs.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range re.FindAllSubmatch(text, -1) {
			used[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return used
}

// expected are the codes that scripts want to see: neither in a comment nor in
// a file of theirs, and not where they must not be.
func expected(t *testing.T) map[string]bool {
	t.Helper()
	met := map[string]bool{}
	code, conditions := regexp.MustCompile(`\b[A-Z][A-Z0-9_]+\b`), regexp.MustCompile(`^(\[[^\]]*\] *)+`)
	err := filepath.WalkDir(scripts, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".txtar" {
			return err
		}
		text, err := os.ReadFile(path)
		script, _, _ := strings.Cut(string(text), "\n-- ")
		for line := range strings.Lines(script) {
			switch word, _, _ := strings.Cut(conditions.ReplaceAllString(line, ""), " "); word {
			case "stdout", "stderr", "json", "grep", "exec":
				for _, c := range code.FindAllString(line, -1) {
					met[c] = true
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return met
}

// testSays looks for a test, and for one of the words in it.
func testSays(t *testing.T, name string, words ...string) bool {
	t.Helper()
	dir, function, _ := strings.Cut(name, ".Test")
	files, err := filepath.Glob(filepath.Join("..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, body, found := strings.Cut(string(text), "\nfunc Test"+function+"(t *testing.T) {\n")
		body, _, _ = strings.Cut(body, "\n}\n")
		for _, word := range words {
			if found && strings.Contains(body, word) {
				return true
			}
		}
	}
	return false
}
