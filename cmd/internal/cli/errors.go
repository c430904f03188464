package cli

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"aiflow/internal/fault"
)

// Usage is a mistake on the command line: USAGE_ERROR with the message
// "cli.usage_<kind>" as its cause.
func Usage(kind string, pairs ...any) error {
	return fault.New(fault.UsageError, append(pairs, "cause_key", "cli.usage_"+kind)...)
}

// CheckEndpoint refuses what is no address of a server; "" is none.
func CheckEndpoint(name, value string) error {
	if u, err := url.Parse(value); value != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return Usage("bad_value", "name", name, "value", value, "allowed", "http://HOST:PORT")
	}
	return nil
}

// Named refuses flags that are given without the name which they need, as a variable of a
// script that is not set does: nobody means the default by that.
func Named(c *urfave.Context, flags ...string) error {
	for _, name := range flags {
		if c.IsSet(name) && c.String(name) == "" {
			return Usage("missing_value", "name", "--"+name)
		}
	}
	return nil
}

// Age reads the value of a flag that says how long ago: 24h, 90m, 7d; "" is 0.
func Age(flag, text, allowed string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	hours, days := strings.CutSuffix(text, "d")
	if days {
		hours += "h"
	}
	d, err := time.ParseDuration(hours)
	if days {
		d *= 24
	}
	if err != nil || d <= 0 {
		return 0, Usage("bad_value", "name", flag, "value", text, "allowed", allowed)
	}
	return d, nil
}

// Exit ends the program with status and without a message, for an answer that
// is no failure (--exit-code) or was already given.
func Exit(status int) error { return exit(status) }

type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Reported says that the JSON body for err is printed already: only the line
// on stderr and the exit status are left to do.
func Reported(err error) error {
	if err == nil {
		return nil
	}
	return reported{err}
}

// Answer prints v as JSON; err is what the command ends with, which v tells already.
func (s *Shell) Answer(v any, err error) error {
	if failed := s.PrintJSON(v); failed != nil {
		return failed
	}
	return Reported(err)
}

// Items is a list as all commands print it.
func Items[T any](list []T) any {
	return struct {
		Items []T `json:"items"`
	}{list}
}

type reported struct{ error }

func (r reported) Unwrap() error { return r.error }

// ErrorBody is the JSON form of an error, the same for every binary and for
// the server.
type ErrorBody struct {
	Category   fault.Category `json:"category"`
	ReasonCode fault.Code     `json:"reason_code"`
	Message    string         `json:"message"`
	Actions    []string       `json:"actions"`
	Context    fault.Facts    `json:"context"`
	Advice     []fault.Advice `json:"advice,omitempty"` // about the run that it is of
}
