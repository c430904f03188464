package queue

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Filter chooses tasks; empty fields match everything.
type Filter struct {
	Status    Status
	GroupID   string
	SessionID string
}

// List reads the namespace's tasks, oldest first.
func (s *Store) List(ctx context.Context, f Filter) ([]Task, error) {
	var tasks []Task
	if err := s.each(ctx, f.query(s.ns), func(it item) { tasks = append(tasks, readTask(it)) }); err != nil {
		return nil, err
	}
	slices.SortFunc(tasks, byAge)
	return tasks, nil
}

func byAge(a, b Task) int {
	return cmp.Or(strings.Compare(a.CreatedAt, b.CreatedAt), strings.Compare(a.TaskID, b.TaskID))
}

func (f Filter) query(ns string) *dynamodb.QueryInput {
	in := &dynamodb.QueryInput{
		TableName:                 aws.String(QueueTable),
		KeyConditionExpression:    aws.String("namespace = :ns"),
		ExpressionAttributeValues: item{":ns": str(ns)},
	}
	var conditions []string
	for _, c := range []struct{ name, value string }{
		{"status", string(f.Status)}, {"task_group_id", f.GroupID}, {"session_id", f.SessionID},
	} {
		if c.value == "" {
			continue
		}
		if in.ExpressionAttributeNames == nil {
			in.ExpressionAttributeNames = map[string]string{}
		}
		in.ExpressionAttributeNames["#"+c.name] = c.name
		in.ExpressionAttributeValues[":"+c.name] = str(c.value)
		conditions = append(conditions, "#"+c.name+" = :"+c.name)
	}
	if conditions != nil {
		in.FilterExpression = aws.String(strings.Join(conditions, " AND "))
	}
	return in
}

// each reads all pages of a question.
func (s *Store) each(ctx context.Context, in *dynamodb.QueryInput, read func(item)) error {
	for {
		page, err := s.query(ctx, in)
		if err != nil {
			return err
		}
		for _, it := range page.Items {
			read(it)
		}
		if in.ExclusiveStartKey = page.LastEvaluatedKey; len(page.LastEvaluatedKey) == 0 {
			return nil
		}
	}
}

// inStatus asks for the tasks of all namespaces in a status, by age.
func inStatus(status Status, fields string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName: aws.String(QueueTable), IndexName: aws.String(StatusIndex),
		KeyConditionExpression:    aws.String("#status = :status"),
		ProjectionExpression:      &fields,
		ExpressionAttributeNames:  map[string]string{"#status": "status"},
		ExpressionAttributeValues: item{":status": str(string(status))},
	}
}

func (s *Store) query(ctx context.Context, in *dynamodb.QueryInput) (out *dynamodb.QueryOutput, err error) {
	err = s.do(ctx, "Query", func(ctx context.Context) error {
		out, err = s.api.Query(ctx, in)
		return err
	})
	return out, err
}
