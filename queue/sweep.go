package queue

import (
	"cmp"
	"context"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Silence says how long somebody may be silent before a sweep ends tasks.
type Silence struct {
	Runner  time.Duration // a runner without a heartbeat (AliveFor)
	Orphan  time.Duration // a running task that names no runner
	Watched time.Duration // how long our own clock must have seen it before another's time stamp is believed
}

func (q Silence) withDefaults() Silence {
	q.Runner = cmp.Or(q.Runner, AliveFor)
	q.Orphan = cmp.Or(q.Orphan, 10*time.Minute)
	q.Watched = cmp.Or(q.Watched, 15*time.Second)
	return q
}

// Sweeper ends the tasks of dead runners. It is for one goroutine.
//
// A runner is dead when its heartbeat is older than 120 s by its time stamp and
// stood still while we watched for 15 s, or when it stood still for 120 s by
// our own clock, whatever the stamp says. So a wrong clock, here or there,
// makes no live runner dead.
type Sweeper struct {
	store   *Store
	self    Runner
	runners map[string]Runner
	watched map[string]sighting
	done    map[string]string // runner id -> the heartbeat after which its tasks were ended
	next    time.Duration     // when the running tasks are read although nobody is silent
}

// sighting is a value and since when (boot time) it has been the same.
type sighting struct {
	value string
	since time.Duration
}

// Sweeper makes one for a registered runner.
func (s *Store) Sweeper(self Runner) *Sweeper {
	return &Sweeper{store: s, self: self, watched: map[string]sighting{}, done: map[string]string{}}
}

// Look reads the runners and gives the ids of those that live, the sweeper's
// own among them.
func (w *Sweeper) Look(ctx context.Context) (alive []string, err error) {
	runners, err := w.store.Runners(ctx)
	if err != nil {
		return nil, err
	}
	w.runners = map[string]Runner{}
	alive = append(alive, w.self.RunnerID)
	for _, r := range runners {
		w.runners[r.RunnerID] = r
		w.watch("runner "+r.RunnerID, r.LastHeartbeat)
		if r.RunnerID != w.self.RunnerID && r.Status == RunnerRunning && r.Alive(w.store.clock.Now()) {
			alive = append(alive, r.RunnerID)
		}
	}
	return alive, nil
}

func (w *Sweeper) watch(key, value string) {
	if s, ok := w.watched[key]; !ok || s.value != value {
		w.watched[key] = sighting{value: value, since: w.store.clock.Boot()}
	}
}

// silent applies the rule to a time stamp that is watched under key.
func (w *Sweeper) silent(key string, limit time.Duration) bool {
	s, ok := w.watched[key]
	if !ok {
		return false
	}
	watched := w.store.clock.Boot() - s.since
	if watched >= limit {
		return true
	}
	stamp, readable := ParseTime(s.value)
	return watched >= w.store.quiet.Watched && readable && w.store.clock.Now().Sub(stamp) >= limit
}

// Swept is a task that a sweep ended.
type Swept struct {
	Task   Task
	Runner string // empty: it named none
}

// Sweep ends the running tasks of runners that are dead by what Look saw, of
// no runner at all, and of an earlier process with this runner's id. mine says
// which tasks this process holds or may hold.
//
// The running tasks of all namespaces stand together in the index, so they are
// read only when a runner fell silent, while a task is suspected, and now and
// then.
func (w *Sweeper) Sweep(ctx context.Context, mine func(Task) bool) ([]Swept, error) {
	silent := w.fallen()
	if len(silent) == 0 && w.store.clock.Boot() < w.next {
		return nil, nil
	}
	running, err := w.running(ctx)
	if err != nil {
		return nil, err
	}
	w.forget(running)
	swept, suspected, err := w.endAll(ctx, running, mine)
	if err != nil {
		return swept, err
	}
	maps.Copy(w.done, silent)
	w.next = w.store.clock.Boot()
	if !suspected {
		w.next += w.store.quiet.Orphan
	}
	return swept, nil
}

// fallen gives the runners that are silent and were not when last swept, with
// their last heartbeat.
func (w *Sweeper) fallen() map[string]string {
	silent := map[string]string{}
	for id, r := range w.runners {
		if id != w.self.RunnerID && w.done[id] != r.LastHeartbeat && w.silent("runner "+id, w.store.quiet.Runner) {
			silent[id] = r.LastHeartbeat
		}
	}
	return silent
}

// endAll ends what must end. suspected says that there is a task to look at
// again soon: its time stamp is old, but has not been watched for long enough.
func (w *Sweeper) endAll(ctx context.Context, running []Task, mine func(Task) bool) (swept []Swept, suspected bool, err error) {
	for _, t := range running {
		w.watch("task "+t.TaskID, t.UpdatedAt)
		message := w.verdict(t, mine)
		if message == "" {
			suspected = suspected || w.suspect(t)
			continue
		}
		ok, err := w.end(ctx, t, message)
		if err != nil {
			return swept, suspected, err
		}
		if ok {
			swept = append(swept, Swept{Task: t, Runner: t.ClaimedBy})
		}
	}
	return swept, suspected, nil
}

// suspect says that a task's runner is silent, or, where it is not known, that
// the task looks silent by its stamp or has one that says nothing.
func (w *Sweeper) suspect(t Task) bool {
	if id := w.runnerOf(t); w.runners[id].RunnerID != "" {
		return w.silent("runner "+id, w.store.quiet.Runner)
	}
	stamp, readable := ParseTime(t.UpdatedAt)
	return !readable || w.store.clock.Now().Sub(stamp) >= w.store.quiet.Runner
}

// runnerOf is who runs t, as far as that can be believed: a claim of another
// client leaves what an earlier one of ours had written.
func (w *Sweeper) runnerOf(t Task) string {
	if t.AttemptToken != "" && !t.claimIsOurs() {
		return ""
	}
	return t.ClaimedBy
}

// old says that t has shown no sign for so long, by its stamp or by our clock.
func (w *Sweeper) old(t Task, limit time.Duration) bool {
	stamp, readable := ParseTime(t.UpdatedAt)
	return readable && w.store.clock.Now().Sub(stamp) >= limit || w.silent("task "+t.TaskID, limit)
}

// forget drops sightings of what is not there any more.
func (w *Sweeper) forget(running []Task) {
	there := map[string]bool{}
	for _, t := range running {
		there["task "+t.TaskID] = true
	}
	for id := range w.runners {
		there["runner "+id] = true
	}
	maps.DeleteFunc(w.watched, func(key string, _ sighting) bool { return !there[key] })
}

// verdict gives the error message for a task that must end, or "".
func (w *Sweeper) verdict(t Task, mine func(Task) bool) string {
	id := w.runnerOf(t)
	r, known := w.runners[id]
	switch {
	case id == "":
		if w.silent("task "+t.TaskID, w.store.quiet.Orphan) {
			return "no runner: running without a claim that names one, last sign " + t.UpdatedAt
		}
	case id == w.self.RunnerID:
		if !mine(t) && (t.claimIsOurs() || w.old(t, w.store.quiet.Runner)) {
			return "runner " + id + " was started anew and no longer holds this task"
		}
	case known:
		if w.silent("runner "+id, w.store.quiet.Runner) && w.old(t, w.store.quiet.Runner) {
			return "runner " + id + " stopped responding: last heartbeat " + r.LastHeartbeat
		}
	case w.silent("task "+t.TaskID, w.store.quiet.Runner):
		return "runner " + id + " is gone: it has no record, last sign of the task " + t.UpdatedAt
	}
	return ""
}

// running reads the running tasks without their prompts.
func (w *Sweeper) running(ctx context.Context) ([]Task, error) {
	in := inStatus(Running, "namespace, task_id, #status, claimed_by, created_at, updated_at, fence, attempt_token, signed_at, request_id")
	in.FilterExpression, in.ExpressionAttributeValues[":ns"] = aws.String("namespace = :ns"), str(w.store.ns)
	var tasks []Task
	err := w.store.each(ctx, in, func(it item) { tasks = append(tasks, readTask(it)) })
	return tasks, err
}

// end writes ERROR, provided that nothing about the task has moved since it
// was read. Two sweepers end it once.
func (w *Sweeper) end(ctx context.Context, t Task, message string) (bool, error) {
	token, err := w.store.token()
	if err != nil {
		return false, err
	}
	c := change{
		op: "Sweep", taskID: t.TaskID,
		update:    "SET #status = :error, error_message = :message, updated_at = :now, attempt_token = :token",
		condition: "#status = :running",
		names:     map[string]string{"#status": "status"},
		values: item{
			":error": str(string(Errored)), ":message": str(message), ":now": str(w.store.now()),
			":token": str(token), ":running": str(string(Running)),
		},
	}
	for name, value := range map[string]string{"claimed_by": t.ClaimedBy, "updated_at": t.UpdatedAt, "attempt_token": t.AttemptToken} {
		c.unchanged(name, value)
	}
	_, ok, err := w.store.apply(ctx, c, func(there Task) bool { return there.AttemptToken == token })
	return ok, err
}

// unchanged adds to the condition that an attribute is as it was read; one
// that was not there, empty or no text must still be so.
func (c *change) unchanged(name, value string) {
	if value == "" {
		c.values[":text"], c.values[":empty"] = str("S"), str("")
		c.condition += " AND (NOT attribute_type(" + name + ", :text) OR " + name + " = :empty)"
		return
	}
	c.values[":was_"+name] = str(value)
	c.condition += " AND " + name + " = :was_" + name
}
