// Command aiflow-serve shows a project in the browser and as JSON, on this
// machine.
//
// It does not run anything itself: runs are processes of their own, which go
// on when it ends.
package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"aiflow/cmd/internal/door"
)

var version, commit string // set by the linker

func main() { os.Exit(door.Main(door.OS(version, commit), app)) }

type options struct {
	host                   string
	port                   int
	portSaid               bool
	open, noAuth, newToken bool
	queueEndpoint          string
}

func app(s *door.Shell) *cli.App {
	o := options{}
	return &cli.App{
		Name:      "aiflow-serve",
		Usage:     "serve.usage",
		UsageText: "aiflow-serve\naiflow-serve --open\naiflow-serve --port 4311",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "port", Usage: "serve.flag_port", Destination: &o.port},
			&cli.StringFlag{Name: "host", Usage: "serve.flag_host", Destination: &o.host},
			&cli.BoolFlag{Name: "open", Usage: "serve.flag_open", Destination: &o.open},
			&cli.BoolFlag{Name: "no-auth", Usage: "serve.flag_no_auth", Destination: &o.noAuth},
			&cli.StringFlag{Name: "queue-endpoint", Usage: "serve.flag_queue_endpoint", Destination: &o.queueEndpoint},
			&cli.BoolFlag{Name: "new-token", Usage: "serve.flag_new_token", Destination: &o.newToken},
		},
		Action: func(c *cli.Context) error {
			o.portSaid = c.IsSet("port")
			return serve(s, o)
		},
	}
}
