package cmd

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"aiflow/testdata/agents/models"
)

var slowAgents = flag.Bool("agents.slow", false, "also what takes the real AI commands minutes")

const agentsDir = "../testdata/agents"

// agents are the programs by the names under which our presets start them. What
// npm makes of them in .bin is not there where its install scripts do not run.
var agents = map[string]string{
	"claude": "@anthropic-ai/claude-code-linux-*/claude",
	"codex":  "@openai/codex/bin/codex.js",
	"gemini": "@google/gemini-cli/bundle/gemini.js",
}

// TestRealAgents drives the real claude, codex and gemini through our own
// binaries, with the presets as they ship: each script of testdata/agents/script
// once for each of them. Models are played by testdata/agents/models. All of it
// is in a namespace that has no network but loopback, with an environment and a
// HOME of its own and keys that are none.
func TestRealAgents(t *testing.T) {
	if os.Getenv(aloneBin) == "" {
		t.Parallel()
		runAlone(t)
		return
	}
	if err := loopbackUp(); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(agentsDir)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&models.Server{Scenarios: filepath.Join(here, "scenarios")})
	t.Cleanup(server.CloseClientConnections)
	path := t.TempDir()
	for name, glob := range agents {
		program, _ := filepath.Glob(filepath.Join(here, "node_modules", glob))
		if len(program) != 1 {
			t.Fatalf("%s is not installed: npm ci --ignore-scripts in testdata/agents", name)
		}
		if err := os.Symlink(program[0], filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
	}
	path = strings.Join([]string{bin, path, os.Getenv("PATH")}, string(os.PathListSeparator))
	for name := range agents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmds := commands()
			cmds["models"] = cmdModels(server.URL)
			testscript.Run(t, testscript.Params{
				Dir: filepath.Join(agentsDir, "script"), Cmds: cmds, RequireUniqueNames: true,
				Setup: func(e *testscript.Env) error {
					if err := setup(e, bin); err != nil {
						return err
					}
					e.Setenv("PATH", path)
					e.Setenv("AGENT", name)
					e.Setenv("GEMINI_CLI_NO_RELAUNCH", "true") // it starts itself twice otherwise, for a larger heap
					return agentProject(e, name)
				},
				Condition: func(cond string) (bool, error) {
					if _, ok := agents[cond]; ok {
						return cond == name, nil
					}
					if cond == "slow" {
						return *slowAgents, nil
					}
					return condition(cond)
				},
			})
		})
	}
}

// TestAgentsAreNamed: docs/agents.md names the versions that the presets are tried with.
func TestAgentsAreNamed(t *testing.T) {
	var list struct{ DevDependencies map[string]string }
	data, err := os.ReadFile(filepath.Join(agentsDir, "package.json"))
	if err != nil || json.Unmarshal(data, &list) != nil || len(list.DevDependencies) != len(agents) {
		t.Fatalf("%s %v", data, err)
	}
	doc, err := os.ReadFile("../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, version := range list.DevDependencies {
		if !strings.Contains(string(doc), version) {
			t.Errorf("docs/agents.md does not name %s %s", name, version)
		}
	}
}

// runAlone runs this test again, in a namespace of its own. Where none can be had,
// or the programs are not installed, there is nothing to test.
func runAlone(t *testing.T) {
	if _, err := os.Stat(filepath.Join(agentsDir, "node_modules")); err != nil {
		t.Skip("the AI commands are not installed: npm ci --ignore-scripts in testdata/agents")
	}
	own := &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	probe := exec.Command("true")
	probe.SysProcAttr = own
	if err := probe.Run(); err != nil {
		t.Skipf("a namespace without network cannot be had here: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-test.run", flagValue("test.run", "^TestRealAgents$"), "-test.v=" + fmt.Sprint(testing.Verbose())}
	if *slowAgents {
		args = append(args, "-agents.slow")
	}
	// Not below /tmp, which codex lets agents write, nor below /dev, which it hides.
	dir, err := os.MkdirTemp("/var/tmp", "aiflow-agents-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cmd := exec.Command(self, args...)
	cmd.Env = []string{aloneBin + "=" + bin, "PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
	cmd.SysProcAttr = own
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}

// flagValue is what the flag was given when it names this test.
func flagValue(name, otherwise string) string {
	if f := flag.Lookup(name); f != nil && strings.Contains(f.Value.String(), "TestRealAgents") {
		return f.Value.String()
	}
	return otherwise
}

// loopbackUp switches loopback on: a new namespace has it off.
func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo)
}

// agentProject makes the project that every script begins with: one request, and
// a router that gives agent all roles, unless the script brings its own.
func agentProject(e *testscript.Env, agent string) error {
	for name, text := range map[string]string{
		"repo/.gitignore":             "runs/\n.aiflow/locks/\n.aiflow/cache/\n.aiflow/worktrees/\n",
		"repo/requests/RQ-1.md":       "---\ntitle: Greet\nstatus: ready\n---\nA file hello.txt that says hello.\n\n## Acceptance criteria\n\n- [ ] hello.txt is there\n- [ ] It says hello\n- [ ] Nothing else changes\n",
		"repo/test.sh":                "grep -q hello hello.txt\n",
		"repo/.aiflow/router.v1.json": fmt.Sprintf(`{"version": "1.0", "routing": {"implementer": {"primary": %q}}}`, agent),
		".home/.gemini/settings.json": `{"security": {"auth": {"selectedType": "gemini-api-key"}}}`,
		".home/.codex/config.toml":    "", // makes the folder
	} {
		path := filepath.Join(e.WorkDir, name)
		if own, err := os.ReadFile(path); err == nil {
			text = strings.ReplaceAll(string(own), "AGENT", agent)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			return err
		}
	}
	cmd := exec.Command("sh", "-c", "git init -q . && git add -A && git commit -q -m begin")
	cmd.Dir, cmd.Env = filepath.Join(e.WorkDir, "repo"), e.Vars
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// cmdModels leads all agents to a scenario of testdata/agents/scenarios.
func cmdModels(url string) command {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		usage(ts, len(args) == 1, "models SCENARIO")
		at := url + "/" + args[0]
		for name, value := range map[string]string{
			"ANTHROPIC_BASE_URL": at, "ANTHROPIC_API_KEY": "no-key",
			"GOOGLE_GEMINI_BASE_URL": at, "GEMINI_API_KEY": "no-key",
			"PLAYED_KEY": "no-key",
		} {
			ts.Setenv(name, value)
		}
		codex := fmt.Sprintf("model_provider = \"played\"\n[model_providers.played]\nname = \"played\"\nbase_url = %q\nwire_api = \"responses\"\nenv_key = \"PLAYED_KEY\"\n[analytics]\nenabled = false\n", at+"/v1")
		ts.Check(os.WriteFile(filepath.Join(ts.Getenv("HOME"), ".codex", "config.toml"), []byte(codex), 0o666))
	}
}
