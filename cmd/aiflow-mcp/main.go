// Command aiflow-mcp gives AI agents what people type, by the Model Context Protocol
// on standard input and output: each tool is a command of aiflow's with --json, so
// that an agent and a shell cannot be told different things.
//
// It does not judge or write anything itself.
package main

import (
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
)

var version, commit string // set by the linker

func main() { os.Exit(cli.Main(cli.OS(version, commit), program)) }

func program(s *cli.Shell) *urfave.App {
	return &urfave.App{
		Name: "aiflow-mcp", Usage: "mcp.usage", Description: "mcp.description",
		UsageText: "aiflow-mcp\nclaude mcp add aiflow -- aiflow-mcp\ncodex mcp add aiflow -- aiflow-mcp\ngemini mcp add aiflow aiflow-mcp",
		Action:    func(*urfave.Context) error { return serve(s) },
	}
}

// serve answers until standard input ends.
func serve(s *cli.Shell) error {
	p, err := app.Open(s, nil)
	if err != nil {
		return err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "aiflow", Version: s.Version}, &mcp.ServerOptions{Instructions: s.Text("mcp.instructions")})
	f := &face{shell: s, p: p}
	for _, t := range tools() {
		f.add(server, t)
	}
	server.AddReceivingMiddleware(f.guard)
	ctx := s.Context()
	err = server.Run(ctx, newLines(s.Stdin, os.Stdout, s.Text))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
