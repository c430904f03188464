// Command aiflow-doctor says what is wrong with a project and what to type.
//
// It does not change anything unless --fix is given.
package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"aiflow/cmd/internal/door"
	"aiflow/doctor"
)

var version, commit string // set by the linker

func main() { os.Exit(door.Main(door.OS(version, commit), app)) }

func app(s *door.Shell) *cli.App {
	var o options
	act := func(mode doctor.Mode) cli.ActionFunc {
		return func(*cli.Context) error { return examine(s, o, mode) }
	}
	return &cli.App{
		Name:      "aiflow-doctor",
		Usage:     "doctor.usage",
		UsageText: "aiflow-doctor\naiflow-doctor full\naiflow-doctor --fix\naiflow-doctor --json",
		Flags:     flags(&o),
		Action:    act(doctor.Quick),
		Commands: []*cli.Command{
			{Name: "quick", Usage: "doctor.quick_usage", UsageText: "aiflow-doctor quick --strict", Flags: flags(&o), Action: act(doctor.Quick)},
			{Name: "full", Usage: "doctor.full_usage", UsageText: "aiflow-doctor full --fix", Flags: flags(&o), Action: act(doctor.Full)},
		},
	}
}

func flags(o *options) []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "fix", Usage: "doctor.fix_usage", Destination: &o.fix},
		&cli.BoolFlag{Name: "strict", Usage: "doctor.strict_usage", Destination: &o.strict},
	}
}
