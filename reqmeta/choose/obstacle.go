package choose

import (
	"maps"
	"strconv"

	"aiflow/internal/fault"
	"aiflow/reqmeta"
)

// Obstacle is what lies in a request, its base, its branch, its workspace or the
// record of its run, or in the configuration, and keeps it from being run until
// somebody mends it. Several requests may share one.
type Obstacle struct {
	Name string       // of the question that found it
	Kind string       // its sentence is "excluded.<Kind>"; "" is "excluded.kept", around what Err says
	Err  *fault.Error // what a run is refused with
	Line func() int   // where in the request's file it stands; nil: it does not stand there
}

// Kinds of obstacles that have sentences of their own.
const (
	BaseMissing = "base_missing"
	BaseUnclear = "base_unclear"
)

// KeptBy is the exclusion of a request by an obstacle.
func KeptBy(r *reqmeta.Request, o *Obstacle) Exclusion {
	kind := o.Kind
	if kind == "" {
		kind = "kept"
	}
	e := exclude(r, o.Err.Code, kind)
	e.kept, e.Precondition = o, o.Name
	return e
}

// Obstacle is why the request cannot be run before something is mended; nil
// where the reason is another.
func (e *Exclusion) Obstacle() *Obstacle { return e.kept }

// NeedsMending: no run and no merge takes the reason away, only somebody who mends
// something.
func (e *Exclusion) NeedsMending() bool {
	return e.kept != nil || e.ReasonCode == fault.DependsNotFound || e.ReasonCode == fault.DependsCycle
}

func (e *Exclusion) tellKept() {
	o := e.kept
	for name, value := range o.Err.Facts {
		if e.Facts[name] == "" {
			e.Facts[name] = value
		}
	}
	if o.Line != nil {
		if e.Line = o.Line(); e.Line > 0 {
			e.Facts["line"] = strconv.Itoa(e.Line)
		}
	}
	e.sub = &sentence{"why", "codes." + string(o.Err.Code), o.Refusal(e.RequestID, e.Path).Facts}
}

// Refusal is what a run of that request is refused with.
func (o *Obstacle) Refusal(id, path string) *fault.Error {
	f := &fault.Error{Code: o.Err.Code, Facts: maps.Clone(o.Err.Facts), Err: o.Err.Err}
	for name, value := range map[string]string{"request_id": id, "id": id, "path": path} {
		if f.Facts[name] == "" {
			f.Facts[name] = value
		}
	}
	return f
}

// Fault is the exclusion as what a run is refused with.
func (e *Exclusion) Fault(text func(key string, f fault.Facts) string) error {
	if e.kept != nil {
		return e.kept.Refusal(e.RequestID, e.Path)
	}
	e.Describe(text)
	return fault.New(e.ReasonCode, "request_id", e.RequestID, "id", e.RequestID, "detail", e.Detail,
		"value", e.Detail, "cause", e.Detail, "paths", e.Detail, "path", e.Path, "line", e.Line)
}
