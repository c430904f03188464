package doctor

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"aiflow/messages"
)

// Every check, kind and repair that the code can make has its texts, what is
// not in order says what to do, and no text is there for nothing.
func TestTexts(t *testing.T) {
	used := map[string]bool{}
	need := func(key string) {
		used[key] = true
		for _, lang := range []string{"ja", "en"} {
			if !messages.Open(lang).Has("doctor." + key) {
				t.Errorf("%s has no doctor.%s", lang, key)
			}
		}
	}
	for _, id := range IDs() {
		need("name_" + id)
	}
	for _, call := range said(t) {
		switch call.name {
		case "did", "cannot":
			need("fix_" + call.kind)
			need("fix_" + call.kind + "_failed")
		case "pass":
			need(call.id + "_" + call.kind)
		default:
			need(call.id + "_" + call.kind)
			need(call.id + "_" + call.kind + "_hint")
		}
	}
	for _, key := range []string{"usage", "quick_usage", "full_usage", "fix_usage", "strict_usage", "repaired", "not_repaired", "summary"} {
		need(key)
	}
	data, err := os.ReadFile("../messages/text/en/doctor.json")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	if err := json.Unmarshal(data, &texts); err != nil {
		t.Fatal(err)
	}
	for key := range texts {
		if !used[key] {
			t.Errorf("doctor.%s is not used", key)
		}
	}
}

type spoken struct{ name, id, kind string }

// computed are kinds that a variable holds.
func computed() []spoken {
	var all []spoken
	for id, kinds := range map[string]string{
		"locks": "unreadable future overdue orphaned stale", "runs": "unreadable unfinished unclaimed interrupted", "worktrees": "moved broken unknown finished",
		"base_branch": "unborn missing unclear", "config": "odd", "router": "odd", "requests_valid": "kept broken_kept",
	} {
		for _, kind := range strings.Fields(kinds) {
			all = append(all, spoken{"warn", id, kind})
		}
	}
	for _, kind := range []string{"interrupted", "unfinished", "unclaimed", "found", "merged"} {
		all = append(all, spoken{"did", "runs", kind})
	}
	return all
}

// said finds x.pass("id", "kind", …) and its like in the sources.
func said(t *testing.T) []spoken {
	t.Helper()
	all := computed()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			fun, ok := call.Fun.(*ast.SelectorExpr)
			id, kind := text(call.Args[0]), text(call.Args[1])
			if !ok || id == "" || kind == "" {
				return true
			}
			switch fun.Sel.Name {
			case "pass", "warn", "fail", "did", "cannot":
				all = append(all, spoken{fun.Sel.Name, id, kind})
			}
			return true
		})
	}
	return all
}

func text(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	s, _ := strconv.Unquote(lit.Value)
	return s
}
