// Command aiflow-hook installs our git hooks beside those of others, takes
// them away again, says whether git reaches them, and is what the hooks start.
//
// It does not stage or commit anything.
package main

import (
	"os"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/cli"
	"aiflow/hooks"
)

var version, commit string // set by the linker

func main() { os.Exit(cli.Main(cli.OS(version, commit), program)) }

func program(s *cli.Shell) *urfave.App {
	return &urfave.App{
		Name:      "aiflow-hook",
		Usage:     "hook.usage",
		UsageText: "aiflow-hook install\naiflow-hook status\naiflow-hook snippet lefthook",
		Commands:  append([]*urfave.Command{install(s), uninstall(s), status(s), snippet(s)}, entries(s)...),
	}
}

func install(s *cli.Shell) *urfave.Command {
	var o change
	return &urfave.Command{
		Name: "install", Usage: "hook.install_usage", UsageText: "aiflow-hook install --dry-run\naiflow-hook install --if-missing pass",
		Flags: append(changeFlags(&o),
			&urfave.StringFlag{Name: "if-missing", Usage: "hook.if_missing_usage", Destination: &o.ifMissing}),
		Action:       func(*urfave.Context) error { return o.run(s, hooks.Plan) },
		BashComplete: cli.Offer(nil, map[string]cli.Candidates{"if-missing": cli.Words("block", "pass")}),
	}
}

func uninstall(s *cli.Shell) *urfave.Command {
	var o change
	return &urfave.Command{
		Name: "uninstall", Usage: "hook.uninstall_usage", UsageText: "aiflow-hook uninstall --dry-run",
		Flags:  changeFlags(&o),
		Action: func(*urfave.Context) error { return o.run(s, hooks.PlanRemoval) },
	}
}

func changeFlags(o *change) []urfave.Flag {
	return []urfave.Flag{
		&urfave.BoolFlag{Name: "global", Usage: "hook.global_usage", Destination: &o.global},
		&urfave.BoolFlag{Name: "force", Usage: "hook.force_usage", Destination: &o.force},
		&urfave.BoolFlag{Name: "dry-run", Usage: "hook.dry_run_usage", Destination: &o.dryRun},
	}
}

func status(s *cli.Shell) *urfave.Command {
	var quick bool
	return &urfave.Command{
		Name: "status", Usage: "hook.status_usage", UsageText: "aiflow-hook status\naiflow-hook status --json",
		Flags:  []urfave.Flag{&urfave.BoolFlag{Name: "quick", Usage: "hook.quick_usage", Destination: &quick}},
		Action: func(*urfave.Context) error { return showStatus(s, quick) },
	}
}

func snippet(s *cli.Shell) *urfave.Command {
	return &urfave.Command{
		Name: "snippet", Usage: "hook.snippet_usage", ArgsUsage: "TOOL", UsageText: "aiflow-hook snippet lefthook\naiflow-hook snippet pre-commit",
		Action:       func(c *urfave.Context) error { return showSnippet(s, c.Args().First()) },
		BashComplete: cli.Offer(cli.Words(hooks.Snippets()...), nil),
	}
}

func entries(s *cli.Shell) []*urfave.Command {
	var all []*urfave.Command
	for _, hook := range hooks.Names() {
		all = append(all, &urfave.Command{
			Name: hook, Usage: "hook.entry_usage", ArgsUsage: "[ARGUMENT...]",
			Action: func(c *urfave.Context) error { return enter(s, hook, c.Args().Slice()) },
		})
	}
	return all
}
