package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"aiflow/messages"
)

// Every reason, decision, state and finding that the code can make has a text.
func TestEveryWordHasAText(t *testing.T) {
	prefix := map[string]string{"Reason": "reason_", "Kind": "did_", "State": "state_", "shape": "chained_", "place": "how_"}
	seen := map[string]int{}
	for _, dir := range []string{"../../hooks", "gate"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for kind, words := range constants(t, file) {
				for _, word := range words {
					if kind == "shape" && word == "sh" {
						continue
					}
					seen[kind]++
					wantText(t, "hook."+prefix[kind]+word)
				}
			}
		}
	}
	for kind, least := range map[string]int{"Reason": 20, "Kind": 9, "State": 4, "shape": 5, "place": 3} {
		if seen[kind] < least {
			t.Errorf("only %d of %s were found", seen[kind], kind)
		}
	}
	for _, key := range []string{"how_called", "how_legacy", "check_state", "check_running", "check_running_live", "check_missing", "check_deleted", "check_cycle"} {
		wantText(t, "hook."+key)
	}
}

func wantText(t *testing.T, key string) {
	t.Helper()
	for _, lang := range []string{"ja", "en"} {
		if !messages.Open(lang).Has(key) {
			t.Errorf("%s has no text in %s", key, lang)
		}
	}
}

// constants gives the string constants of a file: those named Reason… and
// those of the types that are shown.
func constants(t *testing.T, file string) map[string][]string {
	t.Helper()
	if strings.HasSuffix(file, "_test.go") {
		return nil
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		lit, ok := v.Values[0].(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		kind := ""
		if typ, ok := v.Type.(*ast.Ident); ok {
			kind = typ.Name
		} else if strings.HasPrefix(v.Names[0].Name, "Reason") {
			kind = "Reason"
		}
		word, _ := strconv.Unquote(lit.Value)
		switch kind {
		case "Reason", "Kind", "State", "shape", "place":
			found[kind] = append(found[kind], word)
		}
		return true
	})
	return found
}
