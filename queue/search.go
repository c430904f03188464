package queue

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// candidate is a task that waited when it was read.
type candidate struct {
	taskID, createdAt string
	seen              time.Duration // since when it has been among the first; 0: not yet
}

func older(a, b candidate) int {
	return cmp.Or(strings.Compare(a.createdAt, b.createdAt), strings.Compare(a.taskID, b.taskID))
}

const (
	// lag covers the clocks of other machines and the delay of the index: a
	// task that turns up with an older created_at waits for the next full look.
	lag = 2 * time.Minute
	// fullEvery is how often everything is looked at, from the beginning.
	fullEvery = time.Minute
	// shareFor is how long a candidate is left to the peer it falls to.
	shareFor = 2 * time.Second
	// keep bounds the candidates in memory.
	keep = 1000
)

// search finds the waiting tasks of one namespace, oldest first. The schema
// has no index for that. The status index holds the waiting tasks of all
// namespaces by age; the table holds all tasks of this namespace, ended ones
// too. Which is cheaper depends on others. So a full look reads both, a page
// of each in turn, until one of them knows: it costs at most twice the cheaper
// one. After it, floor says where the waiting tasks of this namespace begin,
// and the index is read from there.
type search struct {
	store *Store
	floor string
	// cursor continues a look from floor that did not fit into the pages.
	cursor   item
	began    string // created_at bound for the look in progress
	dry      int    // pages of this look without a candidate
	full     *fullLook
	fullFrom time.Duration // when the next full look is due
	even     bool
}

// find gives candidates, oldest first, or none when no task waits or the pages
// are used up. have are the candidates that are still in hand.
func (f *search) find(ctx context.Context, have []candidate, want int, pages *int) ([]candidate, error) {
	if f.full == nil && f.store.clock.Boot() >= f.fullFrom {
		f.full = &fullLook{began: f.bound()}
	}
	for *pages > 0 {
		*pages--
		f.even = !f.even
		step := f.look
		if f.full != nil && (*pages > 0 || f.even) { // with one page a poll, new tasks get every other
			step = f.lookEverywhere
		}
		found, done, err := step(ctx, want)
		if err != nil || len(found) > 0 {
			return f.remember(have, found), err
		}
		if done && f.full == nil {
			break
		}
	}
	return nil, nil
}

// bound is the youngest floor that a look beginning now may leave behind.
func (f *search) bound() string { return FormatTime(f.store.clock.Now().Add(-lag)) }

// remember keeps since when each candidate has been among the first.
func (f *search) remember(have, found []candidate) []candidate {
	seen := make(map[string]time.Duration, len(have))
	for _, h := range have {
		seen[h.taskID] = h.seen
	}
	for i := range found {
		found[i].seen = seen[found[i].taskID]
	}
	return found
}

// look reads one page of the index from the floor.
func (f *search) look(ctx context.Context, want int) (found []candidate, done bool, err error) {
	if f.cursor == nil {
		f.began = f.bound()
	}
	page, err := f.indexPage(ctx, f.floor, f.cursor, want<<min(f.dry, 12))
	if err != nil {
		return nil, false, err
	}
	found = candidates(page.Items)
	f.cursor = page.LastEvaluatedKey
	f.dry++
	switch {
	case len(found) > 0:
		f.floor, f.cursor, f.dry = min(found[0].createdAt, f.began), nil, 0
	case len(f.cursor) == 0:
		f.floor, f.cursor, f.dry = f.began, nil, 0
		return nil, true, nil
	}
	return found, false, nil
}

// fullLook is a look at everything in progress.
type fullLook struct {
	began        string
	index, table item
	tableFound   []candidate
	pages        int
}

func (f *search) lookEverywhere(ctx context.Context, want int) (found []candidate, done bool, err error) {
	l := f.full
	l.pages++
	if l.pages%2 == 1 {
		found, done, err = f.lookIndex(ctx, l, want)
	} else {
		found, done, err = f.lookTable(ctx, l)
	}
	if err != nil || !done {
		return nil, false, err
	}
	f.full, f.cursor, f.dry = nil, nil, 0
	f.fullFrom = f.store.clock.Boot() + fullEvery
	f.floor = l.began
	if len(found) > 0 {
		f.floor = min(found[0].createdAt, l.began)
	}
	return found, true, nil
}

// lookIndex doubles its pages: the first is small because the head of the
// queue is often one's own.
func (f *search) lookIndex(ctx context.Context, l *fullLook, want int) ([]candidate, bool, error) {
	page, err := f.indexPage(ctx, "", l.index, want<<min(l.pages, 12))
	if err != nil {
		return nil, false, err
	}
	l.index = page.LastEvaluatedKey
	found := candidates(page.Items)
	return found, len(found) > 0 || len(l.index) == 0, nil
}

func (f *search) lookTable(ctx context.Context, l *fullLook) ([]candidate, bool, error) {
	page, err := f.store.query(ctx, &dynamodb.QueryInput{
		TableName:                 aws.String(QueueTable),
		KeyConditionExpression:    aws.String("namespace = :ns"),
		FilterExpression:          aws.String("#status = :queued"),
		ProjectionExpression:      aws.String("task_id, created_at"),
		ExpressionAttributeNames:  map[string]string{"#status": "status"},
		ExpressionAttributeValues: item{":ns": str(f.store.ns), ":queued": str(string(Queued))},
		ExclusiveStartKey:         l.table,
	})
	if err != nil {
		return nil, false, err
	}
	l.table = page.LastEvaluatedKey
	l.tableFound = oldest(append(l.tableFound, candidates(page.Items)...))
	return l.tableFound, len(l.table) == 0, nil
}

func oldest(list []candidate) []candidate {
	slices.SortFunc(list, older)
	return list[:min(len(list), keep)]
}

// indexPage reads waiting tasks of all namespaces by age and keeps ours. A
// limit over 2,000 is none: the service ends a page at 1 MB.
func (f *search) indexPage(ctx context.Context, floor string, from item, limit int) (*dynamodb.QueryOutput, error) {
	in := inStatus(Queued, "task_id, created_at")
	in.FilterExpression, in.ExpressionAttributeValues[":ns"] = aws.String("namespace = :ns"), str(f.store.ns)
	in.ExclusiveStartKey = from
	if floor != "" {
		in.KeyConditionExpression = aws.String("#status = :status AND created_at >= :floor")
		in.ExpressionAttributeValues[":floor"] = str(floor)
	}
	if limit <= 2000 {
		in.Limit = aws.Int32(int32(limit))
	}
	return f.store.query(ctx, in)
}

func candidates(items []item) []candidate {
	found := make([]candidate, 0, len(items))
	for _, it := range items {
		found = append(found, candidate{taskID: text(it, "task_id"), createdAt: text(it, "created_at")})
	}
	slices.SortFunc(found, older)
	return found
}

// choose gives the position of the candidate to try next, or -1. It is the
// oldest, until a race was lost. Then candidates fall to the living runners by
// hash for a short while; mine is true for the oldest that falls to this one,
// or that its peer has left alone for too long. When there is none, it is one
// of the oldest, a different one for each runner.
func (c *Claimer) choose() (i int, mine bool) {
	if len(c.list) > 0 && c.store.clock.Boot() >= c.crowded {
		return 0, true
	}
	now := c.store.clock.Boot()
	first := c.list[:min(len(c.list), c.share())]
	for i := range first {
		if first[i].seen == 0 {
			first[i].seen = now
		}
	}
	for i, k := range first {
		if c.listed-k.seen > shareFor || owner(c.peers, c.runnerID, k.taskID) == c.runnerID {
			return i, true
		}
	}
	best := -1
	for i := range first[:min(len(first), 16)] {
		if best < 0 || weight(c.runnerID, first[i].taskID) > weight(c.runnerID, first[best].taskID) {
			best = i
		}
	}
	return best, false
}

// owner is the peer with the greatest weight: when one comes or goes, only its
// own share moves.
func owner(peers []string, self, taskID string) string {
	best, most := self, weight(self, taskID)
	for _, p := range peers {
		if w := weight(p, taskID); w > most || w == most && p > best {
			best, most = p, w
		}
	}
	return best
}

func weight(runnerID, taskID string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(runnerID))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(taskID))
	x := h.Sum64()
	x ^= x >> 33 // fnv alone leaves the high bits of near strings alike
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}
