package server

import (
	"context"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"aiflow/doctor"
	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/locks"
	"aiflow/reqmeta/choose"
	"aiflow/runner"
	"aiflow/runner/stage"
	"aiflow/runs"
)

// begunRun answers a start: 202 with the run, or 200 with the reasons when
// nothing was runnable.
type begunRun struct {
	RequestID *string        `json:"request_id"`
	RunID     *string        `json:"run_id"` // null: it is still being made
	RunPath   *string        `json:"run_path"`
	Stage     any            `json:"stage"`
	Replaces  *string        `json:"replaces,omitempty"`
	Selection *choose.Result `json:"selection,omitempty"`
}

// startBody is what a start may ask for; an older client's mode "safe" is what
// is done anyway.
type startBody struct {
	Mode       string `json:"mode"`
	BaseBranch string `json:"base_branch"`
	Fresh      bool   `json:"fresh"`
	Overdue    bool   `json:"take_overdue"`
	Stack      bool   `json:"stack"`
}

func (b startBody) flags() ([]string, error) {
	var flags []string
	switch {
	case b.Mode != "" && b.Mode != "safe":
		return nil, invalid("mode", "allowed", "safe")
	case strings.HasPrefix(b.BaseBranch, "-"):
		return nil, invalid("base_branch")
	case b.BaseBranch != "":
		flags = append(flags, "--base="+b.BaseBranch)
	}
	for _, f := range []struct {
		name string
		said bool
	}{{"--stack", b.Stack}, {"--fresh", b.Fresh}, {"--take-overdue", b.Overdue}} {
		if f.said {
			flags = append(flags, f.name)
		}
	}
	return flags, nil
}

func startRun(s *Server, w http.ResponseWriter, r *http.Request, b startBody) error {
	flags, err := b.flags()
	if err != nil {
		return err
	}
	sn, req, err := theRequest(s, r)
	if err != nil {
		return err
	}
	if h := sn.facts.Holder(req.ID); h != nil && !b.Overdue {
		return inTheWay(req.ID, h.RunID)
	}
	return s.start(w, r, locks.Request(req.ID), append([]string{req.ID}, flags...)...)
}

// start starts a child and answers with the run that it begins.
func (s *Server) start(w http.ResponseWriter, r *http.Request, key locks.Key, args ...string) error {
	c, err := s.spawn(s.language(r), args...)
	if err != nil {
		return err
	}
	at, err := begun(r.Context(), s, c, key)
	if err != nil {
		return withRun(s, err)
	}
	return giveBegun(s, w, r, at)
}

// withRun adds the run to a refusal that only says who holds the queue.
func withRun(s *Server, err error) error {
	f, ok := fault.As(err)
	if !ok || f.Code != fault.QueueInProgress || f.Facts["run_id"] == "" || f.Facts["request_id"] != "" {
		return err
	}
	id, e := runs.FindRun(s.Project.Dir, s.Project.RunsDir(), f.Facts["run_id"])
	if e != nil {
		return err
	}
	return fault.New(f.Code, "request_id", id, "run_id", f.Facts["run_id"])
}

func giveBegun(s *Server, w http.ResponseWriter, r *http.Request, at started) error {
	if at.runID == "" {
		status := http.StatusAccepted
		if at.requestID == "" {
			status = http.StatusOK
		}
		if at.selection != nil {
			sn, err := s.look(r.Context())
			if err != nil {
				return err
			}
			now := sn.selection(s.words(r))
			at.selection = &now
		}
		return give(w, status, begunRun{RequestID: orNil(at.requestID), Selection: at.selection})
	}
	st, d, err := record(s, at.requestID, at.runID)
	if err != nil {
		return err
	}
	v := begunRun{RequestID: &at.requestID, RunID: &at.runID, RunPath: &d.Rel, Replaces: orNil(st.Replaces)}
	if v.Stage, err = stageTree(st); err != nil {
		return err
	}
	w.Header().Set("Location", runURL(at.requestID, at.runID))
	return give(w, http.StatusAccepted, v)
}

func runNext(s *Server, w http.ResponseWriter, r *http.Request, b startBody) error {
	flags, err := b.flags()
	if err != nil {
		return err
	}
	if err := queueFree(s); err != nil && !b.Overdue {
		return err
	}
	return s.start(w, r, locks.Queue(), append([]string{"--next"}, flags...)...)
}

// queueFree refuses at once when the queue is held.
func queueFree(s *Server) error {
	e, found, err := s.Project.Locks().Look(locks.Queue())
	if err != nil || !found || !e.Live {
		return err
	}
	return withRun(s, fault.New(fault.QueueInProgress, "run_id", e.RunID))
}

type resumeBody struct {
	Mode  string `json:"mode"`
	Step  string `json:"target_step_id"`
	Force bool   `json:"force"`
}

func resumeRun(s *Server, w http.ResponseWriter, r *http.Request, b resumeBody) error {
	args := []string{"resume", r.PathValue("run")}
	switch runs.Mode(b.Mode) {
	case "":
	case runs.ModeResume, runs.ModeRetryStep, runs.ModeReplan:
		args = append(args, "--mode="+b.Mode)
	default:
		return invalid("mode", "allowed", "resume, retry_step, replan")
	}
	if strings.HasPrefix(b.Step, "-") {
		return invalid("target_step_id")
	}
	if b.Step != "" {
		args = append(args, "--step="+b.Step)
	}
	if b.Force {
		args = append(args, "--force")
	}
	return goOn(s, w, r, args...)
}

type answerBody struct {
	Text      string   `json:"text"`
	Questions []string `json:"questions"` // that it answers; nil: those of the moment
}

// mostAnswered is what aiflow-run answer takes, and more than a role should have to read.
const mostAnswered = 64 << 10

// answer tells a run what its role asked for; the run goes on.
func answerRun(s *Server, w http.ResponseWriter, r *http.Request, b answerBody) error {
	if text := strings.TrimSpace(b.Text); text == "" || len(text) > mostAnswered || strings.ContainsRune(text, 0) {
		return invalid("text")
	}
	if b.Questions != nil {
		_, d, err := theRun(s, r)
		if err != nil {
			return err
		}
		if errs, err := d.LoadErrors(); err == nil {
			asked, _ := tree(errs.Questions) // as they were shown
			if answered, _ := tree(b.Questions); !reflect.DeepEqual(asked, answered) {
				return conflict(d.RelPath("errors.json"))
			}
		}
	}
	// With the line end a "-" is an answer too, and not standard input.
	return goOn(s, w, r, "answer", "--", r.PathValue("run"), strings.TrimSpace(b.Text)+"\n")
}

// goOn starts what goes on with the run of the address.
func goOn(s *Server, w http.ResponseWriter, r *http.Request, args ...string) error {
	st, _, err := theRun(s, r)
	if err != nil {
		return err
	}
	if err := notHeld(s, st.RequestID); err != nil {
		return err
	}
	return s.start(w, r, locks.Request(st.RequestID), args...)
}

func holder(s *Server, id string) (*locks.Entry, error) {
	e, found, err := s.Project.Locks().Look(locks.Request(id))
	if err != nil || !found || !e.Live {
		return nil, err
	}
	return &e, nil
}

// notHeld refuses while somebody works for a request.
func notHeld(s *Server, id string) error {
	h, err := holder(s, id)
	if err == nil && h != nil {
		err = inTheWay(id, h.RunID)
	}
	return err
}

func stopRun(s *Server, w http.ResponseWriter, r *http.Request, _ struct{}) error {
	st, _, err := theRun(s, r)
	if err != nil {
		return err
	}
	if h, err := holder(s, st.RequestID); err != nil {
		return err
	} else if h != nil && h.RunID != "" && h.RunID != st.RunID {
		return nothingToDo(st, "not_running")
	}
	h, err := runnerIn(s, s.language(r)).Stop(r.Context(), st.RequestID, 0)
	if err != nil {
		return err
	}
	return give(w, http.StatusAccepted, struct {
		RequestID     string `json:"request_id"`
		RunID         string `json:"run_id"`
		StopRequested bool   `json:"stop_requested"`
	}{h.RequestID, st.RunID, h.StopRequested})
}

// runnerIn reads sessions and stops runs; it runs nothing here.
func runnerIn(s *Server, lang string) *runner.Runner {
	return &runner.Runner{Setup: stage.Setup{
		Project: s.Project, Words: stage.Words{Text: s.catalog(lang).Text, Fault: s.faultWords(lang)},
		Doctor: func(ctx context.Context) error { return doctor.Gate(ctx, s.Project) },
	}}
}

func showAutorun(s *Server, w http.ResponseWriter, r *http.Request) error {
	return giveSession(s, w, r, http.StatusOK)
}

func giveSession(s *Server, w http.ResponseWriter, r *http.Request, status int) error {
	v, err := session(r.Context(), s, s.language(r))
	if err != nil {
		return err
	}
	return give(w, status, v)
}

// session is the auto-run as it stands; one that was asked to end after the
// run in hand is STOPPING.
func session(ctx context.Context, s *Server, lang string) (runner.Session, error) {
	v, err := runnerIn(s, lang).LoadSession(ctx)
	if v.StopAsked {
		v.State = runner.Stopping
	}
	return v, err
}

func cachePath(s *Server, name string) string {
	return s.Project.Path(s.Project.Config.Paths.CacheDir + "/" + name)
}

type autorunBody struct {
	MaxRuns    int     `json:"max_runs"`
	MaxMinutes int     `json:"max_minutes"`
	MaxCost    float64 `json:"max_cost"` // dollars
	Until      string  `json:"until"`    // HH:MM
	BaseBranch string  `json:"base_branch"`
	LandInto   string  `json:"land_into"`
	Stack      bool    `json:"stack"`
	Jobs       int     `json:"jobs"` // runs at a time; 0: limits.jobs
}

func startAutorun(s *Server, w http.ResponseWriter, r *http.Request, b autorunBody) error {
	args, err := b.args()
	if err != nil {
		return err
	}
	if !s.Project.Config.AutoRun.Enabled {
		return invalid("auto_run.enabled")
	}
	if err := queueFree(s); err != nil {
		return err
	}
	before, err := session(r.Context(), s, s.Lang)
	if err != nil {
		return err
	}
	c, err := s.spawn(s.language(r), args...)
	if err != nil {
		return err
	}
	if err := sessionBegun(r.Context(), s, c, before); err != nil {
		return withRun(s, err)
	}
	return giveSession(s, w, r, http.StatusAccepted)
}

// mostCost is the most dollars of a session that are no slip of the hand.
const mostCost = 1_000_000

func (b autorunBody) args() ([]string, error) {
	args := []string{"auto"}
	for _, of := range []struct {
		name    string
		n, most int
	}{{"max_runs", b.MaxRuns, config.MaxRuns}, {"max_minutes", b.MaxMinutes, config.MaxMinutes}, {"jobs", b.Jobs, config.MaxJobs}} {
		if of.n < 0 || of.n > of.most {
			return nil, invalid(of.name, "allowed", "1.."+strconv.Itoa(of.most))
		}
	}
	cost := ""
	if b.MaxCost < 0 || b.MaxCost > mostCost {
		return nil, invalid("max_cost")
	} else if b.MaxCost > 0 {
		cost = strconv.FormatFloat(b.MaxCost, 'f', -1, 64)
	}
	if strings.HasPrefix(b.BaseBranch, "-") || strings.HasPrefix(b.Until, "-") {
		return nil, invalid("base_branch")
	}
	if strings.HasPrefix(b.LandInto, "-") || b.LandInto != "" && b.BaseBranch != "" {
		return nil, invalid("land_into")
	}
	for _, f := range []struct{ name, value string }{
		{"--max-runs", number(b.MaxRuns)}, {"--max-minutes", number(b.MaxMinutes)}, {"--max-cost", cost}, {"--until", b.Until}, {"--base", b.BaseBranch}, {"--jobs", number(b.Jobs)}, {"--land-into", b.LandInto},
	} {
		if f.value != "" {
			args = append(args, f.name+"="+f.value)
		}
	}
	if b.Stack {
		args = append(args, "--stack")
	}
	return args, nil
}

// sessionBegun waits until the record is of this child's session and past its
// checks, or the child is over.
func sessionBegun(ctx context.Context, s *Server, c *child, before runner.Session) error {
	return starting(ctx, func() (bool, error) {
		select {
		case <-c.over:
			_, err := c.result()
			return true, err
		default:
		}
		now, err := session(ctx, s, s.Lang)
		fresh := err == nil && now.StartedAt != nil && (before.StartedAt == nil || !now.StartedAt.Equal(*before.StartedAt))
		return fresh && now.State != runner.Starting, nil
	})
}

type stopBody struct {
	Now bool `json:"now"`
}

func stopAutorun(s *Server, w http.ResponseWriter, r *http.Request, b stopBody) error {
	if _, err := runnerIn(s, s.language(r)).StopSession(r.Context(), b.Now, 0); err != nil {
		return err
	}
	return giveSession(s, w, r, http.StatusAccepted)
}
