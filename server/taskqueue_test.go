package server

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"aiflow/internal/proc"
)

// standIn notes what it was called with, and answers from the file of its
// command: answer.list, answer.add and so on.
const standIn = `#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/calls"
[ "$1" = add ] && cat > "$here/input"
if [ -f "$here/answer.$1.sh" ]; then . "$here/answer.$1.sh"; fi
cat "$here/answer.$1"
`

func queueWorld(t *testing.T, endpoint string, change ...func(*Options, *http.Server)) (w *world, dir string) {
	t.Helper()
	dir = t.TempDir()
	bin := filepath.Join(dir, "aiflow-queue")
	if err := proc.WriteProgram(bin, []byte(standIn)); err != nil {
		t.Fatal(err)
	}
	change = append(change, func(o *Options, _ *http.Server) { o.QueueBin, o.QueueEndpoint = bin, endpoint })
	w = newWorld(t, someRequests(), change...)
	for name, text := range map[string]string{
		"list": `{"namespace":"proj-1","items":[
			{"namespace":"proj-1","task_id":"A","task_group_id":"g1","session_id":"s","status":"COMPLETE","prompt":"done","created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:01:00.000Z","output":"key AKIAIOSFODNN7EXAMPLE"},
			{"namespace":"proj-1","task_id":"B","task_group_id":"g2","session_id":"s","status":"RUNNING","prompt":"` + strings.Repeat("あ", 1000) + `","created_at":"2026-01-01T00:02:00.000Z","updated_at":"2026-01-01T00:03:00.000Z","claimed_by":"r1"},
			{"namespace":"proj-1","task_id":"C","task_group_id":"g1","session_id":"s","status":"ERROR","prompt":"bad","created_at":"2026-01-01T00:03:00.000Z","updated_at":"2026-01-01T00:04:00.000Z","error_message":"it broke"}]}`,
		"runners":    `{"namespace":"proj-1","items":[{"namespace":"proj-1","runner_id":"r1","last_heartbeat":"x","started_at":"y","status":"running","project_root":"/p","is_alive":false}]}`,
		"namespaces": `{"items":[{"namespace":"proj-1","queued_count":0,"running_count":1,"runner_count":1,"active_runner_count":0}]}`,
		"add":        `{"ok":true,"created":true,"task":{"namespace":"proj-1","task_id":"N","task_group_id":"g","session_id":"s","status":"QUEUED","prompt":"p","created_at":"x","updated_at":"x"}}`,
		"push":       `{"ok":true,"items":[{"ok":true,"created":false,"task":{"namespace":"proj-1","task_id":"RQ-1","task_group_id":"g","session_id":"s","status":"QUEUED","prompt":"p","created_at":"x","updated_at":"x","request_id":"RQ-1"}}]}`,
		"cancel":     `{"ok":true,"items":[{"namespace":"proj-1","task_id":"RQ-1@2","task_group_id":"g","session_id":"s","status":"CANCELLED","prompt":"p","created_at":"x","updated_at":"x"}]}`,
	} {
		put(t, filepath.Join(dir, "answer."+name), text)
	}
	return w, dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func took(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	_ = os.Remove(path)
	return string(data)
}

func TestTaskQueueIsThereOnlyWhenConfigured(t *testing.T) {
	w, dir := queueWorld(t, "")
	w.call(200, "GET", "/api/health", "").wants("taskqueue", false)
	for _, c := range [][2]string{{"GET", "/api/taskqueue"}, {"POST", "/api/taskqueue"}, {"POST", "/api/taskqueue/A/cancel"}} {
		r := w.call(404, c[0], c[1], `{"prompt":"x"}`).wants("error.reason_code", "NOT_FOUND")
		if !strings.Contains(r.text("error.message"), "--queue-endpoint") {
			t.Errorf("%s", r.body)
		}
	}
	if calls := took(t, filepath.Join(dir, "calls")); calls != "" {
		t.Errorf("called: %s", calls)
	}
	for _, name := range []string{"AIFLOW_DYNAMODB_ENDPOINT=http://localhost:1", "AIFLOW_AWS_REGION=eu-west-1"} {
		w := newWorld(t, nil, func(o *Options, _ *http.Server) { o.Project.Env.Environ = append(o.Project.Env.Environ, name) })
		w.call(200, "GET", "/api/health", "").wants("taskqueue", true)
		if flags, _ := queuePlace(w.s); flags != nil {
			t.Errorf("%s: %v", name, flags)
		}
	}
}

func TestTaskQueueShows(t *testing.T) {
	w, dir := queueWorld(t, "http://localhost:9")
	w.call(200, "GET", "/api/taskqueue?namespace=other", "").wants(
		"namespace", "proj-1", "namespaces.0.running_count", 1, "counts.RUNNING", 1, "total", 3, "left_off", 0,
		"groups.0.task_group_id", "g2", "groups.0.tasks.0.claimed_by", "r1", "groups.0.tasks.0.prompt_cut", true,
		"groups.0.tasks.0.prompt", strings.Repeat("あ", 166), "groups.1.tasks.0.task_id", "A", "groups.1.tasks.1.error_message", "it broke",
		"groups.1.tasks.0.output", "key ********************", "runners.0.is_alive", false)
	calls := took(t, filepath.Join(dir, "calls"))
	if want := "list --namespace=other --endpoint=http://localhost:9 --json --no-color --lang=en\nrunners --namespace=other"; !strings.HasPrefix(calls, want) {
		t.Errorf("called:\n%s", calls)
	}
	w.call(200, "GET", "/api/taskqueue?status=ERROR,COMPLETE&group=g1", "").wants("total", 2, "groups.0.tasks.1.task_id", "C", "groups.1", nil, "counts.RUNNING", 1)
	w.call(200, "GET", "/api/taskqueue?group=none", "").wants("total", 0, "groups.0", nil)
	for _, bad := range []string{"-x", "a%20b", "--endpoint", strings.Repeat("a", 33)} {
		w.call(400, "GET", "/api/taskqueue?namespace="+bad, "").wants("error.context.key", "namespace")
	}
}

func TestTaskQueueChanges(t *testing.T) {
	w, dir := queueWorld(t, "http://localhost:9")
	calls := filepath.Join(dir, "calls")
	const end = " --endpoint=http://localhost:9 --json --no-color --lang=en\n"
	w.call(201, "POST", "/api/taskqueue", `{"prompt":"--do \"it\"\n$(x)","group":"g","session":"--s","id":"N","namespace":"other"}`).wants("items.0.created", true, "items.0.task.task_id", "N")
	if got := took(t, calls); got != "add --prompt=- --namespace=other --group=g --session=--s --id=N"+end {
		t.Errorf("called %s", got)
	}
	if got := took(t, filepath.Join(dir, "input")); got != "--do \"it\"\n$(x)" {
		t.Errorf("input %q", got)
	}
	w.call(200, "POST", "/api/taskqueue", `{"request_ids":["RQ-1"]}`).wants("items.0.created", false, "items.0.task.request_id", "RQ-1")
	if got := took(t, calls); got != "push RQ-1"+end {
		t.Errorf("called %s", got)
	}
	w.call(200, "POST", "/api/taskqueue/RQ-1@2/cancel", `{"namespace":"other"}`).wants("task.status", "CANCELLED")
	if got := took(t, calls); got != "cancel RQ-1@2 --namespace=other"+end {
		t.Errorf("called %s", got)
	}
	for _, body := range []string{
		`{}`, `{"prompt":" "}`, `{"prompt":"x","request_ids":["RQ-1"]}`, `{"request_ids":["--runnable"]}`, `{"request_ids":[""]}`,
		`{"request_ids":["a"],"namespace":"-"}`, `{"prompt":"x","nonsense":1}`, `{"request_ids":["` + strings.Repeat(`a","`, 200) + `a"]}`,
	} {
		w.call(400, "POST", "/api/taskqueue", body).wants("error.reason_code", "INVALID_REQUEST")
	}
	w.call(404, "POST", "/api/taskqueue/--runnable/cancel", "").wants("error.reason_code", "TASK_NOT_FOUND")
	w.call(400, "POST", "/api/taskqueue/A/cancel", `{"namespace":"a b"}`)
	if got := took(t, calls); got != "" {
		t.Errorf("refused calls reached aiflow-queue: %s", got)
	}
}

func TestTaskQueueFailures(t *testing.T) {
	for name, c := range map[string]struct {
		script, code string
		status       int
		cause        any
	}{
		"refusal":  {`echo '{"ok":false,"error":{"reason_code":"TASK_FINISHED","context":{"id":"A"}}}'; exit 2`, "TASK_FINISHED", 409, nil},
		"no store": {`echo '{"ok":false,"error":{"reason_code":"QUEUE_NOT_AVAILABLE","context":{}}}'; exit 3`, "QUEUE_NOT_AVAILABLE", 409, nil},
		"usage":    {`echo '{"ok":false,"error":{"reason_code":"USAGE_ERROR","context":{}}}'; exit 2`, "INVALID_REQUEST", 400, nil},
		"nonsense": {`echo hello; exit 0`, "QUEUE_NOT_AVAILABLE", 409, "aiflow-queue gave no answer"},
		"silence":  {`exit 1`, "QUEUE_NOT_AVAILABLE", 409, "aiflow-queue gave no answer"},
		"flood":    {`yes >&2; exit 0`, "QUEUE_NOT_AVAILABLE", 409, "too much output"},
	} {
		t.Run(name, func(t *testing.T) {
			w, dir := queueWorld(t, "http://localhost:9")
			put(t, filepath.Join(dir, "answer.cancel.sh"), c.script)
			w.call(c.status, "POST", "/api/taskqueue/A/cancel", "").wants("error.reason_code", c.code, "error.context.cause", c.cause)
			w.s.QueueBin = ""
			w.call(409, "POST", "/api/taskqueue/A/cancel", "").wants("error.reason_code", "BINARY_NOT_FOUND")
			w.call(409, "GET", "/api/taskqueue/A", "").wants("error.reason_code", "BINARY_NOT_FOUND")
			w.call(409, "POST", "/api/taskqueue", `{"prompt":"x"}`).wants("error.reason_code", "BINARY_NOT_FOUND")
		})
	}
}

// A queue that several pages look at is read once a second, and anew after
// each change.
func TestTaskQueueIsReadOnceForMany(t *testing.T) {
	w, dir := queueWorld(t, "http://localhost:9")
	w.call(200, "GET", "/api/taskqueue", "")
	w.age(stillFresh, stillFresh)
	took(t, filepath.Join(dir, "calls"))
	w.call(200, "GET", "/api/taskqueue", "")
	if got := took(t, filepath.Join(dir, "calls")); strings.Contains(got, "list") {
		t.Errorf("read again: %s", got)
	}
	w.call(200, "POST", "/api/taskqueue/A/cancel", "")
	w.call(200, "GET", "/api/taskqueue", "")
	if got := took(t, filepath.Join(dir, "calls")); !strings.Contains(got, "list") {
		t.Errorf("not read again: %s", got)
	}
}

// stillFresh is an age that stays below any other, however slow this machine.
const stillFresh = -1 << 40

// age gives what was read of the project's own namespace, its tasks and its
// runners, another age.
func (w *world) age(tasks, runners time.Duration) {
	q := &w.s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	now := w.p.Now()
	for _, seen := range q.seen {
		seen.at, seen.runnersAt = now.Add(-tasks), now.Add(-runners)
	}
}

func manyTasks(n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(`{"namespace":"proj-1","task_id":"T-%05d","task_group_id":"g","session_id":"s","status":"COMPLETE","prompt":"p","created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:%02d.000Z"}`, i, i%60)
	}
	return `{"namespace":"proj-1","items":[` + strings.Join(items, ",") + `]}`
}

// A large namespace is shown in part, and not read whole at each look.
func TestTaskQueueLargeNamespace(t *testing.T) {
	w, dir := queueWorld(t, "http://localhost:9")
	put(t, filepath.Join(dir, "answer.list"), manyTasks(3000))
	put(t, filepath.Join(dir, "answer.namespaces"), `{"items":[]}`)
	calls := filepath.Join(dir, "calls")
	w.call(200, "GET", "/api/taskqueue", "").wants("total", 3000, "left_off", 2900, "fresh_for", 6000, "groups.0.tasks.99.status", "COMPLETE", "groups.0.tasks.100", nil,
		"namespaces.0.namespace", "proj-1", "namespaces.0.queued_count", 0) // it has ended tasks only
	w.call(200, "GET", "/api/taskqueue?limit=2000", "").wants("left_off", 1000, "groups.0.tasks.1999.status", "COMPLETE")
	for _, bad := range []string{"0", "-1", "2001", "x"} {
		w.call(400, "GET", "/api/taskqueue?limit="+bad, "").wants("error.context.key", "limit")
	}
	took(t, calls)
	w.age(stillFresh, 3*time.Second)
	w.call(200, "GET", "/api/taskqueue", "")
	if got := took(t, calls); strings.Contains(got, "list") || !strings.Contains(got, "runners") {
		t.Errorf("after three seconds it called %s", got)
	}
	w.age(3*time.Second, stillFresh)
	w.call(200, "GET", "/api/taskqueue?again=true", "")
	if got := took(t, calls); !strings.Contains(got, "list") {
		t.Errorf("asked again it called %s", got)
	}
	put(t, filepath.Join(dir, "answer.cancel"), `{"items":[{"namespace":"proj-1","task_id":"T-00007","task_group_id":"g","session_id":"s","status":"CANCELLED","prompt":"p","created_at":"x","updated_at":"x"}]}`)
	w.call(200, "POST", "/api/taskqueue/T-00007/cancel", "")
	w.call(201, "POST", "/api/taskqueue", `{"prompt":"new"}`)
	w.age(stillFresh, stillFresh)
	took(t, calls)
	w.call(200, "GET", "/api/taskqueue?status=CANCELLED,QUEUED", "").wants("counts.CANCELLED", 1, "counts.COMPLETE", 2999, "counts.QUEUED", 1, "total", 2)
	if got := took(t, calls); strings.Contains(got, "list") {
		t.Errorf("one change made it call %s", got)
	}
	w.age(10*time.Second, 10*time.Second)
	w.call(200, "GET", "/api/taskqueue", "")
	if got := took(t, calls); !strings.Contains(got, "list") {
		t.Errorf("after ten seconds it called %s", got)
	}
}

func TestTaskQueueShowsOneWhole(t *testing.T) {
	w, dir := queueWorld(t, "http://localhost:9")
	prompt := strings.Repeat("long ", 1000)
	put(t, filepath.Join(dir, "answer.show"), `{"namespace":"other","task_id":"B","task_group_id":"g","session_id":"s","status":"ERROR","prompt":"`+prompt+`","created_at":"x","updated_at":"x","error_message":"AKIAIOSFODNN7EXAMPLE"}`)
	whole := w.call(200, "GET", "/api/taskqueue/B?namespace=other", "").wants("task.prompt", prompt, "task.prompt_cut", false, "task.error_message", "********************")
	if got := took(t, filepath.Join(dir, "calls")); !strings.HasPrefix(got, "show B --namespace=other --endpoint") {
		t.Errorf("called %s", got)
	}
	w.call(304, "GET", "/api/taskqueue/B?namespace=other", "", "If-None-Match", whole.header.Get("ETag"))
	w.call(404, "GET", "/api/taskqueue/--all", "").wants("error.reason_code", "TASK_NOT_FOUND")
	w.call(400, "GET", "/api/taskqueue/B?namespace=-x", "").wants("error.context.key", "namespace")
}

func TestTaskQueueWithDynalite(t *testing.T) {
	at := dynalite(t)
	bin := filepath.Join(t.TempDir(), "aiflow-queue")
	if out, err := exec.Command("go", "build", "-trimpath", "-o", bin, "aiflow/cmd/aiflow-queue").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w := newWorld(t, someRequests(), func(o *Options, _ *http.Server) { o.QueueBin, o.QueueEndpoint = bin, at })
	w.call(409, "GET", "/api/taskqueue", "").wants("error.reason_code", "QUEUE_NOT_READY")
	cmd := exec.Command(bin, "init", "--endpoint="+at)
	cmd.Dir, cmd.Env = w.dir, w.p.Env.Environ
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.call(201, "POST", "/api/taskqueue", `{"prompt":"- say hello","id":"T-1","group":"g"}`).wants("items.0.task.status", "QUEUED")
	w.call(200, "POST", "/api/taskqueue", `{"prompt":"- say hello","id":"T-1","group":"g"}`).wants("items.0.created", false)
	w.call(201, "POST", "/api/taskqueue", `{"request_ids":["RQ-1"]}`).wants("items.0.task.request_id", "RQ-1")
	w.call(404, "POST", "/api/taskqueue", `{"request_ids":["nope"]}`).wants("error.reason_code", "REQUEST_NOT_FOUND")
	w.call(200, "GET", "/api/taskqueue", "").wants("counts.QUEUED", 2, "total", 2, "namespaces.0.queued_count", 2, "runners.0", nil)
	w.call(200, "POST", "/api/taskqueue/T-1/cancel", "").wants("task.status", "CANCELLED")
	w.call(409, "POST", "/api/taskqueue/T-1/cancel", "").wants("error.reason_code", "TASK_FINISHED")
	w.call(404, "POST", "/api/taskqueue/nope/cancel", "").wants("error.reason_code", "TASK_NOT_FOUND")
	w.call(200, "GET", "/api/taskqueue?group=g", "").wants("counts.CANCELLED", 1, "groups.0.tasks.0.status", "CANCELLED")
	w.call(200, "GET", "/api/taskqueue/T-1", "").wants("task.prompt", "- say hello", "task.status", "CANCELLED")
	w.call(404, "GET", "/api/taskqueue/nope", "").wants("error.reason_code", "TASK_NOT_FOUND")
	w.call(200, "POST", "/api/taskqueue/RQ-1/cancel", "")
	w.call(200, "GET", "/api/taskqueue?namespace=empty", "").wants("namespace", "empty", "total", 0, "namespaces.1", nil)
	if own := w.call(200, "GET", "/api/taskqueue", ""); own.text("namespaces.0.namespace") != own.text("namespace") {
		t.Errorf("a namespace with ended tasks only is not listed: %s", own.body)
	}
}

// dynalite starts a DynamoDB, which ends with its standard input.
func dynalite(t *testing.T) string {
	t.Helper()
	serve, err := filepath.Abs("../testdata/dynalite/serve.js")
	if err != nil {
		t.Fatal(err)
	}
	dir := os.Getenv("AIFLOW_DYNALITE_DIR")
	if dir == "" {
		dir = filepath.Dir(serve)
	}
	_, err = os.Stat(filepath.Join(dir, "node_modules", "dynalite"))
	node, missing := exec.LookPath("node")
	switch err = errors.Join(err, missing); {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("no DynamoDB to test against: %v", err)
	default:
		t.Skipf("no DynamoDB to test against: %v", err)
	}
	cmd := exec.Command(node, serve, "0")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// TestQueueProgramThatHangs: the call is refused at its limit, and nothing of the
// program stays.
func TestQueueProgramThatHangs(t *testing.T) {
	w, dir := queueWorld(t, "http://localhost:9", func(o *Options, _ *http.Server) { o.Project.Config.Limits.TimeoutSec = 3 })
	put(t, filepath.Join(dir, "answer.list.sh"), "trap '' TERM\necho $$ >>'"+dir+"/pids'\n"+
		"(setsid sh -c 'echo $$ >>"+dir+"/pids; while :; do sleep 600; done' &)\nwhile :; do sleep 600; done\n")
	w.call(409, "GET", "/api/taskqueue", "").wants("error.reason_code", "QUEUE_NOT_AVAILABLE", "error.context.cause", "no answer within 3s")
	for _, pid := range strings.Fields(took(t, filepath.Join(dir, "pids"))) {
		if n, err := strconv.Atoi(pid); err != nil || proc.Alive(n, 0) != proc.Dead {
			t.Errorf("process %s is alive: %v", pid, err)
		}
	}
}
