// Command aiflow-doctor says what is wrong with a project and what to type.
//
// It does not change anything unless --fix is given.
package main

import (
	"os"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/cli"
	"aiflow/doctor"
)

var version, commit string // set by the linker

func main() {
	os.Exit(cli.Main(cli.OS(version, commit), program))
}

func program(s *cli.Shell) *urfave.App {
	var o options
	act := func(mode doctor.Mode) urfave.ActionFunc {
		return func(*urfave.Context) error { return examine(s, o, mode) }
	}
	return &urfave.App{
		Name:      "aiflow-doctor",
		Usage:     "doctor.usage",
		UsageText: "aiflow-doctor\naiflow-doctor full\naiflow-doctor --fix\naiflow-doctor --json",
		Flags:     flags(&o),
		Action:    act(doctor.Quick),
		Commands: []*urfave.Command{
			{Name: "quick", Usage: "doctor.quick_usage", UsageText: "aiflow-doctor quick --strict", Flags: flags(&o), Action: act(doctor.Quick)},
			{Name: "full", Usage: "doctor.full_usage", UsageText: "aiflow-doctor full --fix", Flags: flags(&o), Action: act(doctor.Full)},
		},
	}
}

func flags(o *options) []urfave.Flag {
	return []urfave.Flag{
		&urfave.BoolFlag{Name: "fix", Usage: "doctor.fix_usage", Destination: &o.fix},
		&urfave.BoolFlag{Name: "strict", Usage: "doctor.strict_usage", Destination: &o.strict},
	}
}
