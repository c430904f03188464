// Command aiflow starts the others: `aiflow next` runs the aiflow-next beside
// it, and init, help, version, completion and schema live here.
//
// It does not do the work of any other binary itself.
package main

import (
	_ "embed"
	"os"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/cli"
)

var version, commit string // set by the linker

func main() {
	p := cli.OS(version, commit)
	if f, ok := forwarded(p.Args[1:]); ok {
		os.Exit(f.exec(p))
	}
	os.Exit(cli.Main(p, program))
}

func program(s *cli.Shell) *urfave.App {
	var o initOptions
	a := &urfave.App{
		Name:      "aiflow",
		Usage:     "cli.aiflow_usage",
		UsageText: "aiflow init\naiflow next\naiflow run --next\naiflow help run",
		Commands: []*urfave.Command{
			{
				Name: "init", Usage: "cli.init_usage", Description: "cli.init_description",
				UsageText: "aiflow init\naiflow init --yes --agents\naiflow init --stealth\naiflow init --lang ja",
				Flags: []urfave.Flag{
					&urfave.BoolFlag{Name: "force", Usage: "cli.init_force", Destination: &o.force},
					&urfave.BoolFlag{Name: "yes", Usage: "cli.init_yes", Destination: &o.yes},
					&urfave.BoolFlag{Name: "stealth", Usage: "cli.init_stealth", Destination: &o.stealth},
					&urfave.BoolFlag{Name: "agents", Usage: "cli.init_agents", Destination: &o.agents},
					&urfave.BoolFlag{Name: "prompts", Usage: "cli.init_prompts", Destination: &o.prompts},
				},
				Action: func(*urfave.Context) error { return initProject(s, o) },
			},
			{Name: "version", Usage: "cli.version_usage", Action: func(*urfave.Context) error { return s.PrintVersion() }},
			{
				Name: "schema", Usage: "cli.schema_usage", ArgsUsage: "[NAME...]",
				UsageText:    "aiflow schema\naiflow schema stage\naiflow schema run list",
				Action:       func(c *urfave.Context) error { return printSchema(s, c.Args().Slice()) },
				BashComplete: cli.Offer(func(cli.Asked) []string { return named(schemaNames(s)) }, nil),
			},
			{
				Name: "completion", Usage: "cli.completion_usage", ArgsUsage: "SHELL",
				UsageText:    "aiflow completion bash > ~/.local/share/bash-completion/completions/aiflow",
				Action:       func(c *urfave.Context) error { return completion(s, c.Args().First()) },
				BashComplete: cli.Offer(cli.Words("bash", "fish", "zsh"), nil),
			},
		},
	}
	a.Commands = append(a.Commands, &urfave.Command{Name: "deinit", Usage: "work.deinit_usage"}) // passed on
	for _, b := range others() {
		a.Commands = append(a.Commands, &urfave.Command{Name: b.name, Usage: b.usage})
	}
	return a
}

//go:embed files/completion.bash
var completionBash string

//go:embed files/completion.zsh
var completionZsh string

//go:embed files/completion.fish
var completionFish string

// completion prints the script for a shell. The scripts ask the binaries
// themselves (--complete), so they never fall behind.
func completion(s *cli.Shell, shell string) error {
	scripts := map[string]string{"bash": completionBash, "zsh": completionZsh, "fish": completionFish}
	text, ok := scripts[shell]
	if !ok {
		return cli.Usage("bad_value", "name", "SHELL", "value", shell, "allowed", "bash, fish, zsh")
	}
	s.Printf("%s\n", strings.TrimRight(text, "\n"))
	return nil
}
