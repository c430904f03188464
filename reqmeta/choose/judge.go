package choose

import (
	"cmp"
	"strconv"
	"time"

	"aiflow/internal/fault"
	"aiflow/reqmeta"
	"aiflow/reqmeta/folder"
)

// judge judges the requests of one folder under one set of facts. It walks
// only the dependencies that are asked for, each once, without recursion.
type judge struct {
	f     *folder.Folder
	facts Facts
	named bool // a person asked by name

	links  links
	state  []state // by request index; see cycles.go
	ringOf []*ring // nil until there is one
	found  []*ring
	seen   int32 // visit numbers given so far
	stack  []int
	frames []frame

	known    *known
	obstacle func(r *reqmeta.Request) *Obstacle // nil: nobody was asked
}

func newJudge(f *folder.Folder, facts Facts) *judge {
	var bases *Bases
	if facts.Bases != nil {
		bases = facts.Bases()
	}
	j := &judge{f: f, facts: facts, state: make([]state, len(f.Requests)), links: newLinks(f, bases, facts.Undone), known: newKnown(f, facts)}
	if facts.Obstacles != nil {
		j.obstacle = facts.Obstacles()
	}
	return j
}

func (j *judge) isReady(i int) bool { return j.links.kind[i] == soundReady }

func (j *judge) isDone(i int) bool { return j.links.kind[i] == soundDone }

// judge gives the first reason that applies, in the order of the design.
func (j *judge) judge(i int) (Exclusion, bool) {
	if e, ok := j.before(i); !ok {
		return e, false
	}
	return j.dependencies(i)
}

// before judges everything but the dependencies.
func (j *judge) before(i int) (Exclusion, bool) {
	if j.isReady(i) && j.links.bases == nil && !j.known.of(i) {
		return j.unhindered(i)
	}
	r := j.f.Requests[i]
	base := j.links.bases.of(r)
	switch {
	case !r.Valid() && r.FirstError().Code != fault.DuplicateID:
		return invalid(r), false
	case j.f.IsDuplicate(j.f.Requests[i].ID):
		return exclude(r, fault.DuplicateID, "duplicate_id", "paths", reqmeta.Join(j.f.PathsOf(r.ID))), false
	case r.Meta.Status != reqmeta.Ready && !j.named && !j.facts.Undone[r.ID]:
		return j.notReady(i), false
	case base != "" && !j.named && j.links.bases.Done[base][r.ID]:
		return exclude(r, fault.NotReady, "not_ready_done_in", "branch", base), false
	}
	if h := j.locked(i); h != nil {
		return heldBy(r, h, fault.RequestLocked), false
	}
	run := j.latest(i)
	if run != nil && !j.named {
		switch {
		case run.State == "NEEDS_INPUT":
			e := exclude(r, fault.LatestRunNeedsInput, "latest_needs_input")
			e.lazy.stopped, e.lazy.run = true, run
			return e, false
		case run.State == "DONE" && run.WorkBranch != "" && run.Unmerged && run.Stale != "":
			return exclude(r, fault.LatestRunDone, "latest_stale", "run_id", run.RunID, "branch", run.WorkBranch, "on", run.Stale, "again", strconv.FormatBool(run.Again)), false
		case run.State == "DONE" && run.Unmerged && run.Landed != "":
			return exclude(r, fault.LatestRunDone, "latest_landed", "run_id", run.RunID, "branch", run.Landed), false
		case run.State == "DONE" && run.Unmerged && run.Fails != "":
			return exclude(r, fault.LatestRunDone, "latest_land_failed", "run_id", run.RunID, "branch", run.WorkBranch, "into", run.Fails), false
		case run.State == "DONE" && run.WorkBranch != "" && run.Unmerged:
			return exclude(r, fault.LatestRunDone, "latest_done", "run_id", run.RunID, "branch", run.WorkBranch), false
		}
	}
	return j.unhindered(i)
}

// unhindered asks what keeps a request from being run that nothing else excludes.
func (j *judge) unhindered(i int) (Exclusion, bool) {
	if j.obstacle == nil {
		return Exclusion{}, true
	}
	o := j.obstacle(j.f.Requests[i])
	if o == nil {
		return Exclusion{}, true
	}
	return KeptBy(j.f.Requests[i], o), false
}

// notReady tells a request that runs from one whose file only says so.
func (j *judge) notReady(i int) Exclusion {
	r := j.f.Requests[i]
	if r.Meta.Status == reqmeta.Running {
		if h := j.locked(i); h != nil {
			return heldBy(r, h, fault.NotReady)
		}
	}
	e := exclude(r, fault.NotReady, "not_ready_"+r.Meta.Status)
	e.lazy.stopped, e.lazy.run = true, j.blockedBy(i)
	return e
}

func heldBy(r *reqmeta.Request, h *Holder, code fault.Code) Exclusion {
	if h.Unreadable {
		return exclude(r, code, "lock_unreadable")
	}
	return exclude(r, code, "locked", "run_id", h.RunID, "pid", strconv.Itoa(h.PID),
		"host", cmp.Or(h.Hostname, h.Host), "since", clock(h.Since), "until", clock(h.Until))
}

// blockedBy is the latest run of a blocked request; nil if nobody knows of one.
func (j *judge) blockedBy(i int) *LatestRun {
	if j.f.Requests[i].Meta.Status != reqmeta.Blocked {
		return nil
	}
	return j.latest(i)
}

func (j *judge) dependencies(i int) (Exclusion, bool) {
	if !j.links.wants(i) {
		return Exclusion{}, true
	}
	r := j.f.Requests[i]
	var missing, waits []string
	deps, borne := j.links.ids(i), false
	for k, d := range j.links.of(i) {
		switch {
		case d == doneLink:
		case d == missingLink:
			missing = append(missing, deps[k])
		case j.borne(i, d):
			borne = true
		case d < 0 || !j.isDone(int(d)):
			waits = append(waits, deps[k])
		}
	}
	switch {
	case len(missing) > 0:
		return j.lacks(r, missing), false
	case len(waits) == 0 && !borne:
		return Exclusion{}, true
	}
	j.walk(i)
	if ring := j.ringAt(i); ring != nil {
		return ring.exclude(r, i), false
	}
	if len(waits) == 0 {
		return j.collides(i)
	}
	return j.waitsFor(r, waits, j.rootBelow(i)), false
}

// lacks excludes what depends on nothing. What was meant is looked for when the
// exclusion is told, in the first of them.
func (j *judge) lacks(r *reqmeta.Request, ids []string) Exclusion {
	e := exclude(r, fault.DependsNotFound, "depends_not_found", "ids", reqmeta.Join(ids))
	e.lazy.lost = &lost{ids, j.f}
	return e
}

func exclude(r *reqmeta.Request, code fault.Code, kind string, pairs ...string) Exclusion {
	return Exclusion{RequestID: r.ID, ReasonCode: code, Kind: kind, Path: r.Path, lazy: lazy{r: r, pairs: pairs}}
}

func invalid(r *reqmeta.Request) Exclusion {
	p := r.FirstError()
	e := exclude(r, fault.RequestInvalidFormat, "invalid")
	e.tell()
	if p.Line > 0 {
		e.Kind, e.Line = "invalid_line", p.Line
		e.Facts["line"] = strconv.Itoa(p.Line)
	}
	e.sub = &sentence{"problem", "problem." + p.Kind, p.Facts}
	return e
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format(time.RFC3339)
}
