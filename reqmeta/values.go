package reqmeta

import (
	"slices"
	"strings"
)

// fill takes the values out of entries and judges them.
func (r *Request) fill(entries []entry) {
	status := false
	priority := false
	for i := range entries {
		e := &entries[i]
		switch e.key {
		case "id":
			r.fillID(e)
		case "title":
			r.Meta.Title = r.scalar(e)
		case "status":
			status = true
			r.fillStatus(e)
		case "priority":
			priority = true
			r.fillPriority(e)
		case "estimate":
			r.fillEstimate(e)
		case "labels":
			r.Meta.Labels = r.list(e)
		case "depends_on":
			r.fillDependsOn(e)
		case "created_at":
			r.Meta.CreatedAt = r.date(e)
		case "updated_at":
			r.Meta.UpdatedAt = r.date(e)
		case "base":
			r.fillBase(e)
		case "steps":
			r.fillSteps(e)
		default:
			r.fillUnknown(e)
		}
	}
	r.foreign(entries)
	if !status {
		r.fail("missing_status", 0, "allowed", join(Statuses[:]))
	}
	switch {
	case r.SaysOver(): // it comes neither first nor last
		r.Problems = slices.DeleteFunc(r.Problems, aboutPriority)
	case !priority:
		r.warn("missing_priority", 0, "allowed", join(Priorities[:]))
	}
}

func aboutPriority(p Problem) bool { return p.Kind == "missing_priority" || p.Kind == "bad_priority" }

// scalar gives the text of a scalar; "" for null.
func (r *Request) scalar(e *entry) string {
	if e.kind == listValue || e.kind == otherValue {
		r.fail("want_scalar", e.line, "key", e.key)
		return ""
	}
	return e.text
}

func (r *Request) fillID(e *entry) {
	id := r.scalar(e)
	r.Meta.ID = id
	switch {
	case e.kind != scalarValue:
	case !CheckID(id):
		r.fail("bad_id", e.line, "value", id)
	case fitsStem(id, r.ID):
		r.ID = id
	default:
		r.warn("id_mismatch", e.line, "value", id, "id", r.ID)
	}
}

func (r *Request) fillStatus(e *entry) {
	r.Meta.Status = r.scalar(e)
	r.checkWritable(e)
	switch {
	case e.kind == nullValue:
		r.fail("missing_status", e.line, "allowed", join(Statuses[:]))
	case e.kind == scalarValue && !slices.Contains(Statuses[:], e.text):
		r.fail("bad_status", e.line, "value", e.text, "allowed", join(Statuses[:]), "meant", meantBy(foreignStatus[:], e.text))
	}
}

// checkWritable refuses a value that a run must change and could not: it does
// not stand behind a `key:` of its own line.
func (r *Request) checkWritable(e *entry) {
	if e.start < 0 && e.kind == scalarValue {
		r.fail("unwritable", e.line, "key", e.key)
	}
}

func (r *Request) fillPriority(e *entry) {
	r.Meta.Priority = r.scalar(e)
	switch {
	case e.kind == nullValue:
		r.warn("missing_priority", e.line, "allowed", join(Priorities[:]))
	case e.kind == scalarValue && !slices.Contains(Priorities[:], e.text):
		r.warn("bad_priority", e.line, "value", e.text, "allowed", join(Priorities[:]), "meant", meantBy(foreignPriority[:], e.text))
	}
}

func (r *Request) fillEstimate(e *entry) {
	r.Meta.Estimate = r.scalar(e)
	if e.kind == scalarValue && !slices.Contains(Estimates[:], e.text) {
		r.warn("bad_estimate", e.line, "value", e.text, "allowed", join(Estimates[:]))
	}
}

func (r *Request) fillBase(e *entry) {
	r.Meta.Base = r.scalar(e)
	if e.kind == scalarValue && !checkBase(e.text) {
		r.fail("bad_base", e.line, "value", e.text)
	}
}

func (r *Request) date(e *entry) Date {
	text := r.scalar(e)
	if e.kind != scalarValue {
		return Date{}
	}
	d, ok := parseDate(text)
	if !ok {
		r.fail("bad_date", e.line, "key", e.key, "value", text)
		return Date{}
	}
	if zoneless(text) {
		r.warn("date_no_zone", e.line, "key", e.key, "value", text)
	}
	r.checkWritable(e)
	return d
}

// list gives the items' texts; a scalar counts as a list of one.
func (r *Request) list(e *entry) []string {
	switch e.kind {
	case nullValue:
		return nil
	case otherValue:
		r.fail("want_list", e.line, "key", e.key)
		return nil
	case scalarValue:
		if strings.HasPrefix(e.text, "[") {
			r.fail("want_list", e.line, "key", e.key)
			return nil
		}
		r.warn("scalar_list", e.line, "key", e.key, "value", e.text)
		return []string{e.text}
	}
	if len(e.items) == 0 {
		return nil
	}
	list := make([]string, 0, len(e.items))
	for _, it := range e.items {
		if !it.scalar {
			r.fail("want_list", it.line, "key", e.key)
			return nil
		}
		list = append(list, it.text)
	}
	return list
}

func (r *Request) fillDependsOn(e *entry) {
	r.Meta.DependsOn = r.list(e)
	for i, id := range r.Meta.DependsOn {
		if CheckID(id) {
			continue
		}
		line := e.line
		if i < len(e.items) {
			line = e.items[i].line
		}
		r.fail("bad_depends_on", line, "value", id)
	}
}

// foreign judges the keys that other tools use for ours, once our own are known.
func (r *Request) foreign(entries []entry) {
	has := func(key string) bool { return slices.ContainsFunc(entries, func(e entry) bool { return e.key == key }) }
	for i := range entries {
		e := &entries[i]
		if slices.Contains(knownKeys[:], e.key) {
			continue
		}
		own := meantBy(foreignKeys[:], e.key)
		if own == "" && typo(e.key) == "depends_on" {
			own = "depends_on"
		}
		if own != "" {
			r.fillForeign(e, own, has)
		}
	}
}

func (r *Request) fillUnknown(e *entry) {
	if near := typo(e.key); near != "" && near != "depends_on" && meantBy(foreignKeys[:], e.key) == "" {
		r.warn("typo_key", e.line, "key", e.key, "near", near)
	}
	if e.kind == scalarValue {
		if r.Meta.Unknown == nil {
			r.Meta.Unknown = map[string]string{}
		}
		r.Meta.Unknown[e.key] = e.text
	}
}

func (r *Request) fillSteps(e *entry) {
	switch e.kind {
	case nullValue:
		return
	case listValue:
	default:
		r.fail("want_steps", e.line)
		return
	}
	for _, it := range e.items {
		if !it.mapping {
			r.fail("want_steps", it.line)
			return
		}
		if s, ok := r.step(it); ok {
			r.Meta.Steps = append(r.Meta.Steps, s)
		}
	}
}

func (r *Request) step(it item) (s Step, ok bool) {
	for _, p := range it.pairs {
		if !p.scalar {
			r.fail("want_scalar", p.line, "key", p.key)
			return s, false
		}
		switch p.key {
		case "title":
			s.Title = p.text
		case "run":
			s.Run = p.text
		case "test":
			s.Test = p.text
		default:
			r.warn("step_key", p.line, "key", p.key)
		}
	}
	if strings.TrimSpace(s.Title) == "" {
		r.fail("step_title", it.line)
		return s, false
	}
	return s, true
}
