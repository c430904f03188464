package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/cli"
)

// A mistake of ours in a tool is an answer, and the next call is answered too.
func TestPanicInATool(t *testing.T) {
	p := cli.OS("", "")
	p.Args = []string{"aiflow-mcp"}
	if status := cli.Main(p, func(s *cli.Shell) *urfave.App {
		return &urfave.App{Name: "aiflow-mcp", Usage: "mcp.usage", Action: func(*urfave.Context) error { panics(t, s); return nil }}
	}); status != 0 {
		t.Fatal(status)
	}
}

func panics(t *testing.T, s *cli.Shell) {
	f := &face{shell: s}
	server := mcp.NewServer(&mcp.Implementation{Name: "aiflow"}, nil)
	f.add(server, tool{name: "list", call: func(args) command { panic("slice bounds out of range") }})
	server.AddReceivingMiddleware(f.guard)
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list","arguments":{}}}
{"jsonrpc":"2.0","id":3,"method":"ping"}`
	var out bytes.Buffer
	if err := server.Run(context.Background(), newLines(strings.NewReader(in), &out, s.Text)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"id":2,`, "INTERNAL_ERROR", "slice bounds", `"id":3,`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in %s", want, out.String())
		}
	}
}

// An id that is asked for twice at once is refused, and free again when it is answered.
func TestSameIDTwice(t *testing.T) {
	c := newLines(strings.NewReader(""), &bytes.Buffer{}, func(key string, _ ...any) string { return key })
	ping := line{text: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)}
	msg, _, first := c.message(ping)
	_, code, second := c.message(ping)
	if first != "" || second != "mcp.line_id" || code != jsonrpc.CodeInvalidRequest {
		t.Fatalf("%q, then %q (%d)", first, second, code)
	}
	if err := c.Write(context.Background(), &jsonrpc.Response{ID: msg.(*jsonrpc.Request).ID}); err != nil {
		t.Fatal(err)
	}
	if _, _, third := c.message(ping); third != "" {
		t.Error(third)
	}
}
