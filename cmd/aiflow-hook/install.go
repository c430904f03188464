package main

import (
	"crypto/rand"
	"fmt"
	"os"

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
		var random [4]byte
		_, _ = rand.Read(random[:])
		if err := hooks.Apply(hooks.OS{}, fmt.Sprintf("%d-%x", os.Getpid(), random), actions); err != nil {
			return err
		}
	}
	refused := hooks.Refused(actions)
	if s.JSON {
		r := report{OK: refused == nil, Dir: folder.Dir, DryRun: c.dryRun}
		for _, a := range actions {
			r.Actions = append(r.Actions, actionLine{a, reason(s, a.Reason, a.Facts)})
		}
		return s.Answer(r, refused)
	}
	// A remark that holds for several in a row is printed behind the last of them.
	for i, a := range actions {
		s.Printf("%s  %s  %s\n", term.Pad(a.Hook, 16), s.Text("hook.did_"+string(a.Kind)), term.Escape(a.Path))
		text := remark(s, a)
		if text != "" && (i+1 == len(actions) || remark(s, actions[i+1]) != text) {
			s.Printf("  %s\n", text)
		}
	}
	if c.dryRun {
		s.Printf("%s\n", s.Text("hook.dry_run"))
	}
	return refused
}

func (c change) options() (hooks.Options, error) {
	miss := hooks.IfMissing(c.ifMissing)
	if miss != "" && miss != hooks.Block && miss != hooks.Pass {
		return hooks.Options{}, cli.Usage("bad_value", "name", "--if-missing", "value", c.ifMissing, "allowed", "block, pass")
	}
	self, err := os.Executable()
	return hooks.Options{Bin: app.Lasting(self), IfMissing: miss, Global: c.global, Force: c.force}, err
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

func reason(s *cli.Shell, name string, facts fault.Facts) string {
	if name == "" {
		return ""
	}
	return s.Catalog().Text("hook.reason_"+name, facts)
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
