// Command aiflow-serve shows a project in the browser and as JSON, on this
// machine.
//
// It does not run anything itself: runs are processes of their own, which go
// on when it ends.
package main

import (
	"os"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/cli"
)

var version, commit string // set by the linker

func main() { os.Exit(cli.Main(cli.OS(version, commit), program)) }

type options struct {
	host                   string
	port                   int
	portSaid               bool
	open, noAuth, newToken bool
	queueEndpoint          string
}

func program(s *cli.Shell) *urfave.App {
	o := options{}
	return &urfave.App{
		Name:      "aiflow-serve",
		Usage:     "serve.usage",
		UsageText: "aiflow-serve\naiflow-serve --open\naiflow-serve --port 4311",
		Flags: []urfave.Flag{
			&urfave.IntFlag{Name: "port", Usage: "serve.flag_port", Destination: &o.port},
			&urfave.StringFlag{Name: "host", Usage: "serve.flag_host", Destination: &o.host},
			&urfave.BoolFlag{Name: "open", Usage: "serve.flag_open", Destination: &o.open},
			&urfave.BoolFlag{Name: "no-auth", Usage: "serve.flag_no_auth", Destination: &o.noAuth},
			&urfave.StringFlag{Name: "queue-endpoint", Usage: "serve.flag_queue_endpoint", Destination: &o.queueEndpoint},
			&urfave.BoolFlag{Name: "new-token", Usage: "serve.flag_new_token", Destination: &o.newToken},
		},
		Action: func(c *urfave.Context) error {
			o.portSaid = c.IsSet("port")
			return serve(s, o)
		},
	}
}
