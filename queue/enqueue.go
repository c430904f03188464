package queue

import (
	"cmp"
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// NewTask is what the caller decides about it.
type NewTask struct {
	TaskID    string // empty: a fresh one
	GroupID   string // empty: the request, or else the namespace
	SessionID string // empty: the store's own
	Prompt    string
	RequestID string
}

// MaxID is how many bytes the id of a task may have: what DynamoDB takes as a key.
const MaxID = 1024

// Enqueue puts a task in. A task id that is there already is left as it is and
// given back with created = false.
func (s *Store) Enqueue(ctx context.Context, n NewTask) (t Task, created bool, err error) {
	if t, err = s.newTask(n); err != nil {
		return Task{}, false, err
	}
	err = s.do(ctx, "PutItem", func(ctx context.Context) error {
		_, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: aws.String(QueueTable), Item: newTaskItem(t),
			ConditionExpression:                 aws.String("attribute_not_exists(task_id)"),
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		return err
	})
	if err == nil {
		return t, true, nil
	}
	if !conditionFailed(err) {
		return Task{}, false, err
	}
	there, err := s.refused(ctx, t.TaskID, err)
	if err == nil && there.TaskID == "" { // made and deleted in between
		return s.Enqueue(ctx, n)
	}
	return there, err == nil && there.EnqueueToken == t.EnqueueToken, err
}

func (s *Store) newTask(n NewTask) (Task, error) {
	token, err := s.token()
	if err != nil {
		return Task{}, err
	}
	if n.TaskID == "" { // sorts by time, which reads well in lists
		n.TaskID = "task-" + s.clock.Now().UTC().Format("20060102-150405") + "-" + token[:12]
	}
	if len(n.TaskID) > MaxID {
		return Task{}, badValue("id", n.TaskID[:64], "too_long")
	}
	now := s.now()
	return Task{
		Namespace: s.ns, TaskID: n.TaskID, TaskGroupID: cmp.Or(n.GroupID, n.RequestID, s.ns), SessionID: cmp.Or(n.SessionID, s.session),
		Status: Queued, Prompt: n.Prompt, CreatedAt: now, UpdatedAt: now,
		RequestID: n.RequestID, EnqueueToken: token,
	}, nil
}

// Push puts a request in. While a task of that request waits or runs, that one
// is given back and nothing is added. An ended task stays as it is; the next
// one of the same request is called <request>@2, then @3, so that two clients
// that push at the same time still make only one.
func (s *Store) Push(ctx context.Context, n NewTask) (t Task, created bool, err error) {
	for i := 1; ; i++ {
		n.TaskID = n.RequestID
		if i > 1 {
			n.TaskID += "@" + strconv.Itoa(i)
		}
		t, created, err = s.Enqueue(ctx, n)
		if err != nil || created || !t.Status.Terminal() {
			return t, created, err
		}
	}
}
