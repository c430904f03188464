package server

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"slices"
	"sync"

	"aiflow/locks"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
	"aiflow/reqmeta/folder"
	"aiflow/runs"
)

// latestCache keeps the newest record of each request's runs.
type latestCache struct {
	p  *project.Project
	mu sync.Mutex
	m  map[string]latestEntry
}

type latestEntry struct {
	stage       *runs.Stage
	before      []string // what the runs before it came to, the oldest first
	folder, rec stamp
}

// lastRuns is how many runs of a request a list tells of.
const lastRuns = 5

func (c *latestCache) get(id string) latestEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	dir := c.p.Path(c.p.RunsDir() + "/" + id)
	folder := stampFile(dir)
	e, ok := c.m[id]
	if ok && e.folder == folder && e.stage != nil && stampFile(dir+"/"+e.stage.RunID+"/stage.json") == e.rec {
		return e
	}
	e = c.load(id, folder)
	if e.rec != (stamp{}) {
		c.m[id] = e
	} else {
		delete(c.m, id)
	}
	return e
}

// load reads the newest record. While the newest run has none yet, nothing is
// kept.
func (c *latestCache) load(id string, folder stamp) latestEntry {
	if fi, err := os.Lstat(c.p.Path(c.p.RunsDir() + "/" + id)); err != nil || !fi.IsDir() {
		return latestEntry{}
	}
	ids, err := runs.ListRuns(c.p.Dir, c.p.RunsDir(), id)
	if err != nil || len(ids) == 0 {
		return latestEntry{}
	}
	rec := stampFile(c.p.Path(c.p.RunsDir() + "/" + id + "/" + ids[0] + "/stage.json"))
	st, _ := runs.Latest(c.p.Dir, c.p.RunsDir(), id)
	e := latestEntry{stage: st, folder: folder, before: c.m[id].before}
	if c.m[id].folder != folder {
		e.before = nil
		for _, runID := range slices.Backward(ids[1:min(len(ids), lastRuns)]) {
			if st, err := c.p.Run(id, runID).LoadStage(); err == nil {
				e.before = append(e.before, outcomeOf(st, false))
			}
		}
	}
	if st != nil && st.RunID == ids[0] {
		e.rec = rec
	}
	return e
}

// outcomeOf is the state of a run, in one word for one that nobody works for.
func outcomeOf(st *runs.Stage, live bool) string {
	switch {
	case st.DroppedAt != nil:
		return "DROPPED"
	case !st.State.Ended() && !live:
		return "INTERRUPTED"
	}
	return string(st.State)
}

// snapshot is the project at one moment, with what follows from it.
type snapshot struct {
	key      string
	p        *project.Project
	folder   *folder.Folder
	facts    choose.Facts
	survey   *project.Survey
	sel      choose.Result
	rank     map[string]int // of what can run, by path, from 1
	excluded map[string]int // index in sel.Excluded, by path
	done     map[string]bool
	latest   map[string]*runs.Stage
	before   map[string][]string // of each request, what came before the latest run
	branches project.Branches
	standing func() *project.Standing // of the latest runs, asked once

	titles sync.Map // of codes, by language and code

	mu    sync.Mutex
	lists map[string]*listing // GET /api/requests by language
}

// look gives the project as it stands. What has not changed is not worked out
// again.
func (s *Server) look(ctx context.Context) (*snapshot, error) {
	folder, gen, err := s.folder.get()
	if err != nil {
		return nil, err
	}
	survey, err := s.Project.LookWith(ctx, folder)
	if err != nil {
		return nil, err
	}
	sn := &snapshot{p: s.Project, folder: folder, facts: survey.Facts, survey: survey, latest: map[string]*runs.Stage{}, before: map[string][]string{}, lists: map[string]*listing{}}
	if sn.key, err = fingerprint(ctx, s, sn, gen, survey); err != nil {
		return nil, err
	}
	s.mu.Lock()
	old := s.seen
	s.mu.Unlock()
	if old != nil && old.key == sn.key {
		return old, nil
	}
	sn.judge()
	sn.standing = sync.OnceValue(func() *project.Standing { return sn.stands(slices.Collect(maps.Values(sn.latest))) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = sn
	return sn, nil
}

// fingerprint names everything that the answers depend on, as this snapshot
// has read it: what is read a second time may be newer than what is kept under
// its name.
func fingerprint(ctx context.Context, s *Server, sn *snapshot, gen uint64, survey *project.Survey) (string, error) {
	h := fnv.New128a()
	fmt.Fprintln(h, gen)
	for _, e := range survey.Locks {
		fmt.Fprintln(h, e.Path, e.Token, e.RunID, e.Live, e.Verdict, e.ExpiresAt)
	}
	if b := sn.facts.Bases(); b != nil {
		fmt.Fprintln(h, b.Done)
	}
	fmt.Fprintln(h, survey.State(), survey.Facts.Undone)
	withRuns, err := runs.ListRequestsWithRuns(s.Project.Dir, s.Project.RunsDir())
	if err != nil {
		return "", err
	}
	waiting := false
	for _, id := range slices.Sorted(maps.Keys(withRuns)) {
		e := s.latest.get(id)
		if e.stage != nil {
			sn.latest[id], sn.before[id] = e.stage, e.before
			fmt.Fprintln(h, id, e.stage.RunID, e.stage.Seq, e.rec)
			waiting = waiting || e.stage.Unmerged()
		}
	}
	for _, st := range survey.Found {
		sn.latest[st.RequestID] = st
		fmt.Fprintln(h, st.RequestID, st.RunID)
		waiting = true
	}
	if waiting {
		var here string
		sn.branches, here = project.Heads(ctx, s.Project)
		fmt.Fprintln(h, map[string]string(sn.branches), here)
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// entries are all locks; a project where nothing ever ran has none.
func entries(s *Server) ([]locks.Entry, error) {
	if _, err := os.Stat(s.Project.Path(s.Project.Config.Paths.LocksDir)); err != nil {
		return nil, nil
	}
	return s.Project.Locks().List()
}

func (sn *snapshot) judge() {
	sn.survey.Branches = func() project.Branches { return sn.branches }
	latest := map[string]*choose.LatestRun{} // whoever asks later finds it, and many may at once
	for id, st := range sn.latest {
		latest[id] = project.LatestRun(context.Background(), sn.survey, st)
	}
	sn.facts.LatestRun = func(id string) *choose.LatestRun { return latest[id] }
	sn.facts.Concerned = slices.AppendSeq(slices.Clone(sn.facts.Concerned), maps.Keys(sn.latest))
	sn.sel = choose.Select(sn.folder, sn.facts)
	sn.rank, sn.excluded, sn.done = map[string]int{}, map[string]int{}, choose.Done(sn.folder, sn.facts)
	for i, c := range sn.sel.Runnable {
		sn.rank[c.Path] = i + 1
	}
	for i := range sn.sel.Excluded {
		sn.excluded[sn.sel.Excluded[i].Path] = i
	}
}

// unmerged: nobody has recorded that a finished run is merged. Whether it is, its
// standing tells.
func (sn *snapshot) unmerged(st *runs.Stage) bool {
	return st.Unmerged() && st.Git.WorkBranch != "" && sn.branches.Has(st.Git.WorkBranch)
}

// awaits: a finished run waits to be merged, as every command says it.
func (sn *snapshot) awaits(st *runs.Stage, standing func() *project.Standing) bool {
	if !sn.unmerged(st) {
		return false
	}
	of := standing()
	return of == nil || of.AwaitsMerge(st)
}

// stands asks once how these runs stand; nil: nothing could be found out.
func (sn *snapshot) stands(list []*runs.Stage) *project.Standing {
	of, err := sn.p.Standing(context.Background(), slices.DeleteFunc(list, func(st *runs.Stage) bool { return !sn.unmerged(st) }))
	if err != nil {
		return nil
	}
	return of
}

// exactly gives the one request of exactly that id.
func exactly(in *folder.Folder, id string) (*reqmeta.Request, error) {
	r, err := in.Get(id)
	if err == nil && r.ID != id {
		err = noRequest(nil, id)
	}
	return r, err
}

func orNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
