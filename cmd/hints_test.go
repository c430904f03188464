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
)

var (
	quotedRE  = regexp.MustCompile("`(aiflow[ -][^`]*)`")
	exampleRE = regexp.MustCompile(`<[^>]*>|"[^"]*"`)
)

// Every command that a hint tells people to type is one that the programs
// take: known, with known flags and as many arguments as it needs.
func TestHintsCanBeTyped(t *testing.T) {
	lines := hints()
	if len(lines) < 40 {
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
	for _, line := range []string{"aiflow run --fresh", "aiflow run", "aiflow run resume --mod x", "aiflow request edit", "aiflow nothing"} {
		if out, refused := typed(t, line); !refused {
			t.Errorf("%s is not refused: %s", line, out)
		}
	}
}

// hints are the commands in the actions of all codes, with and without what
// may be known about the run.
func hints() []string {
	known := fault.New("", "run_id", "RUN-20260101-000000-abcdef", "request_id", "RQ-1", "id", "RQ-1", "command", "x", "path", "p").Facts
	var lines []string
	for _, lang := range []string{"ja", "en"} {
		c := messages.Open(lang)
		for _, code := range fault.Codes() {
			for _, facts := range []fault.Facts{nil, known} {
				for _, action := range c.Code(code, facts).Actions {
					for _, m := range quotedRE.FindAllStringSubmatch(action, -1) {
						lines = append(lines, m[1])
					}
				}
			}
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// typed runs a command where there is no project and reports whether its
// command line was refused.
func typed(t *testing.T, line string) (out string, refused bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
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
