package queue

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Register writes the record of a runner that starts and gives it the number
// of this process. A runner of the same id that is still there is replaced:
// its next beat is refused.
func (s *Store) Register(ctx context.Context, runnerID, projectRoot string) (Runner, error) {
	instance, err := s.token()
	if err != nil {
		return Runner{}, err
	}
	r := Runner{
		Namespace: s.ns, RunnerID: runnerID, LastHeartbeat: s.now(), StartedAt: s.now(),
		Status: RunnerRunning, ProjectRoot: projectRoot, Instance: instance,
	}
	err = s.updateRunner(ctx, r, "Register", "SET last_heartbeat = :now, started_at = :started, #status = :status, project_root = :root, instance = :instance", "",
		item{":started": str(r.StartedAt), ":root": str(projectRoot), ":status": str(string(RunnerRunning))})
	return r, err
}

const sameInstance = "attribute_not_exists(instance) OR instance = :instance"

// Beat renews the runner's heartbeat. LOCK_LOST says that another process took
// its id.
func (s *Store) Beat(ctx context.Context, r Runner) error {
	return s.updateRunner(ctx, r, "Beat",
		"SET last_heartbeat = :now, #status = :status, instance = :instance, started_at = if_not_exists(started_at, :started), project_root = if_not_exists(project_root, :root)", sameInstance,
		item{":status": str(string(RunnerRunning)), ":started": str(r.StartedAt), ":root": str(r.ProjectRoot)})
}

// StopRunner records that the runner stopped by itself.
func (s *Store) StopRunner(ctx context.Context, r Runner) error {
	return s.updateRunner(ctx, r, "StopRunner", "SET last_heartbeat = :now, #status = :status, instance = :instance", sameInstance,
		item{":status": str(string(RunnerStopped))})
}

func (s *Store) updateRunner(ctx context.Context, r Runner, op, update, condition string, values item) error {
	values[":now"], values[":instance"] = str(s.now()), str(r.Instance)
	in := &dynamodb.UpdateItemInput{
		TableName:        aws.String(RunnersTable),
		Key:              item{"namespace": str(s.ns), "runner_id": str(r.RunnerID)},
		UpdateExpression: &update, ExpressionAttributeNames: map[string]string{"#status": "status"},
		ExpressionAttributeValues: values,
	}
	if condition != "" {
		in.ConditionExpression = &condition
	}
	err := s.do(ctx, op, func(ctx context.Context) error {
		_, err := s.api.UpdateItem(ctx, in)
		return err
	})
	if err != nil && conditionFailed(err) {
		return lockLost(r.RunnerID, LostReplaced, "runner", r.RunnerID)
	}
	return err
}

// Runners lists the namespace's runners by id.
func (s *Store) Runners(ctx context.Context) ([]Runner, error) {
	in := &dynamodb.QueryInput{
		TableName: aws.String(RunnersTable), ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("namespace = :ns"),
		ExpressionAttributeValues: item{":ns": str(s.ns)},
	}
	var runners []Runner
	if err := s.each(ctx, in, func(it item) { runners = append(runners, readRunner(it)) }); err != nil {
		return nil, err
	}
	slices.SortFunc(runners, func(a, b Runner) int { return strings.Compare(a.RunnerID, b.RunnerID) })
	return runners, nil
}
