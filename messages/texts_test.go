package messages

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"aiflow/internal/fault"
)

var placeRE = regexp.MustCompile(`\{[a-z0-9_]+(\?|\|[^}]*)?\}`)

// places lists the facts that a sentence may insert, literal {{…}} left out.
func places(s string) []string {
	s = regexp.MustCompile(`\{\{.*?\}\}`).ReplaceAllString(s, "")
	names := placeRE.FindAllString(s, -1)
	sort.Strings(names)
	return slices.Compact(names)
}

func areas(t *testing.T, lang string) []string {
	t.Helper()
	files, err := fs.Glob(shipped, "text/"+lang+"/*.json")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".json"); name != "codes" {
			names = append(names, name)
		}
	}
	return names
}

func load(t *testing.T, lang, area string) map[string]string {
	t.Helper()
	data, err := shipped.ReadFile("text/" + lang + "/" + area + ".json")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	if err := json.Unmarshal(data, &texts); err != nil {
		t.Fatalf("%s/%s.json: %v", lang, area, err)
	}
	return texts
}

// Where an id is not known, what needs it is left out.
func TestActionsHaveNoPlaceToFillByHand(t *testing.T) {
	byHand := regexp.MustCompile(`<(ID|RUN|BRANCH)>`)
	for _, lang := range []string{"ja", "en"} {
		c := Open(lang)
		for _, code := range fault.Codes() {
			for _, action := range c.Code(code, nil).Actions {
				if byHand.MatchString(action) || strings.Contains(action, "?`") {
					t.Errorf("%s %s: %s", lang, code, action)
				}
			}
		}
	}
}

func TestAreasAgreeInBothLanguages(t *testing.T) {
	ja, en := areas(t, "ja"), areas(t, "en")
	if !slices.Equal(ja, en) {
		t.Fatalf("ja has %v, en has %v", ja, en)
	}
	for _, area := range ja {
		sameKeysAndPlaces(t, area, load(t, "ja", area), load(t, "en", area))
	}
}

func sameKeysAndPlaces(t *testing.T, area string, ja, en map[string]string) {
	t.Helper()
	for key, text := range ja {
		other, ok := en[key]
		if !ok {
			t.Errorf("%s: %s is missing in en", area, key)
		}
		if a, b := places(text), places(other); ok && !slices.Equal(a, b) {
			t.Errorf("%s: %s has places %v in ja and %v in en", area, key, a, b)
		}
		if strings.TrimSpace(text) == "" || ok && strings.TrimSpace(other) == "" {
			t.Errorf("%s: %s is empty", area, key)
		}
	}
	for key := range en {
		if _, ok := ja[key]; !ok {
			t.Errorf("%s: %s is missing in ja", area, key)
		}
	}
}

func TestEveryCodeHasTextsInBothLanguages(t *testing.T) {
	ja, en := readCodes("ja"), readCodes("en")
	for _, code := range fault.Codes() {
		a, b := ja[string(code)], en[string(code)]
		if len(a.Actions) == 0 || a.Title == "" || a.Summary == "" {
			t.Errorf("ja: %s is not complete", code)
		}
		if len(b.Actions) != len(a.Actions) || b.Title == "" || b.Summary == "" {
			t.Errorf("en: %s is not complete, or has other actions", code)
		}
		if x, y := places(a.whole()), places(b.whole()); !slices.Equal(x, y) {
			t.Errorf("%s has places %v in ja and %v in en", code, x, y)
		}
	}
	if n := len(fault.Codes()); len(ja) != n || len(en) != n {
		t.Errorf("%d codes, %d texts in ja, %d in en", n, len(ja), len(en))
	}
}

func (e entry) whole() string { return e.Title + e.Summary + strings.Join(e.Actions, "") }

// A code may come from anywhere, with or without facts: its sentences must
// read well with none of them.
func TestCodesNeedNoFacts(t *testing.T) {
	for _, lang := range []string{"ja", "en"} {
		c := Open(lang)
		for _, code := range fault.Codes() {
			r := c.Code(code, nil)
			whole := r.Title + r.Message + strings.Join(r.Actions, "")
			if len(places(whole)) > 0 || strings.Contains(r.Message, "?") {
				t.Errorf("%s %s without facts: %+v", lang, code, r)
			}
		}
	}
}

func TestEveryKeyUsedInTheSourcesExists(t *testing.T) {
	used := usedKeys(t)
	for _, lang := range []string{"ja", "en"} {
		c := Open(lang)
		for key, where := range used {
			if !c.Has(key) {
				t.Errorf("%s: %s is used at %s", lang, key, where)
			}
		}
	}
}

// Literals that begin with "report." are keys wherever they stand, and all of
// that area is used by name.
func TestReportKeysAreUsedAndExist(t *testing.T) {
	texts := load(t, "en", "report")
	used := map[string]bool{}
	eachSource(t, func(_ *token.FileSet, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				key, _ := strconv.Unquote(lit.Value)
				if name, ok := strings.CutPrefix(key, "report."); ok && keyRE.MatchString(key) && name != "md" {
					used[name] = true
				}
			}
			return true
		})
	})
	for name := range used {
		if _, ok := texts[name]; !ok {
			t.Errorf("report.%s is used, but there is no such text", name)
		}
	}
	for name := range texts {
		if !used[name] {
			t.Errorf("report.%s is not used", name)
		}
	}
}

var keyRE = regexp.MustCompile(`^[a-z]+(\.[a-z0-9_]+)+$`)

// usedKeys finds the literals that are the first argument of a call of Text or
// text anywhere in the module, tests left out.
func usedKeys(t *testing.T) map[string]string {
	t.Helper()
	used := map[string]string{}
	eachSource(t, func(fset *token.FileSet, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			if key, at := keyOf(n); key != "" {
				used[key] = fset.Position(at).String()
			}
			return true
		})
	})
	return used
}

func eachSource(t *testing.T, visit func(*token.FileSet, *ast.File)) {
	t.Helper()
	fset := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != ".." {
			return skipDir(err, d)
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		if f, err := parser.ParseFile(fset, path, nil, 0); err == nil {
			visit(fset, f) // what does not parse, the compiler will tell
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func skipDir(err error, d fs.DirEntry) error {
	if err != nil && d != nil && !d.IsDir() {
		return nil
	}
	return fs.SkipDir
}

func keyOf(n ast.Node) (string, token.Pos) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return "", 0
	}
	name := ""
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		name = f.Sel.Name
	case *ast.Ident:
		name = f.Name
	}
	lit, ok := call.Args[0].(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING || !strings.EqualFold(name, "text") {
		return "", 0
	}
	if key, _ := strconv.Unquote(lit.Value); keyRE.MatchString(key) {
		return key, lit.Pos()
	}
	return "", 0
}

func TestSentenceFindsWhatJSONSays(t *testing.T) {
	for _, lang := range []string{"en", "ja"} {
		files, err := shipped.ReadDir("text/" + lang)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			area := strings.TrimSuffix(f.Name(), ".json")
			if area == "codes" {
				continue
			}
			all := map[string]string{}
			if err := json.Unmarshal([]byte(readArea(lang, area)), &all); err != nil {
				t.Fatalf("%s/%s: %v", lang, area, err)
			}
			for name, want := range all {
				if got, ok := sentence(readArea(lang, area), name); !ok || got != want {
					t.Errorf("%s/%s: %s = %q, %v; want %q (a key on each line, indented by two blanks?)", lang, area, name, got, ok, want)
				}
			}
			if _, ok := sentence(readArea(lang, area), "no such key"); ok {
				t.Errorf("%s/%s: a key that is not there was found", lang, area)
			}
		}
	}
}

func TestCodeTextFindsWhatJSONSays(t *testing.T) {
	for _, lang := range []string{"en", "ja"} {
		all, area := readCodes(lang), readArea(lang, "codes")
		if len(all) == 0 {
			t.Fatalf("%s: no texts", lang)
		}
		for code, want := range all {
			if got, ok := codeText(area, code); !ok || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s = %+v, %v; want %+v (a code indented by two blanks, its end too?)", lang, code, got, ok, want)
			}
		}
		for _, no := range []string{"", "NO_SUCH_CODE", "title", "not_a_lock"} {
			if e, ok := codeText(area, no); ok {
				t.Errorf("%s: %q = %+v", lang, no, e)
			}
		}
	}
}
