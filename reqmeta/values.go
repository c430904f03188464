package reqmeta

import (
	"cmp"
	"slices"
	"strings"
)

// fill takes the values out of entries and judges them.
func (r *Request) fill(entries []Entry) {
	status, id := false, false
	priority := false
	for i := range entries {
		e := &entries[i]
		switch e.Key {
		case "id":
			id = e.Kind != NullValue
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
			r.Meta.DependsOn = r.list(e)
			r.checkItems(e, r.Meta.DependsOn, CheckID, "bad_depends_on")
		case "created_at":
			r.Meta.CreatedAt = r.date(e)
		case "updated_at":
			r.Meta.UpdatedAt = r.date(e)
		case "base":
			r.fillBase(e)
		case "touches":
			r.Meta.Touches = r.list(e)
			r.checkItems(e, r.Meta.Touches, checkTouches, "bad_touches")
		case "steps":
			r.fillSteps(e)
		default:
			r.fillUnknown(e)
		}
	}
	r.foreign(entries)
	if !id && r.Mapping.IDs() {
		r.Fail("missing_id", 0)
	}
	if !status {
		r.Fail("missing_status", 0, "key", r.Mapping.Name("status"), "allowed", r.Mapping.allowed("status", Statuses[:]))
	}
	switch {
	case r.SaysOver(): // it comes neither first nor last
		r.Problems = slices.DeleteFunc(r.Problems, aboutPriority)
	case !priority:
		r.Warn("missing_priority", 0, "key", r.Mapping.Name("priority"), "allowed", r.Mapping.allowed("priority", Priorities[:]))
	}
}

func aboutPriority(p Problem) bool { return p.Kind == "missing_priority" || p.Kind == "bad_priority" }

// name is what a key is called in the file.
func (e *Entry) name() string { return cmp.Or(e.Theirs, e.Key) }

// scalar gives the text of a scalar; "" for null.
func (r *Request) scalar(e *Entry) string {
	if e.Kind == ListValue || e.Kind == OtherValue {
		r.Fail("want_scalar", e.Line, "key", e.name())
		return ""
	}
	return e.Text
}

func (r *Request) fillID(e *Entry) {
	id := r.scalar(e)
	r.Meta.ID = id
	switch {
	case e.Kind != ScalarValue:
	case !CheckID(id):
		r.Fail("bad_id", e.Line, append([]any{"value", id}, idRule(id)...)...)
	case r.Mapping.IDs():
		r.ID = id
	case fitsStem(id, r.ID):
		r.ID = id
	default:
		r.Warn("id_mismatch", e.Line, "value", id, "id", r.ID)
	}
}

func (r *Request) fillStatus(e *Entry) {
	r.Meta.Status = r.scalar(e)
	r.checkWritable(e)
	switch {
	case e.Kind == NullValue:
		r.Fail("missing_status", e.Line, "key", e.name(), "allowed", r.Mapping.allowed("status", Statuses[:]))
	case e.Kind == ScalarValue && !slices.Contains(Statuses[:], e.Text):
		r.Fail("bad_status", e.Line, "key", e.name(), "value", e.Text, "allowed", r.Mapping.allowed("status", Statuses[:]), "meant", meantBy(foreignStatus[:], e.Text))
	}
}

// checkWritable refuses a value that a run must change and could not: it does
// not stand behind a `key:` of its own line.
func (r *Request) checkWritable(e *Entry) {
	if e.Start < 0 && e.Kind == ScalarValue {
		r.Fail("unwritable", e.Line, "key", e.name())
	}
}

func (r *Request) fillPriority(e *Entry) {
	r.Meta.Priority = r.scalar(e)
	switch {
	case e.Kind == NullValue:
		r.Warn("missing_priority", e.Line, "key", e.name(), "allowed", r.Mapping.allowed("priority", Priorities[:]))
	case e.Kind == ScalarValue && !slices.Contains(Priorities[:], e.Text):
		r.Warn("bad_priority", e.Line, "key", e.name(), "value", e.Text, "allowed", r.Mapping.allowed("priority", Priorities[:]), "meant", meantBy(foreignPriority[:], e.Text))
	}
}

func (r *Request) fillEstimate(e *Entry) {
	r.Meta.Estimate = r.scalar(e)
	if e.Kind == ScalarValue && !slices.Contains(Estimates[:], e.Text) {
		r.Warn("bad_estimate", e.Line, "value", e.Text, "allowed", Join(Estimates[:]))
	}
}

func (r *Request) fillBase(e *Entry) {
	r.Meta.Base = r.scalar(e)
	if e.Kind == ScalarValue && !checkBase(e.Text) {
		r.Fail("bad_base", e.Line, "value", e.Text)
	}
}

func (r *Request) date(e *Entry) Date {
	text := r.scalar(e)
	if e.Kind != ScalarValue {
		return Date{}
	}
	d, ok := ParseDate(text)
	switch {
	case !ok && e.Theirs != "": // nobody runs by the dates of another tool
		r.Warn("bad_date", e.Line, "key", e.Theirs, "value", text)
		return Date{}
	case !ok:
		r.Fail("bad_date", e.Line, "key", e.name(), "value", text)
		return Date{}
	}
	if Zoneless(text) && e.Theirs == "" {
		r.Warn("date_no_zone", e.Line, "key", e.name(), "value", text)
	}
	r.checkWritable(e)
	return d
}

// list gives the items' texts; a scalar counts as a list of one.
func (r *Request) list(e *Entry) []string {
	switch e.Kind {
	case NullValue:
		return nil
	case OtherValue:
		r.Fail("want_list", e.Line, "key", e.name())
		return nil
	case ScalarValue:
		if strings.HasPrefix(e.Text, "[") {
			r.Fail("want_list", e.Line, "key", e.name())
			return nil
		}
		if e.Theirs == "" {
			r.Warn("scalar_list", e.Line, "key", e.name(), "value", e.Text)
		}
		return []string{e.Text}
	}
	if len(e.Items) == 0 {
		return nil
	}
	list := make([]string, 0, len(e.Items))
	for _, it := range e.Items {
		if !it.Scalar {
			r.Fail("want_list", it.line, "key", e.name())
			return nil
		}
		list = append(list, it.Text)
	}
	return list
}

func (r *Request) checkItems(e *Entry, items []string, isGood func(string) bool, kind string) {
	for i, item := range items {
		if isGood(item) {
			continue
		}
		line := e.Line
		if i < len(e.Items) {
			line = e.Items[i].line
		}
		facts := []any{"value", item}
		if kind == "bad_depends_on" {
			facts = append(facts, idRule(item)...)
		}
		r.Fail(kind, line, facts...)
	}
}

// foreign judges the keys that other tools use for ours, once our own are known.
func (r *Request) foreign(entries []Entry) {
	has := func(key string) bool { return slices.ContainsFunc(entries, func(e Entry) bool { return e.Key == key }) }
	for i := range entries {
		e := &entries[i]
		if slices.Contains(knownKeys[:], e.Key) {
			continue
		}
		if e.beside != "" {
			r.Warn("both_keys", e.Line, "key", e.Key, "near", e.beside)
			continue
		}
		own := meantBy(foreignKeys[:], e.Key)
		if own == "" && typo(e.Key) == "depends_on" {
			own = "depends_on"
		}
		if own != "" {
			r.fillForeign(e, own, has)
		}
	}
}

func (r *Request) fillUnknown(e *Entry) {
	if near := typo(e.Key); near != "" && e.beside == "" && near != "depends_on" && meantBy(foreignKeys[:], e.Key) == "" {
		r.Warn("typo_key", e.Line, "key", e.Key, "near", near)
	}
	if e.Kind == ScalarValue {
		if r.Meta.Unknown == nil {
			r.Meta.Unknown = map[string]string{}
		}
		r.Meta.Unknown[e.Key] = e.Text
	}
}

func (r *Request) fillSteps(e *Entry) {
	switch e.Kind {
	case NullValue:
		return
	case ListValue:
	default:
		r.Fail("want_steps", e.Line)
		return
	}
	for _, it := range e.Items {
		if !it.mapping {
			r.Fail("want_steps", it.line)
			return
		}
		if s, ok := r.step(it); ok {
			r.Meta.Steps = append(r.Meta.Steps, s)
		}
	}
}

func (r *Request) step(it Item) (s Step, ok bool) {
	for _, p := range it.pairs {
		if !p.scalar {
			r.Fail("want_scalar", p.line, "key", p.key)
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
			r.Warn("step_key", p.line, "key", p.key)
		}
	}
	if strings.TrimSpace(s.Title) == "" {
		r.Fail("step_title", it.line)
		return s, false
	}
	return s, true
}
