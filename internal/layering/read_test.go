package layering

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// Read parses every Go file of the module called module in the folder root.
func Read(root, module string) ([]Package, error) {
	byPath := map[string]*Package{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		return read(byPath, root, path, module)
	})
	all := make([]Package, 0, len(byPath))
	for _, p := range byPath {
		all = append(all, *p)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Path < all[j].Path })
	return all, err
}

func read(byPath map[string]*Package, root, path, module string) error {
	src, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(root, filepath.Dir(path))
	if err != nil {
		return err
	}
	rel = filepath.ToSlash(rel)
	p := byPath[rel]
	if p == nil {
		p = &Package{Path: rel}
		byPath[rel] = p
	}
	f := File{Name: filepath.Base(path), Test: strings.HasSuffix(path, "_test.go"), Imports: importsOf(src, module), Calls: callsOf(src), Methods: methodsOf(src)}
	if !f.Test || !strings.HasSuffix(src.Name.Name, "_test") {
		p.Doc += src.Doc.Text()
	}
	p.Files = append(p.Files, f)
	return nil
}

func importsOf(src *ast.File, module string) []string {
	var paths []string
	for _, im := range src.Imports {
		path, _ := strconv.Unquote(im.Path.Value)
		if own, ok := strings.CutPrefix(path, module+"/"); ok {
			path = "./" + own
		}
		paths = append(paths, path)
	}
	return paths
}

func methodsOf(src *ast.File) []string {
	var of []string
	for _, decl := range src.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv == nil {
			continue
		}
		e := f.Recv.List[0].Type
		if star, ok := e.(*ast.StarExpr); ok {
			e = star.X
		}
		switch generic := e.(type) {
		case *ast.IndexExpr:
			e = generic.X
		case *ast.IndexListExpr:
			e = generic.X
		}
		of = append(of, e.(*ast.Ident).Name)
	}
	return of
}

// callsOf finds the functions that only commands may use, called or passed on.
func callsOf(src *ast.File) []string {
	var found []string
	ast.Inspect(src, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Obj == nil {
			switch name := pkg.Name + "." + sel.Sel.Name; name {
			case "os.Exit", "log.Fatal", "log.Fatalf", "log.Fatalln",
				"time.Now", "time.Since", "time.Until", "os.Getenv", "os.LookupEnv", "os.Environ":
				found = append(found, name)
			}
		}
		return true
	})
	return found
}
