package queue

import (
	"cmp"
	"context"
	"strings"

	"aiflow/internal/fault"
)

// Reasons why a runner may no longer write about a task (fact "reason" of
// LOCK_LOST).
const (
	LostCancelled = "cancelled" // somebody cancelled it
	LostReplaced  = "replaced"  // another claim holds it
	LostEnded     = "ended"     // it was ended by somebody else
	LostMissing   = "missing"   // it is not in the table any more
	LostSilent    = "silent"    // there was no sign of the store for too long
)

const held = "#status = :running AND attempt_token = :token AND fence = :fence"

func holding(t Task) (map[string]string, item) {
	return map[string]string{"#status": "status"},
		item{":running": str(string(Running)), ":token": str(t.AttemptToken), ":fence": num(t.Fence)}
}

// Heartbeat renews updated_at of a task that the caller claimed. LOCK_LOST
// says that it is not the caller's any more.
func (s *Store) Heartbeat(ctx context.Context, t Task) error {
	names, values := holding(t)
	values[":now"] = str(s.now())
	there, ok, err := s.apply(ctx, change{
		op: "Heartbeat", taskID: t.TaskID, update: "SET updated_at = :now, signed_at = :now",
		condition: held, names: names, values: values,
	}, func(Task) bool { return false })
	return heldOr(t, there, ok, err)
}

// Check reads whether the caller still holds the task; it writes nothing.
func (s *Store) Check(ctx context.Context, t Task) error {
	there, err := s.Get(ctx, t.TaskID)
	if fault.Has(err, fault.TaskNotFound) {
		return lost(t, Task{})
	}
	mine := there.Status == Running && there.AttemptToken == t.AttemptToken && there.Fence == t.Fence
	return heldOr(t, there, mine, err)
}

// Complete ends a task that the caller claimed. Doing it twice is no error.
func (s *Store) Complete(ctx context.Context, t Task, output string) error {
	return s.end(ctx, t, Complete, "output", output)
}

// Fail ends a task that the caller claimed as ERROR.
func (s *Store) Fail(ctx context.Context, t Task, message string) error {
	return s.end(ctx, t, Errored, "error_message", cmp.Or(message, "no reason was given"))
}

func (s *Store) end(ctx context.Context, t Task, to Status, name, value string) error {
	names, values := holding(t)
	token := t.AttemptToken + "/" + string(to)
	values[":to"], values[":now"], values[":next"] = str(string(to)), str(s.now()), str(token)
	update := "SET #status = :to, updated_at = :now, attempt_token = :next"
	if value != "" {
		names["#detail"], values[":detail"] = name, str(clip(value))
		update += ", #detail = :detail"
	}
	there, ok, err := s.apply(ctx, change{
		op: string(to), taskID: t.TaskID, update: update, condition: held, names: names, values: values,
	}, func(there Task) bool { return there.Status == to && there.AttemptToken == token })
	return heldOr(t, there, ok, err)
}

// clip keeps a message far below the limit of an item. It never cuts inside a
// character.
func clip(s string) string {
	const most = 32 << 10
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most/2], "") + "\n…\n" + strings.ToValidUTF8(s[len(s)-most/2:], "")
}

func heldOr(t, there Task, ok bool, err error) error {
	if err != nil || ok {
		return err
	}
	return lost(t, there)
}

func lost(t, there Task) error {
	reason := LostEnded
	switch {
	case there.TaskID == "":
		reason = LostMissing
	case there.Status == Cancelled:
		reason = LostCancelled
	case there.Status == Running || there.Fence != t.Fence:
		reason = LostReplaced
	}
	return lockLost(t.TaskID, reason, "status", there.Status, "holder", there.ClaimedBy)
}

func lockLost(id, reason string, more ...any) error {
	return fault.New(fault.LockLost, append(more, "id", id, "reason", reason)...)
}

// LostReason gives why a task was lost, or "" for any other error.
func LostReason(err error) string {
	if f, ok := fault.As(err); ok && f.Code == fault.LockLost {
		return f.Facts["reason"]
	}
	return ""
}
