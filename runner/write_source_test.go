package runner

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writers change what others see.
var writers = []string{
	"CreateBranch", "AddWorktree", "RemoveWorktree", "Commit", "CommitFile", "KeepAttempt", "KeepCommit", "Rejoin", "ResetTo",
	"TakeBack", "Switch", "Push", "ApplyPatch", "ClearStaleLocks", "RestoreBranch", "MendIndex",
	"RestoreRequest", "Replace", "SaveStage", "SavePlan", "SavePatch", "SaveErrors", "SaveRequest", "RemoveErrors", "renderReport",
}

var askers = []string{"MayWrite", "mayStop", "Save"}

// TestWritersAskFirst: in each function of a run the guard is asked before the
// first write. What a person clears away (clean) is no run's.
func TestWritersAskFirst(t *testing.T) {
	files, err := filepath.Glob("*.go")
	deeper, _ := filepath.Glob("*/*.go")
	files = append(files, deeper...)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || name == "clean.go" {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				found += unasked(f, func(pos token.Pos, call string) {
					t.Errorf("%s: %s writes with %s and did not ask before", set.Position(pos), f.Name.Name, call)
				})
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d writes found: the list of their names is out of date", found)
	}
}

// unasked counts the writes of a function and tells of those before which
// nobody was asked.
func unasked(f *ast.FuncDecl, tell func(token.Pos, string)) (writes int) {
	asked := false
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || isPackage(sel.X, "strings") || isPackage(sel.X, "stage") {
			return true
		}
		switch name := sel.Sel.Name; {
		case slices.Contains(askers, name):
			asked = true
		case slices.Contains(writers, name):
			writes++
			if !asked {
				tell(call.Pos(), name)
			}
		}
		return true
	})
	return writes
}

func isPackage(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}
