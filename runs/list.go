package runs

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"aiflow/internal/fault"
)

// ListRequestsWithRuns gives the names under the runs directory: the requests
// that may have runs. It reads one directory and nothing else. Other files
// there (a log of the night, say) are the user's.
func ListRequestsWithRuns(root, runsDir string) (map[string]bool, error) {
	list, err := entries(filepath.Join(root, runsDir))
	if err != nil {
		return nil, err
	}
	all := make(map[string]bool, len(list))
	for _, e := range list {
		if e.Name()[0] != '.' && (e.IsDir() || e.Type()&fs.ModeSymlink != 0) {
			all[e.Name()] = true
		}
	}
	return all, nil
}

func entries(dir string) ([]fs.DirEntry, error) {
	list, err := os.ReadDir(dir)
	if err != nil && !missing(err) {
		return nil, unreadable("io", err, "path", dir)
	}
	return list, nil
}

// ListRuns gives the run ids of a request, newest first.
func ListRuns(root, runsDir, requestID string) ([]string, error) {
	if !safeName(requestID) {
		return nil, nil
	}
	all, err := entries(filepath.Join(root, runsDir, requestID))
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range all {
		if _, ok := ParseRunID(e.Name()); ok {
			ids = append(ids, e.Name())
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(cmp.Compare(sortKey(b), sortKey(a)), cmp.Compare(b, a)) })
	return ids, nil
}

// Latest is the record of the newest run of a request that can be read, or nil
// when there is none. One that a newer program wrote is an error, so that
// nobody works as if it were not there. A request has one run at a time and each begins after the
// one before stood still, so the newest by name is the one that counts; D38's
// order (running, needs input, failed, done) falls out of that.
// One that a person dropped is as if it never was, and so is what it had replaced.
func Latest(root, runsDir, requestID string) (*Stage, error) {
	ids, err := ListRuns(root, runsDir, requestID)
	if err != nil {
		return nil, err
	}
	dropped := false
	for _, id := range ids {
		d := OpenDir(nil, root, runsDir, requestID, id, nil)
		s, err := d.LoadStage()
		dropped = dropped || err == nil && s.DroppedAt != nil
		if err == nil && s.DroppedAt == nil && !(dropped && s.ReplacedBy != "") {
			return s, nil
		}
		if f, ok := fault.As(err); ok && f.Code == fault.StageUnreadable && f.Facts["reason"] == "newer" {
			return nil, err
		}
	}
	return nil, nil
}

// Summary is what a list of runs shows.
type Summary struct {
	RequestID  string      `json:"request_id"`
	RunID      string      `json:"run_id"`
	State      State       `json:"state"`
	ReasonCode fault.Code  `json:"reason_code"`
	WorkBranch string      `json:"work_branch"`
	BaseBranch string      `json:"base_branch"`
	StartedAt  time.Time   `json:"started_at"`
	EndedAt    *time.Time  `json:"finished_at"`
	Worked     int64       `json:"worked_ms"` // without the time in which it waited for somebody
	ReplacedBy string      `json:"replaced_by,omitempty"`
	DroppedAt  *time.Time  `json:"dropped_at,omitempty"`
	Landed     *Landed     `json:"landed,omitempty"`
	StackedOn  []StackedOn `json:"stacked_on,omitempty"`
	Warnings   []Warning   `json:"warnings"`
	Usage      *Usage      `json:"usage,omitempty"` // of all AI commands of the run, as they report it

	// Waits is the provider that the run waits for: it was put off.
	Waits *ProviderWait `json:"waits,omitempty"`

	// What the record does not say itself; whoever lists runs fills it in.
	Interrupted  bool        `json:"interrupted"` // not ended, and nobody works for it
	Merged       bool        `json:"merged"`
	BranchExists bool        `json:"branch_exists"`
	Stale        string      `json:"stale,omitempty"`       // the request on which it stands and that is no longer what it was
	LandFailed   *LandFailed `json:"land_failed,omitempty"` // with its branch as it is now
	Restacks     bool        `json:"-"`                     // it can be moved to where that is now
	LandedOn     string      `json:"landed_on,omitempty"`   // merged there alone, not where runs start by now
}

// Summary of a record.
func (s *Stage) Summary() Summary {
	return Summary{
		RequestID: s.RequestID, RunID: s.RunID, State: s.State, ReasonCode: fault.Code(s.ReasonCode()),
		WorkBranch: s.Git.WorkBranch, BaseBranch: s.Git.BaseBranch,
		StartedAt: s.StartedAt, EndedAt: s.EndedAt, Worked: WorkedFor(s, s.UpdatedAt).Milliseconds(), ReplacedBy: s.ReplacedBy, DroppedAt: s.DroppedAt, Landed: s.Landed, StackedOn: s.Git.StackedOn, Warnings: s.Warnings(),
		Usage: s.Usage(), Waits: s.Waits(),
	}
}

// FindRun finds the request of a run id, for commands that are given only
// that. RUN_NOT_FOUND when there is none.
func FindRun(root, runsDir, runID string) (requestID string, err error) {
	if _, ok := ParseRunID(runID); ok {
		all, err := ListRequestsWithRuns(root, runsDir)
		if err != nil {
			return "", err
		}
		for id := range all {
			if fi, err := os.Stat(filepath.Join(root, runsDir, id, runID)); err == nil && fi.IsDir() {
				return id, nil
			}
		}
	}
	return "", notFound(runID)
}
