package server

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"aiflow/internal/fault"
	"aiflow/locks"
	"aiflow/reqmeta"
	"aiflow/runs"
)

const (
	watchEvery = 100 * time.Millisecond
	slowly     = 10 // of these: looks that are rarely worth it
	manyFiles  = 50
)

// watcher looks at the few files that change while something runs, and at what
// the system tells of the request files, and publishes what is new. It is one,
// however many listen.
type watcher struct {
	s     *Server
	round int
	hot   int // rounds in which the locks are read again, whatever their folder says

	folder  stamp
	locks   map[string]locks.Entry // by path
	live    map[string]*liveRun    // by request id
	known   map[string]stamp       // of the records that were told of, by the folder of the run
	session [2]stamp               // of the record, and of the wish that it ends
	head    stamp
	reflog  string
	runs    stamp
}

// liveRun is a run that somebody works for, or did a moment ago.
type liveRun struct {
	requestID, runID string
	logs             map[string]int64
	over             bool
}

func newLiveRun(requestID, runID string) *liveRun {
	return &liveRun{requestID: requestID, runID: runID, logs: map[string]int64{}}
}

func newWatcher(s *Server) *watcher {
	return &watcher{s: s, locks: map[string]locks.Entry{}, live: map[string]*liveRun{}, known: map[string]stamp{}}
}

// Watch publishes what happens in the project until ctx ends, or until the
// project's folder is gone: what is written after that would make another one
// in its place.
func (s *Server) Watch(ctx context.Context) error {
	w := newWatcher(s)
	defer s.folder.close()
	w.begin(ctx)
	for woken := false; ctx.Err() == nil; w.look(ctx) {
		if _, err := os.Stat(s.Project.Dir); errors.Is(err, fs.ErrNotExist) {
			return fault.Wrap(err, fault.RequestsDirNotFound, "path", s.Project.Path(s.Project.RequestsDir()), "gone", s.Project.Dir)
		}
		// The first change of a request file is told at once, those that follow it together.
		if woken {
			time.Sleep(watchEvery)
			woken = false
		} else {
			woken = s.folder.wait(watchEvery)
		}
	}
	return nil
}

// begin takes what is there as known, and puts right what was left.
func (w *watcher) begin(ctx context.Context) {
	if out, err := w.s.Project.Git().Ask(ctx, "rev-parse", "--git-path", "logs/HEAD"); err == nil {
		w.reflog = strings.TrimSpace(string(out))
		if !filepath.IsAbs(w.reflog) {
			w.reflog = filepath.Join(w.s.Project.Dir, w.reflog)
		}
	}
	w.head, w.session = stampFile(w.reflog), w.sessionStamps()
	w.runs = stampFile(w.s.Project.Path(w.s.Project.RunsDir()))
	w.s.folder.take()
	w.folder, w.hot = w.lockStamp(), 2
	w.readLocks(ctx, false)
	w.changedRecords(func(d *runs.Dir, now stamp) { w.known[d.Rel] = now })
	close(w.s.ready)
	w.putRight(ctx)
}

func (w *watcher) look(ctx context.Context) {
	w.round++
	w.requests()
	w.lockFolder(ctx)
	for _, id := range slices.Sorted(maps.Keys(w.live)) {
		w.stage(w.live[id])
	}
	w.autorun()
	if w.round%slowly == 0 {
		w.slow(ctx)
	}
}

// requests tells which request files changed.
func (w *watcher) requests() {
	names, all := w.s.folder.take()
	if len(names) == 0 && !all {
		return
	}
	ids := []string{}
	if !all && len(names) <= manyFiles {
		ids = w.ids(names)
	}
	w.s.hub.publish("request", requestEvent{ids})
}

type requestEvent struct {
	IDs []string `json:"ids"` // none: any of them
}

// ids are the ids of files; a file that is gone had its name's.
func (w *watcher) ids(names []string) []string {
	known := map[string]string{}
	if folder, _, err := w.s.folder.get(); err == nil {
		for _, r := range folder.Requests {
			known[strings.TrimPrefix(r.Path, folder.Dir+"/")] = r.ID
		}
	}
	ids := make([]string, 0, len(names))
	for _, n := range names {
		id := cmp.Or(known[n], reqmeta.Stem(n))
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// lockFolder reads the locks when their folder changed, for a moment after
// that, because two changes can bear one time, and now and then, because a
// holder can die without a change.
func (w *watcher) lockFolder(ctx context.Context) {
	now := w.lockStamp()
	if now != w.folder {
		w.folder, w.hot = now, 2
		w.anything() // a lock that came and went between two looks is told by nothing else
	}
	if w.hot > 0 || w.round%slowly == 0 && len(w.locks) > 0 {
		w.hot = max(0, w.hot-1)
		w.readLocks(ctx, true)
		w.changedRecords(func(d *runs.Dir, _ stamp) {
			if run := w.live[d.RequestID]; run == nil || run.runID != d.RunID {
				w.stage(newLiveRun(d.RequestID, d.RunID))
			}
		})
	}
}

// changedRecords finds the records that are not what was told of. A run whose
// lock came and went between two looks is in the folder of runs all the same,
// and so is one that somebody dropped.
func (w *watcher) changedRecords(found func(d *runs.Dir, now stamp)) {
	p := w.s.Project
	requests, _ := runs.ListRequestsWithRuns(p.Dir, p.RunsDir()) // what cannot be read, the answers tell
	for _, id := range slices.Sorted(maps.Keys(requests)) {
		all, _ := runs.ListRuns(p.Dir, p.RunsDir(), id)
		for _, runID := range slices.Backward(all) {
			d := p.Run(id, runID)
			if now := stampFile(filepath.Join(d.Path, "stage.json")); now != w.known[d.Rel] {
				found(d, now)
			}
		}
	}
}

func (w *watcher) lockStamp() stamp {
	return stampFile(w.s.Project.Path(w.s.Project.Config.Paths.LocksDir))
}

func (w *watcher) readLocks(ctx context.Context, tell bool) {
	entries, err := entries(w.s)
	if err != nil {
		return
	}
	now, dead := map[string]locks.Entry{}, false
	for _, e := range entries {
		now[e.Path] = e
		old, had := w.locks[e.Path]
		dead = dead || !e.Live && e.RequestID != "" && (!had || old.Live)
		if tell && (!had || old.Token != e.Token || old.RunID != e.RunID || old.Live != e.Live || old.Verdict != e.Verdict) {
			w.tellLock(e, e.Live)
		}
		w.follow(e)
	}
	for at, e := range w.locks {
		if _, still := now[at]; still {
			continue
		}
		if run := w.live[e.RequestID]; run != nil && run.runID == e.RunID {
			run.over = true
		}
		if tell {
			w.tellLock(e, false)
		}
	}
	w.locks = now
	if dead {
		w.putRight(ctx)
	}
}

func (w *watcher) tellLock(e locks.Entry, held bool) {
	kind := "lock"
	if e.LockType == locks.TypeQueue {
		kind = "queue"
	}
	w.s.hub.publish(kind, struct {
		LockType  string        `json:"lock_type"`
		RequestID string        `json:"request_id"`
		RunID     string        `json:"run_id"`
		Name      string        `json:"name"`
		PID       int           `json:"pid"`
		Held      bool          `json:"held"`
		Verdict   locks.Verdict `json:"verdict"`
	}{e.LockType, e.RequestID, e.RunID, e.Name, e.PID, held, e.Verdict})
	if kind == "queue" {
		w.session = [2]stamp{} // whether a session lives depends on it
	}
}

// follow begins to look at the run that a lock names.
func (w *watcher) follow(e locks.Entry) {
	run := w.live[e.RequestID]
	switch {
	case e.RequestID == "" || e.RunID == "":
	case run == nil && e.Live, run != nil && run.runID != e.RunID:
		w.live[e.RequestID] = newLiveRun(e.RequestID, e.RunID)
	case run != nil && !e.Live:
		run.over = true
	}
}

// stage tells of a run's new record, and of what its logs grew.
func (w *watcher) stage(run *liveRun) {
	d := w.s.Project.Run(run.requestID, run.runID)
	if run.over {
		delete(w.live, run.requestID)
	}
	if now := stampFile(filepath.Join(d.Path, "stage.json")); now != w.known[d.Rel] && now != (stamp{}) {
		w.known[d.Rel] = now
		if st, err := d.LoadStage(); err == nil {
			w.s.hub.publish("stage", stageEvent{
				RequestID: st.RequestID, RunID: st.RunID, Title: st.Title, State: st.State, Seq: st.Seq, CurrentStepID: st.CurrentStepID,
				Progress: st.Progress, ReasonCode: orNil(st.ReasonCode()), SetAside: st.DroppedAt != nil || st.ReplacedBy != "", UpdatedAt: st.UpdatedAt,
			})
			run.over = run.over || st.State.Ended()
		}
	}
	for _, name := range runs.Logs(w.s.Project.Dir, d.Rel) {
		fi, err := os.Lstat(w.s.Project.Path(name))
		if err != nil || fi.Size() == run.logs[name] {
			continue
		}
		run.logs[name] = fi.Size()
		w.s.hub.publish("log", logEvent{run.requestID, run.runID, strings.TrimPrefix(name, d.Rel+"/logs/"), fi.Size()})
	}
}

type logEvent struct {
	RequestID string `json:"request_id"`
	RunID     string `json:"run_id"`
	Name      string `json:"name"`
	Size      int64  `json:"size"`
}

type stageEvent struct {
	RequestID     string        `json:"request_id"`
	RunID         string        `json:"run_id"`
	Title         string        `json:"title"`
	State         runs.State    `json:"state"`
	Seq           int           `json:"seq"`
	CurrentStepID string        `json:"current_step_id"`
	Progress      runs.Progress `json:"progress"`
	ReasonCode    *string       `json:"reason_code"`
	SetAside      bool          `json:"set_aside"` // dropped, or replaced by another: it waits for nobody
	UpdatedAt     time.Time     `json:"updated_at"`
}

func (w *watcher) sessionStamps() [2]stamp {
	return [2]stamp{stampFile(cachePath(w.s, "autorun.json")), stampFile(cachePath(w.s, "autorun.stop"))}
}

func (w *watcher) autorun() {
	now := w.sessionStamps()
	if now == w.session || now[0] == (stamp{}) {
		return
	}
	w.session = now
	if v, err := session(context.Background(), w.s, w.s.Lang); err == nil {
		w.s.hub.publish("autorun", v)
	}
}

// slow looks at what changes rarely: where HEAD is, because a merge makes
// requests done, and whether runs were cleared away.
func (w *watcher) slow(ctx context.Context) {
	if now := stampFile(w.reflog); now != w.head {
		w.head = now
		w.putRight(ctx)
	}
	if now := stampFile(w.s.Project.Path(w.s.Project.RunsDir())); now != w.runs {
		w.runs = now
		w.putRight(ctx) // records may have been lost
		w.anything()
	}
}

// anything tells that any request or run may have changed.
func (w *watcher) anything() {
	w.s.hub.publish("request", requestEvent{IDs: []string{}})
}

// putRight does what every command does at its start: it tells request files
// what became of runs that died or were merged.
func (w *watcher) putRight(ctx context.Context) {
	if !w.s.surveying.TryLock() {
		return
	}
	go func() {
		defer w.s.surveying.Unlock()
		_, err := w.s.folder.p.Survey(ctx) // which changes what it has read
		if err != nil && !fault.Has(err, fault.RequestsDirNotFound) && ctx.Err() == nil {
			w.s.log(err.Error())
		}
	}()
}

// stamp tells two states of a file apart.
type stamp struct {
	inode uint64
	mtime int64
	size  int64
}

func stampOf(fi fs.FileInfo, err error) stamp {
	if err != nil {
		return stamp{}
	}
	s := stamp{mtime: fi.ModTime().UnixNano(), size: fi.Size()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		s.inode = st.Ino
	}
	return s
}

// stampFile is the zero stamp for a file that is not there.
func stampFile(path string) stamp { return stampOf(os.Lstat(path)) }
