package queue

import (
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
	in := f.query(s.ns)
	for {
		page, err := s.query(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, it := range page.Items {
			tasks = append(tasks, readTask(it))
		}
		if in.ExclusiveStartKey = page.LastEvaluatedKey; len(page.LastEvaluatedKey) == 0 {
			break
		}
	}
	slices.SortFunc(tasks, byAge)
	return tasks, nil
}

func byAge(a, b Task) int {
	if c := strings.Compare(a.CreatedAt, b.CreatedAt); c != 0 {
		return c
	}
	return strings.Compare(a.TaskID, b.TaskID)
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

func (s *Store) query(ctx context.Context, in *dynamodb.QueryInput) (out *dynamodb.QueryOutput, err error) {
	err = s.do(ctx, "Query", func(ctx context.Context) error {
		out, err = s.api.Query(ctx, in)
		return err
	})
	return out, err
}
