package messages

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"aiflow/internal/fault"
)

// In a package all faults of a code are made at one place, so that they have the same
// facts. What says nothing but the code needs none.
func TestEachCodeHasOneMaker(t *testing.T) {
	for what, at := range madeTwice(sources(t)) {
		t.Errorf("%s is made at %s: let one function of the package make it", what, strings.Join(at, " and "))
	}
	if all := madeTwice(text(t, `var a, b = fault.New(fault.Conflict, "path", "x"), fault.Wrap(err, fault.Conflict, "path", "y")`)); len(all) != 1 {
		t.Error("negative control: two places that make a code are not found")
	}
	if all := madeTwice(text(t, `var a, b = fault.New(fault.Conflict, "path", "x"), errors.Is(err, fault.New(fault.Conflict))`)); len(all) != 0 {
		t.Error("negative control: a code without facts counts as a second place")
	}
}

// A place in the text of a code is a fact that a maker of that code sets, or one that is
// put to any fault on its way (the run, the command that helps).
func TestEveryPlaceOfACodeIsSet(t *testing.T) {
	set, names := factsSet(sources(t)), codeNames(t)
	for _, code := range fault.Codes() {
		for _, place := range places(readCodes("en")[string(code)].whole()) {
			name := strings.FieldsFunc(place, func(r rune) bool { return strings.ContainsRune("{}?|", r) })[0]
			if !set[names[code]][name] && !set[""][name] {
				t.Errorf("%s names the fact %s, which nobody who makes this code sets", code, name)
			}
		}
	}
	set = factsSet(text(t, `
		func gone(more ...any) error { return fault.New(fault.Conflict, append(more, "path", "p")...) }
		var a, b = gone("line", 1), fault.New(fault.NotFound, "reason", "r")
	`))
	if is := set["Conflict"]; !is["path"] || !is["line"] || is["reason"] || set[""]["path"] || set["NotFound"]["path"] {
		t.Errorf("negative control: the facts are %v", set)
	}
}

// source is a file of a package, which is a folder.
type source struct {
	pkg  string
	file *ast.File
	fset *token.FileSet
}

func sources(t *testing.T) (all []source) {
	t.Helper()
	eachSource(t, func(fset *token.FileSet, f *ast.File) {
		all = append(all, source{filepath.Dir(fset.Position(f.Pos()).Filename), f, fset})
	})
	return all
}

func text(t *testing.T, declarations string) []source {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "control.go", "package p\n"+declarations, 0)
	if err != nil {
		t.Fatal(err)
	}
	return []source{{"p", f, fset}}
}

// eachCall gives the calls of all packages, with the function in which each stands, if any.
func eachCall(all []source, visit func(s source, in *ast.FuncDecl, call *ast.CallExpr)) {
	for _, s := range all {
		for _, d := range s.file.Decls {
			in, _ := d.(*ast.FuncDecl)
			ast.Inspect(d, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					visit(s, in, call)
				}
				return true
			})
		}
	}
}

// madeTwice are the packages and codes with more than one maker, and where these are.
func madeTwice(all []source) map[string][]string {
	makers := map[string][]string{}
	eachCall(all, func(s source, _ *ast.FuncDecl, call *ast.CallExpr) {
		if code := made(call); code != "" {
			what := s.pkg + ": fault." + code
			makers[what] = append(makers[what], s.fset.Position(call.Pos()).String())
		}
	})
	for what, at := range makers {
		if len(at) == 1 {
			delete(makers, what)
		}
	}
	return makers
}

// made is the code of a call that makes a fault with facts of its own; "" for others, and
// where the code is not said there.
func made(call *ast.CallExpr) string {
	first := slices.Index([]string{"New", "Wrap", "Of"}, constant(call.Fun))
	first = min(first, 1) // of the arguments: an error stands before it in Wrap and Of
	if first < 0 || len(call.Args) < first+2 {
		return ""
	}
	return constant(call.Args[first])
}

// constant is a name of package fault.
func constant(e ast.Expr) string {
	if sel, ok := e.(*ast.SelectorExpr); ok && fmt.Sprint(sel.X) == "fault" {
		return sel.Sel.Name
	}
	return ""
}

// factsSet are the names of facts by the code that they are given to: what stands in a
// call that names the code or calls its maker, in that maker, and, where such a call hands
// a list over, in the function around it. Under "" are those that any fault may get.
func factsSet(all []source) map[string]map[string]bool {
	set, lists := map[string]map[string]bool{}, listers(all)
	add := func(code string, n ast.Node) {
		if set[code] == nil {
			set[code] = map[string]bool{}
		}
		for _, w := range words(n, lists) {
			set[code][w] = true
		}
	}
	makers, bodies := map[string][]string{}, map[string]map[ast.Node]bool{} // by package and function
	eachCall(all, func(s source, in *ast.FuncDecl, call *ast.CallExpr) {
		if in == nil {
			return
		}
		name := s.pkg + "." + in.Name.Name
		if bodies[name] == nil {
			bodies[name] = map[ast.Node]bool{}
		}
		bodies[name][in.Body] = true
		if code := made(call); code != "" {
			makers[name] = append(makers[name], code)
		}
	})
	eachCall(all, func(s source, in *ast.FuncDecl, call *ast.CallExpr) {
		name := s.pkg + "." + nameOf(call.Fun)
		codes := slices.Clone(makers[name])
		for _, a := range call.Args {
			if code := constant(a); code != "" {
				codes = append(codes, code)
			}
		}
		if len(codes) == 0 && constant(call.Fun) != "" || name == "../messages.with" {
			codes = []string{""} // a code that is not said, or none
		}
		for _, code := range codes {
			for _, a := range call.Args {
				add(code, a)
			}
			for body := range bodies[name] {
				add(code, body)
			}
			if call.Ellipsis.IsValid() && in != nil {
				add(code, in.Body)
			}
		}
	})
	for _, s := range all {
		for _, d := range s.file.Decls {
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ValueSpec: // verbs and modes of advice
					for _, v := range n.Values {
						if s.file.Name.Name == "fault" {
							add("", v)
						}
					}
				case *ast.AssignStmt: // facts["name"] = …, and f.Facts[name] with a name from around it
					for _, l := range n.Lhs {
						at, ok := l.(*ast.IndexExpr)
						if !ok {
							continue
						}
						add("", at.Index)
						if _, named := at.Index.(*ast.Ident); named && nameOf(at.X) == "Facts" {
							add("", d)
						}
					}
				case *ast.CompositeLit:
					for _, e := range n.Elts {
						if pair, ok := e.(*ast.KeyValueExpr); ok && constant(n.Type) == "Facts" {
							add("", pair.Key)
						}
					}
				}
				return true
			})
		}
	}
	return set
}

// listers are the functions that give a list, by name.
func listers(all []source) map[string][]ast.Node {
	lists := map[string][]ast.Node{}
	for _, s := range all {
		for _, d := range s.file.Decls {
			if in, ok := d.(*ast.FuncDecl); ok && in.Type.Results.NumFields() == 1 {
				if of, ok := in.Type.Results.List[0].Type.(*ast.ArrayType); ok && fmt.Sprint(of.Elt) == "any" {
					lists[in.Name.Name] = append(lists[in.Name.Name], in.Body)
				}
			}
		}
	}
	return lists
}

// nameOf is the last word of a name.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// words are the strings in n that could be names of facts, and those in the lists that
// are called for there.
func words(n ast.Node, lists map[string][]ast.Node) (all []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if w, _ := strconv.Unquote(n.Value); factRE.MatchString(w) {
				all = append(all, w)
			}
		case *ast.CallExpr:
			for _, body := range lists[nameOf(n.Fun)] {
				all = append(all, words(body, nil)...)
			}
		}
		return true
	})
	return all
}

var factRE = regexp.MustCompile(`^[a-z0-9_]+$`)

// codeNames are the constants of the codes.
func codeNames(t *testing.T) map[fault.Code]string {
	t.Helper()
	text, err := os.ReadFile("../internal/fault/codes.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[fault.Code]string{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+) +Code = "(\w+)"`).FindAllSubmatch(text, -1) {
		names[fault.Code(m[2])] = string(m[1])
	}
	return names
}
