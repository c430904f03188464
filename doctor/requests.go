package doctor

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
	"aiflow/reqmeta/folder"
	"aiflow/runs"
)

// checkFiles looks at locks, requests and runs, which know of each other.
func checkFiles(ctx context.Context, x *examiner) {
	checkLocks(x)
	s, err := x.look()
	if err != nil {
		x.fails("requests_dir", err)
	} else {
		checkRequestsDir(x, s.Folder)
		checkValid(ctx, x, s)
		checkDuplicates(x, s.Folder)
		checkDependencies(x, s.Folder)
	}
	if makesRunsDir(x) && s != nil {
		checkRuns(ctx, x, s)
	}
}

func checkRequestsDir(x *examiner, f *folder.Folder) {
	dir, count := x.p.RequestsDir(), len(f.Requests)
	if unix.Access(x.p.Path(dir), unix.W_OK|unix.X_OK) != nil {
		x.warn("requests_dir", "read_only", nil, "dir", dir, "count", count)
		return
	}
	if len(f.NotRead) == 0 {
		x.pass("requests_dir", "ok", nil, "dir", dir, "count", count)
		return
	}
	var names []string
	for _, stray := range f.NotRead {
		names = append(names, stray.Path)
	}
	seen := Evidence{"not_read": first(f.NotRead, maxEvidence), "count": len(f.NotRead)}
	x.pass("requests_dir", "ok", seen, "dir", dir, "count", count, "not_read", len(f.NotRead), "names", some(names))
}

// problemLine is one problem of one file as evidence.
type problemLine struct {
	Path  string        `json:"path"`
	Line  int           `json:"line,omitempty"`
	Kind  string        `json:"kind"`
	Level reqmeta.Level `json:"level"`
	Facts fault.Facts   `json:"facts,omitempty"`
}

const maxEvidence = 100

// checkValid names the files that cannot be used, and what keeps the others from
// being run. Of the router, prompts, programs and of nobody to do it other checks tell.
func checkValid(ctx context.Context, x *examiner, s *project.Survey) {
	f := s.Folder
	var lines []problemLine
	broken, odd := 0, 0
	var names []string
	for _, r := range f.Requests {
		bad := false
		for _, p := range r.Problems {
			if p.Code == fault.DuplicateID {
				continue
			}
			lines = append(lines, problemLine{p.Path, p.Line, p.Kind, p.Level, p.Facts})
			if p.Level == reqmeta.LevelError && !bad {
				bad = true
				names = append(names, placeOf(p.Path, p.Line))
			}
			if p.Level == reqmeta.LevelWarning {
				odd++
			}
		}
		if bad {
			broken++
		}
	}
	seen := Evidence{"problems": first(lines, maxEvidence), "count": len(lines)}
	back, told, why := keptBack(ctx, x, s)
	if len(back) > 0 {
		seen["kept"] = first(back, maxEvidence)
	}
	kept := Check{ID: "requests_valid", Status: Warn, Severity: weight("requests_valid"), Evidence: seen, Kept: why}
	switch {
	case len(back) > 0 && broken > 0:
		kept.Kind, kept.Facts = "broken_kept", facts([]any{"count", broken, "names", some(names), "kept", some(told)})
		x.add(kept)
	case len(back) > 0:
		kept.Kind, kept.Facts = "kept", facts([]any{"count", len(back), "names", some(told)})
		x.add(kept)
	case broken > 0:
		x.warn("requests_valid", "broken", seen, "count", broken, "names", some(names))
	case odd > 0:
		x.pass("requests_valid", "odd", seen, "count", len(f.Requests), "odd", odd)
	default:
		x.pass("requests_valid", "ok", nil, "count", len(f.Requests))
	}
}

// keptLine is a request that is kept from being run, as evidence.
type keptLine struct {
	RequestID  string      `json:"request_id"`
	Path       string      `json:"path"`
	Line       int         `json:"line,omitempty"`
	Name       string      `json:"precondition"`
	ReasonCode fault.Code  `json:"reason_code"`
	Facts      fault.Facts `json:"facts,omitempty"`
}

func keptBack(ctx context.Context, x *examiner, s *project.Survey) (lines []keptLine, told []string, why []error) {
	for _, k := range x.kept() {
		r, e := k.r, k.why
		switch name := e.Obstacle().Name; name {
		case "commit", "router", "prompts", "program", "somebody", "every_step":
		default:
			e.Fact("") // which finds the line
			lines = append(lines, keptLine{r.ID, r.Path, e.Line, name, e.ReasonCode, e.Facts})
			told = append(told, placeOf(r.Path, e.Line)+" ("+string(e.ReasonCode)+")")
			if len(why) == maxHints {
				continue
			}
			f := e.Obstacle().Refusal(r.ID, r.Path)
			var err error = f
			if st := s.Latest(r.ID); st != nil && f.Facts["run_id"] == st.RunID {
				err = x.advised(ctx, f)
			}
			why = append(why, err)
		}
	}
	return lines, told, why
}

func placeOf(path string, line int) string {
	if line == 0 {
		return path
	}
	return path + ":" + strconv.Itoa(line)
}

func checkDuplicates(x *examiner, f *folder.Folder) {
	paths := map[string][]string{}
	for _, r := range f.Requests {
		paths[r.ID] = append(paths[r.ID], r.Path)
	}
	twice := map[string][]string{}
	var ids []string
	for id, at := range paths {
		if len(at) > 1 {
			twice[id] = at
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		x.pass("duplicate_ids", "ok", nil)
		return
	}
	slices.Sort(ids)
	x.warn("duplicate_ids", "some", Evidence{"ids": twice}, "count", len(ids), "names", some(ids))
}

// checkDependencies looks at requests that are still to be done.
func checkDependencies(x *examiner, f *folder.Folder) {
	var bad []choose.Edge
	rings, missing := 0, 0
	for _, e := range choose.OpenEdges(f) {
		if e.State != choose.EdgeMissing && e.State != choose.EdgeCycle {
			continue
		}
		if e.State == choose.EdgeCycle {
			rings++
		} else {
			missing++
		}
		bad = append(bad, e)
	}
	meant := map[string]string{} // by ids that do not exist
	for _, e := range first(bad, folder.MaxMeant) {
		if e.State == choose.EdgeMissing {
			if id := f.Meant(e.To, e.From); id != "" {
				meant[e.To] = id
			}
		}
	}
	names := make([]string, len(bad)) // "RQ-2 → RQ-1", and "RQ-2 → 001 (RQ-001-login?)"
	for i, e := range bad {
		names[i] = e.From + " → " + cmp.Or(e.To, `""`)
		if id := meant[e.To]; id != "" {
			names[i] += " (" + id + "?)"
		}
	}
	never := choose.Stuck(f)
	for _, e := range never {
		names = append(names, e.RequestID+" → "+e.Fact("ids"))
	}
	seen := Evidence{"edges": first(bad, maxEvidence), "count": len(names), "meant": meant}
	switch {
	case missing > 0 && rings > 0, len(bad) > 0 && len(never) > 0:
		x.warn("dependencies", "both", seen, "count", len(names), "names", some(names))
	case len(never) > 0:
		x.warn("dependencies", "never", seen, "count", len(never), "names", some(names), "id", never[0].RequestID)
	case missing > 0:
		x.warn("dependencies", "missing", seen, "count", missing, "names", some(names), "id", bad[0].From)
	case rings > 0:
		x.warn("dependencies", "cycle", seen, "count", rings, "names", some(names), "id", bad[0].From)
	default:
		x.pass("dependencies", "ok", nil)
	}
}

// canMake reports whether a folder is there and can be written to, or could be
// made.
func canMake(dir string) bool {
	_, err := os.Lstat(dir)
	for err != nil && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
		_, err = os.Lstat(dir)
	}
	info, err := os.Stat(dir) // a link that leads nowhere is no folder, and none can be made there
	return err == nil && info.IsDir() && unix.Access(dir, unix.W_OK|unix.X_OK) == nil
}

// runLine is one run as evidence.
type runLine struct {
	RequestID string `json:"request_id"`
	RunID     string `json:"run_id,omitempty"`
	State     string `json:"state,omitempty"`
	What      string `json:"what"` // interrupted, unclaimed, unfinished, unreadable
}

// checkRuns looks at the latest run of each request that is still to be done;
// of every request when there is time.
func checkRuns(ctx context.Context, x *examiner, s *project.Survey) {
	ids, err := runs.ListRequestsWithRuns(x.p.Dir, x.p.RunsDir())
	if err != nil {
		x.warns("runs", fault.Wrap(err, fault.StageUnreadable, "path", x.p.RunsDir()))
		return
	}
	var lines []runLine
	for _, r := range s.Folder.Requests {
		over := r.SaysOver()
		if !ids[r.ID] && r.Meta.Status != reqmeta.Running || over && !x.full() || s.Facts.Holder(r.ID) != nil {
			continue
		}
		if line, odd := judgeRun(x, s, r); odd {
			lines = append(lines, line)
		}
	}
	tellRuns(ctx, x, lines, len(ids))
}

func judgeRun(x *examiner, s *project.Survey, r *reqmeta.Request) (runLine, bool) {
	st := s.Latest(r.ID)
	if slices.Contains(s.Found, st) {
		st = nil // what its branch tells; its record is lost or cannot be read
	}
	switch {
	case st == nil && r.Meta.Status == reqmeta.Running:
		return runLine{r.ID, "", "", "unclaimed"}, true
	case st == nil:
		list, err := runs.ListRuns(x.p.Dir, x.p.RunsDir(), r.ID)
		i := slices.IndexFunc(list, func(id string) bool {
			_, err := x.p.Run(r.ID, id).LoadStage()
			return err != nil
		})
		if err != nil || i < 0 { // none, or a person dropped them
			return runLine{}, false
		}
		return runLine{r.ID, list[i], "", "unreadable"}, true
	case !st.State.Ended() && !r.SaysOver():
		return runLine{r.ID, st.RunID, string(st.State), "interrupted"}, true
	case st.State.Ended() && r.Meta.Status == reqmeta.Running:
		return runLine{r.ID, st.RunID, string(st.State), "unfinished"}, true
	}
	return runLine{}, false
}

func tellRuns(ctx context.Context, x *examiner, lines []runLine, count int) {
	if len(lines) == 0 {
		x.pass("runs", "ok", nil, "count", count)
		return
	}
	kinds, runIDs := map[string][]string{}, map[string]string{}
	for _, l := range lines {
		kinds[l.What] = append(kinds[l.What], l.RequestID)
		runIDs[l.RequestID] = l.RunID
	}
	seen := Evidence{"runs": first(lines, maxEvidence), "count": len(lines)}
	for _, kind := range []string{"unreadable", "unfinished", "unclaimed", "interrupted"} {
		if names := kinds[kind]; len(names) > 0 {
			run := runIDs[names[0]]
			err := x.advised(ctx, fault.New(fault.Interrupted, "request_id", names[0], "run_id", run))
			best, _ := fault.Best(fault.AdviceOf(err))
			x.warn("runs", kind, seen, "count", len(names), "names", some(names), "id", names[0], "run_id", run, "command", best.Command)
			return
		}
	}
}
