package runner

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// around are the functions that write without a run's project and repository, which
// ask whether it still may; and why they may do so.
var around = map[string]string{
	"record":             "asks before it makes the folder of the run",
	"Compare":            "only looks",
	"commitOfWorkspace":  "looks; it makes a commit that no ref names",
	"OpenRepo":           "opens the repository that New guards; what it gives else only looks",
	"runCommand":         "asks before the log of a command is opened",
	"noteStart":          "asks before it opens the log of the run",
	"DropTemporary":      "asks",
	"applyPatch":         "asks before it applies and logs",
	"noteApplied":        "asks before it logs",
	"logTry":             "a line in the run's own logs",
	"callRole":           "a line in the run's own logs",
	"prepareResult":      "the run's own temporary folder",
	"guardDir":           "the run's own temporary folder",
	"forbiddenCall":      "the run's own temporary folder",
	"recordInterruption": "asks before it takes the mark of a wish away",
	"copyFile":           "the run's own copy of what an e2e test left",
	"setConfigAside":     "asks",
	"openWorkspace":      "a folder inside the run's workspace",
	"SaveCache":          "the folder of the cache",
	"remove":             "a person clears the record away (clean)",
	"emptyRecord":        "a person takes the records of a project away (deinit)",
	"reportForeign":      "an empty folder, of which deinit took the records",
	"orphanWorkspaces":   "an empty folder of no run (deinit)",
	"Stop":               "a person's wish, to the run of another process",
	"StopSession":        "a person's wish, to the session of another process",
	"Auto":               "the wish to stop the session before",
	"begin":              "the wish to stop a run before, under the lock of its request",
}

var writes = []string{
	"os.WriteFile", "os.Create", "os.OpenFile", "os.Remove", "os.RemoveAll", "os.Rename", "os.Symlink", "os.Link", "os.Mkdir", "os.MkdirAll",
	"gitops.Open", "gitops.MoveAside", ".AppendLog", ".OpenLog", "Dir.Create",
}

// TestNobodyWritesAroundTheGuard: a new place that writes in another way than through
// the project and the repository of its run stands in the table, with its reason.
func TestNobodyWritesAroundTheGuard(t *testing.T) {
	files, err := filepath.Glob("*.go")
	deeper, err2 := filepath.Glob("[rs]*/*.go")
	if err != nil || err2 != nil || len(deeper) == 0 {
		t.Fatal(err, err2)
	}
	found := map[string]bool{}
	for _, name := range append(files, deeper...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				for _, call := range writesIn(f) {
					found[f.Name.Name] = true
					if around[f.Name.Name] == "" {
						t.Errorf("%s: %s writes with %s", set.Position(f.Pos()), f.Name.Name, call)
					}
				}
			}
		}
	}
	for name := range around {
		if !found[name] {
			t.Errorf("%s writes nothing any more", name)
		}
	}
}

func writesIn(f *ast.FuncDecl) (found []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			text := written(call.Fun)
			for _, w := range writes {
				if text == w || strings.HasSuffix(text, "."+strings.TrimPrefix(w, ".")) && !strings.HasPrefix(w, "os.") {
					found = append(found, text)
				}
			}
		}
		return true
	})
	return found
}

// written is a selector as it is written: run.Dir.Create.
func written(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return written(x.X) + "." + x.Sel.Name
	}
	return ""
}
