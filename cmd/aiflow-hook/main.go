// Command aiflow-hook installs our git hooks beside those of others, takes
// them away again, says whether git reaches them, and is what the hooks start.
//
// It does not stage or commit anything.
package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"aiflow/cmd/internal/door"
	"aiflow/hooks"
)

var version, commit string // set by the linker

func main() { os.Exit(door.Main(door.OS(version, commit), app)) }

func app(s *door.Shell) *cli.App {
	return &cli.App{
		Name:      "aiflow-hook",
		Usage:     "hook.usage",
		UsageText: "aiflow-hook install\naiflow-hook status\naiflow-hook snippet lefthook",
		Commands:  append([]*cli.Command{install(s), uninstall(s), status(s), snippet(s)}, entries(s)...),
	}
}

func install(s *door.Shell) *cli.Command {
	var o change
	return &cli.Command{
		Name: "install", Usage: "hook.install_usage", UsageText: "aiflow-hook install --dry-run\naiflow-hook install --if-missing pass",
		Flags: append(changeFlags(&o),
			&cli.StringFlag{Name: "if-missing", Usage: "hook.if_missing_usage", Destination: &o.ifMissing}),
		Action:       func(*cli.Context) error { return o.run(s, hooks.Plan) },
		BashComplete: door.Offer(nil, map[string]door.Candidates{"if-missing": door.Words("block", "pass")}),
	}
}

func uninstall(s *door.Shell) *cli.Command {
	var o change
	return &cli.Command{
		Name: "uninstall", Usage: "hook.uninstall_usage", UsageText: "aiflow-hook uninstall --dry-run",
		Flags:  changeFlags(&o),
		Action: func(*cli.Context) error { return o.run(s, hooks.PlanRemoval) },
	}
}

func changeFlags(o *change) []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "global", Usage: "hook.global_usage", Destination: &o.global},
		&cli.BoolFlag{Name: "force", Usage: "hook.force_usage", Destination: &o.force},
		&cli.BoolFlag{Name: "dry-run", Usage: "hook.dry_run_usage", Destination: &o.dryRun},
	}
}

func status(s *door.Shell) *cli.Command {
	var quick bool
	return &cli.Command{
		Name: "status", Usage: "hook.status_usage", UsageText: "aiflow-hook status\naiflow-hook status --json",
		Flags:  []cli.Flag{&cli.BoolFlag{Name: "quick", Usage: "hook.quick_usage", Destination: &quick}},
		Action: func(*cli.Context) error { return showStatus(s, quick) },
	}
}

func snippet(s *door.Shell) *cli.Command {
	return &cli.Command{
		Name: "snippet", Usage: "hook.snippet_usage", ArgsUsage: "TOOL", UsageText: "aiflow-hook snippet lefthook\naiflow-hook snippet pre-commit",
		Action:       func(c *cli.Context) error { return showSnippet(s, c.Args().First()) },
		BashComplete: door.Offer(door.Words(hooks.Snippets()...), nil),
	}
}

func entries(s *door.Shell) []*cli.Command {
	var all []*cli.Command
	for _, hook := range hooks.Names() {
		all = append(all, &cli.Command{
			Name: hook, Usage: "hook.entry_usage", ArgsUsage: "[ARGUMENT...]",
			Action: func(c *cli.Context) error { return enter(s, hook, c.Args().Slice()) },
		})
	}
	return all
}
