package queue

import (
	"context"
	"maps"
	"time"

	"aiflow/internal/fault"
)

const fenceIsNumber = "(attribute_not_exists(fence) OR attribute_type(fence, :number))"

// claimTask is the one conditional update that makes a waiting task ours. ok
// is false for everybody but the winner.
func (s *Store) claimTask(ctx context.Context, runnerID, taskID, token string) (Task, bool, error) {
	t, ok, err := s.claimWith(ctx, runnerID, taskID, token,
		"fence = if_not_exists(fence, :zero) + :one", fenceIsNumber, item{":zero": num(0)})
	if err == nil && !ok && t.Status == Queued {
		// another client's item: its fence is no number
		return s.claimWith(ctx, runnerID, taskID, token, "fence = :one", "NOT "+fenceIsNumber, nil)
	}
	return t, ok, err
}

func (s *Store) claimWith(ctx context.Context, runnerID, taskID, token, fence, condition string, more item) (Task, bool, error) {
	values := item{
		":queued": str(string(Queued)), ":running": str(string(Running)), ":runner": str(runnerID),
		":now": str(s.now()), ":token": str(token), ":one": num(1), ":number": str("N"),
	}
	maps.Copy(values, more)
	return s.apply(ctx, change{
		op: "Claim", taskID: taskID,
		update:    "SET #status = :running, claimed_by = :runner, updated_at = :now, signed_at = :now, attempt_token = :token, " + fence + " REMOVE error_message",
		condition: "#status = :queued AND " + condition,
		names:     map[string]string{"#status": "status"}, values: values,
	}, func(t Task) bool { return t.Status == Running && t.AttemptToken == token && t.ClaimedBy == runnerID })
}

// Claimer claims tasks for one runner. It remembers where the waiting tasks
// begin, so that neither the backlog of other namespaces nor one's own ended
// tasks are read again and again. It is for one goroutine.
type Claimer struct {
	store    *Store
	runnerID string
	peers    []string
	search   search
	list     []candidate
	listed   time.Duration
	idle     bool
	crowded  time.Duration     // until when (boot time) the peers share the candidates
	unsure   map[string]string // token -> task id: claims whose outcome is unknown
}

// listFor is how long a list of candidates is used before it is read anew.
const listFor = 10 * time.Second

// Claimer makes one.
func (s *Store) Claimer(runnerID string) *Claimer {
	return &Claimer{store: s, runnerID: runnerID, search: search{store: s, fullFrom: -1}, unsure: map[string]string{}}
}

// crowdedFor is how long after a lost race the peers share the candidates.
const crowdedFor = 10 * time.Second

// SetPeers names the runners that live, this one among them. After a lost race
// they divide the candidates, so that they do not all try the same one.
func (c *Claimer) SetPeers(ids []string) { c.peers = ids }

// Claim takes the oldest waiting task. ok is false when there is none. While
// nothing is found, a call asks for one page only; after a success it pages
// until it knows.
func (c *Claimer) Claim(ctx context.Context) (t Task, ok bool, err error) {
	if t, ok, err = c.resolve(ctx); ok || err != nil {
		return t, ok, err
	}
	pages := burst
	if c.idle {
		pages = 1
	}
	t, ok, err = c.take(ctx, pages)
	if err == nil {
		c.idle = !ok
	}
	return t, ok, err
}

// burst bounds the pages of one Claim: 50 MB of index or table.
const burst = 50

func (c *Claimer) take(ctx context.Context, pages int) (Task, bool, error) {
	fresh := false
	for {
		i, mine := c.choose()
		if i < 0 || !fresh && pages > 0 && (!mine || c.store.clock.Boot()-c.listed > listFor) {
			more, err := c.refill(ctx, &pages)
			if err != nil || !more {
				return Task{}, false, err
			}
			fresh = true
			continue
		}
		next := c.list[i]
		c.list = append(c.list[:i:i], c.list[i+1:]...)
		t, ok, err := c.try(ctx, next.taskID)
		if ok || err != nil {
			return t, ok, err
		}
	}
}

// refill reads candidates; more says that there are some.
func (c *Claimer) refill(ctx context.Context, pages *int) (more bool, err error) {
	if *pages <= 0 {
		return false, nil
	}
	c.list, err = c.search.find(ctx, c.list, c.want(), pages)
	c.listed = c.store.clock.Boot()
	return len(c.list) > 0, err
}

// share is how many candidates the peers divide: some for each.
func (c *Claimer) share() int { return min(max(16, 16*len(c.peers)), 256) }

// want is how many items a page should hold at first. An idle runner, with one
// page a poll, asks for many.
func (c *Claimer) want() int {
	if c.idle {
		return 1024
	}
	return c.share()
}

func (c *Claimer) try(ctx context.Context, taskID string) (Task, bool, error) {
	token, err := c.store.token()
	if err != nil {
		return Task{}, false, err
	}
	t, ok, err := c.store.claimTask(ctx, c.runnerID, taskID, token)
	switch {
	case err != nil:
		c.unsure[token] = taskID
	case !ok:
		c.crowded = c.store.clock.Boot() + crowdedFor
	}
	return t, ok, err
}

// resolve looks what became of claims that ended without an answer: one that
// was applied after all is ours and is given.
func (c *Claimer) resolve(ctx context.Context) (Task, bool, error) {
	for token, taskID := range c.unsure {
		t, err := c.store.Get(ctx, taskID)
		switch {
		case fault.Has(err, fault.TaskNotFound):
			delete(c.unsure, token)
		case err != nil:
			return Task{}, false, err
		case t.Status == Running && t.AttemptToken == token:
			delete(c.unsure, token)
			return t, true, nil
		case t.Status != Queued: // the claim can not be applied any more
			delete(c.unsure, token)
		}
	}
	return Task{}, false, nil
}

// Holds says whether a running task of this runner's id is a claim of ours
// whose answer never came; the next Claim looks and gives it.
func (c *Claimer) Holds(t Task) bool {
	_, ok := c.unsure[t.AttemptToken]
	return ok
}
