package choose

import (
	"cmp"
	"maps"
	"time"

	"aiflow/internal/fault"
	"aiflow/reqmeta"
)

// Holder is who holds a lock.
type Holder struct {
	RunID    string    `json:"run_id"`
	Host     string    `json:"host"`
	Hostname string    `json:"hostname"`
	PID      int       `json:"pid"`
	Since    time.Time `json:"since"`
	Until    time.Time `json:"until"`

	Unreadable bool `json:"-"` // the lock's file is; who holds it is not known, if anybody does
}

// LatestRun is what the newest run of a request came to.
type LatestRun struct {
	RunID      string
	State      string // stage.json's state: DONE, NEEDS_INPUT, …
	ReasonCode fault.Code
	WorkBranch string
	Unmerged   bool     // the work branch still exists and is not merged
	Stacked    bool     // it began on top of what was not merged
	On         []string // the requests on which one that has not ended began
	Again      bool     // it can be moved to where that one is now
	Stale      string   // the request on which it stands and that changed since; "" is none
	Fails      string   // the branch on top of which a landing's tests failed with it; "" is none
	Landed     string   // the branch on which it was landed, and which has it; "" is none
}

// Stopped reports whether the run can be resumed.
func (r *LatestRun) Stopped() bool { return r.State == "NEEDS_INPUT" || r.State == "FAILED" }

// Facts is what selection needs to know besides the files. A nil func knows
// nothing.
type Facts struct {
	Queue     *Holder
	Locked    func(id string) *Holder
	LatestRun func(id string) *LatestRun
	Concerned []string        // ids of which Locked and LatestRun may know something; nil: of any
	Undone    map[string]bool // ids that count as not done yet, whatever their files say
	Bases     func() *Bases
	Stack     *Stacking                  // nil: a dependency is met by what is merged alone
	Merge     func(branch string) string // the command that takes over a branch; nil is git's own
	// Obstacles gives the question what keeps a request from being run, whose
	// answer is nil for nothing.
	Obstacles func() func(r *reqmeta.Request) *Obstacle
}

// Choice is a request that may run.
type Choice struct {
	RequestID string           `json:"request_id"`
	Priority  string           `json:"priority"`
	Status    string           `json:"status"`
	Title     string           `json:"title"`
	Path      string           `json:"path"`
	Base      string           `json:"base,omitempty"`       // from which it would start, where that is not what is checked out
	StackedOn []OnTop          `json:"stacked_on,omitempty"` // not merged: it would start on top of these
	Request   *reqmeta.Request `json:"-"`
}

// Stats are the three numbers of the seed's answer.
type Stats struct {
	Total    int `json:"total"`
	Ready    int `json:"ready"`
	Runnable int `json:"runnable"`
}

// Exclusion says why one request is not runnable: the first reason that
// applies. Its sentence is the message "excluded.<Kind>". Select leaves Facts to
// Describe and Fact, because most exclusions are counted and never told.
type Exclusion struct {
	RequestID  string     `json:"request_id"`
	ReasonCode fault.Code `json:"reason_code"`
	Detail     string     `json:"detail"`
	// Precondition is the one that does not hold, "" where the reason is another:
	// somebody must mend something before the request can be run.
	Precondition string      `json:"precondition,omitempty"`
	Kind         string      `json:"-"`
	Facts        fault.Facts `json:"-"`
	Path         string      `json:"-"`
	Line         int         `json:"-"`

	sub  *sentence // one that goes into this one
	lazy lazy
	kept *Obstacle

	merge   func(branch string) string
	stacked bool // its last run began on top of what was not merged
}

// sentence is a fact that is a sentence itself.
type sentence struct {
	name string // of the fact: "problem" or "state"
	key  string
	with fault.Facts
}

// lazy is what Facts are made of when somebody asks.
type lazy struct {
	r     *reqmeta.Request // nil: Facts are there
	pairs []string         // names and values in turn
	waits []string         // ids, of one that waits
	why   *root            // of one that waits
	lost  *lost            // of one that depends on nothing; nil: nobody asks what was meant

	stopped bool       // run may be why
	run     *LatestRun // of one that is blocked or waits for a person
}

// Fact gives one fact; "" when there is none of that name.
func (e *Exclusion) Fact(name string) string {
	e.tell()
	return e.Facts[name]
}

// tell makes the facts.
func (e *Exclusion) tell() {
	l := e.lazy
	if l.r == nil {
		return
	}
	e.lazy = lazy{}
	e.Facts = make(fault.Facts, 5)
	e.Facts["id"], e.Facts["path"] = l.r.ID, l.r.Path
	for i := 0; i+1 < len(l.pairs); i += 2 {
		e.Facts[l.pairs[i]] = l.pairs[i+1]
	}
	if l.stopped {
		e.tellStopped(l)
	}
	if l.lost != nil {
		e.Facts["meant"] = l.lost.meant(l.r.ID)
	}
	if l.waits != nil {
		e.tellWait(l)
	}
	if e.kept != nil {
		e.tellKept()
	}
}

// tellStopped says why one is blocked, and which run of it stopped; what can be
// done about that one says itself.
func (e *Exclusion) tellStopped(l lazy) {
	if l.run == nil {
		return
	}
	e.Facts["reason"] = string(l.run.ReasonCode)
	e.stacked = l.run.Stacked
	if !l.run.Stopped() {
		return
	}
	e.Facts["run_id"] = cmp.Or(l.run.RunID, l.r.ID)
}

func (e *Exclusion) tellWait(l lazy) {
	e.Facts["ids"], e.Facts["root"], e.Facts["reason"] = reqmeta.Join(l.waits), l.why.id, l.why.with["reason"]
	e.sub = &sentence{"state", "excluded.state_" + l.why.kind, fault.Facts{"root": l.why.id}}
	maps.Copy(e.sub.with, l.why.with)
	if l.why.kind == "unmerged" {
		e.sub.with["merge"] = e.merges(l.why.with["branch"])
	}
}

// QueueState tells whether a queue run is going on. It excludes nobody.
type QueueState struct {
	Locked     bool       `json:"locked"`
	Holder     *Holder    `json:"holder"`
	ReasonCode fault.Code `json:"reason_code,omitempty"` // QUEUE_LOCKED while it is locked
}

// Result is the answer to "what is next?" (seed D59, section 8.2).
type Result struct {
	Next     *Choice           `json:"next"`
	Stats    Stats             `json:"stats"`
	Excluded []Exclusion       `json:"excluded"`
	Queue    QueueState        `json:"queue"`
	Warnings []reqmeta.Problem `json:"warnings"`
	Runnable []Choice          `json:"-"` // in the order in which they would be chosen
}

// Describe fills Detail of every exclusion and Message of every warning from
// the sentences "excluded.<kind>" and "problem.<kind>".
func (r *Result) Describe(text func(key string, f fault.Facts) string) {
	for i := range r.Excluded {
		r.Excluded[i].Describe(text)
	}
	reqmeta.DescribeProblems(r.Warnings, text)
}

// Describe fills Detail.
func (e *Exclusion) Describe(text func(key string, f fault.Facts) string) {
	list := e.Advise("") // tells the facts
	f := fault.WithAdvice(e.Facts, list)
	if e.sub != nil {
		f[e.sub.name] = text(e.sub.key, e.sub.with)
	}
	e.Detail = text("excluded."+e.Kind, f)
}
