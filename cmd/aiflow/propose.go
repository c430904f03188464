package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"aiflow/cmd/internal/shipped"
	"aiflow/internal/atomicfile"
	"aiflow/internal/config"
	"aiflow/internal/gitcmd"
	"aiflow/internal/term"
	"aiflow/project"
	"aiflow/reqmeta"
)

// proposal is something that init saw and could set.
type proposal struct {
	File  string `json:"file"`
	Line  string `json:"line"`             // as it would stand there
	Why   string `json:"why"`              // a sentence
	Taken bool   `json:"taken"`            // it was written
	ByYes bool   `json:"by_yes,omitempty"` // `aiflow init --yes` writes it

	set func()
}

// propose looks at what is there and settles what is taken: all with --yes, what a
// person at a terminal says, and nothing otherwise.
func (in *initializer) propose(yes bool) {
	file, _ := atomicfile.ReadPlain(in.path(config.File))
	ours := file == nil
	if file != nil {
		in.said, ours = shipped.ReadConfig(file)
	}
	in.proposePreset()
	if commands := in.testCommands(); len(commands) > 0 && in.may("tests.unit.command") && in.may("tests.unit.enabled") {
		first := commands[0]
		in.suggest(`"tests": {"unit": {"command": `+quoted(first)+`}}`, "tests", func() { in.said.Tests.Unit.Command = first },
			"command", first, "others", strings.Join(commands[1:], ", "))
	}
	in.proposeLinks()
	if command := project.TestRunnerInside(in.root.Dir, in.cfg); command != "" && in.may("workspace.root") {
		in.suggest(project.WorkspacesBeside, "searched", func() { in.said.Workspace.Root = project.Beside }, "command", command)
	}
	for i := range in.proposals {
		in.proposals[i].ByYes = ours
	}
	in.proposeRouter()
	in.asked = !yes && !in.shell.JSON && in.shell.Terminal() && term.IsTerminal(in.shell.Stdin)
	answers := bufio.NewReader(in.shell.Stdin)
	for i := range in.proposals {
		p := &in.proposals[i]
		if p.ByYes && (yes || in.asked && in.agreed(answers, p)) {
			p.set()
			p.Taken = true
		}
	}
}

// agreed asks a person; no answer is no.
func (in *initializer) agreed(answers *bufio.Reader, p *proposal) bool {
	in.shell.Printf("%s\n  %s: %s\n%s ", term.Escape(p.Why), p.File, term.Escape(p.Line), in.shell.Text("cli.init_ask"))
	if in.shell.Flush() != nil {
		return false
	}
	line, err := answers.ReadString('\n')
	word := strings.ToLower(strings.TrimSpace(line))
	return err == nil && (word == "" || strings.HasPrefix(word, "y") || word == "はい")
}

// may reports whether nobody said a value for a key yet.
func (in *initializer) may(key string) bool {
	return in.cfg.Origin(key).Kind == "default" || key == "tests.unit.command" && in.cfg.Tests.Unit.Command == ""
}

func (in *initializer) suggest(line, why string, set func(), facts ...any) {
	in.proposals = append(in.proposals, proposal{File: config.File, Line: line, Why: in.shell.Text("cli.init_saw_"+why, facts...), set: set})
}

// proposePreset is for a project whose tasks another tool has, where no request is yet.
func (in *initializer) proposePreset() {
	for _, tool := range []struct{ preset, sign string }{{"backlog.md", "backlog/config.yml"}, {"ticket", ""}} {
		c, _, err := config.Parse([]byte(`{"preset": `+quoted(tool.preset)+`}`), config.File)
		if err != nil || tool.sign != "" && !in.has(tool.sign) || len(in.entries(c.Paths.RequestsDir)) == 0 || !in.may("preset") || !in.may("paths.requests_dir") ||
			slices.ContainsFunc(in.entries(in.cfg.Paths.RequestsDir), func(e os.DirEntry) bool { return e.Name() != reqmeta.TemplateName }) {
			continue
		}
		in.suggest(`"preset": `+quoted(tool.preset), "tasks", func() {
			in.said.Preset, in.said.Paths.Requests = tool.preset, ""
			in.cfg.Preset, in.cfg.Paths.RequestsDir, in.cfg.Paths.DoneDirs = tool.preset, c.Paths.RequestsDir, c.Paths.DoneDirs
		}, "dir", c.Paths.RequestsDir)
		return
	}
}

// testCommands are those that the files of the project speak of, a Makefile's first:
// it is the project's own summary.
func (in *initializer) testCommands() []string {
	var found []string
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if regexp.MustCompile(`(?m)^test[ \t]*:([^=]|$)`).MatchString(in.read(name)) {
			found = append(found, "make test")
			break
		}
	}
	if command := in.npmTest(); command != "" {
		found = append(found, command)
	}
	if in.has("go.mod") {
		found = append(found, "go test ./...")
	}
	if in.has("Cargo.toml") {
		found = append(found, "cargo test")
	}
	if in.has("pytest.ini") || in.has("conftest.py") || in.has("tests/conftest.py") || strings.Contains(in.read("pyproject.toml"), "[tool.pytest") ||
		strings.Contains(in.read("setup.cfg"), "[tool:pytest]") || strings.Contains(in.read("tox.ini"), "[pytest]") {
		command := "pytest"
		for _, env := range []string{".venv", "venv"} { // nobody activates it for a run
			if in.has(env + "/bin/pytest") {
				command = env + "/bin/pytest"
				break
			}
		}
		found = append(found, command)
	}
	return found
}

// npmTest is how the test script of package.json is started, when it is one: npm
// itself writes one that only fails.
func (in *initializer) npmTest() string {
	script := project.NPMTest(in.root.Dir)
	switch {
	case strings.TrimSpace(script) == "", strings.Contains(script, "no test specified"):
		return ""
	case in.has("pnpm-lock.yaml"):
		return "pnpm test"
	case in.has("yarn.lock"):
		return "yarn test"
	}
	return "npm test"
}

// proposeLinks are folders that tests need and that git ignores, so that a new
// worktree lacks them.
func (in *initializer) proposeLinks() {
	var links []string
	for _, dir := range []string{"node_modules", ".venv", "venv"} {
		if fi, err := os.Stat(in.path(dir)); err == nil && fi.IsDir() && in.root.Git && in.git("check-ignore", "-q", "--", dir) {
			links = append(links, dir)
		}
	}
	if len(links) > 0 && in.may("workspace.link") {
		in.suggest(`"workspace": {"link": `+quoted(links)+`}`, "links", func() { in.said.Workspace.Link = links }, "names", strings.Join(links, ", "))
	}
}

// proposeRouter is a router for the AI commands that can be started here.
func (in *initializer) proposeRouter() {
	var there []string
	presets := config.Presets()
	for _, name := range []string{"claude", "codex", "gemini"} {
		if _, err := exec.LookPath(presets[name].Bin); err == nil {
			there = append(there, name)
		}
	}
	if _, err := os.Lstat(in.path(config.RouterFile)); err == nil || len(there) == 0 {
		return
	}
	text := shipped.RouterText(there)
	in.proposals = append(in.proposals, proposal{
		File: config.RouterFile, Line: strings.Join(strings.Fields(string(text)), " "), ByYes: true,
		Why: in.shell.Text("cli.init_saw_agents", "names", strings.Join(there, ", ")),
		set: func() { in.router = text },
	})
}

// has reports whether a file is there; a folder of that name says nothing.
func (in *initializer) has(rel string) bool {
	fi, err := os.Stat(in.path(rel))
	return err == nil && fi.Mode().IsRegular()
}

func (in *initializer) read(rel string) string {
	text, _ := in.text(rel)
	return text
}

func (in *initializer) text(rel string) (text string, there bool) {
	data, err := atomicfile.ReadPlain(in.path(rel))
	return string(data), err == nil
}

// git asks git a question that has a yes or a no. Until a person was asked, Ctrl-C
// ends the program by itself.
func (in *initializer) git(args ...string) bool {
	_, err := gitcmd.Git{Dir: in.root.Dir, Env: in.shell.Environ()}.Ask(context.Background(), args...)
	return err == nil
}

func quoted(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

// tellProposals says what was seen and set, what was not, and how to set it. Who was
// asked knows what was set.
func (in *initializer) tellProposals() {
	var set, left []proposal
	key := "cli.init_seen"
	for _, p := range in.proposals {
		switch {
		case !p.Taken:
			left = append(left, p)
			if p.ByYes {
				key = "cli.init_seen_yes"
			}
		case !in.asked:
			set = append(set, p)
		}
	}
	for _, part := range []struct {
		key string
		all []proposal
	}{{"cli.init_seen_set", set}, {key, left}} {
		if len(part.all) > 0 {
			in.shell.Printf("\n%s\n", in.shell.Text(part.key))
		}
		for _, p := range part.all {
			in.shell.Printf("  %s\n    %s: %s\n", term.Escape(p.Why), p.File, term.Escape(p.Line))
		}
	}
}

// agents writes our part of AGENTS.md. One that git knows is not touched where
// nothing is to be seen.
func (in *initializer) agents() error {
	old, there := in.text(shipped.AgentsFile)
	if in.stealth && in.root.Git && in.git("ls-files", "--error-unmatch", "--", shipped.AgentsFile) {
		in.notes = append(in.notes, in.shell.Text("cli.init_agents_tracked", "path", shipped.AgentsFile))
		return nil
	}
	text, more := shipped.WithAgents(old, there, in.shell.Lang(), in.cfg)
	action := renewed
	switch {
	case !there:
		action = made
	case more:
		action = added
	case text == old:
		action = kept
	}
	in.note(shipped.AgentsFile, action)
	if action == kept {
		return nil
	}
	return in.write(shipped.AgentsFile, []byte(text))
}

// route writes the router of a proposal that was taken.
func (in *initializer) route() error {
	if in.router == nil {
		return nil
	}
	in.note(config.RouterFile, made)
	return in.write(config.RouterFile, in.router)
}

// excludeFile is git's own list of what it does not see, which is in no commit.
func (in *initializer) excludeFile() string {
	if !in.root.Git {
		return ""
	}
	out, err := gitcmd.Git{Dir: in.root.Dir, Env: in.shell.Environ()}.Ask(context.Background(), "rev-parse", "--git-path", "info/exclude")
	if err != nil {
		return ""
	}
	return strings.TrimRight(string(out), "\r\n")
}
