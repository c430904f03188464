package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/cmd/internal/work"
	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/internal/term"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/queue"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
	"aiflow/reqmeta/edit"
	"aiflow/runner"
	"aiflow/runner/stage"
)

type workOptions struct {
	once     bool
	runnerID string
	poll     time.Duration
}

// runWorker takes tasks and runs them, one at a time, until it is stopped. The
// first signal lets the task in hand be finished, the second ends it. With once the
// error is that of the task, as aiflow-run gives it.
func runWorker(s *cli.Shell, w where, o workOptions) error {
	if o.poll < 50*time.Millisecond {
		return cli.Usage("bad_value", "name", "--poll", "value", o.poll, "allowed", ">= 50ms")
	}
	p, err := app.Open(s, nil)
	if err != nil {
		return err
	}
	q, err := open(s, w, 0)
	if err != nil {
		return err
	}
	if o.runnerID == "" {
		host, _ := os.Hostname()
		o.runnerID = fmt.Sprintf("%s-%d-%s", cmp.Or(host, "runner"), os.Getpid(), p.RandomHex(2))
	}
	stop, hurry := s.Patience()
	now, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-hurry
		cancel()
	}()
	d := &doer{s: s, p: p, hurry: hurry}
	worker := &queue.Worker{
		Backend: q, Clock: clock(s), RunnerID: o.runnerID, ProjectRoot: p.Dir, Poll: o.poll, Once: o.once,
		Room: d.room, Do: d.do, Tell: d.tell,
	}
	if err := worker.Run(now, stop); err != nil || !o.once {
		return err
	}
	return d.failed
}

// doer runs tasks in one project and tells about it.
type doer struct {
	s     *cli.Shell
	p     *project.Project
	hurry <-chan struct{}
	slot  *locks.Lease // of the task in hand
	mu    sync.Mutex

	failed error // why the last task is not COMPLETE; nil after one that was cancelled or lost

	trouble string // what was told last, and when
	told    time.Time
}

// room takes the slot that the run of the next task needs.
// It outlives the wait for tasks, so the context of that wait does not end it.
func (d *doer) room(context.Context) (release func(), err error) {
	slot, err := d.p.TakeSlot(context.Background(), 0)
	if fault.Has(err, fault.SlotsTaken) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d.slot = slot
	return func() { _ = slot.Release() }, nil
}

// troubleEvery is how often a person is told of the same trouble.
const troubleEvery = time.Minute

// touchWait is how long a task waits for runs that may change the same files.
const touchWait = 24 * time.Hour

// do runs a task's request, or makes one of a bare prompt and runs that.
func (d *doer) do(ctx context.Context, job queue.Job) (string, error) {
	guard := func() error { return handedBack(job.Guard(ctx)) }
	ctx, done := whileOurs(ctx)
	defer done()
	id := job.Task.RequestID
	if id == "" {
		if strings.TrimSpace(job.Task.Prompt) == "" {
			return "", d.sentence(fault.New(fault.InvalidRequest, "key", "prompt", "task", job.Task.TaskID, "cause", d.s.Text("queue.no_prompt")))
		}
		r, err := d.requestOf(job.Task, guard)
		if err != nil {
			return "", d.sentence(err)
		}
		id = r.ID
	}
	if err := d.overMeanwhile(ctx, job.Task); err != nil {
		return "", d.sentence(err)
	}
	r := work.Runner(d.s, d.p)
	r.Hurry, r.Guard, r.Observe = d.hurry, guard, d.step
	out, err := r.Run(ctx, runner.Options{RequestID: id, Slot: d.slot, TouchWait: touchWait})
	if err == nil {
		err = out.Err
	}
	if err != nil {
		return "", d.sentence(err)
	}
	return d.s.Text("queue.output", "id", id, "run_id", out.RunID, "branch", out.Stage.Git.WorkBranch), nil
}

// overMeanwhile refuses a request that became a draft, done or archived since it was
// pushed (NOT_READY), and one of which a run ended well since then and waits to be
// merged (LATEST_RUN_DONE). What was like that before was asked for by name, and runs.
func (d *doer) overMeanwhile(ctx context.Context, t queue.Task) error {
	pushed, timed := queue.ParseTime(t.CreatedAt)
	if t.RequestID == "" || !timed {
		return nil
	}
	s, err := d.p.Look(ctx)
	if err != nil {
		return err
	}
	r, err := s.Folder.Get(t.RequestID)
	if err != nil {
		return err
	}
	since := func(code fault.Code) bool {
		if last := s.Latest(r.ID); code == fault.LatestRunDone {
			return last != nil && last.EndedAt != nil && last.EndedAt.After(pushed)
		}
		info, err := os.Stat(d.p.Path(r.Path))
		given := []string{reqmeta.Draft, reqmeta.Done, reqmeta.Archived} // another status is for the run to judge
		return code == fault.NotReady && slices.Contains(given, r.Meta.Status) && err == nil && info.ModTime().After(pushed)
	}
	if e, runs := choose.Judge(s.Folder, s.Facts, r.ID); !runs && since(e.ReasonCode) {
		return e.Fault(d.s.Catalog().Text)
	}
	return nil
}

// handedBack: a task that was cancelled is over for everybody, and the request
// is still locked by this runner, which may put it back. After any other loss
// the run must leave everything alone.
func handedBack(err error) error {
	if queue.LostReason(err) == queue.LostCancelled {
		return fault.New(fault.Interrupted)
	}
	return err
}

// whileOurs ends with ctx, with the cause that a run understands.
func whileOurs(ctx context.Context) (context.Context, func()) {
	ours, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { end(handedBack(context.Cause(ctx))) })
	return ours, func() {
		stop()
		end(nil)
	}
}

// requestOf makes a request file of a bare prompt, so that its run is recorded,
// shown and resumed like every other.
func (d *doer) requestOf(t queue.Task, guard func() error) (*reqmeta.Request, error) {
	router, _, err := config.LoadRouter(d.p.Dir, d.p.Config)
	if err != nil {
		return nil, err
	}
	if len(router.Calls(config.RoleImplementer)) == 0 {
		return nil, fault.New(fault.ModelNotConfigured, "key", config.RoleImplementer, "id", t.TaskID)
	}
	if err := guard(); err != nil {
		return nil, err
	}
	return edit.Create(d.p.Env.Disk, d.p.Dir, d.p.RequestsDir(), edit.NewRequest{
		Mapping: d.p.Mapping(),
		Title:   term.Truncate(firstLine(t.Prompt), 80), Status: "ready", Lang: d.s.Lang(), Body: t.Prompt + "\n",
		Used: d.p.UsedIDs(context.Background()),
	}, d.p.Now())
}

// step tells what stays of a run's events; what only begins is left out.
func (d *doer) step(e stage.Event) {
	switch e.Kind {
	case stage.StepDone, stage.Found, stage.LockTaken, stage.Warned, stage.StepAdopted:
	default:
		return
	}
	if d.s.JSON {
		return
	}
	facts := e.Facts()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.s.Tell(d.s.Catalog().Text("work.event_"+string(e.Kind), facts))
}

// sentence is what the queue keeps as error_message: code and message in one
// line.
func (d *doer) sentence(err error) error {
	d.failed = err
	body := d.s.Body(err)
	return errors.New(string(body.ReasonCode) + ": " + body.Message)
}

// workEvent is one event of a worker, a line of `work --json`.
type workEvent struct {
	At      string `json:"at"`
	Event   string `json:"event"`
	TaskID  string `json:"task_id,omitempty"`
	Runner  string `json:"runner_id,omitempty"`
	Message string `json:"message,omitempty"`
}

func (d *doer) tell(e queue.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	line := workEvent{At: queue.FormatTime(d.s.Now()), Event: e.Kind, TaskID: e.Task.TaskID, Runner: e.Runner}
	if e.Err != nil {
		line.Message = d.explain(e.Err)
	}
	if e.Kind == queue.EventLost {
		d.failed = nil
	}
	if d.s.JSON {
		_ = d.s.PrintJSON(line)
		_ = d.s.Flush()
		return
	}
	if e.Kind == queue.EventTrouble { // the same at each poll, and a night has many
		if line.Message == d.trouble && d.s.Now().Sub(d.told) < troubleEvery {
			return
		}
		d.trouble, d.told = line.Message, d.s.Now()
	}
	d.s.Tell(d.s.Catalog().Text("queue.event_"+e.Kind, fault.Facts{"id": line.TaskID, "name": line.Runner, "reason": strings.ReplaceAll(line.Message, "\n", " ")}))
}

// explain gives the sentence of an error; what a run came to is one already.
func (d *doer) explain(err error) string {
	if reason := queue.LostReason(err); reason != "" {
		return d.s.Catalog().Text("queue.lost_"+reason, nil)
	}
	if _, ok := fault.As(err); ok {
		return d.s.Body(err).Message
	}
	return err.Error()
}
