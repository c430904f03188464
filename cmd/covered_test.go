package cmd

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryCommandHasAScript asks every binary for its commands and looks for
// each in the scripts.
func TestEveryCommandHasAScript(t *testing.T) {
	entries, err := os.ReadDir(bin)
	if err != nil {
		t.Fatal(err)
	}
	text := allScripts(t)
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		for _, command := range commandsOf(t, e.Name()) {
			if !called(text, command) {
				t.Errorf("no script calls %q", command)
			}
		}
	}
}

func allScripts(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(scripts, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".txtar" {
			return err
		}
		data, err := os.ReadFile(path)
		b.Write(data)
		b.WriteByte('\n')
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// commandsOf lists "aiflow-run", "aiflow-run list" … as the help does. What
// aiflow only passes on is counted where it arrives.
func commandsOf(t *testing.T, name string) []string {
	t.Helper()
	all := []string{name}
	for _, c := range below(t, name) {
		if name == "aiflow" {
			if _, err := os.Stat(filepath.Join(bin, "aiflow-"+c)); err == nil || !isOwn(c) {
				continue
			}
		}
		all = append(all, name+" "+c)
		for _, cc := range below(t, name, c) {
			all = append(all, name+" "+c+" "+cc)
		}
	}
	return all
}

func isOwn(c string) bool { return c == "init" || c == "version" || c == "completion" || c == "schema" }

// below gives the commands of a command.
func below(t *testing.T, name string, words ...string) []string {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, name), append(words, "--help", "--json")...)
	cmd.Dir = t.TempDir()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q --help: %v", name, words, err)
	}
	var help struct{ Commands []struct{ Name string } }
	if err := json.Unmarshal(out, &help); err != nil {
		t.Fatalf("%s %q --help --json: %v: %s", name, words, err, out)
	}
	var found []string
	for _, c := range help.Commands {
		found = append(found, c.Name)
	}
	return found
}

// called says whether a script has a line with the command: "aiflow-run list",
// or "aiflow run list" through aiflow, flags between the words or not.
func called(text, command string) bool {
	words := strings.Fields(strings.Replace(command, "aiflow-", "aiflow ", 1))
	pattern := `(?m)^[^#\n]*\b` + words[0]
	for i, w := range words[1:] {
		between := `[^\n|;&]*\s`
		if i == 0 {
			between = `(-|[^\n|;&]*\s)`
		}
		pattern += between + regexp.QuoteMeta(w) + `\b`
	}
	return regexp.MustCompile(pattern).MatchString(text)
}

func TestCalled(t *testing.T) {
	text := "# exec aiflow-run stop\nexec aiflow-run list --json\n! exec aiflow --lang ja request new --title x\nexec aiflow-lock exec a -- aiflow-next\n"
	for command, want := range map[string]bool{
		"aiflow-run": true, "aiflow-run list": true, "aiflow-run stop": false, "aiflow-request new": true,
		"aiflow-request list": false, "aiflow-next": true, "aiflow-hook": false, "aiflow-run li": false,
	} {
		if called(text, command) != want {
			t.Errorf("called(%q) = %v", command, !want)
		}
	}
}
