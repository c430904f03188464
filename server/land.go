package server

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/locks"
	"aiflow/runs"
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
			return nil, invalid(f.key)
		}
		if f.value != "" {
			args = append(args, f.flag+f.value)
		}
	}
	for _, name := range b.Names {
		if name == "" || strings.HasPrefix(name, "-") {
			return nil, invalid("names")
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
		return noBinary(nil, "aiflow-land")
	}
	out, told := &bounded{left: queueBytes}, &bounded{left: queueSays}
	exit, err := proc.Run(r.Context(), proc.Command{
		Argv: append([]string{s.LandBin, "--dry-run"}, append(args, common(s, s.language(r))...)...),
		Dir:  s.Project.Dir, Env: s.Project.Env.Environ, Stdout: out, Stderr: told,
		Timeout: s.Project.Config.AtMost(forecastTime), Grace: queueLeave,
	})
	switch {
	case err != nil:
		return noBinary(err, "aiflow-land")
	case exit.Stopped:
		return r.Context().Err()
	case exit.TimedOut:
		return fault.New(fault.GitTimeout, "command", "aiflow land --dry-run", "seconds", s.Project.Config.AtMost(forecastTime).Seconds())
	}
	v, err := landAnswer(out.all.Bytes())
	if err != nil {
		return err
	}
	return give(w, http.StatusOK, v)
}

// landAnswer is what aiflow-land or a restack printed, or its refusal.
func landAnswer(data []byte) (any, error) {
	var v struct {
		LeftOut json.RawMessage `json:"left_out"`
		Error   *refusal        `json:"error"`
	}
	switch err := json.Unmarshal(bytes.TrimSpace(data), &v); {
	case err != nil:
		return nil, crashed("aiflow-land")
	case v.LeftOut == nil && v.Error != nil:
		return nil, v.Error.fault()
	}
	return treeOf(data)
}

// startLanding starts a landing: 202 while it goes on, 200 with what it came to when it is over
// at once.
func startLanding(s *Server, w http.ResponseWriter, r *http.Request, b landBody) error {
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
	return giveLanding(s, w, r, c, "", "land-")
}

// startRestack moves a run to where what it stands on is now, and is answered as a landing is.
func startRestack(s *Server, w http.ResponseWriter, r *http.Request, _ struct{}) error {
	st, _, err := theRun(s, r)
	if err != nil {
		return err
	}
	if len(st.Git.StackedOn) == 0 && !st.RestackStopped() {
		return nothingToDo(st, "not_stacked")
	}
	if err := notHeld(s, st.RequestID); err != nil {
		return err
	}
	c, err := s.spawn(s.language(r), "restack", st.RunID)
	if err != nil {
		return err
	}
	return giveLanding(s, w, r, c, st.RunID, "restack")
}

// giveLanding answers with what a child came to, or with the lock that it holds.
func giveLanding(s *Server, w http.ResponseWriter, r *http.Request, c *child, of, prefix string) error {
	lock, over, err := landingBegun(r.Context(), s, c, prefix)
	if err != nil {
		return err
	}
	status, v := http.StatusAccepted, any(struct {
		Lock string `json:"lock"`
	}{lock})
	if over {
		data, err := c.printed()
		if err != nil {
			return err
		}
		if v, err = landAnswer(data); err != nil {
			return err
		}
		status = http.StatusOK
	}
	s.mu.Lock()
	s.landings[of] = c
	s.mu.Unlock()
	return give(w, status, v)
}

// showRestack tells of the last move of a run that was started here.
func showRestack(s *Server, w http.ResponseWriter, r *http.Request, st *runs.Stage, _ *runs.Dir) error {
	return giveLast(s, w, r, st.RunID, false)
}

// showLanding tells whether a landing goes on, whoever started it, and what the last one
// that was started here came to.
func showLanding(s *Server, w http.ResponseWriter, r *http.Request) error {
	lock, err := landLock(s, "land-", func(e locks.Entry) bool { return e.Live })
	if err != nil {
		return err
	}
	return giveLast(s, w, r, "", lock != "")
}

// giveLast tells of the last child that was started for of; goesOn: another one's work of
// that kind is under way.
func giveLast(s *Server, w http.ResponseWriter, r *http.Request, of string, goesOn bool) error {
	s.mu.Lock()
	c := s.landings[of]
	s.mu.Unlock()
	var v struct {
		Running bool         `json:"running"`
		Result  any          `json:"result"`
		Error   *errorDetail `json:"error,omitempty"` // it came to nothing
	}
	v.Running = goesOn
	if c != nil && !goesOn {
		select {
		case <-c.over:
			data, err := c.printed()
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
	return give(w, http.StatusOK, v)
}

// landingBegun waits until the child holds a lock that is called so, or is over.
func landingBegun(ctx context.Context, s *Server, c *child, prefix string) (lock string, over bool, err error) {
	err = starting(ctx, func() (bool, error) {
		select {
		case <-c.over:
			over = true
			return true, nil
		default:
		}
		lock, err = landLock(s, prefix, func(e locks.Entry) bool { return e.PID == c.pid })
		return lock != "", err
	})
	return lock, over, err
}

// landLock is the name of a lock that begins with prefix and whose holder is the one
// that is meant; "" where there is none.
func landLock(s *Server, prefix string, holder func(locks.Entry) bool) (string, error) {
	all, err := s.Project.Locks().List()
	for _, e := range all {
		if key, ok := locks.KeyOf(e.Path); ok && key.Type == locks.TypeName && strings.HasPrefix(key.ID, prefix) && holder(e) {
			return key.ID, nil
		}
	}
	return "", err
}
