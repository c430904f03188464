package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/locks"
	"aiflow/reqmeta/choose"
	"aiflow/runs"
)

// child is an aiflow-run or aiflow-land that was started for somebody. It has a session of
// its own and its output goes to files, so that it does not notice when this
// server ends.
type child struct {
	pid  int
	out  string // file
	over chan struct{}
}

const (
	keptOutputs = 50
	startTime   = 20 * time.Second
	startPoll   = 15 * time.Millisecond
)

func (s *Server) spawn(lang string, args ...string) (*child, error) {
	return spawnProgram(s, "aiflow-run", s.RunBin, lang, args...)
}

func spawnProgram(s *Server, name, bin, lang string, args ...string) (*child, error) {
	if bin == "" {
		return nil, noBinary(nil, name)
	}
	p := s.Project
	dir := p.Path(p.Config.Paths.CacheDir + "/serve")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fault.NotWritable(err, p.Config.Paths.CacheDir)
	}
	// The newest outputs are kept; their names sort by time.
	names, _ := filepath.Glob(filepath.Join(dir, "*-*.json"))
	slices.Sort(names)
	for _, old := range names[:max(0, len(names)-keptOutputs)] {
		_ = os.Remove(old)
		_ = os.Remove(strings.TrimSuffix(old, ".json") + ".log")
	}
	base := filepath.Join(dir, p.Now().UTC().Format("20060102-150405.000")+"-"+p.RandomHex(3))
	out, err := os.OpenFile(base+".json", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fault.NotWritable(err, p.Config.Paths.CacheDir)
	}
	defer out.Close()
	said, err := os.OpenFile(base+".log", os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fault.NotWritable(err, p.Config.Paths.CacheDir)
	}
	defer said.Close()
	cmd := exec.Command(bin, append(common(s, lang), args...)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.Dir, proc.Apart(p.Env.Environ), out, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, noBinary(err, name)
	}
	c := &child{pid: cmd.Process.Pid, out: out.Name(), over: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(c.over)
	}()
	return c, nil
}

// common are the flags that every child gets.
func common(s *Server, lang string) []string {
	flags := []string{"--json", "--no-color", "--lang=" + lang}
	if s.Project.Env.Config != "" {
		flags = append(flags, "--config="+configPath(s))
	}
	return flags
}

// started is what became of a child's start.
type started struct {
	requestID, runID string
	selection        *choose.Result // nothing was runnable: why
}

// said is what aiflow-run prints at its end.
type said struct {
	OK        bool           `json:"ok"`
	RequestID *string        `json:"request_id"`
	RunID     *string        `json:"run_id"`
	Selection *choose.Result `json:"selection"`
	Error     *refusal       `json:"error"`
}

// refusal is an error as our programs print it.
type refusal struct {
	ReasonCode fault.Code     `json:"reason_code"`
	Context    fault.Facts    `json:"context"`
	Advice     []fault.Advice `json:"advice"`
}

// fault is what was said. A command line that was refused is a call that cannot be used.
func (r *refusal) fault() error {
	if r.ReasonCode == fault.UsageError {
		r.ReasonCode = fault.InvalidRequest
	}
	return &fault.Error{Code: r.ReasonCode, Facts: r.Context}
}

// printed is what a child that is over has printed. Our programs print an answer
// however they end; where there is none, there may have been no room for it.
func (c *child) printed() ([]byte, error) {
	data, err := os.ReadFile(c.out)
	if err != nil || len(data) > 0 {
		return data, err
	}
	room, err := os.CreateTemp(filepath.Dir(c.out), ".room-")
	if err != nil {
		return nil, fault.NotWritable(err, c.out)
	}
	defer os.Remove(room.Name())
	defer room.Close()
	if _, err := room.Write(make([]byte, 4096)); err != nil {
		return nil, fault.NotWritable(err, c.out)
	}
	return nil, nil
}

// result reads what a child that is over has said. A run that was begun is no
// refusal, however it ended.
func (c *child) result() (started, error) {
	data, err := c.printed()
	if err != nil {
		return started{}, err
	}
	var v said
	if json.Unmarshal(bytes.TrimSpace(data), &v) != nil {
		return started{}, crashed("aiflow-run")
	}
	switch {
	case v.RunID != nil && *v.RunID != "" && v.RequestID != nil:
		return started{requestID: *v.RequestID, runID: *v.RunID}, nil
	case v.Error != nil:
		return started{}, &fault.Advised{Err: v.Error.fault(), Advice: v.Error.Advice}
	}
	return started{selection: v.Selection}, nil
}

// begun waits until the child's lock names its run, or the child is over.
func begun(ctx context.Context, s *Server, c *child, key locks.Key) (started, error) {
	at := started{requestID: key.ID} // after all that time it will be seen when it has begun
	err := starting(ctx, func() (done bool, err error) {
		select {
		case <-c.over:
			at, err = c.result()
			return true, err
		default:
		}
		e, found, err := s.Project.Locks().Look(key)
		if err != nil || !found || e.PID != c.pid || e.RunID == "" {
			return false, nil
		}
		if at.runID = e.RunID; key.ID == "" {
			at.requestID, err = runs.FindRun(s.Project.Dir, s.Project.RunsDir(), e.RunID)
		}
		return true, err
	})
	return at, cmp.Or(err, ctx.Err())
}

func noBinary(err error, bin string) error { return fault.Wrap(err, fault.BinaryNotFound, "name", bin) }

func crashed(name string) error { return fault.New(fault.ProcessCrashed, "name", name) }
