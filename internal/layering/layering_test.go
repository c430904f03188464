package layering

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTheHouse(t *testing.T) {
	all, err := Read("../..", "aiflow")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 4 {
		t.Fatalf("only %d packages found", len(all))
	}
	for _, breach := range Check(all) {
		t.Error(breach)
	}
}

const doc = "Package x does not matter."

func one(path, name string, imports []string, calls ...string) []Package {
	return []Package{{Path: path, Doc: doc, Files: []File{{Name: name, Imports: imports, Calls: calls}}}}
}

func TestBreachesAreFound(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   []Package
		want string // "" = no breach
	}{
		{"part to base", one("locks", "a.go", []string{"./internal/fault", "os"}), ""},
		{"part to part", one("locks", "a.go", []string{"./runs"}), "locks/a.go: a part imports runs, which is not on a lower layer"},
		{"part to its own part", one("reqmeta/reqgen", "a.go", []string{"./reqmeta"}), ""},
		{"part to what is below it", one("reqmeta/choose", "a.go", []string{"./reqmeta/folder"}), ""},
		{"part to what is above it", one("reqmeta/folder", "a.go", []string{"./reqmeta/choose"}), "reqmeta/folder/a.go: reqmeta/folder imports reqmeta/choose, which is not below it"},
		{"part to what is beside it", one("reqmeta/edit", "a.go", []string{"./reqmeta/folder"}), "reqmeta/edit/a.go: reqmeta/edit imports reqmeta/folder, which is not below it"},
		{"part to its parts", one("reqmeta", "a.go", []string{"./reqmeta/edit"}), "reqmeta/a.go: reqmeta imports reqmeta/edit, which is not below it"},
		{"a run that stopped to the stages", one("runner/revive", "a.go", []string{"./runner/stage"}), ""},
		{"the stages to a run that stopped", one("runner/stage", "a.go", []string{"./runner/revive"}), "runner/stage/a.go: runner/stage imports runner/revive, which is not below it"},
		{"the stages to the face", one("runner/stage", "a.go", []string{"./runner"}), "runner/stage/a.go: runner/stage imports runner, which is not below it"},
		{"agent to a run", one("runner/agent", "a.go", []string{"./runs"}), "runner/agent/a.go: runner/agent imports runs, which it must not know"},
		{"agent to the ground", one("runner/agent", "a.go", []string{"./internal/config"}), ""},
		{"part to project", one("runs", "a.go", []string{"./project"}), "runs/a.go: a part imports project, which is not on a lower layer"},
		{"project to part", one("project", "a.go", []string{"./reqmeta"}), ""},
		{"work to work", one("doctor", "a.go", []string{"./runner"}), "doctor/a.go: a work imports runner, which is not on a lower layer"},
		{"base sideways", one("internal/term", "a.go", []string{"./internal/proc"}), "internal/term/a.go: a base imports internal/proc, which is not on a lower layer"},
		{"base upwards", one("internal/gitcmd", "a.go", []string{"./locks"}), "internal/gitcmd/a.go: a base imports locks, which is not on a lower layer"},
		{"base to fault", one("internal/proc", "a.go", []string{"./internal/fault"}), ""},
		{"config to its tools", one("internal/config", "a.go", []string{"./internal/near"}), ""},
		{"what only tests have", one("runner", "a.go", []string{"./internal/verify"}), "runner/a.go: a work imports internal/verify, which is not on a lower layer"},
		{"part to messages", one("runs", "a.go", []string{"./messages"}), "runs/a.go: imports messages: sentences belong to faces and commands"},
		{"work to messages", one("doctor", "a.go", []string{"./messages"}), "doctor/a.go: imports messages: sentences belong to faces and commands"},
		{"face to messages", one("server", "a.go", []string{"./messages"}), ""},
		{"command to command support", one("cmd/aiflow", "a.go", []string{"./cmd/internal/cli"}), ""},
		{"support to the first support", one("cmd/internal/app", "a.go", []string{"./cmd/internal/cli"}), ""},
		{"the first support to another", one("cmd/internal/cli", "a.go", []string{"./cmd/internal/app"}), "cmd/internal/cli/a.go: a command support imports cmd/internal/app, which is not on a lower layer"},
		{"command to command", one("cmd/aiflow", "a.go", []string{"./cmd/aiflow-run"}), "cmd/aiflow/a.go: a command imports cmd/aiflow-run, which is not on a lower layer"},
		{"face to command support", one("server", "a.go", []string{"./cmd/internal/cli"}), "server/a.go: a face imports cmd/internal/cli, which is not on a lower layer"},
		{"unknown folder", one("utils", "a.go", []string{"./locks"}), "utils/a.go: this folder has no layer: give it one in internal/layering"},
		{"import of an unknown folder", one("server", "a.go", []string{"./utils"}), "server/a.go: imports utils, which has no layer"},

		{"yaml at home", one("reqmeta", "a.go", []string{"go.yaml.in/yaml/v3"}), ""},
		{"yaml abroad", one("internal/config", "a.go", []string{"go.yaml.in/yaml/v3"}), "internal/config/a.go: imports go.yaml.in/yaml/v3: one reader of request files"},
		{"go-git at home", one("gitops", "a.go", []string{"github.com/go-git/go-git/v5/plumbing"}), ""},
		{"go-git abroad", one("project", "a.go", []string{"github.com/go-git/go-git/v5"}), "project/a.go: imports github.com/go-git/go-git/v5: small binaries must not link it"},
		{"go-diff abroad", one("server", "a.go", []string{"github.com/sergi/go-diff/diffmatchpatch"}), "server/a.go: imports github.com/sergi/go-diff/diffmatchpatch: diffs are made in one place"},
		{"cli at home", one("cmd/internal/cli", "a.go", []string{"github.com/urfave/cli/v2"}), ""},
		{"cli abroad", one("runner", "a.go", []string{"github.com/urfave/cli/v2"}), "runner/a.go: imports github.com/urfave/cli/v2: parts know no flags"},
		{"aws at home", one("queue/dynamo", "a.go", []string{"github.com/aws/aws-sdk-go-v2/config"}), ""},
		{"aws abroad", one("cmd/aiflow-queue", "a.go", []string{"github.com/aws/aws-sdk-go-v2/config"}), "cmd/aiflow-queue/a.go: imports github.com/aws/aws-sdk-go-v2/config: it costs milliseconds at every start"},
		{"esbuild at home", one("server/ui/bundle", "a.go", []string{"github.com/evanw/esbuild/pkg/api"}), ""},
		{"esbuild abroad", one("server", "a.go", []string{"github.com/evanw/esbuild/pkg/api"}), "server/a.go: imports github.com/evanw/esbuild/pkg/api: only the page has a bundle"},
		{"mcp at home", one("cmd/aiflow-mcp", "a.go", []string{"github.com/modelcontextprotocol/go-sdk/mcp"}), ""},
		{"mcp abroad", one("server", "a.go", []string{"github.com/modelcontextprotocol/go-sdk/mcp"}), "server/a.go: imports github.com/modelcontextprotocol/go-sdk/mcp: only agents speak MCP"},
		{"testscript in a program", one("cmd/aiflow", "a.go", []string{"github.com/rogpeppe/go-internal/testscript"}), "cmd/aiflow/a.go: imports github.com/rogpeppe/go-internal/testscript: only tests run scripts"},
		{"testscript in a test", []Package{{Path: "cmd", Doc: doc, Files: []File{{Name: "a_test.go", Test: true, Imports: []string{"github.com/rogpeppe/go-internal/testscript"}}}}}, ""},
		{"stranger", one("locks", "a.go", []string{"example.com/x"}), "locks/a.go: imports example.com/x, which has no home: give it one in internal/layering"},

		{"exit in main", one("cmd/aiflow", "main.go", nil, "os.Exit"), ""},
		{"exit beside main", one("cmd/aiflow", "init.go", nil, "os.Exit"), "cmd/aiflow/init.go: calls os.Exit"},
		{"exit in the command support", one("cmd/internal/cli", "main.go", nil, "os.Exit"), "cmd/internal/cli/main.go: calls os.Exit"},
		{"fatal in a part", one("locks", "main.go", nil, "log.Fatalf"), "locks/main.go: calls log.Fatalf"},
		{"clock in a command", one("cmd/internal/cli", "a.go", nil, "time.Now", "os.Getenv"), ""},
		{"clock in a part", one("locks", "a.go", nil, "time.Now"), "locks/a.go: calls time.Now"},
		{"environment in a part", one("gitops", "a.go", nil, "os.Getenv"), "gitops/a.go: calls os.Getenv"},

		{"forty methods", []Package{{Path: "locks", Doc: doc, Files: []File{{Name: "a.go", Methods: slices.Repeat([]string{"T"}, 40)}}}}, ""},
		{"forty-one methods in two files", []Package{{Path: "locks", Doc: doc, Files: []File{{Name: "a.go", Methods: slices.Repeat([]string{"T", "U"}, 20)}, {Name: "b.go", Methods: slices.Repeat([]string{"T"}, 21)}}}}, "locks: T has 41 methods, at most 40 are read as one thing"},
		{"silent package", []Package{{Path: "locks", Doc: "Package locks locks."}}, `locks: the package comment does not say what the package does not do ("does not")`},
		{"words over a line break", []Package{{Path: "locks", Doc: "Package locks does\nnot hurry."}}, ""},
	} {
		got := strings.Join(Check(tc.in), "\n")
		if got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

// first are the packages that the folder began with; commands are the folders of
// cmd.
var first = []string{
	"server", "server/ui", "runner", "doctor", "reqmeta", "locks", "runs", "gitops", "hooks", "queue", "messages", "cmd",
	"internal/fault", "internal/atomicfile", "internal/proc", "internal/config", "internal/term", "internal/layering",
}

// TestEveryPackageHasAReason: a package that came later stands in a decision.
func TestEveryPackageHasAReason(t *testing.T) {
	all, err := Read("../..", "aiflow")
	if err != nil {
		t.Fatal(err)
	}
	decisions := decided(t)
	if got := unreasoned(append(all, Package{Path: "internal/nobody"}), decisions); !slices.Equal(got, []string{"internal/nobody"}) {
		t.Errorf("in no decision: %v, want only the one that nobody has", got)
	}
}

func unreasoned(all []Package, decisions string) []string {
	var found []string
	for _, p := range all {
		command := strings.HasPrefix(p.Path, "cmd/aiflow") && strings.Count(p.Path, "/") == 1
		if !command && !slices.Contains(first, p.Path) && !strings.Contains(decisions, "`"+p.Path+"`") {
			found = append(found, p.Path)
		}
	}
	return found
}

func decided(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("../../docs/decisions/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal("no decisions", err)
	}
	var all strings.Builder
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	return all.String()
}

func TestReadSeesWhatItShould(t *testing.T) {
	root := t.TempDir()
	write(t, root, "locks/a.go", "// Package locks does not.\npackage locks\n\nimport (\n\t\"aiflow/runs\"\n\t\"time\"\n)\n\nvar now = time.Now\n\nfunc f(os struct{ Exit func() }) { os.Exit(); runs.X() }\n")
	write(t, root, "locks/a_test.go", "package locks\n\nimport \"os\"\n\nfunc g() { os.Exit(1) }\n")
	write(t, root, "locks/testdata/b.go", "package broken !")
	write(t, root, ".demo/c.go", "package broken !")
	all, err := Read(root, "aiflow")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(Check(all), "\n")
	want := "locks/a.go: a part imports runs, which is not on a lower layer\nlocks/a.go: calls time.Now"
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// heavy is what the binaries that run at every commit must not link.
func heavy(deps []string) []string {
	var found []string
	for _, d := range deps {
		if d == "net/http" || strings.HasPrefix(d, "github.com/go-git/") || strings.HasPrefix(d, "github.com/aws/") || strings.HasPrefix(d, "github.com/yuin/goldmark") {
			found = append(found, d)
		}
	}
	return found
}

func deps(t *testing.T, dir, tags string) []string {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-tags", tags, "./"+dir)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	return strings.Fields(string(out))
}

func TestLightBinariesStayLight(t *testing.T) {
	for _, dir := range []string{"cmd/aiflow-next", "cmd/aiflow-hook", "cmd/aiflow-lock", "cmd/aiflow"} {
		if found := heavy(deps(t, dir, "urfave_cli_no_docs")); found != nil {
			t.Errorf("%s links %v", dir, found)
		}
	}
}

func TestHeavyIsFound(t *testing.T) {
	got := heavy([]string{"os", "net", "net/http", "github.com/go-git/go-git/v5", "github.com/aws/aws-sdk-go-v2/aws", "net/httpx", "github.com/yuin/goldmark/ast"})
	if want := "[net/http github.com/go-git/go-git/v5 github.com/aws/aws-sdk-go-v2/aws github.com/yuin/goldmark/ast]"; strings.Join(got, " ") != strings.Trim(want, "[]") {
		t.Errorf("%v", got)
	}
}
