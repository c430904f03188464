package main

import (
	"cmp"
	"context"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/internal/proc"
	"aiflow/project"
	"aiflow/queue"
)

// where is which queue is meant, as the command line says it.
type where struct{ namespace, endpoint, region string }

// quickly is the patience of a command that a person waits for.
const quickly = 3 * time.Second

// open makes the store; it sends nothing. patience is how long a DynamoDB that
// does not answer is asked again, 0 for the store's own.
func open(s *cli.Shell, w where, patience time.Duration) (*queue.Store, error) {
	ns, err := namespace(s, w.namespace)
	if err != nil {
		return nil, err
	}
	at, name := w.dynamo(s), "--endpoint"
	if w.endpoint == "" {
		name = "AIFLOW_DYNAMODB_ENDPOINT"
	}
	if err := cli.CheckEndpoint(name, at.Endpoint); err != nil {
		return nil, err
	}
	api, err := queue.Dial(context.Background(), at)
	if err != nil {
		return nil, err
	}
	return queue.New(queue.Options{
		API: api, Namespace: ns, Session: session(), Place: place(at), Clock: clock(s), Retry: queue.Retry{Total: patience},
	})
}

// session is the caller's: all that is typed in one terminal has one.
func session() string {
	host, _ := os.Hostname()
	sid, err := unix.Getsid(0)
	if err != nil {
		sid = os.Getppid()
	}
	return cmp.Or(host, "host") + "-" + strconv.Itoa(sid)
}

func clock(s *cli.Shell) queue.Clock { return proc.ClockOf(s.Now, proc.BootClock) }

// dynamo: an endpoint that somebody names means a local DynamoDB, unless
// --region stands beside it; otherwise --region or AIFLOW_AWS_REGION means AWS.
// A region in the environment that other programs use says nothing about the
// queue.
func (w where) dynamo(s *cli.Shell) queue.Where {
	at := queue.Where{Endpoint: cmp.Or(w.endpoint, s.Getenv("AIFLOW_DYNAMODB_ENDPOINT")), Region: w.region}
	if at.Endpoint == "" && at.Region == "" {
		at.Region = s.Getenv("AIFLOW_AWS_REGION")
	}
	if at.Endpoint == "" && at.Region == "" {
		at.Endpoint = queue.LocalEndpoint
	}
	return at
}

func place(at queue.Where) string { return cmp.Or(at.Endpoint, at.Region) }

// namespace: --namespace, AIFLOW_NAMESPACE, or the project's folder.
func namespace(s *cli.Shell, flag string) (string, error) {
	for _, said := range []struct{ name, value string }{
		{"--namespace", flag}, {"AIFLOW_NAMESPACE", s.Getenv("AIFLOW_NAMESPACE")},
	} {
		if said.value == "" {
			continue
		}
		if queue.CheckNamespace(said.value) != nil {
			return "", cli.Usage("bad_value", "name", said.name, "value", said.value, "allowed", s.Text("queue.namespace_rule"))
		}
		return said.value, nil
	}
	dir, err := app.WorkingDir(s)
	if err != nil {
		return "", err
	}
	root, err := project.FindRoot(dir)
	if err != nil {
		return "", err
	}
	return queue.DeriveNamespace(root.Dir), nil
}
