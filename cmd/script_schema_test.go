package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"aiflow/internal/verify"
)

// recorder holds what a script saw against docs/schema: each output of a command
// with --json, and at its end the records that are left.
type recorder struct{ *testing.T }

func (r recorder) Run(name string, f func(testscript.T)) {
	r.T.Run(name, func(t *testing.T) { f(recorder{t}) })
}

// Verbose is asked for the whole log, which Log looks through.
func (r recorder) Verbose() bool { return true }

// Log gets the log of a script. What passed before a failure is not shown.
func (r recorder) Log(args ...any) {
	r.Helper()
	text := fmt.Sprint(args...)
	for _, err := range misfits(text) {
		r.Error(err)
	}
	if r.Failed() && !testing.Verbose() {
		text = text[max(0, strings.LastIndex(text, "\n# ")):]
	}
	if r.Failed() || testing.Verbose() {
		r.T.Log(text)
	}
}

var (
	typedRE  = regexp.MustCompile(`(?m)^(?:> |\[background\] )(.*)$`)
	callRE   = regexp.MustCompile(`^(?:\[[^\]]*\] )*(?:! |\? )?(?:exec |exechints |status \d+ )?((?:\S*/)?aiflow(?:-[a-z]+)?)((?: .*)?)$`)
	endRE    = regexp.MustCompile(`: (exit status \d+|signal: .*)$`) // of a background line
	stdoutRE = regexp.MustCompile(`(?m)^\[stdout\]\n`)
)

// misfits are the outputs in a log that are not as their schema says.
func misfits(log string) []error {
	var all []error
	at := typedRE.FindAllStringSubmatchIndex(log, -1)
	for i, m := range at {
		end := len(log)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		line := endRE.ReplaceAllString(log[m[2]:m[3]], "")
		call := callRE.FindStringSubmatch(line)
		out := stdoutRE.FindStringIndex(log[m[1]:end])
		if call == nil || out == nil || strings.ContainsAny(line, "|;>") {
			continue
		}
		words := strings.Fields(strings.Trim(call[2], "'"))
		if !slices.Contains(words, "--json") || strings.Contains(line, " exec --") {
			continue
		}
		if err := fits(filepath.Base(call[1]), words, log[m[1]+out[1]:end]); err != nil {
			all = append(all, fmt.Errorf("%s: %w", line, err))
		}
	}
	return all
}

// fits checks the JSON values that out begins with.
func fits(program string, words []string, out string) error {
	d := json.NewDecoder(strings.NewReader(out))
	for n := 0; ; n++ {
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			if n == 0 && schemaOf(program, words, nil) != "aiflow" { // a program of somebody else
				return fmt.Errorf("no JSON: %w", err)
			}
			return nil
		}
		if value[0] != '{' {
			return nil
		}
		if err := verify.JSON(schemaOf(program, words, value), value); err != nil {
			return err
		}
		if rest := strings.TrimSpace(out[d.InputOffset():]); !strings.HasPrefix(rest, "{") {
			return nil
		}
	}
}

// under are the commands of each program whose answers differ.
var under = map[string][]string{
	"aiflow": {"init", "schema", "version"}, "doctor": nil, "next": nil, "land": nil, "serve": nil,
	"hook":    {"install", "uninstall", "status", "snippet"},
	"lock":    {"list", "release", "events"},
	"queue":   {"init", "add", "push", "list", "show", "cancel", "runners", "namespaces", "watch", "work"},
	"request": {"list", "show", "new", "set", "rm", "edit", "check", "graph", "import", "export"},
	"run":     {"list", "show", "logs", "diff", "stop", "drop", "restack", "clean", "deinit", "auto", "status", "resume"},
}

// same are commands that answer as others do.
var same = map[string]string{
	"hook-uninstall": "hook-install", "run-status": "run-auto", "run-resume": "run", "request": "request-list", "lock": "lock-list",
	"aiflow-init": "init", "aiflow-schema": "schema", "aiflow-version": "version",
}

// special are flags that change the answer.
var special = map[string]map[string]string{
	"--plan": {"next": "next-plan"}, "--explain": {"next": "next-explain"}, "--dry-run": {"run": "run-dry-run", "land": "land-dry-run"},
	"--html": {"run-diff": "run-diff-html"},
}

// schemaOf names the definition of what a command answered.
func schemaOf(program string, words []string, value json.RawMessage) string {
	var refusal map[string]json.RawMessage
	switch _ = json.Unmarshal(value, &refusal); {
	case len(refusal) == 2 && string(refusal["ok"]) == "false" && refusal["error"] != nil:
		return "error"
	case slices.Contains(words, "--help") || slices.Contains(words, "help"):
		return "help"
	case slices.Contains(words, "--version"):
		return "version"
	}
	name := strings.TrimPrefix(program, "aiflow-")
	shorts := map[string]string{"new": "request", "check": "request", "auto": "run", "resume": "run", "stop": "run", "logs": "run", "diff": "run", "deinit": "run"}
	if name == "aiflow" {
		for _, w := range words {
			if _, ok := under[w]; ok {
				name = w
				break
			}
			if slices.Contains(under["aiflow"], w) {
				break
			}
			if shorts[w] != "" {
				name = shorts[w]
				break
			}
		}
	}
	for _, w := range words {
		if slices.Contains(under[name], w) {
			name += "-" + w
			break
		}
	}
	if as, ok := same[name]; ok {
		name = as
	}
	for _, w := range words {
		flag, _, _ := strings.Cut(w, "=")
		if other := special[flag][name]; other != "" {
			return other
		}
	}
	return name
}

// TestMisfits is the control: what is not as the schema says is found in a log.
func TestMisfits(t *testing.T) {
	good := `{"items":[]}`
	for log, want := range map[string]int{
		"> exec aiflow-lock list --json\n[stdout]\n" + good + "\n> stdout x\n":                                   0,
		"> exec aiflow lock list --json\n[stdout]\n" + `{"items":[],"more":1}` + "\n":                            1,
		"> status 4 aiflow-lock --json list\n[stdout]\n{\"items\":null}\n[stderr]\nx\n":                          1,
		"> ! exec aiflow-next --json\n[stdout]\n{\"ok\":false,\"error\":{}}\n":                                   1,
		"> exec aiflow-next\n[stdout]\nnothing\n":                                                                0,
		"> exec aiflow-run version --json\n[stdout]\nnothing\n":                                                  1,
		"> wait\n[background] aiflow-queue work --json: exit status 0\n[stdout]\n{\"at\":\"\"}\n":                1,
		"> exec aiflow-queue work --json\n[stdout]\n{\"at\":\"\",\"event\":\"x\"}\n{\"at\":\"\"}\n[stderr]\n-\n": 1,
		"> exec aiflow frob --json\n[stdout]\n{}\n":                                                              1,
	} {
		if got := misfits(log); len(got) != want {
			t.Errorf("%q: %v", log, got)
		}
	}
}

// records are the files of a project that have a schema.
var records = []struct{ place, name string }{
	{`(^|/)runs/[^/]+/RUN-[^/]+/stage\.json$`, "stage"},
	{`(^|/)runs/[^/]+/RUN-[^/]+/planning\.json$`, "planning"},
	{`(^|/)runs/[^/]+/RUN-[^/]+/errors\.json$`, "errors"},
	{`(^|/)\.aiflow/locks/.*\.lock$`, "lock"},
	{`(^|/)\.aiflow/project/autosave/project\.lock$`, "project-lock"},
}

// recordsFit checks the records that a script leaves; one that it tore is its own
// affair.
func recordsFit(t testscript.T, dir string) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		for _, r := range records {
			if !regexp.MustCompile(r.place).MatchString(filepath.ToSlash(path)) {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil || !json.Valid(text) {
				continue
			}
			if err := verify.JSON(r.name, text); err != nil {
				t.(recorder).Errorf("%s: %v", path, err)
			}
		}
		return nil
	})
	if err != nil {
		t.(recorder).Error(err)
	}
}
