package cmd

import (
	"debug/elf"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// The tests build as `make build` does.
func TestTagsAreThoseOfTheMakefile(t *testing.T) {
	text, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^TAGS\s*:= (.+)$`).FindSubmatch(text)
	if m == nil || string(m[1]) != tags {
		t.Errorf("the Makefile has %s, the tests %s", m, tags)
	}
}

// A program that needs no C library runs on every Linux, and starts sooner.
func TestProgramsNeedNoCLibrary(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("ELF files are looked at")
	}
	programs, err := filepath.Glob(filepath.Join(bin, "aiflow*"))
	if err != nil || len(programs) < 9 {
		t.Fatal(programs, err)
	}
	for _, path := range programs {
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if libs, err := f.ImportedLibraries(); err != nil || len(libs) > 0 || f.Section(".interp") != nil {
			t.Errorf("%s needs %v, %v", filepath.Base(path), libs, err)
		}
		f.Close()
	}
}

// What is made gets 0o777 or 0o666 less the umask, or is private: a mode that
// lets others read but not write takes a choice that is the umask's.
func TestModesAreLeftToTheUmask(t *testing.T) {
	mode := regexp.MustCompile(`\b0o?(?:644|664|640|755|775|750)\b`)
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return fs.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"), filepath.ToSlash(path) == "../internal/proc/shell.go":
			return nil // the last one writes programs of tests
		}
		files++
		text, err := os.ReadFile(path)
		for _, found := range mode.FindAll(text, -1) {
			t.Errorf("%s: %s", path, found)
		}
		return err
	})
	if err != nil || files < 100 {
		t.Fatal(files, err)
	}
}

// The programs that start at every prompt and commit carry no schemas.
func TestLeanProgramsHaveNoSchemas(t *testing.T) {
	for program, want := range map[string]bool{"aiflow": true, "aiflow-next": false, "aiflow-hook": false} {
		data, err := os.ReadFile(filepath.Join(bin, program))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(data), `"$defs"`); got != want {
			t.Errorf("%s has the schemas: %v", program, got)
		}
	}
}
