package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/hooks"
	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
	"aiflow/internal/term"
)

// change is what install and uninstall are asked for.
type change struct {
	global, force, dryRun bool
	ifMissing             string
}

func (c change) run(s *cli.Shell, plan func(hooks.Folder, hooks.Options) []hooks.Action) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	folder, err := look(s)
	if err != nil {
		return err
	}
	actions := plan(folder, o)
	if !c.dryRun {
		if err := hooks.Apply(hooks.OS{}, suffix(), actions); err != nil {
			return err
		}
	}
	refused := hooks.Refused(actions)
	if s.JSON {
		return s.Answer(report{OK: refused == nil, Dir: folder.Dir, DryRun: c.dryRun, Actions: described(s, actions)}, refused)
	}
	show(s, actions, c.dryRun)
	return refused
}

func (c change) options() (hooks.Options, error) {
	miss := hooks.IfMissing(c.ifMissing)
	if miss != "" && miss != hooks.Block && miss != hooks.Pass {
		return hooks.Options{}, cli.Usage("bad_value", "name", "--if-missing", "value", c.ifMissing, "allowed", "block, pass")
	}
	bin, err := binary()
	return hooks.Options{Bin: bin, IfMissing: miss, Global: c.global, Force: c.force}, err
}

// binary is the path that hooks are to start: the name in PATH when it leads
// to this program, because that name survives an upgrade, else the program.
func binary() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	found, err := exec.LookPath("aiflow-hook")
	if err != nil || !filepath.IsAbs(found) {
		return self, nil
	}
	a, err1 := filepath.EvalSymlinks(found)
	b, err2 := filepath.EvalSymlinks(self)
	if err1 == nil && err2 == nil && a == b {
		return found, nil
	}
	return self, nil
}

func look(s *cli.Shell) (hooks.Folder, error) {
	env, err := app.Env(s, nil)
	if err != nil {
		return hooks.Folder{}, err
	}
	app.AdoptLanguage(s, env)
	repo, err := hooks.Look(s.Context(), gitcmd.Git{Dir: env.Dir, Env: s.Environ()})
	if err != nil {
		return hooks.Folder{}, err
	}
	return hooks.Read(repo), nil
}

func suffix() string {
	var b [4]byte
	_, _ = rand.Read(b[:])
	return fmt.Sprintf("%d-%s", os.Getpid(), hex.EncodeToString(b[:]))
}

// report is what --json prints.
type report struct {
	OK      bool         `json:"ok"`
	Dir     string       `json:"dir"`
	DryRun  bool         `json:"dry_run"`
	Actions []actionLine `json:"actions"`
}

type actionLine struct {
	hooks.Action
	Message string `json:"message,omitempty"`
}

func described(s *cli.Shell, actions []hooks.Action) []actionLine {
	var all []actionLine
	for _, a := range actions {
		all = append(all, actionLine{a, reason(s, a.Reason, a.Facts)})
	}
	return all
}

func reason(s *cli.Shell, name string, facts fault.Facts) string {
	if name == "" {
		return ""
	}
	return s.Catalog().Text("hook.reason_"+name, facts)
}

// show prints a line for each hook. A remark that holds for several in a row
// is printed behind the last of them.
func show(s *cli.Shell, actions []hooks.Action, dryRun bool) {
	for i, a := range actions {
		s.Printf("%s  %s  %s\n", term.Pad(a.Hook, 16), s.Text("hook.did_"+string(a.Kind)), term.Escape(a.Path))
		text := remark(s, a)
		if text != "" && (i+1 == len(actions) || remark(s, actions[i+1]) != text) {
			s.Printf("  %s\n", text)
		}
	}
	if dryRun {
		s.Printf("%s\n", s.Text("hook.dry_run"))
	}
}

func remark(s *cli.Shell, a hooks.Action) string {
	switch {
	case a.Kind == hooks.Chain:
		return s.Catalog().Text("hook.chained_"+a.Facts["cause"], a.Facts)
	case a.Reason == hooks.ReasonCurrent, a.Reason == hooks.ReasonNothing:
		return ""
	}
	return reason(s, a.Reason, a.Facts)
}
