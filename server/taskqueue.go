package server

import (
	"cmp"
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

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
}

type queueSpace struct {
	Namespace     string `json:"namespace"`
	Queued        int    `json:"queued_count"`
	Running       int    `json:"running_count"`
	Runners       int    `json:"runner_count"`
	ActiveRunners int    `json:"active_runner_count"`
}

// queueAnswer is one namespace; total counts what passes the filters, counts
// all tasks by status.
type queueAnswer struct {
	Namespace  string         `json:"namespace"`
	Namespaces []queueSpace   `json:"namespaces"`
	Counts     map[string]int `json:"counts"`
	Total      int            `json:"total"`
	LeftOff    int            `json:"left_off"`
	Groups     []queueGroup   `json:"groups"`
	Runners    []queueRunner  `json:"runners"`
}

const (
	queueShown  = 500 // tasks of an answer
	queueText   = 2000
	queuePushed = 200 // requests at once
	queueFresh  = time.Second
	spacesFresh = 10 * time.Second
)

// queueState is what was last read, so that several pages that look every two
// seconds cost no more than one.
type queueState struct {
	mu       sync.Mutex
	spaces   []queueSpace
	spacesAt time.Time
	seen     map[string]queueSeen
}

type queueSeen struct {
	at        time.Time
	namespace string
	tasks     []queueTask
	runners   []queueRunner
}

var queueName = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?$`)

// hasQueue refuses when no queue is configured, with what would configure one.
func (s *Server) hasQueue(r *http.Request) error {
	if _, ok := s.queuePlace(); !ok {
		return fault.New(fault.NotFound, "reason", s.words(r).Text("serve.no_queue", nil))
	}
	return nil
}

// inQueue are the flags for a namespace, "" being the project's own.
func inQueue(name string) ([]string, error) {
	switch {
	case name == "":
		return nil, nil
	case !queueName.MatchString(name):
		return nil, fault.New(fault.InvalidRequest, "key", "namespace")
	}
	return []string{"--namespace=" + name}, nil
}

func (s *Server) taskQueue(w http.ResponseWriter, r *http.Request) error {
	if err := s.hasQueue(r); err != nil {
		return err
	}
	q := r.URL.Query()
	seen, spaces, err := s.lookQueue(r.Context(), q.Get("namespace"))
	if err != nil {
		return err
	}
	v := queueAnswer{Namespace: seen.namespace, Namespaces: spaces, Counts: map[string]int{}, Runners: seen.runners}
	var fit []queueTask
	for _, t := range seen.tasks {
		v.Counts[t.Status]++
		if oneOf(q.Get("status"), t.Status) && (q.Get("group") == "" || q.Get("group") == t.TaskGroupID) {
			fit = append(fit, t)
		}
	}
	v.Total = len(fit)
	fit = newest(fit)
	v.LeftOff, v.Groups = v.Total-len(fit), grouped(fit)
	return s.give(w, r, v)
}

func oneOf(list, value string) bool {
	return list == "" || slices.Contains(strings.Split(list, ","), value)
}

// newest keeps what is not over, then what changed last.
func newest(tasks []queueTask) []queueTask {
	over := func(t queueTask) int {
		if t.Status == "COMPLETE" || t.Status == "ERROR" || t.Status == "CANCELLED" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(tasks, func(a, b queueTask) int {
		return cmp.Or(cmp.Compare(over(a), over(b)), cmp.Compare(b.UpdatedAt, a.UpdatedAt), cmp.Compare(a.TaskID, b.TaskID))
	})
	return tasks[:min(len(tasks), queueShown)]
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
func (s *Server) lookQueue(ctx context.Context, name string) (queueSeen, []queueSpace, error) {
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
	seen, ok := q.seen[name]
	if !ok || s.Project.Now().Sub(seen.at) >= queueFresh {
		if seen, err = s.readNamespace(ctx, in); err != nil {
			return queueSeen{}, nil, err
		}
		if q.seen == nil || len(q.seen) > 20 {
			q.seen = map[string]queueSeen{}
		}
		q.seen[name] = seen
	}
	if q.spaces == nil || s.Project.Now().Sub(q.spacesAt) >= spacesFresh {
		v := struct{ Items []queueSpace }{}
		if err := s.callQueue(ctx, &v, "", "namespaces"); err != nil {
			return queueSeen{}, nil, err
		}
		q.spaces, q.spacesAt = append([]queueSpace{}, v.Items...), s.Project.Now()
	}
	return seen, q.spaces, nil
}

func (s *Server) readNamespace(ctx context.Context, in []string) (queueSeen, error) {
	tasks := struct {
		Namespace string
		Items     []queueTask
	}{}
	runners := struct{ Items []queueRunner }{}
	if err := s.callQueue(ctx, &tasks, "", append([]string{"list"}, in...)...); err != nil {
		return queueSeen{}, err
	}
	if err := s.callQueue(ctx, &runners, "", append([]string{"runners"}, in...)...); err != nil {
		return queueSeen{}, err
	}
	for i := range tasks.Items {
		tasks.Items[i].tidy()
	}
	return queueSeen{s.Project.Now(), tasks.Namespace, tasks.Items, append([]queueRunner{}, runners.Items...)}, nil
}

// tidy cuts long texts and hides secrets in them.
func (t *queueTask) tidy() {
	t.PromptCut = len(t.Prompt) > queueText
	for _, text := range []*string{&t.Prompt, &t.ErrorMessage, &t.Output} {
		*text = strings.ToValidUTF8(string(mask([]byte(cutText(*text)), true)), "\ufffd")
	}
}

func cutText(text string) string {
	if len(text) <= queueText {
		return text
	}
	end := queueText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// forget makes the next look read anew.
func (q *queueState) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.seen, q.spaces = nil, nil
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

func (s *Server) addTask(w http.ResponseWriter, r *http.Request) error {
	if err := s.hasQueue(r); err != nil {
		return err
	}
	var b queueAdd
	if err := read(r, &b); err != nil {
		return err
	}
	args, err := b.args()
	if err != nil {
		return err
	}
	defer s.queue.forget()
	items, err := s.putIn(r.Context(), b.Prompt, args)
	if err != nil {
		return err
	}
	status := http.StatusOK
	for i := range items {
		items[i].Task.tidy()
		if items[i].Created {
			status = http.StatusCreated
		}
	}
	return s.giveWith(w, status, struct {
		Items []queueAdded `json:"items"`
	}{items})
}

func (s *Server) putIn(ctx context.Context, prompt string, args []string) ([]queueAdded, error) {
	if args[0] == "add" {
		one := make([]queueAdded, 1)
		return one, s.callQueue(ctx, &one[0], prompt, args...)
	}
	v := struct{ Items []queueAdded }{}
	err := s.callQueue(ctx, &v, "", args...)
	return append([]queueAdded{}, v.Items...), err
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
			return nil, fault.New(fault.InvalidRequest, "key", "request_ids", "cause", "prompt")
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
		return nil, fault.New(fault.InvalidRequest, "key", "prompt, request_ids")
	}
	if i := slices.IndexFunc(b.RequestIDs, notWord); i >= 0 {
		return nil, fault.New(fault.InvalidRequest, "key", "request_ids")
	}
	return append(append([]string{"push"}, b.RequestIDs...), in...), nil
}

func notWord(text string) bool { return text == "" || strings.HasPrefix(text, "-") }

func (s *Server) cancelTask(w http.ResponseWriter, r *http.Request) error {
	if err := s.hasQueue(r); err != nil {
		return err
	}
	var b struct {
		Namespace string `json:"namespace"`
	}
	if err := read(r, &b); err != nil {
		return err
	}
	in, err := inQueue(b.Namespace)
	if err != nil {
		return err
	}
	id := r.PathValue("task")
	if notWord(id) {
		return fault.New(fault.TaskNotFound, "id", id)
	}
	defer s.queue.forget()
	v := struct{ Items []queueTask }{}
	if err := s.callQueue(r.Context(), &v, "", append([]string{"cancel", id}, in...)...); err != nil {
		return err
	}
	if len(v.Items) != 1 {
		return fault.New(fault.TaskNotFound, "id", id)
	}
	v.Items[0].tidy()
	return s.give(w, r, struct {
		Task queueTask `json:"task"`
	}{v.Items[0]})
}
