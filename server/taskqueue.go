package server

import (
	"cmp"
	"context"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"aiflow/internal/fault"
)

// queueTask is a task of the queue as the page is told of it.
type queueTask struct {
	Namespace    string `json:"namespace"`
	TaskID       string `json:"task_id"`
	TaskGroupID  string `json:"task_group_id"`
	SessionID    string `json:"session_id"`
	Status       string `json:"status"`
	Prompt       string `json:"prompt"`
	PromptCut    bool   `json:"prompt_cut"`
	CreatedAt    string `json:"created_at"`
	UpdatedAt    string `json:"updated_at"`
	ErrorMessage string `json:"error_message"`
	ClaimedBy    string `json:"claimed_by"`
	RequestID    string `json:"request_id"`
	Output       string `json:"output"`
	TextsCut     bool   `json:"texts_cut"`
}

type queueGroup struct {
	TaskGroupID string      `json:"task_group_id"`
	Tasks       []queueTask `json:"tasks"`
}

type queueRunner struct {
	RunnerID      string `json:"runner_id"`
	LastHeartbeat string `json:"last_heartbeat"`
	StartedAt     string `json:"started_at"`
	Status        string `json:"status"`
	ProjectRoot   string `json:"project_root"`
	IsAlive       bool   `json:"is_alive"`
	Silent        bool   `json:"silent"`
}

type queueSpace struct {
	Namespace     string `json:"namespace"`
	Queued        int    `json:"queued_count"`
	Running       int    `json:"running_count"`
	Runners       int    `json:"runner_count"`
	ActiveRunners int    `json:"active_runner_count"`
}

// queueAnswer is one namespace; total counts what passes the filters, counts
// all tasks by status. It shows what was so at ReadAt; the tasks are read again
// after FreshFor milliseconds at the earliest.
type queueAnswer struct {
	Namespace  string         `json:"namespace"`
	ReadAt     time.Time      `json:"read_at"`
	FreshFor   int64          `json:"fresh_for"`
	Namespaces []queueSpace   `json:"namespaces"`
	Counts     map[string]int `json:"counts"`
	Total      int            `json:"total"`
	LeftOff    int            `json:"left_off"`
	Groups     []queueGroup   `json:"groups"`
	Runners    []queueRunner  `json:"runners"`
}

const (
	queueShown  = 100  // tasks of an answer
	queueMost   = 2000 // when more are asked for
	queueText   = 500  // bytes of each text in a list
	queuePushed = 200  // requests at once
)

const (
	queueFresh   = time.Second
	queueStale   = time.Minute
	queuePerTask = 2 * time.Millisecond
	spacesFresh  = 10 * time.Second
)

// keptFor says how long a reading of so many things serves. aiflow-queue reads
// a namespace whole, so the larger it is the more rarely that is done.
func keptFor(n int, least time.Duration) time.Duration {
	return min(max(least, time.Duration(n)*queuePerTask), queueStale)
}

// queueState is what was last read, so that several pages that look every two
// seconds cost no more than one.
type queueState struct {
	mu       sync.Mutex
	spaces   []queueSpace
	spacesAt time.Time
	seen     map[string]*queueSeen
}

type queueSeen struct {
	at        time.Time // zero when the tasks are to be read again
	namespace string
	tasks     []queueTask
	runners   []queueRunner
	runnersAt time.Time
}

func (v *queueSeen) keptFor() time.Duration { return keptFor(len(v.tasks), queueFresh) }

var queueName = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?$`)

// ofQueue is a route that needs a queue; where none is configured it says what would
// configure one.
func ofQueue(do answer) answer {
	return func(s *Server, w http.ResponseWriter, r *http.Request) error {
		if _, ok := queuePlace(s); !ok {
			return fault.New(fault.NotFound, "reason", s.words(r).Text("serve.no_queue", nil))
		}
		return do(s, w, r)
	}
}

func noTask(id string) error { return fault.New(fault.TaskNotFound, "id", id) }

// inQueue are the flags for a namespace, "" being the project's own.
func inQueue(name string) ([]string, error) {
	switch {
	case name == "":
		return nil, nil
	case !queueName.MatchString(name):
		return nil, invalid("namespace")
	}
	return []string{"--namespace=" + name}, nil
}

func showQueue(s *Server, w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit := queueShown
	if text := q.Get("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > queueMost {
			return invalid("limit", "allowed", "1-"+strconv.Itoa(queueMost))
		}
	}
	seen, spaces, err := lookQueue(r.Context(), s, q.Get("namespace"), q.Get("again") == "true")
	if err != nil {
		return err
	}
	v := queueAnswer{
		Namespace: seen.namespace, Namespaces: spaces, Counts: map[string]int{}, Runners: seen.runners,
		ReadAt: seen.at, FreshFor: seen.keptFor().Milliseconds(),
	}
	var fit []queueTask
	for _, t := range seen.tasks {
		v.Counts[t.Status]++
		if oneOf(q.Get("status"), t.Status) && (q.Get("group") == "" || q.Get("group") == t.TaskGroupID) {
			fit = append(fit, t)
		}
	}
	v.Total = len(fit)
	fit = newest(fit, limit)
	v.LeftOff, v.Groups = v.Total-len(fit), grouped(fit)
	return give(w, http.StatusOK, v)
}

func oneOf(list, value string) bool {
	return list == "" || slices.Contains(strings.Split(list, ","), value)
}

// newest keeps what is not over, then what changed last.
func newest(tasks []queueTask, limit int) []queueTask {
	over := func(t queueTask) int {
		if t.Status == "COMPLETE" || t.Status == "ERROR" || t.Status == "CANCELLED" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(tasks, func(a, b queueTask) int {
		return cmp.Or(cmp.Compare(over(a), over(b)), cmp.Compare(b.UpdatedAt, a.UpdatedAt), cmp.Compare(a.TaskID, b.TaskID))
	})
	return tasks[:min(len(tasks), limit)]
}

// grouped puts groups in the order of their first task, and the tasks of each
// in the order in which they were made.
func grouped(tasks []queueTask) []queueGroup {
	groups, at := []queueGroup{}, map[string]int{}
	for _, t := range tasks {
		i, ok := at[t.TaskGroupID]
		if !ok {
			i = len(groups)
			at[t.TaskGroupID] = i
			groups = append(groups, queueGroup{TaskGroupID: t.TaskGroupID})
		}
		groups[i].Tasks = append(groups[i].Tasks, t)
	}
	for _, g := range groups {
		slices.SortStableFunc(g.Tasks, func(a, b queueTask) int {
			return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.TaskID, b.TaskID))
		})
	}
	return groups
}

// lookQueue reads a namespace, or gives what was read a moment ago.
func lookQueue(ctx context.Context, s *Server, name string, again bool) (queueSeen, []queueSpace, error) {
	in, err := inQueue(name)
	if err != nil {
		return queueSeen{}, nil, err
	}
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return queueSeen{}, nil, err
	}
	if q.seen == nil || len(q.seen) > 20 {
		q.seen = map[string]*queueSeen{}
	}
	if q.seen[name] == nil {
		q.seen[name] = &queueSeen{}
	}
	seen, now := q.seen[name], s.Project.Now()
	if now.Sub(seen.at) >= seen.keptFor() || again && now.Sub(seen.at) >= queueFresh {
		if err := readTasks(ctx, s, seen, in); err != nil {
			return queueSeen{}, nil, err
		}
	}
	if now.Sub(seen.runnersAt) >= queueFresh {
		v := struct{ Items []queueRunner }{}
		if err := callQueue(ctx, s, &v, "", append([]string{"runners"}, in...)...); err != nil {
			return queueSeen{}, nil, err
		}
		seen.runners, seen.runnersAt = append([]queueRunner{}, v.Items...), s.Project.Now()
	}
	if err := readSpaces(ctx, s); err != nil {
		return queueSeen{}, nil, err
	}
	return *seen, q.withSeen(), nil
}

func readTasks(ctx context.Context, s *Server, into *queueSeen, in []string) error {
	v := struct {
		Namespace string
		Items     []queueTask
	}{}
	if err := callQueue(ctx, s, &v, "", append([]string{"list"}, in...)...); err != nil {
		return err
	}
	for i := range v.Items {
		v.Items[i].tidy()
	}
	into.namespace, into.tasks, into.at = v.Namespace, v.Items, s.Project.Now()
	return nil
}

func readSpaces(ctx context.Context, s *Server) error {
	q, busy := &s.queue, 0
	for _, n := range q.spaces {
		busy += n.Queued + n.Running
	}
	if q.spaces != nil && s.Project.Now().Sub(q.spacesAt) < keptFor(busy, spacesFresh) {
		return nil
	}
	v := struct{ Items []queueSpace }{}
	if err := callQueue(ctx, s, &v, "", "namespaces"); err != nil {
		return err
	}
	q.spaces, q.spacesAt = append([]queueSpace{}, v.Items...), s.Project.Now()
	return nil
}

// withSeen are the namespaces where something goes on, and those that were
// looked at and have ended tasks only, which nobody lists.
func (q *queueState) withSeen() []queueSpace {
	all := slices.Clone(q.spaces)
	for _, seen := range q.seen {
		isListed := slices.ContainsFunc(all, func(n queueSpace) bool { return n.Namespace == seen.namespace })
		if len(seen.tasks) > 0 && !isListed {
			all = append(all, queueSpace{Namespace: seen.namespace})
		}
	}
	slices.SortFunc(all, func(a, b queueSpace) int { return cmp.Compare(a.Namespace, b.Namespace) })
	return all
}

// tidy cuts long texts and hides secrets in all.
func (t *queueTask) tidy() {
	t.PromptCut = len(t.Prompt) > queueText
	t.TextsCut = t.PromptCut || len(t.ErrorMessage) > queueText || len(t.Output) > queueText
	t.eachText(func(text string) string { return hideIn(strings.ToValidUTF8(text[:min(len(text), queueText)], "")) })
}

func (t *queueTask) eachText(change func(string) string) {
	for _, text := range []*string{&t.Prompt, &t.ErrorMessage, &t.Output} {
		*text = change(*text)
	}
}

func hideIn(text string) string {
	return strings.ToValidUTF8(string(mask([]byte(text), true)), "\ufffd")
}

// learn takes in what a change answered. What is quickly read is read anew; of
// a large namespace only these tasks change.
func (q *queueState) learn(tasks ...queueTask) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spaces = nil
	for _, seen := range q.seen {
		if seen.keptFor() <= queueFresh {
			seen.at = time.Time{}
		}
		for _, t := range tasks {
			if seen.namespace == t.Namespace {
				others := slices.DeleteFunc(slices.Clone(seen.tasks), func(old queueTask) bool { return old.TaskID == t.TaskID })
				seen.tasks = append(others, t)
			}
		}
	}
}

// showTask gives one task with its texts whole.
func showTask(s *Server, w http.ResponseWriter, r *http.Request) error {
	in, err := inQueue(r.URL.Query().Get("namespace"))
	if err != nil {
		return err
	}
	id := r.PathValue("task")
	if notWord(id) {
		return noTask(id)
	}
	var t queueTask
	if err := callQueue(r.Context(), s, &t, "", append([]string{"show", id}, in...)...); err != nil {
		return err
	}
	t.eachText(hideIn)
	return giveTagged(w, r, struct {
		Task queueTask `json:"task"`
	}{t})
}

type queueAdd struct {
	Namespace  string   `json:"namespace"`
	Prompt     string   `json:"prompt"`
	Group      string   `json:"group"`
	Session    string   `json:"session"`
	ID         string   `json:"id"`
	RequestIDs []string `json:"request_ids"`
}

type queueAdded struct {
	Created bool      `json:"created"`
	Task    queueTask `json:"task"`
}

func addTask(s *Server, w http.ResponseWriter, r *http.Request, b queueAdd) error {
	args, err := b.args()
	if err != nil {
		return err
	}
	var items []queueAdded
	if args[0] == "add" {
		items = make([]queueAdded, 1)
		err = callQueue(r.Context(), s, &items[0], b.Prompt, args...)
	} else {
		v := struct{ Items []queueAdded }{}
		err = callQueue(r.Context(), s, &v, "", args...)
		items = append([]queueAdded{}, v.Items...)
	}
	if err != nil {
		s.queue.learn()
		return err
	}
	status := http.StatusOK
	for i := range items {
		items[i].Task.tidy()
		s.queue.learn(items[i].Task)
		if items[i].Created {
			status = http.StatusCreated
		}
	}
	return give(w, status, struct {
		Items []queueAdded `json:"items"`
	}{items})
}

// args is the command line; nothing in it that came from outside can be taken
// for a flag.
func (b queueAdd) args() ([]string, error) {
	in, err := inQueue(b.Namespace)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(b.Prompt) != "" {
		if len(b.RequestIDs) > 0 {
			return nil, invalid("request_ids", "cause", "prompt")
		}
		args := append([]string{"add", "--prompt=-"}, in...)
		for _, f := range [][2]string{{"--group=", b.Group}, {"--session=", b.Session}, {"--id=", b.ID}} {
			if f[1] != "" {
				args = append(args, f[0]+f[1])
			}
		}
		return args, nil
	}
	if n := len(b.RequestIDs); n == 0 || n > queuePushed {
		return nil, invalid("prompt, request_ids")
	}
	if i := slices.IndexFunc(b.RequestIDs, notWord); i >= 0 {
		return nil, invalid("request_ids")
	}
	return append(append([]string{"push"}, b.RequestIDs...), in...), nil
}

func notWord(text string) bool { return text == "" || strings.HasPrefix(text, "-") }

type queueCancel struct {
	Namespace string `json:"namespace"`
}

func cancelTask(s *Server, w http.ResponseWriter, r *http.Request, b queueCancel) error {
	in, err := inQueue(b.Namespace)
	if err != nil {
		return err
	}
	id := r.PathValue("task")
	if notWord(id) {
		return noTask(id)
	}
	v := struct{ Items []queueTask }{}
	if err := callQueue(r.Context(), s, &v, "", append([]string{"cancel", id}, in...)...); err != nil {
		s.queue.learn()
		return err
	}
	if len(v.Items) != 1 {
		return noTask(id)
	}
	v.Items[0].tidy()
	s.queue.learn(v.Items[0])
	return give(w, http.StatusOK, struct {
		Task queueTask `json:"task"`
	}{v.Items[0]})
}
