package server

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/locks"
)

// forecastTime is how long a forecast may take.
const forecastTime = time.Minute

// landBody is what is to land, and where.
type landBody struct {
	Names  []string `json:"names"`
	Into   string   `json:"into"`
	Method string   `json:"method"`
}

func (b landBody) args() ([]string, error) {
	var args []string
	for _, f := range []struct{ key, flag, value string }{{"into", "--into=", b.Into}, {"method", "--method=", b.Method}} {
		if strings.HasPrefix(f.value, "-") {
			return nil, fault.New(fault.InvalidRequest, "key", f.key)
		}
		if f.value != "" {
			args = append(args, f.flag+f.value)
		}
	}
	for _, name := range b.Names {
		if name == "" || strings.HasPrefix(name, "-") {
			return nil, fault.New(fault.InvalidRequest, "key", "names")
		}
		args = append(args, name)
	}
	return args, nil
}

// showForecast answers what a landing would come to. Nothing is changed.
func showForecast(s *Server, w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	args, err := landBody{Names: q["name"], Into: q.Get("into")}.args()
	if err != nil {
		return err
	}
	if s.LandBin == "" {
		return fault.New(fault.BinaryNotFound, "name", "aiflow-land")
	}
	out, told := &bounded{left: queueBytes}, &bounded{left: queueSays}
	exit, err := proc.Run(r.Context(), proc.Command{
		Argv: append([]string{s.LandBin, "--dry-run"}, append(args, common(s, s.language(r))...)...),
		Dir:  s.Project.Dir, Env: s.Project.Env.Environ, Stdout: out, Stderr: told,
		Timeout: s.Project.Config.AtMost(forecastTime), Grace: queueLeave,
	})
	switch {
	case err != nil:
		return fault.Wrap(err, fault.BinaryNotFound, "name", "aiflow-land")
	case exit.Stopped:
		return r.Context().Err()
	case exit.TimedOut:
		return fault.New(fault.GitTimeout, "command", "aiflow land --dry-run", "seconds", s.Project.Config.AtMost(forecastTime).Seconds())
	}
	v, err := landAnswer(out.all.Bytes())
	if err != nil {
		return err
	}
	return s.give(w, r, v)
}

// landAnswer is what aiflow-land printed, or its refusal.
func landAnswer(data []byte) (any, error) {
	var v struct {
		Into  string `json:"into"`
		Error *struct {
			ReasonCode fault.Code  `json:"reason_code"`
			Context    fault.Facts `json:"context"`
		} `json:"error"`
	}
	switch err := json.Unmarshal(bytes.TrimSpace(data), &v); {
	case err != nil:
		return nil, fault.New(fault.ProcessCrashed, "name", "aiflow-land")
	case v.Into == "" && v.Error != nil:
		f := &fault.Error{Code: v.Error.ReasonCode, Facts: v.Error.Context}
		if f.Code == fault.UsageError {
			f.Code = fault.InvalidRequest
		}
		return nil, f
	}
	return treeOf(data)
}

// startLanding starts a landing: 202 while it goes on, 200 with what it came to when it is over
// at once.
func startLanding(s *Server, w http.ResponseWriter, r *http.Request) error {
	var b landBody
	if err := read(r, &b); err != nil {
		return err
	}
	args, err := b.args()
	if err != nil {
		return err
	}
	if len(b.Names) == 0 {
		args = append(args, "--all")
	}
	c, err := spawnProgram(s, "aiflow-land", s.LandBin, s.language(r), args...)
	if err != nil {
		return err
	}
	lock, over, err := landingBegun(r.Context(), s, c)
	switch {
	case err != nil:
		return err
	case !over:
		begunLanding(s, c)
		return s.giveWith(w, http.StatusAccepted, struct {
			Lock string `json:"lock"`
		}{lock})
	}
	data, err := os.ReadFile(c.out)
	if err != nil {
		return err
	}
	v, err := landAnswer(data)
	if err != nil {
		return err
	}
	begunLanding(s, c)
	return s.giveWith(w, http.StatusOK, v)
}

func begunLanding(s *Server, c *child) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.landing = c
}

// showLanding tells of the last landing that was started here.
func showLanding(s *Server, w http.ResponseWriter, r *http.Request) error {
	s.mu.Lock()
	c := s.landing
	s.mu.Unlock()
	var v struct {
		Running bool         `json:"running"`
		Result  any          `json:"result"`
		Error   *errorDetail `json:"error,omitempty"` // it came to nothing
	}
	if c != nil {
		select {
		case <-c.over:
			data, err := os.ReadFile(c.out)
			if err == nil {
				v.Result, err = landAnswer(data)
			}
			if err != nil {
				d := s.detail(r, err)
				v.Error = &d
			}
		default:
			v.Running = true
		}
	}
	return s.give(w, r, v)
}

// landingBegun waits until the child holds the lock of a landing, or is over.
func landingBegun(ctx context.Context, s *Server, c *child) (lock string, over bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	m, err := s.Project.Locks()
	if err != nil {
		return "", false, err
	}
	err = poll(ctx, startPoll, func() (bool, error) {
		select {
		case <-c.over:
			over = true
			return true, nil
		default:
		}
		all, err := m.List()
		for _, e := range all {
			if key, ok := locks.KeyOf(e.Path); ok && e.PID == c.pid && key.Type == locks.TypeName && strings.HasPrefix(key.ID, "land-") {
				lock = key.ID
			}
		}
		return lock != "", err
	})
	return lock, over, err
}
