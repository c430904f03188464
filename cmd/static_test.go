package cmd

import (
	"debug/elf"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
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
