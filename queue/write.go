package queue

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"aiflow/internal/fault"
)

// change is one conditional update of a task.
type change struct {
	op        string
	taskID    string
	update    string
	condition string
	names     map[string]string
	values    item
}

// apply makes the change. A refusal is compared with the item: when landed
// recognises it, an earlier try (or a duplicate of this one) had been applied
// and only its answer was lost. Otherwise the item is given with ok = false;
// a task that is not there has no TaskID.
func (s *Store) apply(ctx context.Context, c change, landed func(Task) bool) (t Task, ok bool, err error) {
	err = s.do(ctx, c.op, func(ctx context.Context) error {
		out, err := s.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: aws.String(QueueTable), Key: s.key(c.taskID),
			UpdateExpression: &c.update, ConditionExpression: &c.condition,
			ExpressionAttributeNames: c.names, ExpressionAttributeValues: c.values,
			ReturnValues:                        types.ReturnValueAllNew,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		if err == nil {
			t = readTask(out.Attributes)
		}
		return err
	})
	if err == nil {
		return t, true, nil
	}
	if !conditionFailed(err) {
		return Task{}, false, err
	}
	if t, err = s.refused(ctx, c.taskID, err); err != nil {
		return Task{}, false, err
	}
	return t, t.TaskID != "" && landed(t), nil
}

// refused gives the item that a condition did not hold for: from the answer,
// or where the service does not send it, by a consistent read.
func (s *Store) refused(ctx context.Context, taskID string, cause error) (Task, error) {
	var ccf *types.ConditionalCheckFailedException
	if errors.As(cause, &ccf) && len(ccf.Item) > 0 {
		return readTask(ccf.Item), nil
	}
	t, err := s.Get(ctx, taskID)
	if fault.Has(err, fault.TaskNotFound) {
		return Task{}, nil
	}
	return t, err
}

// Get reads a task consistently; TASK_NOT_FOUND when it is not there.
func (s *Store) Get(ctx context.Context, taskID string) (Task, error) {
	var it item
	err := s.do(ctx, "GetItem", func(ctx context.Context) error {
		out, err := s.api.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: aws.String(QueueTable), Key: s.key(taskID), ConsistentRead: aws.Bool(true),
		})
		if err == nil {
			it = out.Item
		}
		return err
	})
	switch {
	case err != nil:
		return Task{}, err
	case len(it) == 0:
		return Task{}, notFound(taskID, s.ns)
	}
	return readTask(it), nil
}

func notFound(id, ns string) error { return fault.New(fault.TaskNotFound, "id", id, "name", ns) }
