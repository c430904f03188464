// Command figures counts the code: lines, files, small files, methods on a
// type. `make figures` prints what it finds; it judges nothing.
//
// It does not count tests, generated files and what npm installs.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// small is the number of lines below which a file is named.
const small = 30

// many is the number of methods above which a type is named.
const many = 40

type counts struct {
	lines, files int
	perFolder    map[string]int // lines
	smallFiles   []string
	methods      map[string]int // "runner.job"
}

func main() {
	c := counts{perFolder: map[string]int{}, methods: map[string]int{}}
	if err := filepath.WalkDir(".", c.visit); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
	c.print()
}

func (c *counts) visit(path string, d fs.DirEntry, err error) error {
	switch name := d.Name(); {
	case err != nil:
		return err
	case d.IsDir() && (name == "node_modules" || name == "testdata" || name != "." && strings.HasPrefix(name, ".")):
		return fs.SkipDir
	case d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, data, parser.ParseComments)
	if err != nil {
		return err
	}
	if ast.IsGenerated(file) {
		return nil
	}
	n := bytes.Count(data, []byte("\n"))
	c.lines += n
	c.files++
	first, _, _ := strings.Cut(filepath.ToSlash(path), "/")
	c.perFolder[first] += n
	if n < small && filepath.Base(path) != "doc.go" && !constrained(path, file) && !alone(path, file) {
		c.smallFiles = append(c.smallFiles, fmt.Sprintf("%s (%d)", filepath.ToSlash(path), n))
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil {
			c.methods[filepath.ToSlash(filepath.Dir(path))+"."+receiver(f.Recv.List[0].Type)]++
		}
	}
	return nil
}

// constrained reports whether a file is for one platform or build tag.
func constrained(path string, file *ast.File) bool {
	stem := strings.TrimSuffix(filepath.Base(path), ".go")
	for _, system := range []string{"_linux", "_darwin", "_unix", "_other"} {
		if strings.HasSuffix(stem, system) {
			return true
		}
	}
	for _, group := range file.Comments {
		for _, line := range group.List {
			if constraint.IsGoBuild(line.Text) {
				return true
			}
		}
	}
	return false
}

// alone reports whether a file is a whole program.
func alone(path string, file *ast.File) bool {
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.go"))
	return file.Name.Name == "main" && len(files) == 1
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

func (c *counts) print() {
	fmt.Printf("hand-written Go outside tests: %d lines in %d files\n", c.lines, c.files)
	for _, folder := range slices.Sorted(maps.Keys(c.perFolder)) {
		fmt.Printf("  %-10s %6d\n", folder, c.perFolder[folder])
	}
	fmt.Printf("files under %d lines, not for a platform, not doc.go, no whole program: %d\n", small, len(c.smallFiles))
	for _, name := range c.smallFiles {
		fmt.Printf("  %s\n", name)
	}
	var large []string
	most := 0
	for _, name := range slices.Sorted(maps.Keys(c.methods)) {
		most = max(most, c.methods[name])
		if c.methods[name] > many {
			large = append(large, fmt.Sprintf("%s (%d)", name, c.methods[name]))
		}
	}
	fmt.Printf("most methods on a type: %d; types with more than %d: %d\n", most, many, len(large))
	for _, name := range large {
		fmt.Printf("  %s\n", name)
	}
}
