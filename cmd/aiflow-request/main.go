// Command aiflow-request makes, lists, shows, edits, changes, checks and draws
// requests.
//
// It does not run any, and it changes no file but the one it is asked to.
package main

import (
	"os"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/reqmeta"
)

var version, commit string // set by the linker

func main() { os.Exit(cli.Main(cli.OS(version, commit), program)) }

func program(s *cli.Shell) *urfave.App {
	return &urfave.App{
		Name:      "aiflow-request",
		Usage:     "request.usage",
		UsageText: "aiflow-request new --title \"Say hello\"\naiflow-request list --runnable\naiflow-request set RQ-20251214-001 status=ready priority=P1",
		Commands: []*urfave.Command{
			listCommand(s), showCommand(s), newCommand(s), editCommand(s), setCommand(s), checkCommand(s), graphCommand(s),
		},
	}
}

func listCommand(s *cli.Shell) *urfave.Command {
	var f filter
	return &urfave.Command{
		Name: "list", Usage: "request.list_usage", UsageText: "aiflow-request list\naiflow-request list --status ready,blocked --label docs --json",
		Flags: []urfave.Flag{
			&urfave.StringSliceFlag{Name: "status", Usage: "request.flag_status", Destination: &f.status},
			&urfave.StringSliceFlag{Name: "priority", Usage: "request.flag_priority", Destination: &f.priority},
			&urfave.StringSliceFlag{Name: "label", Usage: "request.flag_label", Destination: &f.label},
			&urfave.BoolFlag{Name: "runnable", Usage: "request.flag_runnable", Destination: &f.runnable},
		},
		Action: func(*urfave.Context) error { return list(s, f) },
		BashComplete: cli.Offer(nil, map[string]cli.Candidates{
			"status": app.Listed(reqmeta.Statuses[:]...), "priority": app.Listed(reqmeta.Priorities[:]...),
		}),
	}
}

func showCommand(s *cli.Shell) *urfave.Command {
	return &urfave.Command{
		Name: "show", Usage: "request.show_usage", ArgsUsage: "ID", UsageText: "aiflow-request show RQ-20251214-001",
		Action: func(c *urfave.Context) error { return show(s, c.Args().First()) }, BashComplete: oneID(s),
	}
}

func newCommand(s *cli.Shell) *urfave.Command {
	var o newOptions
	return &urfave.Command{
		Name: "new", Usage: "request.new_usage", UsageText: "aiflow-request new --title \"Say hello\" --priority P1 --label demo\naiflow-request new --title \"Say goodbye\" --depends-on RQ-20251214-001 --status ready\naiflow-request new --title \"Fix the login\" --id LOGIN-7 --body - < login.md",
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "title", Usage: "request.new_title", Required: true, Destination: &o.title},
			&urfave.StringFlag{Name: "priority", Usage: "request.new_priority", Destination: &o.priority},
			&urfave.StringFlag{Name: "status", Usage: "request.new_status", Destination: &o.status},
			&urfave.StringFlag{Name: "estimate", Usage: "request.new_estimate", Destination: &o.estimate},
			&urfave.StringSliceFlag{Name: "depends-on", Usage: "request.new_depends_on", Destination: &o.dependsOn},
			&urfave.StringSliceFlag{Name: "label", Usage: "request.new_label", Destination: &o.labels},
			&urfave.StringFlag{Name: "id", Usage: "request.new_id", Destination: &o.id},
			&urfave.StringFlag{Name: "body", Usage: "request.new_body", Destination: &o.body},
			&urfave.StringFlag{Name: "created-at", Usage: "request.new_created_at", Destination: &o.createdAt},
			&urfave.StringFlag{Name: "edit", Usage: "request.new_edit", Value: editAuto, Destination: &o.edit},
		},
		Action: func(*urfave.Context) error { return create(s, o) },
		BashComplete: cli.Offer(nil, map[string]cli.Candidates{
			"status": cli.Words(reqmeta.Statuses[:]...), "priority": cli.Words(reqmeta.Priorities[:]...),
			"estimate": cli.Words(reqmeta.Estimates[:]...), "edit": cli.Words(editAuto, editYes, editNo),
			"depends-on": app.RequestIDs(s),
		}),
	}
}

func editCommand(s *cli.Shell) *urfave.Command {
	var readOnly bool
	return &urfave.Command{
		Name: "edit", Usage: "request.edit_usage", ArgsUsage: "ID", UsageText: "aiflow-request edit RQ-20251214-001\nEDITOR='code --wait' aiflow-request edit RQ-20251214-001",
		Flags:  []urfave.Flag{&urfave.BoolFlag{Name: "read-only", Usage: "request.edit_read_only_usage", Destination: &readOnly}},
		Action: func(c *urfave.Context) error { return editRequest(s, c.Args().First(), readOnly) }, BashComplete: oneID(s),
	}
}

func setCommand(s *cli.Shell) *urfave.Command {
	return &urfave.Command{
		Name: "set", Usage: "request.set_usage", ArgsUsage: "ID... KEY=VALUE...",
		UsageText: "aiflow-request set RQ-20251214-001 RQ-20251214-002 status=ready priority=P1\naiflow-request set RQ-20251214-001 depends_on=RQ-20251214-002,RQ-20251214-003 labels=",
		Action:    func(c *urfave.Context) error { return set(s, c.Args().Slice()) }, BashComplete: idAndPairs(s),
	}
}

func checkCommand(s *cli.Shell) *urfave.Command {
	var all bool
	return &urfave.Command{
		Name: "check", Usage: "request.check_usage", ArgsUsage: "[FILE|ID...]", UsageText: "aiflow-request check\naiflow-request check RQ-20251214-001\naiflow-request check requests/RQ-20251214-001.md",
		Flags:  []urfave.Flag{&urfave.BoolFlag{Name: "all", Usage: "request.check_all", Destination: &all}},
		Action: func(c *urfave.Context) error { return check(s, c.Args().Slice(), all) },
	}
}

func graphCommand(s *cli.Shell) *urfave.Command {
	var format string
	return &urfave.Command{
		Name: "graph", Usage: "request.graph_usage", UsageText: "aiflow-request graph --format svg > requests.svg\naiflow-request graph --format mermaid",
		Flags:        []urfave.Flag{&urfave.StringFlag{Name: "format", Usage: "request.graph_format", Value: "dot", Destination: &format}},
		Action:       func(*urfave.Context) error { return graph(s, format) },
		BashComplete: cli.Offer(nil, map[string]cli.Candidates{"format": cli.Words("dot", "mermaid", "svg")}),
	}
}
