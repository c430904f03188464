package doctor

import (
	"context"
	"maps"
	"path/filepath"
	"slices"

	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/runs"
)

func (x *examiner) did(check, kind string, pairs ...any) {
	x.repairs = append(x.repairs, Repair{Check: check, Kind: kind, OK: true, Facts: facts(pairs)})
}

func (x *examiner) cannot(check, kind string, err error, pairs ...any) {
	x.repairs = append(x.repairs, Repair{Check: check, Kind: kind, Facts: facts(pairs), Err: err})
}

func fixLocks(ctx context.Context, x *examiner) {
	if _, present := stat(x.p.Path(x.p.Config.Paths.LocksDir)); !present {
		return
	}
	removed, err := x.p.Locks().Sweep(ctx)
	for _, e := range removed {
		x.did("locks", "lock", "name", filepath.Base(e.Path), "pid", e.PID, "hostname", e.Hostname, "verdict", e.Verdict)
	}
	if err != nil {
		x.cannot("locks", "lock", err, "name", x.p.Config.Paths.LocksDir)
	}
}

// fixRuns lets the project put right what a killed command left half done, as
// every other command does at its start.
func fixRuns(ctx context.Context, x *examiner) {
	// Of the links between runs every one is looked at, not only what other commands meet.
	ids, _ := runs.ListRequestsWithRuns(x.p.Dir, x.p.RunsDir()) // the check says what is wrong
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		list, _ := runs.ListRuns(x.p.Dir, x.p.RunsDir(), id)
		for _, run := range list[:max(0, len(list)-1)] { // the oldest replaces none
			fixLink(ctx, x, id, run)
		}
	}
	s, err := x.p.Survey(ctx)
	if err != nil {
		return // the check says what is wrong
	}
	for _, n := range s.Notes {
		pairs := []any{"id", n.RequestID, "run_id", n.RunID, "status", n.Status, "branch", n.Branch}
		kind := map[project.NoteKind]string{
			project.NoteInterrupted: "interrupted", project.NoteUnfinished: "unfinished", project.NoteUnclaimed: "unclaimed",
			project.NoteMerged: "merged", project.NoteLanded: "merged", project.NoteFound: "found",
		}[n.Kind]
		switch {
		case n.Written:
			x.did("runs", kind, pairs...)
		case !fault.Has(n.Cause, fault.RunInProgress):
			x.cannot("runs", kind, n.Cause, pairs...)
		}
	}
}

func fixLink(ctx context.Context, x *examiner, id, run string) {
	st, err := x.p.Run(id, run).LoadStage()
	if err != nil || st.Replaces == "" {
		return
	}
	pairs := []any{"id", id, "run_id", st.Replaces, "by", run}
	switch done, err := x.p.Relink(ctx, st); {
	case done && err == nil:
		x.did("runs", "replaced", pairs...)
	case err != nil && !fault.Has(err, fault.RunInProgress):
		x.cannot("runs", "replaced", err, pairs...)
	}
}
