// Command aiflow is the front door: `aiflow next` runs the aiflow-next beside
// it, and init, help, version and completion live here.
//
// It does not do the work of any other binary itself.
package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"aiflow/cmd/internal/door"
)

var version, commit string // set by the linker

func main() {
	p := door.OS(version, commit)
	if f, ok := forwarded(p.Args[1:]); ok {
		os.Exit(f.exec(p))
	}
	os.Exit(door.Main(p, app))
}

func app(s *door.Shell) *cli.App {
	var o initOptions
	a := &cli.App{
		Name:      "aiflow",
		Usage:     "cli.aiflow_usage",
		UsageText: "aiflow init\naiflow next\naiflow run --next\naiflow help run",
		Commands: []*cli.Command{
			{
				Name: "init", Usage: "cli.init_usage", Description: "cli.init_description",
				UsageText: "aiflow init\naiflow init --lang ja\naiflow init --prompts",
				Flags: []cli.Flag{
					&cli.BoolFlag{Name: "force", Usage: "cli.init_force", Destination: &o.force},
					&cli.BoolFlag{Name: "prompts", Usage: "cli.init_prompts", Destination: &o.prompts},
				},
				Action: func(*cli.Context) error { return initProject(s, o) },
			},
			{Name: "version", Usage: "cli.version_usage", Action: func(*cli.Context) error { return s.PrintVersion() }},
			{
				Name: "completion", Usage: "cli.completion_usage", ArgsUsage: "SHELL",
				UsageText:    "aiflow completion bash > ~/.local/share/bash-completion/completions/aiflow",
				Action:       func(c *cli.Context) error { return completion(s, c.Args().First()) },
				BashComplete: door.Offer(door.Words("bash", "fish", "zsh"), nil),
			},
		},
	}
	for _, b := range others() {
		a.Commands = append(a.Commands, &cli.Command{Name: b.name, Usage: b.usage})
	}
	return a
}
