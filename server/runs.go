package server

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/runner"
	"aiflow/runs"
)

func listRuns(s *Server, w http.ResponseWriter, r *http.Request) error {
	sn, req, err := theRequest(s, r)
	if err != nil {
		return err
	}
	ids, err := runs.ListRuns(s.Project.Dir, s.Project.RunsDir(), req.ID)
	if err != nil {
		return err
	}
	var all []*runs.Stage
	for _, id := range ids {
		if st, _, err := record(s, req.ID, id); err == nil {
			all = append(all, st)
		}
	}
	standing := sync.OnceValue(func() *project.Standing { return sn.stands(slices.Clone(all)) })
	items := []runItem{}
	for _, st := range all {
		item := sn.run(st, standing)
		worked := s.worked(st, !item.Interrupted)
		item.Worked = &worked
		items = append(items, item)
	}
	return give(w, http.StatusOK, struct {
		Items []runItem `json:"items"`
	}{items})
}

// worked is for how many milliseconds a run worked.
func (s *Server) worked(st *runs.Stage, live bool) int64 {
	now := st.UpdatedAt
	if live {
		now = s.Project.Now()
	}
	return runs.WorkedFor(st, now).Milliseconds()
}

func latestRun(s *Server, w http.ResponseWriter, r *http.Request) error {
	sn, req, err := theRequest(s, r)
	if err != nil {
		return err
	}
	st := sn.latest[req.ID]
	if st == nil {
		return noRun(req.ID)
	}
	return give(w, http.StatusOK, sn.run(st, sn.standing))
}

// record loads a run. A link in the way to it is no run.
func record(s *Server, id, runID string) (*runs.Stage, *runs.Dir, error) {
	missing := noRun(id, "run_id", runID)
	if _, ok := runs.ParseRunID(runID); !ok {
		return nil, nil, fault.New(fault.RunNotFound)
	}
	root, err := os.OpenRoot(s.Project.Path(s.Project.RunsDir()))
	if err != nil {
		return nil, nil, missing
	}
	defer root.Close()
	if !isDirIn(root, id) || !isDirIn(root, id+"/"+runID) {
		return nil, nil, missing
	}
	d := s.Project.Run(id, runID)
	st, err := d.LoadStage()
	return st, d, err
}

func isDirIn(root *os.Root, name string) bool {
	fi, err := root.Lstat(name)
	return err == nil && fi.IsDir()
}

// theRequest is the request that the address names.
func theRequest(s *Server, r *http.Request) (*snapshot, *reqmeta.Request, error) {
	sn, err := s.look(r.Context())
	if err != nil {
		return nil, nil, err
	}
	req, err := exactly(sn.folder, r.PathValue("id"))
	return sn, req, err
}

// theRun is the run that the address names, also of a request whose file was moved
// or deleted.
func theRun(s *Server, r *http.Request) (*runs.Stage, *runs.Dir, error) {
	folder, _, err := s.folder.get()
	if err != nil {
		return nil, nil, err
	}
	id := r.PathValue("id")
	_, noFile := exactly(folder, id)
	st, d, err := record(s, id, r.PathValue("run"))
	if fault.Has(err, fault.RunNotFound) && noFile != nil {
		err = noFile
	}
	return st, d, err
}

// runDetail is everything about one run (D45).
type runDetail struct {
	RequestID   string             `json:"request_id"`
	RunID       string             `json:"run_id"`
	Interrupted bool               `json:"interrupted"`
	AwaitsMerge bool               `json:"awaits_merge"`
	Worked      int64              `json:"worked_ms"`
	Locked      any                `json:"locked"`
	CompareURL  *string            `json:"compare_url"`
	Warnings    []runs.Warning     `json:"warnings"`
	Advice      []fault.Advice     `json:"advice"`        // what can be done now
	Earlier     []string           `json:"earlier_steps"` // to which one can go back
	Usage       *runs.Usage        `json:"usage,omitempty"`
	Waits       *runs.ProviderWait `json:"waits,omitempty"`
	Stage       any                `json:"stage"`
	Planning    any                `json:"planning"`
	Errors      any                `json:"errors"`
	Report      report             `json:"report"`
	Logs        []logItem          `json:"logs"`
	Artifacts   []namedFile        `json:"artifacts"`
}

type report struct {
	Path     string `json:"path"`
	Markdown string `json:"markdown"`
}

type logItem struct {
	Path string `json:"path"` // in the project
	Name string `json:"name"` // in logs/, what GET …/logs/{path} takes
	Type string `json:"type"`
	Size int64  `json:"size"`
}

type namedFile struct {
	Path string `json:"path"`
	Type string `json:"type"`
}

func showRun(s *Server, w http.ResponseWriter, r *http.Request, st *runs.Stage, d *runs.Dir) error {
	sn, err := s.look(r.Context())
	if err != nil {
		return err
	}
	v := runDetail{RequestID: st.RequestID, RunID: st.RunID, Logs: logs(s, d), Artifacts: artifacts(st, d), Warnings: st.Warnings(), Usage: st.Usage(), Earlier: st.Earlier()}
	if h := sn.facts.Holder(st.RequestID); h != nil && (h.RunID == st.RunID || h.RunID == "") {
		v.Locked = h
	}
	v.Interrupted = !st.State.Ended() && v.Locked == nil
	v.Worked = s.worked(st, v.Locked != nil)
	if v.Interrupted {
		v.Waits = st.Waits()
	}
	of, list, err := advice(s, r, st)
	if err != nil {
		return err
	}
	v.AwaitsMerge, v.Advice = of.AwaitsMerge(st), list
	if v.Stage, err = stageTree(st.Reworded(s.says(r), v.Advice)); err != nil {
		return err
	}
	if plan, err := d.LoadPlan(); err == nil {
		v.Planning, _ = tree(plan)
	}
	if errs, err := d.LoadErrors(); err == nil {
		v.Errors, _ = tree(errs.Reworded(s.says(r), v.Advice))
	}
	v.Report.Path = d.RelPath("report.md")
	text, _ := d.LoadReport()
	v.Report.Markdown = string(mask([]byte(text), true))
	v.CompareURL = compareURL(s, r, st)
	return give(w, http.StatusOK, v)
}

// advice is how a run stands, and what can be done now about it.
func advice(s *Server, r *http.Request, st *runs.Stage) (*project.Standing, []fault.Advice, error) {
	of, err := s.Project.Standing(r.Context(), []*runs.Stage{st})
	if err != nil {
		return nil, nil, err
	}
	return of, runnerIn(s, s.language(r)).Adviser(r.Context(), of).Advice(r.Context(), st), nil
}

// tree is v as JSON would be read back, with secrets hidden.
func tree(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return treeOf(data)
}

func treeOf(data []byte) (any, error) {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return maskTree(v), nil
}

// stageTree also has the fields that we do not know.
func stageTree(st *runs.Stage) (any, error) {
	copied := *st
	data, err := copied.Encode()
	if err != nil {
		return nil, err
	}
	return treeOf(data)
}

// compareURL is where the run's branch can be looked at on the web; nowhere
// while it was never pushed.
func compareURL(s *Server, r *http.Request, st *runs.Stage) *string {
	if _, err := s.Project.Git().Ask(r.Context(), "rev-parse", "-q", "--verify", "refs/remotes/origin/"+st.Git.WorkBranch); err != nil {
		return nil
	}
	if st.Artifacts.CompareURL != nil {
		return st.Artifacts.CompareURL
	}
	repo, err := gitops.Open(r.Context(), s.Project.Git(), s.Project.Dir)
	if err != nil || st.Git.WorkBranch == "" {
		return nil
	}
	at, err := repo.CompareURL(r.Context(), st.Git.Compared(), st.Git.WorkBranch, s.Project.Config.Git.CompareURLTemplate)
	if err != nil || !strings.HasPrefix(at, "https://") && !strings.HasPrefix(at, "http://") {
		return nil
	}
	return &at
}

func logs(s *Server, d *runs.Dir) []logItem {
	items := []logItem{}
	for _, name := range runs.Logs(s.Project.Dir, d.Rel) {
		in, ok := strings.CutPrefix(name, d.Rel+"/logs/")
		fi, err := os.Lstat(s.Project.Path(name))
		if ok && err == nil && fi.Mode().IsRegular() {
			kind := path.Base(in) // runner, step, planner, unit, …; see runs.LogName
			if end := strings.IndexAny(kind, ".-"); end >= 0 {
				kind = kind[:end]
			}
			items = append(items, logItem{Path: name, Name: in, Type: kind, Size: fi.Size()})
		}
	}
	return items
}

func artifacts(st *runs.Stage, d *runs.Dir) []namedFile {
	files := []namedFile{}
	for _, f := range []struct{ name, kind string }{
		{"stage.json", "stage"}, {"planning.json", "planning"}, {"report.md", "report"}, {"errors.json", "errors"},
	} {
		if fi, err := os.Lstat(filepath.Join(d.Path, f.name)); err == nil && fi.Mode().IsRegular() {
			files = append(files, namedFile{d.RelPath(f.name), f.kind})
		}
	}
	patches, _ := filepath.Glob(filepath.Join(d.Path, "patches", "*.patch"))
	for _, p := range patches {
		files = append(files, namedFile{d.RelPath("patches/" + filepath.Base(p)), "patch"})
	}
	return files
}

func showStage(s *Server, w http.ResponseWriter, r *http.Request, st *runs.Stage, _ *runs.Dir) error {
	_, list, err := advice(s, r, st)
	if err != nil {
		return err
	}
	v, err := stageTree(st.Reworded(s.says(r), list))
	if err != nil {
		return err
	}
	return give(w, http.StatusOK, struct {
		Stage any `json:"stage"`
	}{v})
}

func showErrors(s *Server, w http.ResponseWriter, r *http.Request, st *runs.Stage, d *runs.Dir) error {
	errs, err := d.LoadErrors()
	if fault.Has(err, fault.RunNotFound) { // the run is there, its errors.json is not
		return fault.New(fault.NotFound)
	}
	if err != nil {
		return err
	}
	_, list, err := advice(s, r, st)
	if err != nil {
		return err
	}
	v, err := tree(errs.Reworded(s.says(r), list))
	if err != nil {
		return err
	}
	return give(w, http.StatusOK, struct {
		Errors any `json:"errors"`
	}{v})
}

func showReport(_ *Server, w http.ResponseWriter, _ *http.Request, _ *runs.Stage, d *runs.Dir) error {
	text, err := d.LoadReport()
	switch {
	case err != nil:
		return err
	case text == "":
		return fault.New(fault.NotFound)
	}
	w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
	_, _ = w.Write(mask([]byte(text), true))
	return nil
}

func showDiff(s *Server, w http.ResponseWriter, r *http.Request, st *runs.Stage, _ *runs.Dir) error {
	ends, err := runner.EndsOf(r.Context(), s.Project, st)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	o := gitops.DiffOptions{Paths: q["path"]}
	if text := q.Get("hunks"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return invalid("hunks")
		}
		if o.MaxFiles = n; n == 0 {
			o.MaxFiles = -1 // 0 is the usual number
		}
	}
	if one := q.Get("commit"); one != "" {
		if !slices.ContainsFunc(ends.Parts, func(p runner.Part) bool { return p.Commit == one }) {
			return invalid("commit")
		}
		ends = runner.Ends{Base: one + "^", Head: one, Parts: ends.Parts}
	}
	if unchanged(w, r, etag(fmt.Append(nil, ends, o))) {
		return nil
	}
	c, err := runner.Compare(r.Context(), s.Project, ends, o)
	if err != nil {
		return err
	}
	hideInDiff(&c.Diff)
	if c.Uncommitted != nil {
		hideInDiff(&c.Uncommitted.Diff)
	}
	return give(w, http.StatusOK, c)
}

// hideInDiff hides what surely is a secret; code that only speaks of one stays
// readable.
func hideInDiff(d *gitops.Diff) {
	for i := range d.Files {
		for j := range d.Files[i].Hunks {
			lines := d.Files[i].Hunks[j].Lines
			for k := range lines {
				lines[k].Text = string(mask([]byte(lines[k].Text), false))
			}
		}
	}
}

// openLog opens a log of a run. No link is followed on the way, inside or out.
func openLog(d *runs.Dir, name string) (*os.File, error) {
	missing := fault.New(fault.NotFound)
	if !fs.ValidPath(name) || name == "." {
		return nil, missing
	}
	root, err := os.OpenRoot(d.Path)
	if err != nil {
		return nil, missing
	}
	defer root.Close()
	at := "logs"
	for part := range strings.SplitSeq(name, "/") {
		if !isDirIn(root, at) {
			return nil, missing
		}
		at += "/" + part
	}
	if fi, err := root.Lstat(at); err != nil || !fi.Mode().IsRegular() {
		return nil, missing
	}
	f, err := root.OpenFile(at, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return nil, missing
	}
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		_ = f.Close()
		return nil, missing
	}
	return f, nil
}
