package server

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"aiflow/doctor"
	"aiflow/project"
)

func doctorQuick(s *Server, w http.ResponseWriter, r *http.Request) error {
	return examine(s, w, r, doctor.Quick, false)
}

type doctorBody struct {
	Mode     doctor.Mode `json:"mode"`
	Fix      bool        `json:"fix"`
	RepoRoot string      `json:"repo_root"` // always this project
}

func doctorFull(s *Server, w http.ResponseWriter, r *http.Request, b doctorBody) error {
	switch mode := cmp.Or(b.Mode, doctor.Mode(r.URL.Query().Get("mode")), doctor.Quick); mode {
	case doctor.Quick, doctor.Full:
		return examine(s, w, r, mode, b.Fix)
	}
	return invalid("mode", "allowed", "quick, full")
}

// examine answers with what doctor finds (D32); a project that is not well is
// still an answer.
func examine(s *Server, w http.ResponseWriter, r *http.Request, mode doctor.Mode, fix bool) error {
	env := s.Project.Env
	env.Dir = s.Project.Dir
	report := doctor.Run(r.Context(), doctor.Options{
		Env: env, Mode: mode, Fix: fix, HookBin: s.HookBin,
		Advised: func(ctx context.Context, _ *project.Project, err error) error {
			return runnerIn(s, s.language(r)).Advised(ctx, err)
		},
	})
	if err := r.Context().Err(); err != nil {
		return err
	}
	c := s.words(r)
	report.Describe(doctor.Words{
		Has: c.Has, Text: c.Text,
		Fault: func(err error) (string, []string) {
			d := s.detail(r, err)
			return d.Message, d.Actions
		},
	})
	for i := range report.Checks {
		c := &report.Checks[i]
		c.Hint = strings.Join(c.Hints, "\n") // D32 has one text for all that can be done
	}
	v, err := tree(report)
	if err != nil {
		return err
	}
	return give(w, http.StatusOK, v)
}
