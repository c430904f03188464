package main

import (
	"os"
	"strings"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/hooks"
	"aiflow/internal/gitcmd"
	"aiflow/internal/term"
)

// showStatus ends with 1 when a hook is missing or not reached, so that a
// script can ask.
func showStatus(s *cli.Shell, quick bool) error {
	folder, err := look(s)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	st := hooks.Inspect(folder, hooks.Options{Bin: app.Lasting(self)})
	if !quick {
		scratch, err := os.MkdirTemp("", "aiflow-hook-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(scratch)
		if err := hooks.Probe(s.Context(), gitcmd.Git{Dir: folder.Top, Env: s.Environ()}, folder, &st, scratch); err != nil {
			return err
		}
	}
	if s.JSON {
		err = s.PrintJSON(struct {
			OK bool `json:"ok"`
			hooks.Status
		}{st.OK(), st})
	} else {
		printStatus(s, st)
	}
	if err == nil && !st.OK() {
		return cli.Exit(1)
	}
	return err
}

func printStatus(s *cli.Shell, st hooks.Status) {
	if st.HooksPath != nil {
		s.Printf("core.hooksPath = %s (%s, %s)\n", term.Escape(st.HooksPath.Value), st.HooksPath.Scope, term.Escape(st.HooksPath.Origin))
	}
	for _, h := range st.Hooks {
		s.Printf("%s  %s\n", term.Pad(h.Name, 16), strings.Join(words(s, h), ", "))
	}
	for _, c := range st.Configs {
		s.Printf("%s\n", s.Text("hook.config_hook", "name", c.Event, "key", "hook."+c.Name, "command", c.Command))
	}
	for _, root := range st.Lacking {
		s.Printf("%s\n", s.Text("hook.worktree_lacks", "dir", root))
	}
}

func words(s *cli.Shell, h hooks.Found) []string {
	list := []string{s.Text("hook.state_" + string(h.State))}
	if h.How != "" {
		list = append(list, s.Text("hook.how_"+h.How))
	}
	list = append(list, term.Escape(h.Path))
	if h.Manager != "" {
		list = append(list, term.Escape(h.Manager))
	}
	switch {
	case h.Reached != nil && *h.Reached:
		list = append(list, s.Text("hook.reached"))
	case h.Reached != nil:
		list = append(list, s.Text("hook.not_reached"))
	}
	if h.Version > 0 && !h.Current && h.Reason == "" {
		list = append(list, s.Text("hook.old"))
	}
	if text := reason(s, h.Reason, h.Facts); text != "" {
		list = append(list, text)
	}
	return list
}

func showSnippet(s *cli.Shell, tool string) error {
	file, text, ok := hooks.Snippet(tool)
	if !ok {
		return cli.Usage("bad_value", "name", "TOOL", "value", tool, "allowed", strings.Join(hooks.Snippets(), ", "))
	}
	if s.JSON {
		return s.PrintJSON(struct {
			File string `json:"file"`
			Text string `json:"text"`
		}{file, text})
	}
	s.Printf("# %s\n%s", file, text)
	return nil
}
