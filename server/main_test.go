package server

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"aiflow/doctor"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/messages"
	"aiflow/project"
	"aiflow/runner"
	"aiflow/runner/stage"
	"aiflow/runs"
)

const playRun = "AIFLOW_SERVE_TEST_RUN"

// The test binary is its own aiflow-run: same runner, same answers.
func TestMain(m *testing.M) {
	if os.Getenv(playRun) != "" && len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		os.Exit(aiflowRun(os.Args[1:]))
	}
	status := m.Run()
	_ = os.RemoveAll(runDir)
	if f := flag.Lookup("test.run"); status == 0 && (f == nil || f.Value.String() == "") && len(seen) > 0 {
		if missing := unseen(); len(missing) > 0 {
			fmt.Println("no test saw the answers", strings.Join(missing, "\n"))
			status = 1
		}
	}
	os.Exit(status)
}

func testEnv(dir string, environ []string) project.Env {
	return project.SystemEnv(dir, environ, proc.ClockOf(time.Now, proc.BootClock), os.Getpid())
}

func aiflowRun(args []string) int {
	flags := map[string]string{}
	var words []string
	for _, a := range args {
		if name, value, _ := strings.Cut(a, "="); strings.HasPrefix(a, "--") {
			flags[name] = value
		} else {
			words = append(words, a)
		}
	}
	p, err := project.Open(testEnv(".", os.Environ()))
	if err != nil {
		return say(nil, err)
	}
	c := messages.Open(flags["--lang"])
	r := &runner.Runner{Setup: stage.Setup{Project: p, Grace: 200 * time.Millisecond, Words: stage.Words{Text: c.Text, Fault: func(code fault.Code, f fault.Facts) (string, string, []string) {
		w := c.Code(code, f)
		return w.Title, w.Message, w.Actions
	}}, Doctor: func(ctx context.Context) error { return doctor.Gate(ctx, p) }}}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	_, next := flags["--next"]
	_, all := flags["--all"]
	switch {
	case all:
		return aiflowLand(ctx, p, flags["--into"])
	case next:
		out, err := r.Run(ctx, runner.Options{Base: flags["--base"]})
		return say(&out, err)
	case len(words) == 1 && words[0] == "auto":
		cost, _ := strconv.ParseFloat(flags["--max-cost"], 64)
		_, stack := flags["--stack"]
		s, err := r.Auto(ctx, runner.AutoOptions{MaxCostUSD: cost, LandInto: flags["--land-into"], Stack: stack})
		if err != nil {
			return say(nil, err)
		}
		_ = json.NewEncoder(os.Stdout).Encode(s)
		return 0
	case len(words) == 2 && words[0] == "resume":
		id, err := runs.FindRun(p.Dir, p.RunsDir(), words[1])
		if err != nil {
			return say(nil, err)
		}
		_, force := flags["--force"]
		out, err := r.Resume(ctx, runner.ResumeOptions{RequestID: id, RunID: words[1], Mode: runs.Mode(flags["--mode"]), Force: force})
		return say(&out, err)
	case len(words) == 1:
		_, fresh := flags["--fresh"]
		out, err := r.Run(ctx, runner.Options{RequestID: words[0], Base: flags["--base"], Fresh: fresh})
		return say(&out, err)
	}
	fmt.Fprintln(os.Stderr, args)
	return 2
}

func say(out *runner.Outcome, err error) int {
	v := map[string]any{"ok": err == nil}
	switch {
	case err != nil:
		facts := fault.Facts{}
		if f, ok := fault.As(err); ok {
			facts = f.Facts
		}
		v["error"] = map[string]any{"reason_code": fault.CodeOf(err), "context": facts}
	case out.Selection != nil:
		v["request_id"], v["run_id"], v["selection"] = nil, nil, out.Selection
	default:
		v["request_id"], v["run_id"] = out.RequestID, out.RunID
	}
	_ = json.NewEncoder(os.Stdout).Encode(v)
	return fault.ExitStatus(err)
}
