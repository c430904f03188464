// Command aiflow-request makes, lists, shows, edits, changes, checks, draws,
// imports and exports requests.
//
// It does not run any, and it changes no file but those it is asked to.
package main

import (
	"os"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/reqmeta"
	"aiflow/reqmeta/convert"
)

var version, commit string // set by the linker

func main() { os.Exit(cli.Main(cli.OS(version, commit), program)) }

func program(s *cli.Shell) *urfave.App {
	var readOnly, force, all bool
	var from, format string
	oneID := cli.Offer(cli.First(app.RequestIDs(s)), nil)
	return &urfave.App{
		Name:      "aiflow-request",
		Usage:     "request.usage",
		UsageText: "aiflow-request new --title \"Say hello\"\naiflow-request list --runnable\naiflow-request set RQ-20251214-001 status=ready priority=P1",
		Commands: []*urfave.Command{
			listCommand(s),
			{
				Name: "show", Usage: "request.show_usage", ArgsUsage: "ID", UsageText: "aiflow-request show RQ-20251214-001",
				Action: func(c *urfave.Context) error { return show(s, c.Args().First()) }, BashComplete: oneID,
			},
			newCommand(s),
			{
				Name: "edit", Usage: "request.edit_usage", ArgsUsage: "ID", UsageText: "aiflow-request edit RQ-20251214-001\nEDITOR='code --wait' aiflow-request edit RQ-20251214-001",
				Flags:  []urfave.Flag{&urfave.BoolFlag{Name: "read-only", Usage: "request.edit_read_only_usage", Destination: &readOnly}},
				Action: func(c *urfave.Context) error { return editRequest(s, c.Args().First(), readOnly) }, BashComplete: oneID,
			},
			{
				Name: "set", Usage: "request.set_usage", ArgsUsage: "[ID...] [KEY=VALUE...]",
				UsageText: "aiflow-request set RQ-20251214-001 RQ-20251214-002 status=ready priority=P1\naiflow-request set RQ-20251214-001 depends_on=RQ-20251214-002,RQ-20251214-003 labels=\naiflow-request set --from changes.txt",
				Flags:     []urfave.Flag{&urfave.StringFlag{Name: "from", Usage: "request.set_from", Destination: &from}},
				Action:    func(c *urfave.Context) error { return set(s, c.Args().Slice(), from) }, BashComplete: idAndPairs(s),
			},
			{
				Name: "rm", Usage: "request.rm_usage", ArgsUsage: "ID...", UsageText: "aiflow-request rm RQ-20251214-001\naiflow-request rm --force RQ-20251214-001 RQ-20251214-002",
				Flags:  []urfave.Flag{&urfave.BoolFlag{Name: "force", Usage: "request.rm_force", Destination: &force}},
				Action: func(c *urfave.Context) error { return remove(s, c.Args().Slice(), force) }, BashComplete: cli.Offer(app.RequestIDs(s), nil),
			},
			{
				Name: "check", Usage: "request.check_usage", ArgsUsage: "[FILE|ID...]", UsageText: "aiflow-request check\naiflow-request check RQ-20251214-001\naiflow-request check requests/RQ-20251214-001.md",
				Flags:  []urfave.Flag{&urfave.BoolFlag{Name: "all", Usage: "request.check_all", Destination: &all}},
				Action: func(c *urfave.Context) error { return check(s, c.Args().Slice(), all) },
			},
			{
				Name: "graph", Usage: "request.graph_usage", UsageText: "aiflow-request graph --format svg > requests.svg\naiflow-request graph --format mermaid",
				Flags:        []urfave.Flag{&urfave.StringFlag{Name: "format", Usage: "request.graph_format", Value: "dot", Destination: &format}},
				Action:       func(*urfave.Context) error { return graph(s, format) },
				BashComplete: cli.Offer(nil, map[string]cli.Candidates{"format": cli.Words("dot", "mermaid", "svg")}),
			},
			importCommand(s), exportCommand(s),
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

func importCommand(s *cli.Shell) *urfave.Command {
	var o importOptions
	return &urfave.Command{
		Name: "import", Usage: "request.import_usage", ArgsUsage: "PATH|-",
		UsageText: "aiflow-request import --dry-run ../old/backlog\naiflow-request import tasks.csv --map map.json\n" +
			"gh issue list --state all --limit 5000 --json number,title,body,state,stateReason,labels,milestone,createdAt,updatedAt,url | aiflow-request import --from github -",
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "from", Usage: "request.import_from", Destination: &o.From},
			&urfave.StringFlag{Name: "store", Usage: "request.import_store", Destination: &o.Store},
			&urfave.BoolFlag{Name: "dry-run", Usage: "request.import_dry_run", Destination: &o.dryRun},
			&urfave.BoolFlag{Name: "update", Usage: "request.import_update", Destination: &o.update},
			&urfave.StringFlag{Name: "only", Usage: "request.import_only", Destination: &o.Only},
			&urfave.BoolFlag{Name: "ready", Usage: "request.import_ready", Destination: &o.Ready},
			&urfave.StringFlag{Name: "status", Usage: "request.import_status", Destination: &o.statusWords},
			&urfave.StringFlag{Name: "map", Usage: "request.import_map", Destination: &o.mapFile},
			&urfave.StringFlag{Name: "prefix", Usage: "request.import_prefix", Destination: &o.Prefix},
			&urfave.BoolFlag{Name: "no-pad", Usage: "request.import_no_pad", Destination: &o.NoPad},
			&urfave.StringFlag{Name: "parents", Usage: "request.import_parents", Destination: &o.Parents},
			&urfave.StringFlag{Name: "subtasks", Usage: "request.import_subtasks", Destination: &o.Subtasks},
			&urfave.StringFlag{Name: "nested", Usage: "request.import_nested", Destination: &o.Nested},
			&urfave.StringFlag{Name: "encoding", Usage: "request.import_encoding", Destination: &o.Encoding},
			&urfave.StringFlag{Name: "date-order", Usage: "request.import_date_order", Destination: &o.DateOrder},
			&urfave.StringFlag{Name: "tag", Usage: "request.import_tag", Destination: &o.Tag},
			&urfave.BoolFlag{Name: "text-deps", Usage: "request.import_text_deps", Destination: &o.TextDeps},
			&urfave.BoolFlag{Name: "comments", Usage: "request.import_comments", Destination: &o.Comments},
			&urfave.BoolFlag{Name: "people", Usage: "request.import_people", Destination: &o.People},
			&urfave.BoolFlag{Name: "keep", Usage: "request.import_keep", Destination: &o.Keep},
			&urfave.StringFlag{Name: "tz", Usage: "request.import_tz", Destination: &o.zone},
			&urfave.BoolFlag{Name: "strict", Usage: "request.import_strict", Destination: &o.Strict},
			&urfave.BoolFlag{Name: "all", Usage: "request.import_all", Destination: &o.all},
		},
		Action: func(c *urfave.Context) error {
			o.StoreGiven = c.IsSet("store")
			return importRequests(s, o, c.Args().First())
		},
		BashComplete: cli.Offer(nil, map[string]cli.Candidates{
			"from": cli.Words(convert.Sources...), "only": cli.Words(convert.OnlyReady, convert.OnlyOpen, convert.OnlyAll),
			"parents": cli.Words("keep", "skip"), "subtasks": cli.Words("requests", "checklist"),
			"nested": cli.Words("checklist", "separate"), "encoding": cli.Words(convert.Encodings()...), "date-order": cli.Words("mdy", "dmy"),
		}),
	}
}

func exportCommand(s *cli.Shell) *urfave.Command {
	var o exportOptions
	return &urfave.Command{
		Name: "export", Usage: "request.export_usage", UsageText: "aiflow-request export --to json > requests.jsonl\naiflow-request export --to csv --status ready,blocked",
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "to", Usage: "request.export_to", Value: "json", Destination: &o.to},
			&urfave.StringSliceFlag{Name: "status", Usage: "request.flag_status", Destination: &o.status},
			&urfave.BoolFlag{Name: "bom", Usage: "request.export_bom", Destination: &o.bom},
		},
		Action: func(*urfave.Context) error { return export(s, o) },
		BashComplete: cli.Offer(nil, map[string]cli.Candidates{
			"to": cli.Words("json", "csv"), "status": app.Listed(reqmeta.Statuses[:]...),
		}),
	}
}
