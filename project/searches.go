package project

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"

	"aiflow/internal/atomicfile"
	"aiflow/internal/config"
)

// WorkspacesBeside is the line of the configuration that puts the workspaces beside
// the checkout.
const WorkspacesBeside = `"workspace": {"root": "` + Beside + `"}`

// Beside is workspace.root for that.
const Beside = "../{repo}-work"

// NPMTest is the test script of the package.json in a folder; "" for none.
func NPMTest(dir string) string {
	data, err := atomicfile.ReadPlain(filepath.Join(dir, "package.json"))
	var manifest struct {
		Scripts map[string]string `json:"scripts"`
	}
	if err != nil || json.Unmarshal(data, &manifest) != nil {
		return ""
	}
	return manifest.Scripts["test"]
}

// TestRunnerInside names the command of the project's package.json that would run the
// tests of the workspaces too, as they lie inside the checkout; "" when there is
// none. Jest, vitest and a bare `node --test` look into every folder but
// node_modules; the runners of Go and Python pass by names that begin with a dot.
func TestRunnerInside(dir string, c config.Config) string {
	if c.Git.Workspace == config.WorkspaceInPlace || !filepath.IsLocal(c.Workspace.Root) {
		return ""
	}
	command := NPMTest(dir)
	searches := regexp.MustCompile(`(^|[\s/;&|])(jest|vitest)\b|\bnode\s+(-\S+\s+)*--test(\s+-\S+)*\s*($|[;&|])`)
	if !searches.MatchString(command) {
		return ""
	}
	// A configuration that speaks of our folder keeps the runner out of it.
	configs, _ := filepath.Glob(filepath.Join(dir, "*.config.*"))
	for _, path := range append(configs, filepath.Join(dir, "package.json")) {
		if text, err := atomicfile.ReadPlain(path); err == nil && strings.Contains(string(text), ".aiflow") {
			return ""
		}
	}
	return command
}
