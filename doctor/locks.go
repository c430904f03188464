package doctor

import (
	"errors"
	"io/fs"
	"path/filepath"

	"aiflow/internal/fault"
	"aiflow/internal/flock"
	"aiflow/locks"
)

// checkLocks sorts the locks by what is to be thought of them; the worst kind
// gives the sentence.
func checkLocks(x *examiner) {
	entries, err := x.p.Locks().List()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		x.fails("locks", err)
		return
	}
	kinds, advice := map[string][]string{}, map[string][]fault.Advice{}
	for _, e := range entries {
		kind := lockKind(e)
		kinds[kind] = append(kinds[kind], filepath.Base(e.Path))
		advice[kind] = append(advice[kind], e.Advise()...)
	}
	items := locks.Items(x.p.Dir, entries)
	for i := range items {
		items[i].Advice = nil // the hint says it
	}
	seen := Evidence{"locks": first(items, maxEvidence), "count": len(entries)}
	for _, kind := range []string{"unreadable", "future", "overdue", "orphaned", "stale"} {
		if names := kinds[kind]; len(names) > 0 {
			x.warn("locks", kind, seen, "count", len(names), "names", some(names), "release", fault.WithAdvice(nil, advice[kind][:1])[fault.VerbRelease])
			return
		}
	}
	if err := flock.Usable(x.p.Path(x.p.Config.Paths.LocksDir)); err != nil {
		x.fails("locks", err)
		return
	}
	if !canMake(x.p.Path(x.p.Config.Paths.LocksDir)) {
		x.fails("locks", fault.NotWritable(nil, x.p.Config.Paths.LocksDir))
		return
	}
	x.pass("locks", "ok", seen, "count", len(entries))
}

func lockKind(e locks.Entry) string {
	if e.Orphaned {
		return "orphaned"
	}
	switch e.Verdict {
	case locks.Dead, locks.Expired:
		return "stale"
	case locks.Overdue:
		return "overdue"
	case locks.ClockFault:
		return "future"
	case locks.UnknownRec, locks.Newer:
		return "unreadable"
	}
	return "held"
}
