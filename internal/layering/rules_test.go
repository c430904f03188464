// Package layering reads the sources and reports what breaks the layout: which package may import which,
// where each outside module may appear, and which calls only commands may make.
// Its test reads every source file of the module.
//
// It does not take part in any program.
package layering

import (
	"fmt"
	"sort"
	"strings"
)

// Package is what the checks look at.
type Package struct {
	Path  string // relative to the module: "reqmeta", "cmd/aiflow-next"
	Doc   string // the package comment
	Files []File
}

// File is one source file.
type File struct {
	Name    string
	Test    bool
	Imports []string // import paths, our own without the module's name: "./locks"
	Calls   []string // functions of packages os, log and time: "os.Exit"
	Methods []string // for each method the type it belongs to
}

// layer is the height of each place; a package imports only lower ones. The
// base has three steps of its own.
func layer(path string) (height int, name string) {
	switch first, second := split(path); {
	case path == "internal/verify":
		return tests, "test"
	case path == "internal/fault", path == "docs/schema":
		return 0, "base"
	case path == "internal/config", path == "internal/gitcmd", path == "internal/failpoint":
		return 2, "base"
	case first == "internal":
		return 1, "base"
	case isPart(first):
		return 10, "part"
	case first == "project":
		return 20, "project"
	case first == "runner", first == "doctor":
		return 30, "work"
	case first == "server":
		return 40, "face"
	case path == "cmd/internal/cli":
		return 50, "command support"
	case first == "cmd" && second == "internal":
		return 51, "command support"
	case first == "cmd", first == "scripts":
		return 60, "command"
	}
	return -1, ""
}

// tests is above everything: no program can import what is there.
const tests = 100

func isPart(name string) bool {
	switch name {
	case "reqmeta", "locks", "editlock", "runs", "gitops", "hooks", "queue", "messages":
		return true
	}
	return false
}

func split(path string) (first, second string) {
	parts := strings.SplitN(path, "/", 3)
	if len(parts) > 1 {
		second = parts[1]
	}
	return parts[0], second
}

// folder is the part of a path that belongs together: a package may import its
// own neighbours inside it.
func folder(path string) string {
	parts := strings.Split(path, "/")
	switch {
	case parts[0] == "cmd" && len(parts) > 2 && parts[1] == "internal":
		return strings.Join(parts[:3], "/")
	case (parts[0] == "internal" || parts[0] == "cmd" || parts[0] == "scripts") && len(parts) > 1:
		return strings.Join(parts[:2], "/")
	}
	return parts[0]
}

// home says where an outside module may be imported, and why only there.
type home struct{ module, place, reason string }

func homes() []home {
	return []home{
		{"github.com/adrg/frontmatter", "reqmeta", "one reader of request files"},
		{"go.yaml.in/yaml/v3", "reqmeta", "one reader of request files"},
		{"github.com/BurntSushi/toml", "reqmeta/convert", "only an import reads it"},
		{"golang.org/x/text/width", "internal/term", "one opinion about terminals"},
		{"golang.org/x/text", "reqmeta/convert", "nothing but an import reads other encodings"},
		{"github.com/yuin/goldmark", "reqmeta/convert", "only an import reads markdown as such"},
		{"github.com/go-git", "gitops", "small binaries must not link it"},
		{"github.com/sergi/go-diff", "gitops", "diffs are made in one place"},
		{"github.com/urfave/cli", "cmd", "parts know no flags"},
		{"github.com/aws", "queue", "it costs milliseconds at every start"},
		{"github.com/evanw/esbuild", "server/ui", "only the page has a bundle"},
		{"github.com/modelcontextprotocol/go-sdk", "cmd/aiflow-mcp", "only agents speak MCP"},
		{"github.com/rogpeppe/go-internal", "", "only tests run scripts"},
		{"github.com/chromedp", "scripts/bench", "only tests and the bench drive a browser"},
		{"github.com/santhosh-tekuri/jsonschema", "", "only tests hold JSON against its schema"},
		{"golang.org/x/term", "internal/term", "one opinion about terminals"},
		{"golang.org/x/sys", "*", "system calls"},
	}
}

// mostMethods is how many methods a type may have.
const mostMethods = 40

// Check gives every breach, one line each, sorted.
func Check(all []Package) []string {
	var found []string
	for _, p := range all {
		found = append(found, comment(p)...)
		if height, _ := layer(p.Path); height == tests {
			continue
		}
		methods := map[string]int{}
		for _, f := range p.Files {
			if f.Test {
				continue
			}
			found = append(found, imports(p, f)...)
			found = append(found, calls(p, f)...)
			for _, of := range f.Methods {
				methods[of]++
			}
		}
		for of, n := range methods {
			if n > mostMethods {
				found = append(found, fmt.Sprintf("%s: %s has %d methods, at most %d are read as one thing", p.Path, of, n, mostMethods))
			}
		}
	}
	sort.Strings(found)
	return found
}

func comment(p Package) []string {
	if strings.Contains(strings.Join(strings.Fields(p.Doc), " "), "does not") {
		return nil
	}
	return []string{p.Path + `: the package comment does not say what the package does not do ("does not")`}
}

func imports(p Package, f File) []string {
	var found []string
	for _, path := range f.Imports {
		breach := ""
		switch {
		case strings.HasPrefix(path, "./"):
			breach = down(p.Path, path[2:])
		case strings.Contains(strings.SplitN(path, "/", 2)[0], "."):
			breach = atHome(p.Path, path)
		}
		if breach != "" {
			found = append(found, fmt.Sprintf("%s/%s: %s", p.Path, f.Name, breach))
		}
	}
	return found
}

func down(from, to string) string {
	here, name := layer(from)
	there, _ := layer(to)
	for _, name := range strangers[from] {
		if to == name || strings.HasPrefix(to, name+"/") {
			return fmt.Sprintf("%s imports %s, which it must not know", from, to)
		}
	}
	switch {
	case here < 0:
		return "this folder has no layer: give it one in internal/layering"
	case folder(from) == folder(to):
		return upstairs(from, to)
	case there < 0:
		return "imports " + to + ", which has no layer"
	case to == "messages" && here < 40:
		return "imports messages: sentences belong to faces and commands"
	case to == "messages", there < here:
		return ""
	}
	return fmt.Sprintf("a %s imports %s, which is not on a lower layer", name, to)
}

// steps are the heights of packages that belong together and are not on one level.
var steps = map[string]int{
	"reqmeta": 1, "reqmeta/folder": 2, "reqmeta/edit": 2, "reqmeta/choose": 3, "reqmeta/convert": 3, "reqmeta/draw": 4,
	"runner/agent": 1, "runner/stage": 2, "runner/land": 2, "runner/revive": 3, "runner": 4,
}

// strangers are packages that one on the same or a higher layer must not know.
var strangers = map[string][]string{
	"runner/agent": {"gitops", "locks", "project", "reqmeta", "runs"}, // it knows no run
}

func upstairs(from, to string) string {
	if here := steps[from]; here > 0 && steps[to] >= here {
		return fmt.Sprintf("%s imports %s, which is not below it", from, to)
	}
	return ""
}

func atHome(from, module string) string {
	for _, h := range homes() {
		if module != h.module && !strings.HasPrefix(module, h.module+"/") {
			continue
		}
		if h.place == "*" || h.place != "" && (from == h.place || strings.HasPrefix(from, h.place+"/")) {
			return ""
		}
		return fmt.Sprintf("imports %s: %s", module, h.reason)
	}
	return "imports " + module + ", which has no home: give it one in internal/layering"
}

func calls(p Package, f File) []string {
	height, _ := layer(p.Path)
	var found []string
	for _, call := range f.Calls {
		allowed := height >= 50
		if call == "os.Exit" || strings.HasPrefix(call, "log.Fatal") {
			allowed = height == 60 && f.Name == "main.go"
		}
		if !allowed {
			found = append(found, fmt.Sprintf("%s/%s: calls %s", p.Path, f.Name, call))
		}
	}
	return found
}
