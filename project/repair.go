package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiflow/internal/fault"
	"aiflow/locks"
	"aiflow/reqmeta"
	"aiflow/runs"
)

// NoteKind says what a survey put right. Its sentence is "next.note_<kind>".
type NoteKind string

// The kinds of notes.
const (
	NoteInterrupted NoteKind = "interrupted" // a run died; its request is ready again
	NoteUnfinished  NoteKind = "unfinished"  // a run had ended, its request file had not been told
	NoteMerged      NoteKind = "merged"      // a finished run's commits are in HEAD: the request is done
	NoteLanded      NoteKind = "landed"      // the same, and the merge itself brought the status
)

// Note is one thing that a survey found and put right.
type Note struct {
	Kind      NoteKind
	RequestID string
	RunID     string
	Status    string // what the request's status is now
	Written   bool   // false: only judged so, the file could not be written
	Cause     error  // why not
}

// repair looks at the few requests whose file and latest run may disagree.
func (s *Survey) repair(ctx context.Context) {
	tried := s.tried()
	s.relink(ctx, tried)
	for _, r := range tried {
		if r.Meta.Status == reqmeta.Running {
			s.repairRunning(ctx, r)
		}
	}
	s.reconcile(ctx, s.finished(tried))
}

// tried are the sound requests that have runs, in the folder's order.
func (s *Survey) tried() []*reqmeta.Request {
	var list []*reqmeta.Request
	for id := range s.withRuns {
		if r := s.Folder.Unique(id); r != nil && r.Valid() {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *reqmeta.Request) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// repairRunning tells a request file what its run came to when the runner died
// before it could.
func (s *Survey) repairRunning(ctx context.Context, r *reqmeta.Request) {
	st := s.Latest(r.ID)
	if st == nil || s.locked(r.ID) != nil {
		return
	}
	lease, err := s.p.lock(ctx, r.ID, st.RunID)
	if err != nil && fault.Has(err, fault.RunInProgress) {
		return // somebody was quicker: it is running after all
	}
	if err == nil {
		defer lease.Release()
		if st = s.again(r, st); st == nil {
			return // it has gone on and come to its end
		}
	}
	note := Note{Kind: NoteInterrupted, RequestID: r.ID, RunID: st.RunID, Cause: err}
	if st.State.Ended() {
		note.Kind = NoteUnfinished
	}
	if err == nil {
		note.Cause = s.settle(r, st, lease)
	}
	note.Written = note.Cause == nil
	if !note.Written {
		r.Meta.Status = statusAfter(st)
	}
	note.Status = r.Meta.Status
	s.Notes = append(s.Notes, note)
}

// again loads a run and its request's status once more, now that nobody else
// may write them: somebody may have gone on with the run before we had its
// lock. nil when the request is no longer running.
func (s *Survey) again(r *reqmeta.Request, st *runs.Stage) *runs.Stage {
	data, err := os.ReadFile(s.p.Path(r.Path))
	if err != nil {
		return nil
	}
	now, err := runs.Latest(s.p.Dir, s.p.RunsDir(), r.ID)
	if err != nil || now == nil {
		return nil
	}
	s.latest[r.ID] = now
	if meta := reqmeta.Parse(r.Path, data).Meta; meta.Status != reqmeta.Running {
		r.Meta = meta
		return nil
	}
	return now
}

func (p *Project) lock(ctx context.Context, id, runID string) (*locks.Lease, error) {
	m, err := p.Locks()
	if err != nil {
		return nil, err
	}
	return m.AcquireRequest(ctx, id, locks.Ask{RunID: runID})
}

func (s *Survey) settle(r *reqmeta.Request, st *runs.Stage, lease *locks.Lease) error {
	if err := s.p.RestoreRequest(r, st); err != nil {
		return err
	}
	if st.State.Ended() {
		return nil
	}
	now := s.p.Now()
	noteRecovered(st, lease, now)
	st.AddEvent(now, runs.EventInterrupted, st.CurrentStepID, fault.Interrupted)
	return s.p.Run(st.RequestID, st.RunID).SaveStage(st)
}

// noteRecovered writes into a run's history that its dead runner's lock was
// taken, if it was.
func noteRecovered(st *runs.Stage, lease *locks.Lease, now time.Time) bool {
	old, ok := lease.Recovered()
	if ok {
		e := st.AddEvent(now, runs.EventLockRecovered, st.CurrentStepID, fault.LockStaleRecovered)
		e.Detail = map[string]string{"pid": strconv.Itoa(old.PID), "hostname": old.Hostname}
	}
	return ok
}

// statusAfter is how a request is judged whose file could not be told.
func statusAfter(st *runs.Stage) string {
	if st.State == runs.NeedsInput || st.State == runs.Failed {
		return reqmeta.Blocked
	}
	return reqmeta.Ready
}

// RestoreRequest gives a request file its status after a run. A file that no
// longer says running is a person's decision and stays. A run that waits for
// its merge, or was interrupted, gives the earlier bytes back exactly, unless
// somebody changed the file meanwhile: then only the status goes back.
func (p *Project) RestoreRequest(r *reqmeta.Request, st *runs.Stage) error {
	now, err := os.ReadFile(p.Path(r.Path))
	if err != nil {
		return err
	}
	current := reqmeta.Parse(r.Path, now)
	if current.Meta.Status != reqmeta.Running {
		r.Meta = current.Meta
		return nil
	}
	if st.State == runs.NeedsInput || st.State == runs.Failed {
		return p.SetStatus(r, reqmeta.Blocked)
	}
	before, err := p.Run(st.RequestID, st.RunID).LoadRequest()
	if err != nil {
		return p.SetStatus(r, reqmeta.Ready)
	}
	if Fingerprint(now) == st.Artifacts.RequestRunning {
		return p.replaceRequest(r, before)
	}
	return p.SetStatus(r, statusBefore(r.Path, before))
}

func statusBefore(path string, before []byte) string {
	if status := reqmeta.Parse(path, before).Meta.Status; status != reqmeta.Running && status != "" {
		return status
	}
	return reqmeta.Ready
}

// SetStatus changes a request's status in its file and in r.
func (p *Project) SetStatus(r *reqmeta.Request, status string) error {
	_, after, err := reqmeta.Update(p.Env.Disk, p.Dir, r.Path, map[string]string{"status": status}, p.Now(), p.Suffix())
	if err != nil {
		return err
	}
	r.Meta = reqmeta.Parse(r.Path, after).Meta
	return nil
}

func (p *Project) replaceRequest(r *reqmeta.Request, data []byte) error {
	if err := reqmeta.Replace(p.Env.Disk, p.Dir, r.Path, data, p.Suffix()); err != nil {
		return err
	}
	r.Meta = reqmeta.Parse(r.Path, data).Meta
	return nil
}

// Fingerprint names the content of a file.
func Fingerprint(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// reconcile makes done what has been merged: every given request's finished
// run whose commits are in HEAD's history, once per run.
func (s *Survey) reconcile(ctx context.Context, finished []*reqmeta.Request) {
	if len(finished) == 0 || !s.p.Root.Git || !s.p.onOwnBranch(ctx) {
		return
	}
	stages := make([]*runs.Stage, len(finished))
	for i, r := range finished {
		stages[i] = s.Latest(r.ID)
	}
	var merged Landed
	merged, s.Unsure = s.p.Landed(ctx, "HEAD", oldestBase(stages))
	for _, r := range finished {
		if st := s.Latest(r.ID); merged.Whole(st) {
			s.markDone(ctx, r, st, merged)
		}
	}
}

// oldestBase is the base commit of the run that started first: no commit of
// any of the runs can lie before it.
func oldestBase(stages []*runs.Stage) string {
	return slices.MinFunc(stages, func(a, b *runs.Stage) int { return strings.Compare(a.RunID, b.RunID) }).Git.BaseCommit
}

// Trailers of the commits that a run makes.
const (
	RequestTrailer = "Aiflow-Request"
	RunTrailer     = "Aiflow-Run"
	StepTrailer    = "Aiflow-Step"
	ResultTrailer  = "Aiflow-Result"
)

// markDone records the merge with the run and sets the status, unless the
// merge itself did and a person changed it since.
func (s *Survey) markDone(ctx context.Context, r *reqmeta.Request, st *runs.Stage, landed Landed) {
	note := Note{Kind: NoteMerged, RequestID: r.ID, RunID: st.RunID, Status: reqmeta.Done}
	theirs := s.doneAt(ctx, "HEAD", r.Path) || landed[st.RunID][runs.RecordStep] && s.doneAt(ctx, recordOf(st), r.Path)
	if !theirs {
		note.Cause = s.p.SetStatus(r, reqmeta.Done)
		r.Meta.Status = reqmeta.Done
	}
	if note.Cause == nil {
		note.Cause = s.recordMerge(ctx, st)
	}
	note.Written = note.Cause == nil
	if !theirs {
		s.Notes = append(s.Notes, note)
	}
}

// recordOf is the run's last commit, "" when it is not known.
func recordOf(st *runs.Stage) string {
	for _, c := range st.Git.Commits {
		if c.StepID == runs.RecordStep {
			return c.Hash
		}
	}
	return ""
}

// doneAt reports whether a commit has the request file as done.
func (s *Survey) doneAt(ctx context.Context, commit, path string) bool {
	if commit == "" {
		return false
	}
	data, err := s.p.Git().Ask(ctx, "cat-file", "blob", commit+":./"+path)
	return err == nil && reqmeta.Parse(path, data).Meta.Status == reqmeta.Done
}

func (s *Survey) recordMerge(ctx context.Context, st *runs.Stage) error {
	lease, err := s.p.lock(ctx, st.RequestID, st.RunID)
	if err != nil {
		return err
	}
	defer lease.Release()
	dir := s.p.Run(st.RequestID, st.RunID)
	now, err := dir.LoadStage() // it may have been written since it was looked at
	if err != nil || !now.Unmerged() {
		return err
	}
	now.AddEvent(s.p.Now(), runs.EventMerged, "", "")
	s.latest[st.RequestID] = now
	return dir.SaveStage(now)
}
