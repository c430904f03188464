package queue

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Space is what goes on in one namespace.
type Space struct {
	Namespace     string `json:"namespace"`
	Queued        int    `json:"queued_count"`
	Running       int    `json:"running_count"`
	Runners       int    `json:"runner_count"`
	ActiveRunners int    `json:"active_runner_count"`
}

// Namespaces lists the namespaces that have runners, or tasks that wait or
// run. One with nothing but ended tasks is not found: the schema has no list
// of namespaces, and reading the whole table is not worth it.
func (s *Store) Namespaces(ctx context.Context) ([]Space, error) {
	found := map[string]*Space{}
	space := func(name string) *Space {
		if found[name] == nil {
			found[name] = &Space{Namespace: name}
		}
		return found[name]
	}
	if err := s.scanRunners(ctx, func(r Runner) {
		n := space(r.Namespace)
		n.Runners++
		if r.Alive(s.clock.Now()) {
			n.ActiveRunners++
		}
	}); err != nil {
		return nil, err
	}
	for _, status := range []Status{Queued, Running} {
		if err := s.eachInStatus(ctx, status, func(name string) {
			if status == Queued {
				space(name).Queued++
			} else {
				space(name).Running++
			}
		}); err != nil {
			return nil, err
		}
	}
	return sorted(found), nil
}

func sorted(found map[string]*Space) []Space {
	all := make([]Space, 0, len(found))
	for _, n := range found {
		all = append(all, *n)
	}
	slices.SortFunc(all, func(a, b Space) int { return strings.Compare(a.Namespace, b.Namespace) })
	return all
}

func (s *Store) scanRunners(ctx context.Context, each func(Runner)) error {
	in := &dynamodb.ScanInput{TableName: aws.String(RunnersTable)}
	for {
		var page *dynamodb.ScanOutput
		err := s.do(ctx, "Scan", func(ctx context.Context) (err error) {
			page, err = s.api.Scan(ctx, in)
			return err
		})
		if err != nil {
			return err
		}
		for _, it := range page.Items {
			each(readRunner(it))
		}
		if in.ExclusiveStartKey = page.LastEvaluatedKey; len(page.LastEvaluatedKey) == 0 {
			return nil
		}
	}
}

func (s *Store) eachInStatus(ctx context.Context, status Status, each func(namespace string)) error {
	in := &dynamodb.QueryInput{
		TableName: aws.String(QueueTable), IndexName: aws.String(StatusIndex),
		KeyConditionExpression:    aws.String("#status = :status"),
		ProjectionExpression:      aws.String("namespace"),
		ExpressionAttributeNames:  map[string]string{"#status": "status"},
		ExpressionAttributeValues: item{":status": str(string(status))},
	}
	return s.each(ctx, in, func(it item) { each(text(it, "namespace")) })
}
