// Command aiflow-request makes, lists, shows, edits, changes, checks and draws
// requests.
//
// It does not run any, and it changes no file but the one it is asked to.
package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"aiflow/cmd/internal/desk"
	"aiflow/cmd/internal/door"
	"aiflow/reqmeta"
)

var version, commit string // set by the linker

func main() { os.Exit(door.Main(door.OS(version, commit), app)) }

func app(s *door.Shell) *cli.App {
	return &cli.App{
		Name:      "aiflow-request",
		Usage:     "request.usage",
		UsageText: "aiflow-request new --title \"Say hello\"\naiflow-request list --runnable\naiflow-request set RQ-20251214-001 status=ready priority=P1",
		Commands: []*cli.Command{
			listCommand(s), showCommand(s), newCommand(s), editCommand(s), setCommand(s), checkCommand(s), graphCommand(s),
		},
	}
}

func listCommand(s *door.Shell) *cli.Command {
	var f filter
	return &cli.Command{
		Name: "list", Usage: "request.list_usage", UsageText: "aiflow-request list\naiflow-request list --status ready,blocked --label docs --json",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "status", Usage: "request.flag_status", Destination: &f.status},
			&cli.StringSliceFlag{Name: "priority", Usage: "request.flag_priority", Destination: &f.priority},
			&cli.StringSliceFlag{Name: "label", Usage: "request.flag_label", Destination: &f.label},
			&cli.BoolFlag{Name: "runnable", Usage: "request.flag_runnable", Destination: &f.runnable},
		},
		Action: func(*cli.Context) error { return list(s, f) },
		BashComplete: door.Offer(nil, map[string]door.Candidates{
			"status": desk.Listed(reqmeta.Statuses[:]...), "priority": desk.Listed(reqmeta.Priorities[:]...),
		}),
	}
}

func showCommand(s *door.Shell) *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "request.show_usage", ArgsUsage: "ID", UsageText: "aiflow-request show RQ-20251214-001",
		Action: func(c *cli.Context) error { return show(s, c.Args().First()) }, BashComplete: oneID(s),
	}
}

func newCommand(s *door.Shell) *cli.Command {
	var o newOptions
	return &cli.Command{
		Name: "new", Usage: "request.new_usage", UsageText: "aiflow-request new --title \"Say hello\" --priority P1 --label demo\naiflow-request new --title \"Say goodbye\" --depends-on RQ-20251214-001 --status ready",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "title", Usage: "request.new_title", Required: true, Destination: &o.title},
			&cli.StringFlag{Name: "priority", Usage: "request.new_priority", Destination: &o.priority},
			&cli.StringFlag{Name: "status", Usage: "request.new_status", Destination: &o.status},
			&cli.StringFlag{Name: "estimate", Usage: "request.new_estimate", Destination: &o.estimate},
			&cli.StringSliceFlag{Name: "depends-on", Usage: "request.new_depends_on", Destination: &o.dependsOn},
			&cli.StringSliceFlag{Name: "label", Usage: "request.new_label", Destination: &o.labels},
			&cli.StringFlag{Name: "edit", Usage: "request.new_edit", Value: editAuto, Destination: &o.edit},
		},
		Action: func(*cli.Context) error { return create(s, o) },
		BashComplete: door.Offer(nil, map[string]door.Candidates{
			"status": door.Words(reqmeta.Statuses[:]...), "priority": door.Words(reqmeta.Priorities[:]...),
			"estimate": door.Words(reqmeta.Estimates[:]...), "edit": door.Words(editAuto, editYes, editNo),
			"depends-on": desk.RequestIDs(s),
		}),
	}
}

func editCommand(s *door.Shell) *cli.Command {
	var readOnly bool
	return &cli.Command{
		Name: "edit", Usage: "request.edit_usage", ArgsUsage: "ID", UsageText: "aiflow-request edit RQ-20251214-001\nEDITOR='code --wait' aiflow-request edit RQ-20251214-001",
		Flags:  []cli.Flag{&cli.BoolFlag{Name: "read-only", Usage: "request.edit_read_only_usage", Destination: &readOnly}},
		Action: func(c *cli.Context) error { return editRequest(s, c.Args().First(), readOnly) }, BashComplete: oneID(s),
	}
}

func setCommand(s *door.Shell) *cli.Command {
	return &cli.Command{
		Name: "set", Usage: "request.set_usage", ArgsUsage: "ID KEY=VALUE...",
		UsageText: "aiflow-request set RQ-20251214-001 status=ready priority=P1\naiflow-request set RQ-20251214-001 depends_on=RQ-20251214-002,RQ-20251214-003 labels=",
		Action:    func(c *cli.Context) error { return set(s, c.Args().First(), c.Args().Tail()) }, BashComplete: idAndPairs(s),
	}
}

func checkCommand(s *door.Shell) *cli.Command {
	return &cli.Command{
		Name: "check", Usage: "request.check_usage", ArgsUsage: "[FILE|ID...]", UsageText: "aiflow-request check\naiflow-request check RQ-20251214-001\naiflow-request check requests/RQ-20251214-001.md",
		Action: func(c *cli.Context) error { return check(s, c.Args().Slice()) },
	}
}

func graphCommand(s *door.Shell) *cli.Command {
	var format string
	return &cli.Command{
		Name: "graph", Usage: "request.graph_usage", UsageText: "aiflow-request graph --format svg > requests.svg\naiflow-request graph --format mermaid",
		Flags:        []cli.Flag{&cli.StringFlag{Name: "format", Usage: "request.graph_format", Value: "dot", Destination: &format}},
		Action:       func(*cli.Context) error { return graph(s, format) },
		BashComplete: door.Offer(nil, map[string]door.Candidates{"format": door.Words("dot", "mermaid", "svg")}),
	}
}
