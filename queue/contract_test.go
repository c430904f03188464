package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"aiflow/internal/fault"
)

func TestTablesAreTheSeeds(t *testing.T) {
	s := open(t)
	ctx := context.Background()
	q := must[*types.TableDescription](t)(describe(ctx, s, QueueTable))
	if got := attributes(q.AttributeDefinitions); !reflect.DeepEqual(got, map[string]string{"namespace": "S", "task_id": "S", "status": "S", "created_at": "S"}) {
		t.Errorf("attributes %v", got)
	}
	if got := schema(q.KeySchema); got != "namespace HASH, task_id RANGE" {
		t.Errorf("keys %s", got)
	}
	if len(q.GlobalSecondaryIndexes) != 1 {
		t.Fatalf("indexes %v", q.GlobalSecondaryIndexes)
	}
	g := q.GlobalSecondaryIndexes[0]
	if *g.IndexName != "status-index" || schema(g.KeySchema) != "status HASH, created_at RANGE" || g.Projection.ProjectionType != "ALL" {
		t.Errorf("index %v", g)
	}
	if q.BillingModeSummary == nil || q.BillingModeSummary.BillingMode != "PAY_PER_REQUEST" {
		t.Errorf("billing %v", q.BillingModeSummary)
	}
	r := must[*types.TableDescription](t)(describe(ctx, s, RunnersTable))
	if got := schema(r.KeySchema); got != "namespace HASH, runner_id RANGE" || len(r.GlobalSecondaryIndexes) != 0 {
		t.Errorf("runners %s %v", got, r.GlobalSecondaryIndexes)
	}
	if got := attributes(r.AttributeDefinitions); !reflect.DeepEqual(got, map[string]string{"namespace": "S", "runner_id": "S"}) {
		t.Errorf("attributes %v", got)
	}
	if err := s.EnsureTables(ctx); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

func attributes(defs []types.AttributeDefinition) map[string]string {
	m := map[string]string{}
	for _, d := range defs {
		m[*d.AttributeName] = string(d.AttributeType)
	}
	return m
}

func schema(keys []types.KeySchemaElement) string {
	s := ""
	for _, k := range keys {
		if s != "" {
			s += ", "
		}
		s += *k.AttributeName + " " + string(k.KeyType)
	}
	return s
}

func TestTablesOfAnotherShapeAreRefused(t *testing.T) {
	s := open(t)
	d := must[*types.TableDescription](t)(describe(context.Background(), s, QueueTable))
	old := *d
	old.KeySchema = d.KeySchema[1:]
	assertFault(t, sameShape(&old, queueTable()), fault.QueueNotReady, "reason", "keys")
	bare := *d
	bare.GlobalSecondaryIndexes = nil
	assertFault(t, sameShape(&bare, queueTable()), fault.QueueNotReady, "reason", "index status-index")
	more := *d
	more.BillingModeSummary = nil
	more.GlobalSecondaryIndexes = append([]types.GlobalSecondaryIndexDescription{{IndexName: aws.String("task-group-index")}}, d.GlobalSecondaryIndexes...)
	if err := sameShape(&more, queueTable()); err != nil {
		t.Errorf("a further index and provisioned throughput: %v", err)
	}
}

func assertFault(t testing.TB, err error, code fault.Code, pairs ...string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != code {
		t.Errorf("got %v, want %s", err, code)
		return
	}
	for i := 0; i < len(pairs); i += 2 {
		if f.Facts[pairs[i]] != pairs[i+1] {
			t.Errorf("fact %s = %q, want %q", pairs[i], f.Facts[pairs[i]], pairs[i+1])
		}
	}
}

// raw reads an item as any client sees it.
func raw(t testing.TB, s *Store, table, rangeKey, id string) item {
	t.Helper()
	out, err := s.api.GetItem(context.Background(), &dynamodb.GetItemInput{
		TableName: aws.String(table), ConsistentRead: aws.Bool(true),
		Key: item{"namespace": str(s.ns), rangeKey: str(id)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item
}

func TestItemHasTheSeedsFields(t *testing.T) {
	s := open(t)
	ctx := context.Background()
	made, created, err := s.Enqueue(ctx, NewTask{TaskID: "RQ-1", GroupID: "g", SessionID: "se", Prompt: "do it", RequestID: "RQ-1"})
	if err != nil || !created {
		t.Fatal(created, err)
	}
	c, ok, err := s.Claimer("r1").Claim(ctx)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if err := s.Fail(ctx, c, "it broke"); err != nil {
		t.Fatal(err)
	}
	it := raw(t, s, QueueTable, "task_id", "RQ-1")
	want := map[string]string{
		"namespace": s.ns, "task_id": "RQ-1", "task_group_id": "g", "session_id": "se", "status": "ERROR", "prompt": "do it",
		"created_at": made.CreatedAt, "error_message": "it broke", "claimed_by": "r1", "request_id": "RQ-1",
	}
	for name, value := range want {
		if v, ok := it[name].(*types.AttributeValueMemberS); !ok || v.Value != value {
			t.Errorf("%s = %v, want %q", name, it[name], value)
		}
	}
	for _, name := range []string{"created_at", "updated_at"} {
		at, ok := ParseTime(text(it, name))
		if !ok || FormatTime(at) != text(it, name) || len(text(it, name)) != len("2026-01-02T03:04:05.678Z") {
			t.Errorf("%s = %q", name, text(it, name))
		}
	}
	if number(it, "fence") != 1 {
		t.Errorf("fence %v", it["fence"])
	}
	for _, name := range []string{"enqueue_token", "attempt_token"} {
		if len(text(it, name)) < 32 {
			t.Errorf("%s = %q", name, text(it, name))
		}
	}
}

func TestTaskAsJSON(t *testing.T) {
	b, err := json.Marshal(Task{
		Namespace: "n", TaskID: "t", TaskGroupID: "g", SessionID: "s", Status: Errored, Prompt: "p",
		CreatedAt: "c", UpdatedAt: "u", ErrorMessage: "e", ClaimedBy: "r", Fence: 3, AttemptToken: "secret",
	})
	want := `{"namespace":"n","task_id":"t","task_group_id":"g","session_id":"s","status":"ERROR","prompt":"p","created_at":"c","updated_at":"u","error_message":"e","claimed_by":"r"}`
	if err != nil || string(b) != want {
		t.Errorf("got %s %v", b, err)
	}
}

func TestRunnerRecordIsTheSeeds(t *testing.T) {
	s := open(t)
	ctx := context.Background()
	r := must[Runner](t)(s.Register(ctx, "r1", "/p q"))
	it := raw(t, s, RunnersTable, "runner_id", "r1")
	for name, want := range map[string]string{"namespace": s.ns, "runner_id": "r1", "status": "running", "project_root": "/p q", "started_at": r.StartedAt, "last_heartbeat": r.LastHeartbeat} {
		if text(it, name) != want {
			t.Errorf("%s = %v, want %q", name, it[name], want)
		}
	}
	if err := s.Beat(ctx, r); err != nil {
		t.Fatal(err)
	}
	if got := text(raw(t, s, RunnersTable, "runner_id", "r1"), "started_at"); got != r.StartedAt {
		t.Errorf("a beat changed started_at to %s", got)
	}
	if err := s.StopRunner(ctx, r); err != nil {
		t.Fatal(err)
	}
	list := must[[]Runner](t)(s.Runners(ctx))
	if len(list) != 1 || list[0].Status != RunnerStopped {
		t.Errorf("got %+v", list)
	}
}

func TestSecondProcessOfOneRunnerIDReplacesTheFirst(t *testing.T) {
	s := open(t)
	ctx := context.Background()
	first := must[Runner](t)(s.Register(ctx, "r1", "/p"))
	second := must[Runner](t)(s.Register(ctx, "r1", "/p"))
	assertFault(t, s.Beat(ctx, first), fault.LockLost, "id", "r1", "reason", "replaced")
	assertFault(t, s.StopRunner(ctx, first), fault.LockLost)
	if err := s.Beat(ctx, second); err != nil {
		t.Error(err)
	}
}

// put writes an item as a foreign client would, without conditions.
func put(t testing.TB, s *Store, it item) {
	t.Helper()
	it["namespace"] = str(s.ns)
	if _, err := s.api.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String(QueueTable), Item: it}); err != nil {
		t.Fatal(err)
	}
}

// inState makes a task that stands in the given state; a running one is held
// by the task that is given back.
func inState(t testing.TB, s *Store, id string, to Status) Task {
	t.Helper()
	ctx := context.Background()
	if _, _, err := s.Enqueue(ctx, NewTask{TaskID: id, Prompt: "p"}); err != nil {
		t.Fatal(err)
	}
	if to == Queued {
		return Task{TaskID: id, AttemptToken: "none"}
	}
	held, ok, err := s.claimTask(ctx, "r1", id, "token-"+id)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	switch to {
	case Complete:
		err = s.Complete(ctx, held, "")
	case Errored:
		err = s.Fail(ctx, held, "e")
	case Cancelled:
		_, err = s.Cancel(ctx, id)
	}
	if err != nil {
		t.Fatal(err)
	}
	return held
}

func TestTransitions(t *testing.T) {
	s := open(t)
	ctx := context.Background()
	allowed := map[Status][]Status{
		Queued:  {Running, Cancelled},
		Running: {Complete, Errored, Cancelled},
	}
	for _, from := range Statuses() {
		for _, to := range Statuses() {
			want := false
			for _, a := range allowed[from] {
				want = want || a == to
			}
			if to == Queued {
				continue // nothing we offer writes it but Enqueue, below
			}
			id := fmt.Sprintf("%s-%s", from, to)
			held := inState(t, s, id, from)
			before := raw(t, s, QueueTable, "task_id", id)
			held.AttemptToken = text(before, "attempt_token") // even with the right token
			got := move(ctx, s, held, to)
			after := raw(t, s, QueueTable, "task_id", id)
			if got != want {
				t.Errorf("%s -> %s allowed: %v, want %v", from, to, got, want)
			}
			if want && text(after, "status") != string(to) || !want && !reflect.DeepEqual(before, after) {
				t.Errorf("%s -> %s left %v", from, to, after)
			}
		}
		id := string(from) + "-again"
		inState(t, s, id, from)
		before := raw(t, s, QueueTable, "task_id", id)
		there, created, err := s.Enqueue(ctx, NewTask{TaskID: id, Prompt: "other"})
		if err != nil || created || there.Status != from || !reflect.DeepEqual(before, raw(t, s, QueueTable, "task_id", id)) {
			t.Errorf("enqueueing over %s: %v %v %v", from, there, created, err)
		}
	}
}

func move(ctx context.Context, s *Store, held Task, to Status) bool {
	switch to {
	case Running:
		_, ok, err := s.claimTask(ctx, "r2", held.TaskID, "another")
		return ok && err == nil
	case Complete:
		return s.Complete(ctx, held, "") == nil
	case Errored:
		return s.Fail(ctx, held, "x") == nil
	}
	_, err := s.Cancel(ctx, held.TaskID)
	return err == nil
}

// The schema's eight fields for every state are there from the first moment.
func TestEveryTaskHasTheEightFields(t *testing.T) {
	s := open(t)
	for name, tc := range map[string]struct {
		n              NewTask
		group, session string
	}{
		"plain":   {NewTask{Prompt: "p"}, s.ns, s.ns},
		"request": {NewTask{RequestID: "RQ-1", Prompt: "p"}, "RQ-1", s.ns},
		"named":   {NewTask{GroupID: "g", SessionID: "se", RequestID: "RQ-1"}, "g", "se"},
	} {
		made, _, err := s.Enqueue(context.Background(), tc.n)
		if err != nil {
			t.Fatal(err)
		}
		it := raw(t, s, QueueTable, "task_id", made.TaskID)
		for _, field := range []string{"namespace", "task_id", "task_group_id", "session_id", "status", "prompt", "created_at", "updated_at"} {
			if _, ok := it[field]; !ok {
				t.Errorf("%s: no %s", name, field)
			}
		}
		if made.TaskGroupID != tc.group || made.SessionID != tc.session || text(it, "task_group_id") != tc.group {
			t.Errorf("%s: %+v", name, made)
		}
	}
}

func TestMessagesAreNotCutInsideACharacter(t *testing.T) {
	for shift := range 4 {
		s := clip(strings.Repeat("x", shift) + strings.Repeat("漢🙂", 8000) + "\xff")
		if !utf8.ValidString(s) || strings.Contains(s[:len(s)-4], "\uFFFD") || len(s) > 33<<10 {
			t.Errorf("shift %d: %d bytes", shift, len(s))
		}
	}
}

func TestEndedTaskIsNeverTouched(t *testing.T) {
	s := open(t)
	ctx := context.Background()
	for _, end := range []Status{Complete, Errored, Cancelled} {
		id := "ended-" + string(end)
		held := inState(t, s, id, end)
		before := raw(t, s, QueueTable, "task_id", id)
		reason := LostEnded
		if end == Cancelled {
			reason = LostCancelled
		}
		assertFault(t, s.Heartbeat(ctx, held), fault.LockLost, "reason", reason, "id", id)
		assertFault(t, s.Check(ctx, held), fault.LockLost, "reason", reason)
		_, err := s.Cancel(ctx, id)
		assertFault(t, err, fault.TaskFinished, "id", id, "status", string(end))
		if !reflect.DeepEqual(before, raw(t, s, QueueTable, "task_id", id)) {
			t.Errorf("%s was changed", end)
		}
	}
	put(t, s, item{"task_id": str("foreign"), "status": str("AWAITING_RESPONSE")})
	_, err := s.Cancel(ctx, "foreign")
	assertFault(t, err, fault.TaskNotOurs, "id", "foreign", "status", "AWAITING_RESPONSE")
	_, err = s.Cancel(ctx, "nobody")
	assertFault(t, err, fault.TaskNotFound, "id", "nobody")
	assertFault(t, s.Heartbeat(ctx, Task{TaskID: "nobody", AttemptToken: "x"}), fault.LockLost, "reason", LostMissing)
}

func TestEndingTwiceIsNoError(t *testing.T) {
	s := open(t)
	ctx := context.Background()
	held := inState(t, s, "a", Complete)
	if err := s.Complete(ctx, held, ""); err != nil {
		t.Error(err)
	}
	assertFault(t, s.Fail(ctx, held, "late"), fault.LockLost, "reason", LostEnded)
}

func TestPushTwiceMakesOne(t *testing.T) {
	s := open(t)
	ctx := context.Background()
	push := func() (string, bool) {
		t.Helper()
		task, created, err := s.Push(ctx, NewTask{RequestID: "RQ-7", Prompt: "p"})
		if err != nil || task.RequestID != "RQ-7" {
			t.Fatal(task, err)
		}
		return task.TaskID, created
	}
	id, created := push()
	if id != "RQ-7" || !created {
		t.Errorf("first: %s %v", id, created)
	}
	if id, created = push(); id != "RQ-7" || created {
		t.Errorf("waiting: %s %v", id, created)
	}
	if _, err := s.Cancel(ctx, "RQ-7"); err != nil {
		t.Fatal(err)
	}
	if id, created = push(); id != "RQ-7@2" || !created {
		t.Errorf("after an end: %s %v", id, created)
	}
	if id, created = push(); id != "RQ-7@2" || created {
		t.Errorf("waiting again: %s %v", id, created)
	}
}

func TestListIsPagedAndFiltered(t *testing.T) {
	s := open(t)
	ctx := context.Background()
	big := make([]byte, 150_000)
	for i := range big {
		big[i] = 'x'
	}
	for i := range 20 { // 3 MB: three pages at least
		if _, _, err := s.Enqueue(ctx, NewTask{TaskID: fmt.Sprintf("t%02d", 19-i), GroupID: fmt.Sprint("g", i%2), Prompt: string(big)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := beside(t, s, func(o *Options) { o.Namespace = freshNamespace() + "x" }).Enqueue(ctx, NewTask{TaskID: "foreign"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Cancel(ctx, "t07"); err != nil {
		t.Fatal(err)
	}
	all := must[[]Task](t)(s.List(ctx, Filter{}))
	if len(all) != 20 {
		t.Fatalf("%d tasks", len(all))
	}
	for i, task := range all {
		if i > 0 && byAge(all[i-1], task) > 0 {
			t.Errorf("%s after %s", task.TaskID, all[i-1].TaskID)
		}
	}
	if got := must[[]Task](t)(s.List(ctx, Filter{GroupID: "g1"})); len(got) != 10 {
		t.Errorf("group: %d", len(got))
	}
	if got := must[[]Task](t)(s.List(ctx, Filter{Status: Cancelled})); len(got) != 1 || got[0].TaskID != "t07" {
		t.Errorf("cancelled: %v", got)
	}
}

func TestReadingIsTolerant(t *testing.T) {
	s := open(t)
	ctx := context.Background()
	put(t, s, item{
		"task_id": str("odd"), "status": str("AWAITING_RESPONSE"), "created_at": str("yesterday"), "prompt": num(7),
		"updated_at": &types.AttributeValueMemberNULL{Value: true}, "claimed_by": &types.AttributeValueMemberL{Value: []types.AttributeValue{str("x")}},
		"fence": str("three"), "events": &types.AttributeValueMemberM{Value: item{"a": num(1)}},
	})
	put(t, s, item{"task_id": str("waits"), "status": str("QUEUED"), "created_at": str("2020-01-02T03:04:05Z"), "fence": str("three"), "attempt_token": num(1), "kept": str("k")})
	got := must[Task](t)(s.Get(ctx, "odd"))
	want := Task{Namespace: s.ns, TaskID: "odd", Status: "AWAITING_RESPONSE", CreatedAt: "yesterday", Prompt: "7"}
	if got != want {
		t.Errorf("got %+v", got)
	}
	claimed, ok, err := s.Claimer("r").Claim(ctx)
	if err != nil || !ok || claimed.TaskID != "waits" || claimed.Fence != 1 {
		t.Fatalf("%+v %v %v", claimed, ok, err)
	}
	if it := raw(t, s, QueueTable, "task_id", "waits"); text(it, "kept") != "k" {
		t.Error("an unknown attribute was lost")
	}
	if err := s.Complete(ctx, claimed, "done"); err != nil {
		t.Error(err)
	}
	if _, ok, _ := s.Claimer("r").Claim(ctx); ok {
		t.Error("claimed a task that awaits a response")
	}
	if r := readRunner(item{"status": str("RUNNING"), "last_heartbeat": str("2026-01-01T00:00:00.000Z")}); r.Status != RunnerRunning {
		t.Errorf("upper case: %q", r.Status)
	}
}

// seedOnly is an independent client: it knows the seed's schema and nothing
// else, and it is not careful.
type seedOnly struct {
	api API
	ns  string
}

func (c seedOnly) enqueue(id, at string) error {
	_, err := c.api.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String("pm-runner-queue"), Item: item{
		"namespace": str(c.ns), "task_id": str(id), "task_group_id": str("tg"), "session_id": str("s"),
		"status": str("QUEUED"), "prompt": str("hello"), "created_at": str(at), "updated_at": str(at),
	}})
	return err
}

func (c seedOnly) list() map[string]string {
	out, err := c.api.Query(context.Background(), &dynamodb.QueryInput{
		TableName: aws.String("pm-runner-queue"), KeyConditionExpression: aws.String("namespace = :n"),
		ExpressionAttributeValues: item{":n": str(c.ns)},
	})
	if err != nil {
		return nil
	}
	m := map[string]string{}
	for _, it := range out.Items {
		m[text(it, "task_id")] = text(it, "status") + " " + text(it, "claimed_by")
	}
	return m
}

func (c seedOnly) cancel(id string) error {
	_, err := c.api.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
		TableName: aws.String("pm-runner-queue"), Key: item{"namespace": str(c.ns), "task_id": str(id)},
		UpdateExpression:         aws.String("SET #s = :c, updated_at = :u"),
		ExpressionAttributeNames: map[string]string{"#s": "status"}, ExpressionAttributeValues: item{":c": str("CANCELLED"), ":u": str("2026-01-01T00:00:00.000Z")},
	})
	return err
}

func TestClientThatKnowsOnlyTheSeed(t *testing.T) {
	s := open(t)
	ctx := context.Background()
	foreign := seedOnly{api: s.api, ns: s.ns}
	if err := foreign.enqueue("theirs", "2020-01-01T00:00:00.000Z"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Enqueue(ctx, NewTask{TaskID: "ours", Prompt: "p"}); err != nil {
		t.Fatal(err)
	}
	c := s.Claimer("r1")
	first, _, err := c.Claim(ctx)
	if err != nil || first.TaskID != "theirs" || first.Prompt != "hello" {
		t.Fatalf("%+v %v", first, err)
	}
	if err := s.Complete(ctx, first, ""); err != nil {
		t.Fatal(err)
	}
	second, _, err := c.Claim(ctx)
	if err != nil || second.TaskID != "ours" {
		t.Fatalf("%+v %v", second, err)
	}
	if got := foreign.list(); !reflect.DeepEqual(got, map[string]string{"theirs": "COMPLETE r1", "ours": "RUNNING r1"}) {
		t.Errorf("they see %v", got)
	}
	if err := foreign.cancel("ours"); err != nil {
		t.Fatal(err)
	}
	assertFault(t, s.Check(ctx, second), fault.LockLost, "reason", LostCancelled)
	assertFault(t, s.Complete(ctx, second, ""), fault.LockLost, "reason", LostCancelled)
}

func TestNamespaces(t *testing.T) {
	s := open(t)
	ctx := context.Background()
	inState(t, s, "a", Queued)
	inState(t, s, "b", Queued)
	inState(t, s, "c", Running)
	inState(t, s, "d", Complete)
	must[Runner](t)(s.Register(ctx, "r1", "/p"))
	gone := must[Runner](t)(s.Register(ctx, "r2", "/p"))
	if err := s.StopRunner(ctx, gone); err != nil {
		t.Fatal(err)
	}
	want := Space{Namespace: s.ns, Queued: 2, Running: 1, Runners: 2, ActiveRunners: 1}
	for _, got := range must[[]Space](t)(s.Namespaces(ctx)) {
		if got.Namespace == s.ns && got != want {
			t.Errorf("got %+v", got)
		}
		if got == want {
			return
		}
	}
	t.Error("the namespace is not listed")
}
