package queue

import (
	"context"
	"maps"
	"slices"

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
		if err := s.each(ctx, inStatus(status, "namespace"), func(it item) {
			n := space(text(it, "namespace"))
			if status == Queued {
				n.Queued++
			} else {
				n.Running++
			}
		}); err != nil {
			return nil, err
		}
	}
	all := make([]Space, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all = append(all, *found[name])
	}
	return all, nil
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
