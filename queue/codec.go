package queue

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// item is one item as the service gives it. Reading is tolerant: an attribute
// of an unexpected type counts as missing, unknown ones are left alone (we
// update attributes and never put a whole item over another).
type item = map[string]types.AttributeValue

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func num(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func text(it item, name string) string {
	switch v := it[name].(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}

func number(it item, name string) int64 {
	if v, ok := it[name].(*types.AttributeValueMemberN); ok {
		n, _ := strconv.ParseInt(v.Value, 10, 64)
		return n
	}
	return 0
}

func readTask(it item) Task {
	return Task{
		Namespace:    text(it, "namespace"),
		TaskID:       text(it, "task_id"),
		TaskGroupID:  text(it, "task_group_id"),
		SessionID:    text(it, "session_id"),
		Status:       Status(text(it, "status")),
		Prompt:       text(it, "prompt"),
		CreatedAt:    text(it, "created_at"),
		UpdatedAt:    text(it, "updated_at"),
		ErrorMessage: text(it, "error_message"),
		ClaimedBy:    text(it, "claimed_by"),
		RequestID:    text(it, "request_id"),
		Output:       text(it, "output"),
		Fence:        number(it, "fence"),
		AttemptToken: text(it, "attempt_token"),
		SignedAt:     text(it, "signed_at"),
		EnqueueToken: text(it, "enqueue_token"),
	}
}

func readRunner(it item) Runner {
	return Runner{
		Namespace:     text(it, "namespace"),
		RunnerID:      text(it, "runner_id"),
		LastHeartbeat: text(it, "last_heartbeat"),
		StartedAt:     text(it, "started_at"),
		Status:        runnerStatus(text(it, "status")),
		ProjectRoot:   text(it, "project_root"),
		Instance:      text(it, "instance"),
	}
}

func runnerStatus(s string) RunnerStatus {
	switch s {
	case "RUNNING":
		return RunnerRunning
	case "STOPPED":
		return RunnerStopped
	}
	return RunnerStatus(s)
}

// newTaskItem has the eight fields that the schema has for every state.
func newTaskItem(t Task) item {
	it := item{
		"namespace": str(t.Namespace), "task_id": str(t.TaskID), "status": str(string(t.Status)),
		"task_group_id": str(t.TaskGroupID), "session_id": str(t.SessionID),
		"prompt": str(t.Prompt), "created_at": str(t.CreatedAt), "updated_at": str(t.UpdatedAt),
		"enqueue_token": str(t.EnqueueToken), "fence": num(0),
	}
	if t.RequestID != "" {
		it["request_id"] = str(t.RequestID)
	}
	return it
}
