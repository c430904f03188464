package server

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiflow/internal/fault"
	"aiflow/messages"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
	"aiflow/reqmeta/edit"
	"aiflow/runs"
)

// item is a request in the list.
type item struct {
	ID       string            `json:"id"`
	Path     string            `json:"path"`
	Title    string            `json:"title"`
	Meta     reqmeta.Meta      `json:"meta"`
	Derived  derived           `json:"derived"`
	Problems []reqmeta.Problem `json:"problems"`
}

// derived is what follows from all files, the locks and the runs.
type derived struct {
	QueueEligible bool           `json:"queue_eligible"`
	Rank          *int           `json:"rank"` // place among those that can run, from 1
	Why           *why           `json:"why"`  // not
	BlockedBy     []string       `json:"blocked_by"`
	StackedOn     []string       `json:"stacked_on,omitempty"` // not merged: a run would start on top of these
	Locked        *choose.Holder `json:"locked"`
	LatestRun     *runItem       `json:"latest_run"`
	LastRuns      []string       `json:"last_runs,omitempty"` // what they came to, the oldest first
}

type why struct {
	ReasonCode fault.Code `json:"reason_code"`
	Title      string     `json:"title"` // of what it is about in the end: why its run stopped, say
	Detail     string     `json:"detail"`

	Advice []fault.Advice `json:"advice,omitempty"` // what can be done now; not in lists
}

// runItem is a run in a list.
type runItem struct {
	RequestID     string         `json:"request_id"`
	RunID         string         `json:"run_id"`
	State         runs.State     `json:"state"`
	ReasonCode    *string        `json:"reason_code"`
	Interrupted   bool           `json:"interrupted"` // not ended, and nobody works for it
	AwaitsMerge   bool           `json:"awaits_merge"`
	Stale         string         `json:"stale,omitempty"`       // the request on which it stands and that is no longer what it was
	LandFailed    string         `json:"land_failed,omitempty"` // the branch on top of which its tests failed in a landing
	StackedOn     []string       `json:"stacked_on,omitempty"`  // requests
	Title         string         `json:"title"`
	WorkBranch    string         `json:"work_branch"`
	BaseBranch    string         `json:"base_branch"`
	StartedAt     time.Time      `json:"started_at"`
	FinishedAt    *time.Time     `json:"finished_at"`
	ReplacedBy    *string        `json:"replaced_by"`
	Replaces      *string        `json:"replaces"`
	DroppedAt     *time.Time     `json:"dropped_at"`
	CurrentStepID string         `json:"current_step_id"`
	Percent       int            `json:"percent"`
	Worked        *int64         `json:"worked_ms,omitempty"` // in the list of its runs
	Warnings      []runs.Warning `json:"warnings"`
	Usage         *runs.Usage    `json:"usage,omitempty"`
}

type list struct {
	Items []item `json:"items"`
	listHead
}

// listHead is what a list says besides its items.
type listHead struct {
	Next  *string           `json:"next"`
	Stats choose.Stats      `json:"stats"`
	Queue choose.QueueState `json:"queue"`

	Revision string `json:"revision,omitempty"` // to ask later what changed since then
	// Only where just what changed is told: since what, where each item stands now, and the paths of those that are gone.
	Since  string   `json:"since,omitempty"`
	Places []int    `json:"places,omitempty"`
	Gone   []string `json:"gone,omitempty"`
}

func (sn *snapshot) item(r *reqmeta.Request, words *messages.Catalog) item {
	problems := append([]reqmeta.Problem{}, r.Problems...)
	reqmeta.DescribeProblems(problems, words.Text)
	d := derived{BlockedBy: choose.BlockedBy(sn.folder, r, sn.done), Locked: sn.facts.Holder(r.ID)}
	if rank, ok := sn.rank[r.Path]; ok {
		d.QueueEligible, d.Rank = true, &rank
		for _, on := range sn.sel.Runnable[rank-1].StackedOn {
			d.StackedOn = append(d.StackedOn, on.RequestID)
		}
	}
	if i, ok := sn.excluded[r.Path]; ok {
		e := sn.sel.Excluded[i]
		e.Describe(words.Text)
		about := e.ReasonCode
		if code := fault.Code(e.Fact("reason")); code.Known() {
			about = code
		}
		d.Why = &why{ReasonCode: e.ReasonCode, Title: sn.title(about, words), Detail: e.Detail}
	}
	if st := sn.latest[r.ID]; st != nil {
		run := sn.run(st, sn.standing)
		d.LatestRun, d.LastRuns = &run, append(slices.Clone(sn.before[r.ID]), outcomeOf(st, d.Locked != nil))
	}
	return item{ID: r.ID, Path: r.Path, Title: r.Title(), Meta: r.Meta, Derived: d, Problems: problems}
}

// title is that of a code, made once and not for each of ten thousand requests.
func (sn *snapshot) title(code fault.Code, words *messages.Catalog) string {
	key := [2]string{words.Lang(), string(code)}
	title, ok := sn.titles.Load(key)
	if !ok {
		title, _ = sn.titles.LoadOrStore(key, words.Code(code, nil).Title)
	}
	return title.(string)
}

// run is a run and how it stands, which is asked only of one that may wait to be merged.
func (sn *snapshot) run(st *runs.Stage, standing func() *project.Standing) runItem {
	holder := sn.facts.Holder(st.RequestID)
	awaits := sn.awaits(st, standing)
	item := runItem{
		RequestID: st.RequestID, RunID: st.RunID, State: st.State, ReasonCode: orNil(st.ReasonCode()),
		Interrupted: !st.State.Ended() && holder == nil, AwaitsMerge: awaits, StackedOn: st.Git.Below(),
		Title: st.Title, WorkBranch: st.Git.WorkBranch, BaseBranch: st.Git.BaseBranch,
		StartedAt: st.StartedAt, FinishedAt: st.EndedAt, ReplacedBy: orNil(st.ReplacedBy), Replaces: orNil(st.Replaces), DroppedAt: st.DroppedAt,
		CurrentStepID: st.CurrentStepID, Percent: st.Progress.Percent, Warnings: st.Warnings(), Usage: st.Usage(),
	}
	if !awaits {
		return item
	}
	item.Stale = sn.p.StaleOn(st, sn.branches).On
	if failed := project.LandFailed(context.Background(), sn.p, st, sn.branches); failed != nil {
		item.LandFailed = failed.Into
	}
	return item
}

func listRequests(s *Server, w http.ResponseWriter, r *http.Request) error {
	sn, err := s.look(r.Context())
	if err != nil {
		return err
	}
	q := r.URL.Query()
	f := filter{status: words(q["status"]), priority: words(q["priority"]), label: words(q["label"]), text: strings.Fields(strings.ToLower(q.Get("q")))}
	if len(f.status)+len(f.priority)+len(f.label)+len(f.text) > 0 {
		l := list{Items: []item{}, listHead: sn.listHead()}
		for _, req := range choose.Order(sn.folder) {
			if f.passes(req) && sn.says(req, f.text) {
				l.Items = append(l.Items, sn.item(req, s.words(r)))
			}
		}
		return giveTagged(w, r, l)
	}
	if text := r.URL.Query().Get("first"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return invalid("first")
		}
		if n < len(sn.folder.Requests) {
			return giveTagged(w, r, sn.beginning(s.words(r), n))
		}
	}
	now, err := s.listing(sn, s.words(r))
	if err != nil {
		return err
	}
	answer, since := now.all, r.URL.Query().Get("since")
	s.mu.Lock()
	if i := slices.IndexFunc(s.past, func(p pastListing) bool { return p.revision == since }); i >= 0 {
		old := s.past[i]
		answer = func() ([]byte, error) { return now.since(old) }
	}
	s.mu.Unlock()
	data, err := answer()
	if err == nil && !unchanged(w, r, `"`+now.head.Revision+`"`) {
		send(w, http.StatusOK, data)
	}
	return err
}

// filter is what a caller wants to see; an empty field is no wish.
type filter struct {
	status, priority, label []string
	text                    []string // each of these words is in it
}

// words takes both ?a=x&a=y and ?a=x,y.
func words(values []string) []string {
	var all []string
	for _, v := range values {
		for one := range strings.SplitSeq(v, ",") {
			if one = strings.TrimSpace(one); one != "" {
				all = append(all, one)
			}
		}
	}
	return all
}

func (f filter) passes(r *reqmeta.Request) bool {
	among := func(wanted []string, has ...string) bool {
		return len(wanted) == 0 || slices.ContainsFunc(has, func(h string) bool { return slices.Contains(wanted, h) })
	}
	return among(f.status, r.Meta.Status) && among(f.priority, r.Meta.Priority) && among(f.label, r.Meta.Labels...)
}

// says whether each word is in what is known of a request, or in its file.
func (sn *snapshot) says(r *reqmeta.Request, words []string) bool {
	missing := func(text string) bool {
		text = strings.ToLower(text)
		return slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	}
	known := r.ID + "\n" + r.Title() + "\n" + r.Path
	if st := sn.latest[r.ID]; st != nil {
		known += "\n" + st.ReasonCode()
	}
	if i, ok := sn.excluded[r.Path]; ok {
		known += "\n" + string(sn.sel.Excluded[i].ReasonCode)
	}
	if !missing(known) {
		return true
	}
	data, err := sn.folder.Read(r)
	return err == nil && !missing(known+"\n"+string(data))
}

func queueNext(s *Server, w http.ResponseWriter, r *http.Request) error {
	sn, err := s.look(r.Context())
	if err != nil {
		return err
	}
	return give(w, http.StatusOK, sn.selection(s.words(r)))
}

// selection is the answer to "what is next?" in words.
func (sn *snapshot) selection(words *messages.Catalog) choose.Result {
	sel := sn.sel
	sel.Excluded, sel.Warnings = slices.Clone(sel.Excluded), slices.Clone(sel.Warnings)
	sel.Describe(words.Text)
	return sel
}

func showGraph(s *Server, w http.ResponseWriter, r *http.Request) error {
	sn, err := s.look(r.Context())
	if err != nil {
		return err
	}
	return giveTagged(w, r, choose.Graph(sn.folder, sn.facts))
}

// newRequest is the body of POST /api/requests.
type newRequest struct {
	Title     string   `json:"title"`
	Priority  string   `json:"priority"`
	Template  string   `json:"template"`
	Status    string   `json:"status"`
	Labels    []string `json:"labels"`
	DependsOn []string `json:"depends_on"`
	Estimate  string   `json:"estimate"`
	Body      string   `json:"body_markdown"`
}

func createRequest(s *Server, w http.ResponseWriter, r *http.Request, n newRequest) error {
	switch {
	case strings.TrimSpace(n.Title) == "":
		return invalid("title")
	case n.Template != "" && n.Template != reqmeta.TemplateName:
		return invalid("template", "allowed", reqmeta.TemplateName)
	case n.Status == reqmeta.Running:
		return runningByHand("")
	}
	p := s.Project
	made, err := edit.Create(p.Env.Disk, p.Dir, p.RequestsDir(), edit.NewRequest{
		Mapping: p.Mapping(),
		Title:   n.Title, Priority: n.Priority, Status: n.Status, Labels: n.Labels, DependsOn: n.DependsOn,
		Estimate: n.Estimate, Lang: s.language(r), Body: n.Body, Used: p.UsedIDs(r.Context()),
	}, p.Now())
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/api/requests/"+url.PathEscape(made.ID))
	return give(w, http.StatusCreated, struct {
		ID   string `json:"id"`
		Path string `json:"path"`
	}{made.ID, made.Path})
}
