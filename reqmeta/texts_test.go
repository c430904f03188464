package reqmeta

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Every kind that the sources make has a sentence in both languages, and no
// sentence is left over.
func TestEveryKindHasATextAndEveryTextAKind(t *testing.T) {
	literals := sourceLiterals(t)
	for _, lang := range []string{"ja", "en"} {
		for _, area := range []string{"problem", "excluded"} {
			data, err := os.ReadFile("../messages/text/" + lang + "/" + area + ".json")
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range strings.Split(string(data), "\n") {
				key, _, ok := strings.Cut(strings.TrimSpace(line), `": `)
				key = strings.TrimPrefix(key, `"`)
				plain := strings.TrimPrefix(strings.TrimPrefix(key, "state_"), "not_ready_")
				if ok && !literals[key] && !literals[plain] {
					t.Errorf("%s: nobody says %s.%s", lang, area, key)
				}
			}
		}
	}
	data, err := os.ReadFile("../messages/text/en/problem.json")
	if err != nil {
		t.Fatal(err)
	}
	for kind := range problemKinds(t) {
		if !strings.Contains(string(data), "\n  \""+kind+"\": ") {
			t.Errorf("there is no sentence problem.%s", kind)
		}
	}
}

func sourceLiterals(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	eachNode(t, func(n ast.Node) {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			s, _ := strconv.Unquote(l.Value)
			found[s] = true
		}
	})
	return found
}

// problemKinds finds the kinds given to what makes problems.
func problemKinds(t *testing.T) map[string]bool {
	t.Helper()
	at := map[string]int{"NewProblem": 1, "Fail": 0, "Warn": 0, "FailAs": 1, "oneOf": 0}
	found := map[string]bool{}
	eachNode(t, func(n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return
		}
		name := ""
		switch f := call.Fun.(type) {
		case *ast.Ident:
			name = f.Name
		case *ast.SelectorExpr:
			name = f.Sel.Name
		}
		i, ok := at[name]
		if !ok || i >= len(call.Args) {
			return
		}
		if l, ok := call.Args[i].(*ast.BasicLit); ok {
			s, _ := strconv.Unquote(l.Value)
			found[s] = true
		}
	})
	if len(found) < 40 {
		t.Errorf("only %d kinds found", len(found))
	}
	return found
}

func eachNode(t *testing.T, visit func(ast.Node)) {
	t.Helper()
	var files []string
	for _, folder := range []string{"*.go", "*/*.go"} {
		found, err := filepath.Glob(folder)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			visit(n)
			return true
		})
	}
}
