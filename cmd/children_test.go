package cmd

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// children are all places of the product at which a process is started or
// becomes another program, each with the tests that start a child there which
// never ends by itself, or with the reason why it has no limit.
func children() map[string][]string {
	return map[string][]string{
		// the one place that runs and ends whatever is started below
		"internal/proc Run": {"internal/proc TestChildrenThatOutliveTheLeaderAreEnded", "internal/proc TestTimeoutAndStopEndTheGroup"},
		// git, with its hooks, filters, signers
		"internal/gitcmd once": {"internal/gitcmd TestLimitReachesWhatGitStarted", "internal/gitcmd TestStopReachesWhatGitStarted", "internal/gitcmd TestQuestionLimit", "run_hook_hangs.txtar"},
		// steps, tests, roles, workspace.setup
		"runner/stage runCommand": {"run_timeouts.txtar", "run_second_signal.txtar", "run_children.txtar"},
		"runner notify":           {"auto_hook_hangs.txtar"},
		"runner desktop":          {"auto_hook_hangs.txtar"},
		"runner/land shell":       {"land_test_fails.txtar"},
		"doctor startElsewhere":   {"doctor_preset_hangs.txtar"},
		"server callQueue":        {"server TestQueueProgramThatHangs"},
		"server showForecast":     {"server TestForecastThatHangs"},

		"server spawnProgram":              {"our own aiflow-run and aiflow-land: they are to live on, and have limits of their own"},
		"cmd/aiflow-mcp command":           {"our own programs, which have limits of their own; a client that goes away ends those that begin no run"},
		"cmd/aiflow-mcp begin":             {"our own aiflow-run: it is to live on, and has limits of its own"},
		"cmd/aiflow-serve open":            {"the person's browser"},
		"cmd/aiflow-request attend":        {"request_edit.txtar"},
		"cmd/aiflow-request editorCommand": {"the person's editor: what asks us to end is passed on"},
		"cmd/aiflow-lock command":          {"the person's own command, as long as its lock holds"},
		"cmd/aiflow-lock run":              {"lock_exec.txtar"},
		"cmd/aiflow-lock become":           {"no child: it becomes the command"},
		"cmd/aiflow exec":                  {"no child: it becomes another binary"},
	}
}

// TestEveryChildHasALimit finds the places in the sources, so that a new one
// fails until it is in the table, and that the tests of the table are there.
func TestEveryChildHasALimit(t *testing.T) {
	found := map[string]bool{}
	tests := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(filepath.ToSlash(path), "../")
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if rel == "scripts" || d.Name() == "node_modules" || d.Name() == "testdata" || len(d.Name()) > 2 && d.Name()[0] == '.' {
				return filepath.SkipDir
			}
			return nil
		case filepath.Ext(path) != ".go":
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			name := filepath.ToSlash(filepath.Dir(rel)) + " "
			switch {
			case !ok:
			case strings.HasSuffix(path, "_test.go"):
				tests[name+f.Name.Name] = true
			case starts(f):
				found[name+f.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	table := children()
	for _, place := range slices.Sorted(maps.Keys(found)) {
		if len(table[place]) == 0 {
			t.Errorf("%s starts a process: put it into the table with a test that starts one there which never ends", place)
		}
	}
	for place, cases := range table {
		if !found[place] {
			t.Errorf("%s starts nothing any more", place)
		}
		for _, c := range cases {
			_, name, _ := strings.Cut(c, " ")
			if strings.HasPrefix(name, "Test") && !tests[c] {
				t.Errorf("%s: no test %s", place, c)
			}
			if _, err := os.Stat(filepath.Join(scripts, c)); strings.HasSuffix(c, ".txtar") && err != nil {
				t.Errorf("%s: %v", place, err)
			}
		}
	}
}

// starts reports whether a function makes, starts or becomes a process.
func starts(f *ast.FuncDecl) bool {
	calls := []string{
		"exec.Command", "exec.CommandContext", "os.StartProcess", "syscall.Exec", "syscall.ForkExec", "syscall.StartProcess",
		"unix.Exec", "proc.Run", "cmd.Start", "cmd.Run",
	}
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && slices.Contains(calls, x.Name+"."+s.Sel.Name) {
				found = true
			}
		}
		return true
	})
	return found
}

// TestProgramsAreWrittenByTheHelper keeps tests from writing a program while
// another goroutine forks (see proc.WriteProgram).
func TestProgramsAreWrittenByTheHelper(t *testing.T) {
	executable := regexp.MustCompile(`os\.WriteFile\(.*, 0o?[0-7]*[1357]`)
	copied := regexp.MustCompile(`(?m)^cp .*hooks/`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == "node_modules" {
			return fs.SkipDir
		}
		script := filepath.Ext(path) == ".txtar"
		if !script && !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		data, err := os.ReadFile(path)
		for _, line := range executable.FindAll(data, -1) {
			t.Errorf("%s: %s: use proc.WriteProgram", path, line)
		}
		if line := copied.Find(data); script && line != nil {
			t.Errorf("%s: %s: use exec cp", path, line)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
