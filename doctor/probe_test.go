package doctor

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiflow/internal/proc"
)

// wild puts an agent in PATH that ignores its arguments: it writes wherever it
// was started, wherever PWD says, and tells of itself in the file that is
// returned.
func (r *repo) wild(name string) (agent, trace string) {
	r.t.Helper()
	home := filepath.Dir(r.dir)
	agent, trace = filepath.Join(home, "bin", name), filepath.Join(home, "started")
	text := "#!/bin/sh\nread line; pwd -P >>'" + trace + "'; echo \"$*,$line,$GIT_DIR\" >>'" + trace + "'\n" +
		"for d in . \"$PWD\" \"$OLDPWD\"; do echo mine >\"$d\"/wild.txt; for f in \"$d\"/requests/*.md; do test -f \"$f\" && echo >>\"$f\"; done; done\necho agent 7\n"
	if err := errors.Join(os.MkdirAll(filepath.Dir(agent), 0o755), proc.WriteProgram(agent, []byte(text))); err != nil {
		r.t.Fatal(err)
	}
	r.env = append(r.env, "PATH="+filepath.Dir(agent)+":"+os.Getenv("PATH"), "PWD="+r.dir, "OLDPWD="+r.dir, "GIT_DIR="+filepath.Join(r.dir, ".git"))
	return agent, trace
}

// tree is every file of the checkout with its content.
func (r *repo) tree() string {
	r.t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%s %x\n", path, sha256.Sum256(data))
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return all.String()
}

func (r *repo) route(provider, commands string) {
	r.put(".aiflow/router.v1.json", `{"version":"1.0","routing":{"implementer":{"primary":"`+provider+`"}},"commands":{`+commands+`}}`)
}

func (r *repo) command(rep *Report, id string) callLine {
	r.t.Helper()
	lines, _ := r.want(rep, id, Pass, "ok").Evidence["commands"].([]callLine)
	if len(lines) != 1 {
		r.t.Fatalf("%+v", lines)
	}
	return lines[0]
}

// A command of the project's own is looked up and never started, also under a
// preset's name, since it may do anything whatever its arguments are.
func TestCustomCommandIsNeverStarted(t *testing.T) {
	for _, provider := range []string{"mine", "codex"} {
		t.Run(provider, func(t *testing.T) {
			r := newRepo(t)
			agent, trace := r.wild("agent")
			r.route(provider, `"`+provider+`":{"bin":"`+agent+`","args":["{{prompt}}"]}`)
			before := r.tree()
			for _, o := range []Options{{Mode: Quick}, {Mode: Full}, {Fix: true}} {
				rep := r.look(o.Mode, func(to *Options) { to.Fix = o.Fix })
				if c := r.command(rep, "role_commands"); c.Path != agent || c.Version != "" {
					t.Errorf("%+v", c)
				}
			}
			if data, err := os.ReadFile(trace); err == nil {
				t.Errorf("started: %s", data)
			}
			if after := r.tree(); after != before {
				t.Errorf("the tree was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

// A preset's command is started by full only: in an empty folder that is gone
// afterwards, without input and without what leads back to the checkout.
func TestPresetIsProbedElsewhere(t *testing.T) {
	r := newRepo(t)
	agent, trace := r.wild("codex")
	r.route("codex", "")
	before := r.tree()
	r.command(r.look(Quick, nil), "role_commands")
	if data, err := os.ReadFile(trace); err == nil {
		t.Errorf("quick started it: %s", data)
	}
	if c := r.command(r.look(Full, nil), "role_commands"); c.Path != agent || c.Version != "agent 7" {
		t.Errorf("%+v", c)
	}
	data, err := os.ReadFile(trace) // the negative control: it was really started
	dir, args, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	args, asked, _ := strings.Cut(args, "\n")
	if !strings.HasSuffix(asked, "\nlogin status,,") {
		t.Errorf("asked for the login with %q", asked)
	}
	if err != nil || args != "--version,," || strings.HasPrefix(dir, r.dir) {
		t.Errorf("started with %q: %v", data, err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s is left", dir)
	}
	if after := r.tree(); after != before {
		t.Errorf("the tree was\n%s\nand is\n%s", before, after)
	}
}

func TestMutePreset(t *testing.T) {
	r := newRepo(t)
	agent, _ := r.wild("codex")
	if err := proc.WriteProgram(agent, []byte("#!/bin/sh\nexit 1\n")); err != nil {
		t.Fatal(err)
	}
	r.route("codex", "")
	r.want(r.look(Full, nil), "role_commands", Warn, "version")
}

// Git is asked beside the probe and must not be taken for a stray of it.
func TestProbeLeavesGitAlone(t *testing.T) {
	r := newRepo(t)
	r.wild("codex")
	r.route("codex", "")
	for range 20 {
		rep := r.look(Full, nil)
		r.want(rep, "git", Pass, "ok")
		r.want(rep, "role_commands", Pass, "ok")
	}
}
