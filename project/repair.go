package project

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/locks"
	"aiflow/reqmeta"
	"aiflow/reqmeta/edit"
	"aiflow/reqmeta/folder"
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
	NoteUnclaimed   NoteKind = "unclaimed"   // a request said running, and no run of it is on record
	NoteFound       NoteKind = "found"       // a finished run's record was lost; its branch is there
)

// Note is one thing that a survey found and put right.
type Note struct {
	Kind      NoteKind
	RequestID string
	RunID     string
	Status    string // what the request's status is now
	Branch    string // NoteFound: of the run
	Written   bool   // false: only judged so, the file could not be written
	Cause     error  // why not
}

// repair looks at the few requests whose file and latest run may disagree.
func (s *Survey) repair(ctx context.Context) {
	s.recordFound(ctx)
	s.relink(ctx, s.tried())
	for _, r := range s.Folder.Requests {
		if r.Meta.Status == reqmeta.Running && r.Valid() && s.Folder.Unique(r.ID) == r {
			s.repairRunning(ctx, r)
		}
	}
	s.reconcile(ctx, slices.DeleteFunc(s.tried(), func(r *reqmeta.Request) bool { return !s.awaitsMerge(r) }))
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
// before it could. Nobody runs a request whose lock is free.
func (s *Survey) repairRunning(ctx context.Context, r *reqmeta.Request) {
	if s.locked(r.ID) != nil || s.Unreadable(r.ID) != nil {
		return
	}
	note := noteRunning(r, s.Latest(r.ID))
	lease, err := lock(ctx, s.p, r.ID, note.RunID)
	if err != nil && fault.Has(err, fault.RunInProgress) {
		return // somebody was quicker: it is running after all
	}
	if err == nil {
		defer lease.Release()
		if !s.stillRunning(r) {
			return // its run has gone on and come to its end
		}
		note = noteRunning(r, s.Latest(r.ID))
		err = s.settle(ctx, r, s.Latest(r.ID), lease)
	}
	note.Cause, note.Written = err, err == nil
	if !note.Written {
		r.Meta.Status = statusAfter(s.Latest(r.ID))
	}
	note.Status = r.Meta.Status
	s.Notes = append(s.Notes, note)
}

func noteRunning(r *reqmeta.Request, st *runs.Stage) Note {
	switch {
	case st == nil:
		return Note{Kind: NoteUnclaimed, RequestID: r.ID}
	case st.State.Ended():
		return Note{Kind: NoteUnfinished, RequestID: r.ID, RunID: st.RunID}
	}
	return Note{Kind: NoteInterrupted, RequestID: r.ID, RunID: st.RunID}
}

// stillRunning loads a request's status and latest run once more, now that
// nobody else may write them: somebody may have gone on with the run before we
// had its lock.
func (s *Survey) stillRunning(r *reqmeta.Request) bool {
	data, err := os.ReadFile(s.p.Path(r.Path))
	if err != nil {
		return false
	}
	now, err := runs.Latest(s.p.Dir, s.p.RunsDir(), r.ID)
	if err != nil {
		return false
	}
	if now != nil {
		s.latest[r.ID] = now
	}
	if meta := r.Parse(data).Meta; meta.Status != reqmeta.Running {
		r.Meta = meta
		return false
	}
	return true
}

func lock(ctx context.Context, p *Project, id, runID string) (*locks.Lease, error) {
	return p.Locks().Acquire(ctx, locks.Request(id), locks.Ask{RunID: runID})
}

// settle gives a request its status back and notes with its run, if that has
// not ended, that it was interrupted. st is nil when no run is on record.
func (s *Survey) settle(ctx context.Context, r *reqmeta.Request, st *runs.Stage, lease *locks.Lease) error {
	if st == nil {
		return unclaim(ctx, s.p, r)
	}
	restore := func() error { return s.p.RestoreRequest(r, st) }
	if _, err := s.p.Run(st.RequestID, st.RunID).LoadRequest(); err != nil && statusAfter(st) == reqmeta.Ready {
		restore = func() error { return unclaim(ctx, s.p, r) }
	}
	if err := restore(); err != nil || st.State.Ended() {
		return err
	}
	now := s.p.Now()
	noteRecovered(st, lease, now)
	st.AddEvent(now, runs.EventInterrupted, st.CurrentStepID, fault.Interrupted)
	return s.p.Run(st.RequestID, st.RunID).SaveStage(st)
}

// unclaim makes a request ready of which nobody knows how it was before its
// run: as it is committed, where that is ready and differs in nothing but what
// runs write.
func unclaim(ctx context.Context, p *Project, r *reqmeta.Request) error {
	seen, err := os.ReadFile(p.Path(r.Path))
	if before, ok := p.Committed(ctx, r.Path); err == nil && ok && r.Parse(before).Meta.Status == reqmeta.Ready {
		return changeRequest(p, r, func(now []byte) ([]byte, error) {
			if bytes.Equal(now, seen) {
				return before, nil
			}
			return edit.SetValues(r, now, map[string]string{"status": reqmeta.Ready}, p.Now())
		})
	}
	return p.SetStatus(r, reqmeta.Ready)
}

// Committed gives a request file as HEAD has it, with the line ends and filters
// of a checkout. It is false where the file differs from that in more than the
// values that tools own, or git cannot say.
func (p *Project) Committed(ctx context.Context, rel string) ([]byte, bool) {
	if !p.Root.Git {
		return nil, false
	}
	owned, err := p.OwnedOnly(ctx, []string{rel})
	if err != nil || !owned[rel] {
		return nil, false
	}
	data, err := p.Git().Ask(ctx, "cat-file", "--filters", "HEAD:./"+rel)
	return data, err == nil
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

// statusAfter is what a request's status is that says running and is run by
// nobody: running is never what it was before.
func statusAfter(st *runs.Stage) string {
	switch {
	case st == nil:
		return reqmeta.Ready
	case st.State == runs.NeedsInput || st.State == runs.Failed:
		return reqmeta.Blocked
	case st.State == runs.Done && !st.Unmerged():
		return reqmeta.Done
	}
	return reqmeta.Ready
}

// RestoreRequest gives a request file its status after a run. A file that no
// longer says running is a person's decision and stays. A run that waits for
// its merge, or was interrupted, gives the earlier bytes back exactly, unless
// somebody changed the file meanwhile: then only the status goes back. A file
// that is gone is REQUEST_NOT_FOUND.
func (p *Project) RestoreRequest(r *reqmeta.Request, st *runs.Stage) error {
	now, err := os.ReadFile(p.Path(r.Path))
	if errors.Is(err, fs.ErrNotExist) {
		if at := whereNow(p, r); at != "" {
			moved := *r
			moved.Path = at
			err := p.RestoreRequest(&moved, st)
			r.Meta = moved.Meta
			return err
		}
		return fault.Wrap(err, fault.RequestNotFound, "id", r.ID, "path", r.Path)
	}
	if err != nil {
		return err
	}
	current := r.Parse(now)
	if current.Meta.Status != reqmeta.Running {
		r.Meta = current.Meta
		return nil
	}
	if to := statusAfter(st); to != reqmeta.Ready {
		return p.SetStatus(r, to)
	}
	before, err := p.Run(st.RequestID, st.RunID).LoadRequest()
	if err != nil {
		return p.SetStatus(r, reqmeta.Ready)
	}
	if was := r.Parse(before).Meta.Status; was == reqmeta.Running || was == "" {
		return p.SetStatus(r, reqmeta.Ready)
	}
	return changeRequest(p, r, func(now []byte) ([]byte, error) {
		switch {
		case r.Parse(now).Meta.Status != reqmeta.Running:
			return now, nil
		case Fingerprint(now) == st.Artifacts.RequestRunning:
			return before, nil
		}
		return edit.GiveBack(r, now, before, "status")
	})
}

// whereNow is the file to which a person moved that of a request, in requests_dir or one
// of done_dirs; "" for none that is there.
func whereNow(p *Project, r *reqmeta.Request) string {
	f, err := p.Requests()
	if err != nil {
		return ""
	}
	at := f.PathBeside(r.ID)
	if now := f.Unique(r.ID); now != nil {
		at = now.Path
	}
	if fi, err := os.Lstat(p.Path(at)); at == "" || at == r.Path || err != nil || !fi.Mode().IsRegular() {
		return ""
	}
	return at
}

// SetStatus changes a request's status in its file and in r.
func (p *Project) SetStatus(r *reqmeta.Request, status string) error {
	_, after, err := edit.Update(p.Env.Disk, p.Dir, r, map[string]string{"status": status}, p.Now(), p.Suffix())
	if err != nil {
		return err
	}
	r.Meta = r.Parse(after).Meta
	return nil
}

// changeRequest makes of what stands in a request's file what change says, and reads r anew.
func changeRequest(p *Project, r *reqmeta.Request, change func(now []byte) ([]byte, error)) error {
	after, err := edit.Replace(p.Env.Disk, p.Dir, r.Path, change, p.Suffix())
	if err != nil {
		return err
	}
	r.Meta = r.Parse(after).Meta
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
	if len(finished) == 0 || !s.p.Root.Git || !onOwnBranch(ctx, s.p) {
		return
	}
	stages := make([]*runs.Stage, len(finished))
	for i, r := range finished {
		stages[i] = s.Latest(r.ID)
	}
	there, merged, err := landedIn(ctx, s.p, "HEAD", stages)
	s.Unsure = whyUnsure(ctx, s.p, s.Branches(), err)
	for _, r := range finished {
		if st := s.Latest(r.ID); there[st.RunID] {
			s.markDone(ctx, r, st, merged)
		}
	}
}

// oldestBase is the base commit of the run that started first: no commit of
// any of the runs can lie before it. "" where that run stands on others, which may be
// among these and were perhaps made anew since.
func oldestBase(stages []*runs.Stage) string {
	return beganAt(slices.MinFunc(stages, func(a, b *runs.Stage) int { return strings.Compare(a.RunID, b.RunID) }))
}

// beganAt is the commit before which nothing of a run can lie; "" where it stands on others.
func beganAt(st *runs.Stage) string {
	if len(st.Git.StackedOn) > 0 || st.HasEvent(runs.EventRestacked) {
		return ""
	}
	return st.Git.BaseCommit
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
	theirs := doneAt(ctx, s.p, "HEAD", r.Path) || landed[st.RunID].steps[runs.RecordStep] && doneAt(ctx, s.p, recordOf(st), r.Path)
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
func doneAt(ctx context.Context, p *Project, commit, path string) bool {
	if commit == "" {
		return false
	}
	data, err := p.Git().Ask(ctx, "cat-file", "blob", commit+":./"+path)
	return err == nil && p.Mapping().Parse(path, data).Meta.Status == reqmeta.Done
}

func (s *Survey) recordMerge(ctx context.Context, st *runs.Stage) error {
	lease, err := lock(ctx, s.p, st.RequestID, st.RunID)
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

// noWriteTakes as long as this, here or on another machine.
const noWriteTakes = 10 * time.Second

// SweepTemps removes from the requests folder, which git watches, what killed
// writers left half written there. It never stops anybody.
func (p *Project) SweepTemps(f *folder.Folder) {
	for _, name := range f.Temps {
		path := filepath.Join(p.Dir, filepath.FromSlash(f.Dir), name)
		fi, err := os.Lstat(path)
		if err != nil || !fi.Mode().IsRegular() || p.Now().Sub(fi.ModTime()) < noWriteTakes {
			continue
		}
		if pid, ok := atomicfile.Writer(name); ok && proc.Alive(pid, 0) == proc.Dead {
			_ = p.Env.Disk.Remove(path)
		}
	}
}
