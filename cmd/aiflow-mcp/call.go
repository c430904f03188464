package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/project"
)

// face answers an agent.
type face struct {
	shell *cli.Shell
	p     *project.Project
}

func (f *face) add(server *mcp.Server, t tool) {
	text := func(key string) string { return f.shell.Text(key) }
	no := false
	spec := &mcp.Tool{
		Name: t.name, Description: text("mcp.tool_" + t.name), InputSchema: t.schema(text),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: !t.writes, DestructiveHint: &no, OpenWorldHint: &no},
	}
	server.AddTool(spec, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		in, w := t.read(req.Params.Arguments)
		if w != nil {
			return f.refusal(badArguments("cause", w.text(f))), nil
		}
		return f.call(ctx, t, in), nil
	})
}

// guard answers a mistake of ours in a tool without ending the server.
func (f *face) guard(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		if method != "tools/call" {
			return next(ctx, method, req)
		}
		defer func() {
			if v := recover(); v != nil {
				res, err = f.refusal(fmt.Errorf("%v", v)), nil
			}
		}()
		return next(ctx, method, req)
	}
}

// How much is said of a value that was refused, and shown of one that has another type.
const (
	mostSaid  = 600
	mostShown = 100
)

func short(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most/2]+" … "+text[len(text)-most/2:], "")
}

func (f *face) call(ctx context.Context, t tool, a args) *mcp.CallToolResult {
	if dry, _ := a["dry_run"].(bool); t.runs && !dry { // the configuration is asked as it is now
		cfg, _, err := config.Load(f.p.Dir, config.Sources{Env: f.p.Env.Getenv, Path: f.p.Env.Config, Dir: f.p.Env.Dir})
		if err == nil && !cfg.MCP.AllowRun {
			err = fault.New(fault.RunNotAllowed)
		}
		if err != nil {
			return f.refusal(err)
		}
	}
	c := t.call(a)
	out, err := f.output(ctx, c)
	if err != nil {
		return f.refusal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(bytes.TrimSpace(out), &v); err != nil {
		return f.refusal(fault.New(fault.ProcessCrashed, "name", c.program))
	}
	if e, ok := v["error"].(map[string]any); ok && v["ok"] == false {
		return answer(v, told(e), true)
	}
	if t.shape != nil {
		t.shape(v, a)
	}
	return answer(v, "", false)
}

// refusal is an error of ours as the other programs print theirs.
func (f *face) refusal(err error) *mcp.CallToolResult {
	body, _ := json.Marshal(f.shell.Body(err))
	var e map[string]any
	_ = json.Unmarshal(body, &e)
	return answer(map[string]any{"ok": false, "error": e}, told(e), true)
}

// told is a refusal as a person reads it.
func told(e map[string]any) string {
	code, _ := e["reason_code"].(string)
	message, _ := e["message"].(string)
	text := code + ": " + message
	actions, _ := e["actions"].([]any)
	for _, a := range actions {
		if s, ok := a.(string); ok {
			text += "\n- " + s
		}
	}
	return text
}

// answer is the JSON of a command, also as text for clients that read nothing else.
func answer(v map[string]any, text string, refused bool) *mcp.CallToolResult {
	if text == "" {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false) // a model reads it
		_ = e.Encode(v)
		text = strings.TrimSuffix(b.String(), "\n")
	}
	return &mcp.CallToolResult{StructuredContent: v, Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: refused}
}

// output is what a command prints. One that begins a run is left alone as soon as
// its run is there: it goes on when the agent has gone.
func (f *face) output(ctx context.Context, c command) ([]byte, error) {
	if c.begins {
		return f.begin(ctx, c)
	}
	cmd, err := f.command(ctx, c)
	if err != nil {
		return nil, err
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.Output()
	if len(out) > 0 { // with a status that is not 0, it says why
		return out, nil
	}
	return out, notStarted(err, fault.ProcessCrashed, c.program)
}

func (f *face) command(ctx context.Context, c command) (*exec.Cmd, error) {
	bin := app.Beside(c.program)
	if bin == "" {
		return nil, fault.New(fault.BinaryNotFound, "name", c.program)
	}
	args := []string{"--json", "--no-color", "--lang=" + f.shell.Lang()}
	if path := f.p.Env.Config; path != "" {
		args = append(args, "--config="+path)
	}
	cmd := exec.CommandContext(ctx, bin, append(c.args, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr = f.p.Env.Dir, proc.Apart(f.shell.Environ()), strings.NewReader(c.input), f.shell.Stderr
	return cmd, nil
}

// notStarted blames the arguments where the system did not take them: together they
// are too long, or one holds a NUL.
func notStarted(err error, code fault.Code, program string) error {
	if errors.Is(err, syscall.E2BIG) || errors.Is(err, syscall.EINVAL) {
		return badArguments("cause_key", "mcp.arguments")
	}
	return fault.Wrap(err, code, "name", program)
}

func badArguments(which, why string) error { return fault.New(fault.UsageError, which, why) }

const beginPoll = 20 * time.Millisecond

// begin starts a run in a session of its own and waits until its lock names it, or
// it is over. What it prints goes into a file that has no name.
func (f *face) begin(ctx context.Context, c command) ([]byte, error) {
	out, err := os.CreateTemp("", "aiflow-mcp-")
	if err != nil {
		return nil, fault.Wrap(err, fault.PathNotWritable, "path", os.TempDir())
	}
	defer out.Close()
	_ = os.Remove(out.Name())
	cmd, err := f.command(context.WithoutCancel(ctx), c)
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, out, nil
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, notStarted(err, fault.BinaryNotFound, c.program)
	}
	over := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(over)
	}()
	tick := time.NewTicker(beginPoll)
	defer tick.Stop()
	for {
		select {
		case <-over:
			if _, err := out.Seek(0, io.SeekStart); err != nil {
				return nil, err
			}
			return io.ReadAll(out)
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
		if id, run := f.begun(cmd.Process.Pid); run != "" {
			return json.Marshal(map[string]any{"ok": true, "request_id": id, "run_id": run, "state": "RUNNING"})
		}
	}
}

// begun is the run that a process works on.
func (f *face) begun(pid int) (requestID, runID string) {
	all, _ := f.p.Locks().List()
	for _, e := range all {
		if e.PID == pid && e.RunID != "" && e.RequestID != "" {
			return e.RequestID, e.RunID
		}
	}
	return "", ""
}
