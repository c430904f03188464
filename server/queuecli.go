package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
)

const (
	queueTime  = 15 * time.Second // one call of aiflow-queue
	queueLeave = time.Second      // for its output, after it was ended
	queueBytes = 64 << 20         // of its answer
	queueSays  = 64 << 10         // on standard error
)

// queuePlace are the flags that name the queue, and whether there is one.
// aiflow-queue reads the environment by itself.
func queuePlace(s *Server) (flags []string, configured bool) {
	if s.QueueEndpoint != "" {
		return []string{"--endpoint=" + s.QueueEndpoint}, true
	}
	for _, name := range []string{"AIFLOW_DYNAMODB_ENDPOINT", "AIFLOW_AWS_REGION"} {
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
	over bool // there was more
}

var errTooMuch = errors.New("too much output")

func (b *bounded) Write(p []byte) (int, error) {
	if b.over = b.over || len(p) > b.left; b.over {
		return 0, errTooMuch
	}
	b.left -= len(p)
	return b.all.Write(p)
}

// callQueue asks aiflow-queue and decodes what it answers into v. The server
// links no AWS itself. It ends with the caller, and after queueTime.
func callQueue(ctx context.Context, s *Server, v any, input string, args ...string) error {
	if s.QueueBin == "" {
		return noBinary(nil, "aiflow-queue")
	}
	place, _ := queuePlace(s)
	limit := s.Project.Config.AtMost(queueTime)
	out, said := &bounded{left: queueBytes}, &bounded{left: queueSays}
	exit, err := proc.Run(ctx, proc.Command{
		Argv: append([]string{s.QueueBin}, append(args, append(place, common(s, s.Lang)...)...)...),
		Dir:  s.Project.Dir, Env: s.Project.Env.Environ, Stdin: strings.NewReader(input), Stdout: out, Stderr: said,
		Timeout: limit, Grace: queueLeave,
	})
	switch {
	case err != nil:
		return fault.Wrap(err, fault.QueueNotAvailable)
	case exit.TimedOut:
		return noAnswer("no answer within " + limit.String())
	case exit.Stopped:
		return ctx.Err()
	case out.over || said.over:
		return noAnswer(errTooMuch.Error())
	}
	return readQueue(out.all.Bytes(), exit.Status == 0, v)
}

func noAnswer(cause string) error { return fault.New(fault.QueueNotAvailable, "cause", cause) }

// readQueue decodes an answer, which may be a refusal.
func readQueue(data []byte, well bool, v any) error {
	var refused struct{ Error *refusal }
	switch {
	case well && json.Unmarshal(data, v) == nil:
		return nil
	case json.Unmarshal(data, &refused) != nil || refused.Error == nil || refused.Error.ReasonCode == "":
		return noAnswer("aiflow-queue gave no answer")
	}
	return refused.Error.fault()
}
