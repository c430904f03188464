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
	var o change
	var quick bool
	a := &urfave.App{
		Name:      "aiflow-hook",
		Usage:     "hook.usage",
		UsageText: "aiflow-hook install\naiflow-hook status\naiflow-hook snippet lefthook",
		Commands: []*urfave.Command{
			{
				Name: "install", Usage: "hook.install_usage", UsageText: "aiflow-hook install --dry-run\naiflow-hook install --if-missing pass",
				Flags: append(changeFlags(&o),
					&urfave.StringFlag{Name: "if-missing", Usage: "hook.if_missing_usage", Destination: &o.ifMissing}),
				Action:       func(*urfave.Context) error { return o.run(s, hooks.Plan) },
				BashComplete: cli.Offer(nil, map[string]cli.Candidates{"if-missing": cli.Words("block", "pass")}),
			},
			{
				Name: "uninstall", Usage: "hook.uninstall_usage", UsageText: "aiflow-hook uninstall --dry-run",
				Flags:  changeFlags(&o),
				Action: func(*urfave.Context) error { return o.run(s, hooks.PlanRemoval) },
			},
			{
				Name: "status", Usage: "hook.status_usage", UsageText: "aiflow-hook status\naiflow-hook status --json",
				Flags:  []urfave.Flag{&urfave.BoolFlag{Name: "quick", Usage: "hook.quick_usage", Destination: &quick}},
				Action: func(*urfave.Context) error { return showStatus(s, quick) },
			},
			{
				Name: "snippet", Usage: "hook.snippet_usage", ArgsUsage: "TOOL", UsageText: "aiflow-hook snippet lefthook\naiflow-hook snippet pre-commit",
				Action:       func(c *urfave.Context) error { return showSnippet(s, c.Args().First()) },
				BashComplete: cli.Offer(cli.Words(hooks.Snippets()...), nil),
			},
		},
	}
	for _, hook := range hooks.Names() {
		a.Commands = append(a.Commands, &urfave.Command{
			Name: hook, Usage: "hook.entry_usage", ArgsUsage: "[ARGUMENT...]",
			Action: func(c *urfave.Context) error { return enter(s, hook, c.Args().Slice()) },
		})
	}
	return a
}

func changeFlags(o *change) []urfave.Flag {
	return []urfave.Flag{
		&urfave.BoolFlag{Name: "global", Usage: "hook.global_usage", Destination: &o.global},
		&urfave.BoolFlag{Name: "force", Usage: "hook.force_usage", Destination: &o.force},
		&urfave.BoolFlag{Name: "dry-run", Usage: "hook.dry_run_usage", Destination: &o.dryRun},
	}
}
