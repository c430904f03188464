package queue

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"aiflow/internal/fault"
)

// The fixed names of the two tables and of the index.
const (
	QueueTable   = "pm-runner-queue"
	RunnersTable = "pm-runner-runners"
	StatusIndex  = "status-index"
)

func queueTable() *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName: aws.String(QueueTable),
		KeySchema: keys("namespace", "task_id"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName:  aws.String(StatusIndex),
			KeySchema:  keys("status", "created_at"),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		}},
		AttributeDefinitions: stringKeys("namespace", "task_id", "status", "created_at"),
		BillingMode:          types.BillingModePayPerRequest,
	}
}

func runnersTable() *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName:            aws.String(RunnersTable),
		KeySchema:            keys("namespace", "runner_id"),
		AttributeDefinitions: stringKeys("namespace", "runner_id"),
		BillingMode:          types.BillingModePayPerRequest,
	}
}

func keys(hash, ranged string) []types.KeySchemaElement {
	return []types.KeySchemaElement{
		{AttributeName: aws.String(hash), KeyType: types.KeyTypeHash},
		{AttributeName: aws.String(ranged), KeyType: types.KeyTypeRange},
	}
}

func stringKeys(names ...string) []types.AttributeDefinition {
	var defs []types.AttributeDefinition
	for _, n := range names {
		defs = append(defs, types.AttributeDefinition{AttributeName: aws.String(n), AttributeType: types.ScalarAttributeTypeS})
	}
	return defs
}

// EnsureTables makes the two tables where they are missing and waits until
// both can be used. Tables that are there must have our keys and the index;
// further indexes and another billing mode are left as they are.
func (s *Store) EnsureTables(ctx context.Context) error {
	for _, def := range []*dynamodb.CreateTableInput{queueTable(), runnersTable()} {
		if err := ensure(ctx, s, def); err != nil {
			return err
		}
	}
	return nil
}

func ensure(ctx context.Context, s *Store, def *dynamodb.CreateTableInput) error {
	began, made := s.clock.Boot(), false
	for {
		d, err := describe(ctx, s, *def.TableName)
		switch {
		case err != nil:
			return err
		case d == nil && !made:
			if err := create(ctx, s, def); err != nil {
				return err
			}
			made = true
			continue
		case d != nil && d.TableStatus == types.TableStatusActive && !slices.ContainsFunc(d.GlobalSecondaryIndexes, unusable):
			return sameShape(d, def)
		case s.clock.Boot()-began > s.retry.Total:
			return notReady(*def.TableName, "not_active")
		}
		if err := s.retry.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// unusable: it is our index, and it is still being made.
func unusable(g types.GlobalSecondaryIndexDescription) bool {
	return g.IndexStatus != types.IndexStatusActive && aws.ToString(g.IndexName) == StatusIndex
}

// describe gives nil for a table that is not there.
func describe(ctx context.Context, s *Store, table string) (*types.TableDescription, error) {
	var d *types.TableDescription
	err := s.do(ctx, "DescribeTable", func(ctx context.Context) error {
		out, err := s.api.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
		if err == nil {
			d = out.Table
		}
		return err
	})
	if fault.Has(err, fault.QueueNotReady) {
		return nil, nil
	}
	return d, err
}

// create counts a table that another client makes at the same time as made.
func create(ctx context.Context, s *Store, def *dynamodb.CreateTableInput) error {
	return s.do(ctx, "CreateTable", func(ctx context.Context) error {
		_, err := s.api.CreateTable(ctx, def)
		var exists *types.ResourceInUseException
		if errors.As(err, &exists) {
			return nil
		}
		return err
	})
}

func sameShape(d *types.TableDescription, def *dynamodb.CreateTableInput) error {
	if !sameKeys(d.KeySchema, def.KeySchema) {
		return notReady(*def.TableName, "keys")
	}
	for _, want := range def.GlobalSecondaryIndexes {
		if !slices.ContainsFunc(d.GlobalSecondaryIndexes, func(g types.GlobalSecondaryIndexDescription) bool {
			return aws.ToString(g.IndexName) == *want.IndexName && sameKeys(g.KeySchema, want.KeySchema) &&
				g.Projection != nil && g.Projection.ProjectionType == want.Projection.ProjectionType
		}) {
			return notReady(*def.TableName, "index "+*want.IndexName)
		}
	}
	return nil
}

func sameKeys(a, b []types.KeySchemaElement) bool {
	return slices.EqualFunc(a, b, func(x, y types.KeySchemaElement) bool {
		return aws.ToString(x.AttributeName) == aws.ToString(y.AttributeName) && x.KeyType == y.KeyType
	})
}

func notReady(table, reason string) error {
	return fault.New(fault.QueueNotReady, "name", table, "reason", reason)
}
