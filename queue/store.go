package queue

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"aiflow/internal/fault"
)

// API is the part of the DynamoDB client that the store uses.
type API interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
}

// Clock is wall time, which the tables hold, and the time since boot, which
// goes on while the machine sleeps and never jumps.
type Clock interface {
	Now() time.Time
	Boot() time.Duration
}

// Options say what a Store works with. API, Namespace and Clock must be there.
type Options struct {
	API       API
	Namespace string
	Session   string // session_id of tasks that are put in without one; empty: the namespace
	Place     string // what errors call the service: its endpoint or region
	Clock     Clock
	Rand      io.Reader // tokens and jitter; nil: crypto/rand
	Retry     Retry     // zero fields: the defaults
	Silence   Silence   // zero fields: the seed's
}

// Store is one namespace of the queue. It may be used by several goroutines.
type Store struct {
	api     API
	ns      string
	session string
	place   string
	clock   Clock
	retry   Retry
	quiet   Silence

	mu     sync.Mutex
	rand   io.Reader
	jitter *mathrand.Rand
}

// New makes a Store; it sends nothing.
func New(o Options) (*Store, error) {
	if err := CheckNamespace(o.Namespace); err != nil {
		return nil, err
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	var seed [32]byte
	if _, err := io.ReadFull(o.Rand, seed[:]); err != nil {
		return nil, fault.Wrap(err, fault.InternalError)
	}
	return &Store{
		api: o.API, ns: o.Namespace, session: cmp.Or(o.Session, o.Namespace), place: o.Place, clock: o.Clock, retry: o.Retry.withDefaults(), quiet: o.Silence.withDefaults(),
		rand: o.Rand, jitter: mathrand.New(mathrand.NewChaCha8(seed)),
	}, nil
}

// Namespace is the namespace that the store reads and writes.
func (s *Store) Namespace() string { return s.ns }

func (s *Store) now() string { return FormatTime(s.clock.Now()) }

// token is 128 random bits: no two writes share one.
func (s *Store) token() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b [16]byte
	if _, err := io.ReadFull(s.rand, b[:]); err != nil {
		return "", fault.Wrap(err, fault.InternalError)
	}
	return hex.EncodeToString(b[:]), nil
}

func (s *Store) key(taskID string) item {
	return item{"namespace": str(s.ns), "task_id": str(taskID)}
}
