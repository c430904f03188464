package main

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"aiflow/cmd/internal/cli"
	"aiflow/internal/term"
	"aiflow/queue"
	"aiflow/reqmeta"
)

func initTables(s *cli.Shell, w where) error {
	q, err := open(s, w, quickly)
	if err != nil {
		return err
	}
	if err := q.EnsureTables(s.Context()); err != nil {
		return err
	}
	at := place(w.dynamo(s))
	if s.JSON {
		return s.PrintJSON(struct {
			OK        bool     `json:"ok"`
			Tables    []string `json:"tables"`
			Namespace string   `json:"namespace"`
			Place     string   `json:"place"`
		}{true, []string{queue.QueueTable, queue.RunnersTable}, q.Namespace(), at})
	}
	s.Printf("%s\n", s.Text("queue.init_ready", "name", queue.QueueTable, "other", queue.RunnersTable, "value", at))
	s.Printf("%s\n", s.Text("queue.namespace_is", "name", q.Namespace()))
	return nil
}

type addOptions struct{ prompt, group, session, id string }

// answer says what became of a task that was to be put in.
type answer struct {
	OK      bool       `json:"ok"`
	Created bool       `json:"created"`
	Task    queue.Task `json:"task"`
}

// maxPrompt keeps an item well below DynamoDB's 400 KB.
const maxPrompt = 300 << 10

func add(s *cli.Shell, w where, o addOptions) error {
	prompt, err := promptText(s, o.prompt)
	if err != nil {
		return err
	}
	if len(o.id) > queue.MaxID || !utf8.ValidString(o.id) {
		return cli.Usage("bad_value", "name", "--id", "value", term.Truncate(firstLine(o.id), 40), "allowed", s.Text("queue.prompt_rule", "count", queue.MaxID))
	}
	q, err := open(s, w, quickly)
	if err != nil {
		return err
	}
	t, created, err := q.Enqueue(s.Context(), queue.NewTask{TaskID: o.id, GroupID: o.group, SessionID: o.session, Prompt: prompt})
	if err != nil {
		return err
	}
	if !created && t.Prompt != prompt {
		return cli.Usage("task_exists", "id", t.TaskID, "status", t.Status)
	}
	if s.JSON {
		return s.PrintJSON(answer{true, created, t})
	}
	s.Printf("%s\n", told(s, t, created))
	return nil
}

// promptText is the prompt, or standard input for "-".
func promptText(s *cli.Shell, flag string) (string, error) {
	text := flag
	if flag == "-" {
		b, err := io.ReadAll(io.LimitReader(s.Stdin, maxPrompt+1))
		if err != nil {
			return "", err
		}
		text = string(b)
	}
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxPrompt || !utf8.ValidString(text) {
		return "", cli.Usage("bad_value", "name", "--prompt", "value", cmp.Or(term.Truncate(firstLine(text), 40), `""`), "allowed", s.Text("queue.prompt_rule", "count", maxPrompt))
	}
	return text, nil
}

func told(s *cli.Shell, t queue.Task, created bool) string {
	if created {
		return s.Text("queue.added", "id", t.TaskID)
	}
	return s.Text("queue.there_already", "id", t.TaskID, "status", t.Status)
}

type listOptions struct{ status, group string }

func list(s *cli.Shell, w where, o listOptions) error {
	status := queue.Status(strings.ToUpper(o.status))
	if status != "" && !slices.Contains(queue.Statuses(), status) {
		return cli.Usage("bad_value", "name", "--status", "value", o.status, "allowed", statuses())
	}
	q, err := open(s, w, quickly)
	if err != nil {
		return err
	}
	tasks, err := q.List(s.Context(), queue.Filter{Status: status, GroupID: o.group})
	if err != nil {
		return err
	}
	if s.JSON {
		return s.PrintJSON(struct {
			Namespace string       `json:"namespace"`
			Items     []queue.Task `json:"items"`
		}{q.Namespace(), append([]queue.Task{}, tasks...)})
	}
	if len(tasks) == 0 {
		s.Printf("%s\n", s.Text("queue.empty", "name", q.Namespace()))
	}
	dead, err := deadRunners(s, q, tasks)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		line := taskLine(s, t)
		if t.Status == queue.Running && dead[t.ClaimedBy] {
			line += "  " + s.Paint(term.Red, s.Text("queue.list_dead"))
		}
		s.Printf("%s\n", line)
	}
	return nil
}

// deadRunners says whose running tasks nobody works on any more.
func deadRunners(s *cli.Shell, q *queue.Store, tasks []queue.Task) (map[string]bool, error) {
	dead := map[string]bool{}
	for _, t := range tasks {
		if t.Status == queue.Running {
			dead[t.ClaimedBy] = true
		}
	}
	if len(dead) == 0 {
		return nil, nil
	}
	records, err := q.Runners(s.Context())
	for _, r := range records {
		if r.Alive(s.Now()) {
			delete(dead, r.RunnerID)
		}
	}
	return dead, err
}

func statuses() string {
	var names []string
	for _, st := range queue.Statuses() {
		names = append(names, string(st))
	}
	return strings.Join(names, ", ")
}

func taskLine(s *cli.Shell, t queue.Task) string {
	style := term.Dim
	switch t.Status {
	case queue.Running:
		style = term.Yellow
	case queue.Complete:
		style = term.Green
	case queue.Errored:
		style = term.Red
	}
	line := s.Paint(style, term.Pad(term.Escape(string(t.Status)), 9)) + "  " + term.Pad(term.Escape(t.TaskID), 24) + "  " + term.Pad(ago(s, t.CreatedAt), 6)
	if t.ClaimedBy != "" {
		line += "  " + term.Escape(t.ClaimedBy)
	}
	about := t.Prompt
	if t.Status == queue.Errored {
		about = t.ErrorMessage
	}
	return strings.TrimRight(line+"  "+term.Escape(term.Truncate(firstLine(about), 60)), " ")
}

func ago(s *cli.Shell, stamp string) string {
	at, ok := queue.ParseTime(stamp)
	if !ok {
		return "?"
	}
	return term.Elapsed(max(0, s.Now().Sub(at)))
}

// firstLine is what a prompt is about: its first line with a letter or a digit, as
// the value of a head may hold it. A heading loses its marks.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			return strings.TrimLeft(reqmeta.OneLine(line), "# ")
		}
	}
	return reqmeta.OneLine(text)
}

func show(s *cli.Shell, w where, id string) error {
	q, err := open(s, w, quickly)
	if err != nil {
		return err
	}
	t, err := q.Get(s.Context(), id)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.PrintJSON(t)
	}
	for _, f := range [][2]string{
		{"task_id", t.TaskID},
		{"namespace", t.Namespace},
		{"status", string(t.Status)},
		{"task_group_id", t.TaskGroupID},
		{"session_id", t.SessionID},
		{"request_id", t.RequestID},
		{"created_at", t.CreatedAt},
		{"updated_at", t.UpdatedAt},
		{"claimed_by", t.ClaimedBy},
		{"error_message", t.ErrorMessage},
		{"output", t.Output},
		{"prompt", t.Prompt},
	} {
		if f[1] != "" {
			s.Printf("%s  %s\n", term.Pad(f[0], 13), strings.Join(term.Lines(f[1]), "\n"+strings.Repeat(" ", 15)))
		}
	}
	return nil
}

// cancel cancels every task that it can, and fails with the first that it
// cannot.
func cancel(s *cli.Shell, w where, ids []string) error {
	q, err := open(s, w, quickly)
	if err != nil {
		return err
	}
	ctx := s.Context()
	items, failed := []queue.Task{}, error(nil)
	for _, id := range ids {
		t, err := q.Cancel(ctx, id)
		switch {
		case err == nil:
			items = append(items, t)
			if !s.JSON {
				s.Printf("%s\n", s.Text("queue.cancelled", "id", t.TaskID))
			}
		case failed == nil:
			failed = err
		}
	}
	if s.JSON && failed == nil {
		return s.PrintJSON(struct {
			OK    bool         `json:"ok"`
			Items []queue.Task `json:"items"`
		}{true, items})
	}
	return failed
}
