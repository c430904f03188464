package queue

import (
	"context"

	"aiflow/internal/fault"
)

// Cancel ends a task that waits or runs. Its runner notices within two polls.
// An ended task is TASK_FINISHED, also when it was cancelled before; one in a
// state that the schema does not know is TASK_NOT_OURS.
func (s *Store) Cancel(ctx context.Context, taskID string) (Task, error) {
	token, err := s.token()
	if err != nil {
		return Task{}, err
	}
	t, ok, err := s.apply(ctx, change{
		op: "Cancel", taskID: taskID,
		update:    "SET #status = :to, updated_at = :now, attempt_token = :token",
		condition: "#status = :queued OR #status = :running",
		names:     map[string]string{"#status": "status"},
		values: item{
			":to": str(string(Cancelled)), ":now": str(s.now()), ":token": str(token),
			":queued": str(string(Queued)), ":running": str(string(Running)),
		},
	}, func(t Task) bool { return t.Status == Cancelled && t.AttemptToken == token })
	switch {
	case err != nil:
		return Task{}, err
	case ok:
		return t, nil
	case t.TaskID == "":
		return Task{}, notFound(taskID, s.ns)
	case !t.Status.Terminal():
		return t, fault.New(fault.TaskNotOurs, "id", taskID, "status", t.Status)
	}
	return t, fault.New(fault.TaskFinished, "id", taskID, "status", t.Status)
}
