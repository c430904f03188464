package cmd

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"aiflow/internal/fault"
	"aiflow/messages"
	"aiflow/runs"
)

var (
	quotedRE  = regexp.MustCompile("`(aiflow[ -][^`]*)`")
	codeRE    = regexp.MustCompile("`[^`]*`")
	bareRE    = regexp.MustCompile(`(?:^|[^-./\w])(aiflow [a-z][^,;:()。、：；（）「」]*)`)
	proseRE   = regexp.MustCompile(`^aiflow (is|project|from|changes)\b`)
	exampleRE = regexp.MustCompile(`<[^>]*>|"[^"]*"`)
)

// Every command that a hint or another text tells people to type is one that
// the programs take: known, with known flags and as many arguments as it needs.
func TestHintsCanBeTyped(t *testing.T) {
	lines := append(hints(), spoken(t)...)
	slices.Sort(lines)
	lines = slices.Compact(lines)
	if len(lines) < 65 {
		t.Fatalf("only %d commands in the hints: %q", len(lines), lines)
	}
	for _, line := range lines {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			if out, refused := typed(t, line); refused {
				t.Errorf("%s", out)
			}
		})
	}
	for _, line := range []string{"aiflow lock release", "aiflow lock release --queues", "aiflow hook status says why", "aiflow run --fresh", "aiflow run", "aiflow run resume --mod x", "aiflow request edit", "aiflow nothing"} {
		if out, refused := typed(t, line); !refused {
			t.Errorf("%s is not refused: %s", line, out)
		}
	}
}

// known is what may be known about the run and what stands in its way.
func known() fault.Facts {
	return fault.WithAdvice(fault.NewFacts("run_id", "RUN-20260101-000000-abcdef", "request_id", "RQ-1", "id", "RQ-1", "command", "x", "path", "p",
		"flag", "--name n", "fresh", "aiflow run RQ-1 --fresh", "branch", "b", "all", "3", "name", "husky", "count", "1", "dir", "requests"), everyWay())
}

// everyWay is the advice about a run in each state that has another.
func everyWay() (list []fault.Advice) {
	for _, s := range []runs.Stage{{State: runs.NeedsInput}, {State: runs.Done}, {State: runs.NeedsInput, ReplacedBy: "RUN-20260101-000000-abcdef"}} {
		s.RequestID, s.RunID = "RQ-1", "RUN-20260101-000000-abcdef"
		list = append(list, runs.Advise(&s, nil, runs.Now{Branch: true, Live: s.State == runs.Done})...)
	}
	return list
}

// hints are the commands in the actions of all codes, with and without what
// may be known.
func hints() []string {
	var lines []string
	for _, lang := range []string{"ja", "en"} {
		c := messages.Open(lang)
		for _, code := range fault.Codes() {
			for _, facts := range []fault.Facts{nil, known()} {
				for _, action := range c.Code(code, facts).Actions {
					for _, m := range quotedRE.FindAllStringSubmatch(action, -1) {
						lines = append(lines, m[1])
					}
				}
			}
		}
	}
	return lines
}

// spoken are the commands in all other texts: in backticks, or from the name of
// a program to the end or the next mark.
func spoken(t *testing.T) []string {
	t.Helper()
	var lines []string
	for _, lang := range []string{"ja", "en"} {
		c := messages.Open(lang)
		for _, key := range texts(t, lang) {
			text := c.Text(key, known())
			if key == "cli.usage" || strings.HasSuffix(key, ".usage") {
				continue // the name of a program, not a command
			}
			for _, m := range quotedRE.FindAllStringSubmatch(text, -1) {
				lines = append(lines, m[1])
			}
			for _, m := range bareRE.FindAllStringSubmatch(codeRE.ReplaceAllString(text, ""), -1) {
				if !proseRE.MatchString(m[1]) {
					lines = append(lines, strings.TrimSpace(m[1]))
				}
			}
		}
	}
	return lines
}

// texts are the keys of all sentences but those of the reason codes.
func texts(t *testing.T, lang string) []string {
	t.Helper()
	files, err := filepath.Glob("../messages/text/" + lang + "/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no texts: %v", err)
	}
	var keys []string
	for _, file := range files {
		area := strings.TrimSuffix(filepath.Base(file), ".json")
		if area == "codes" {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		if err := json.Unmarshal(data, &all); err != nil {
			t.Fatal(err)
		}
		for key := range all {
			keys = append(keys, area+"."+key)
		}
	}
	return keys
}

// typed runs a command where there is no project and reports whether its
// command line was refused.
func typed(t *testing.T, line string) (out string, refused bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	line = strings.ReplaceAll(line, "<number>", "4310")
	line = strings.ReplaceAll(line, "<番号>", "4310")
	words := strings.Fields(exampleRE.ReplaceAllString(line, "RQ-1"))
	cmd := exec.CommandContext(ctx, filepath.Join(bin, words[0]), append(words[1:], "--json")...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "LC_ALL=C", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(cmd.Dir)}
	data, _ := cmd.Output() // its exit status says less than its code
	var v struct {
		Error struct {
			ReasonCode fault.Code `json:"reason_code"`
		}
	}
	_ = json.Unmarshal(data, &v)
	return string(data), v.Error.ReasonCode == fault.UsageError
}
