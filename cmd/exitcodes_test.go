package cmd

import (
	"flag"
	"fmt"
	"os"
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
