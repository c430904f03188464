package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"time"

	"aiflow/internal/fault"
)

const (
	queueTime  = 15 * time.Second // one call of aiflow-queue
	queueLeave = time.Second      // for its output, after it was ended
	queueBytes = 64 << 20         // of its answer
	queueSays  = 64 << 10         // on standard error
)

// queuePlace are the flags that name the queue, and whether there is one.
// aiflow-queue reads the environment by itself.
func (s *Server) queuePlace() (flags []string, configured bool) {
	if s.QueueEndpoint != "" {
		return []string{"--endpoint=" + s.QueueEndpoint}, true
	}
	for _, name := range []string{"AIFLOW_DYNAMODB_ENDPOINT", "AWS_REGION", "AWS_DEFAULT_REGION"} {
		if s.Project.Env.Getenv(name) != "" {
			return nil, true
		}
	}
	return nil, false
}

// bounded takes so many bytes and then fails, which ends whoever writes. The
// buffer is a field: its own ReadFrom would know no bound.
type bounded struct {
	all  bytes.Buffer
	left int
}

var errTooMuch = errors.New("too much output")

func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.left {
		return 0, errTooMuch
	}
	b.left -= len(p)
	return b.all.Write(p)
}

// callQueue asks aiflow-queue and decodes what it answers into v. The server
// links no AWS itself. It ends with the caller, and after queueTime.
func (s *Server) callQueue(ctx context.Context, v any, input string, args ...string) error {
	if s.QueueBin == "" {
		return fault.New(fault.BinaryNotFound, "name", "aiflow-queue")
	}
	ctx, cancel := context.WithTimeout(ctx, queueTime)
	defer cancel()
	place, _ := s.queuePlace()
	cmd := exec.CommandContext(ctx, s.QueueBin, append(args, append(place, s.common(s.Lang)...)...)...)
	out, said := &bounded{left: queueBytes}, &bounded{left: queueSays}
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Project.Dir, s.Project.Env.Environ, strings.NewReader(input), out, said
	cmd.WaitDelay = queueLeave
	err := cmd.Run()
	switch {
	case ctx.Err() == context.DeadlineExceeded:
		return fault.New(fault.QueueNotAvailable, "cause", "no answer within "+queueTime.String())
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errTooMuch):
		return fault.New(fault.QueueNotAvailable, "cause", errTooMuch.Error())
	}
	return readQueue(out.all.Bytes(), err, v)
}

// readQueue decodes an answer, which may be a refusal. A refused command line
// is a call that cannot be used.
func readQueue(data []byte, ended error, v any) error {
	var refused struct {
		Error *struct {
			ReasonCode fault.Code  `json:"reason_code"`
			Context    fault.Facts `json:"context"`
		} `json:"error"`
	}
	switch {
	case ended == nil && json.Unmarshal(data, v) == nil:
		return nil
	case json.Unmarshal(data, &refused) != nil || refused.Error == nil || refused.Error.ReasonCode == "":
		return fault.New(fault.QueueNotAvailable, "cause", "aiflow-queue gave no answer")
	}
	f := &fault.Error{Code: refused.Error.ReasonCode, Facts: refused.Error.Context}
	if f.Code == fault.UsageError {
		f.Code = fault.InvalidRequest
	}
	return f
}
