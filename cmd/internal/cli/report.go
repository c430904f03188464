package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/term"
	"aiflow/locks"
)

// report tells err on stderr, and with --json on stdout, and gives the exit
// status.
func (s *Shell) report(err error) int {
	s.follow()
	body := s.Body(err)
	var told reported
	if s.JSON && !errors.As(err, &told) {
		_ = s.PrintJSON(struct {
			OK    bool      `json:"ok"`
			Error ErrorBody `json:"error"`
		}{false, body})
		_ = s.out.Flush()
	}
	code := term.Paint(s.color[1], term.Red, string(body.ReasonCode))
	fmt.Fprintf(s.Stderr, "%s: %s: %s\n", s.Name, code, body.Message)
	for _, action := range body.Actions {
		fmt.Fprintf(s.Stderr, "  %s: %s\n", s.Text("cli.hint"), action)
	}
	if n := s.signals.got(); n > 0 && (body.ReasonCode == fault.Interrupted || errors.Is(err, context.Canceled)) {
		return 128 + n
	}
	return body.ReasonCode.Info().Exit
}

// Body is err as the JSON form shows it, in the language of the shell.
func (s *Shell) Body(err error) ErrorBody {
	code, facts := s.fault(err)
	list := locks.AdviceOf(err)
	told := fault.WithAdvice(facts, list)
	if s.waits {
		told["waiting"] = "--wait 10m"
	}
	r := s.catalog.Code(code, told)
	facts = s.catalog.WithCause(code, facts)
	shown := fault.Facts{}
	maps.Copy(shown, facts)
	delete(shown, "cause_key")
	message := strings.TrimSuffix(r.Title+": "+r.Message, ": ")
	if cause := facts["cause"]; code == fault.UsageError && cause != "" {
		message = term.Escape(cause)
	}
	return ErrorBody{
		Category: code.Info().Category, ReasonCode: code, Message: oneLine(message),
		Actions: r.Actions, Context: shown, Advice: list,
	}
}

func (s *Shell) fault(err error) (fault.Code, fault.Facts) {
	if e, ok := fault.As(err); ok {
		return e.Code, e.Facts
	}
	if errors.Is(err, context.Canceled) && s.signals.got() > 0 {
		return fault.Interrupted, nil
	}
	return fault.InternalError, fault.Facts{"cause": err.Error()}
}

func oneLine(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", " ") }
