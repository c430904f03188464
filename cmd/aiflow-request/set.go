package main

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/internal/fault"
	"aiflow/locks"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
	"aiflow/reqmeta/edit"
	"aiflow/reqmeta/folder"
)

// set changes the same values in each request that is named. No file is changed
// where one of the names is of no request.
func set(s *cli.Shell, args []string) error {
	first := slices.IndexFunc(args, func(arg string) bool { return strings.Contains(arg, "=") })
	switch {
	case first == 0:
		return cli.Usage("missing_argument", "name", "ID", "command", "aiflow-request set")
	case first < 0: // what stands last is meant as one
		first = len(args) - 1
	}
	v, err := open(s)
	if err != nil {
		return err
	}
	var chosen []*reqmeta.Request
	for _, name := range args[:first] {
		r, err := app.Find(v.p, v.survey.Folder, name)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(chosen, func(c *reqmeta.Request) bool { return c.Path == r.Path }) {
			chosen = append(chosen, r)
		}
	}
	var items []item
	for i, r := range chosen {
		if i > 0 { // what was set before may decide about rings
			if err := v.look(); err != nil {
				return err
			}
			if r, err = v.survey.Folder.Get(r.Path); err != nil {
				return err
			}
		}
		it, err := v.setOne(r, args[first:])
		if err != nil {
			return err
		}
		items = append(items, it)
	}
	switch {
	case !v.JSON:
		return nil
	case len(items) == 1:
		return v.PrintJSON(items[0])
	}
	return v.PrintJSON(struct {
		Items []item `json:"items"`
	}{items})
}

func (v *view) setOne(r *reqmeta.Request, pairs []string) (item, error) {
	values, keys, err := parsePairs(pairs)
	if err != nil {
		return item{}, err
	}
	if values["status"] == reqmeta.Running {
		return item{}, fault.New(fault.UsageError, "id", r.ID, "cause_key", "request.running_by_hand")
	}
	if ids, ok := reqmeta.ListItems(values["depends_on"]); ok && len(ids) > 0 {
		values["depends_on"] = strings.Join(wholeIn(v.survey.Folder, ids), ",")
	}
	if err := v.refuseRing(r, values); err != nil {
		return item{}, readable(err)
	}
	if _, asked := values["status"]; asked {
		release, err := v.claim(r.ID)
		if err != nil {
			return item{}, err
		}
		defer release()
	}
	before, after, err := edit.Update(v.p.Env.Disk, v.p.Dir, r.Path, values, v.p.Now(), v.p.Suffix())
	if err != nil {
		return item{}, readable(err)
	}
	v.warnStopped(r, after)
	return v.printSet(r, before, after, keys)
}

// warnStopped: a request that is ready again is passed over all the same while
// its latest run needs a person.
func (v *view) warnStopped(r *reqmeta.Request, after []byte) {
	folder := folder.NewFolder(v.p.RequestsDir(), []*reqmeta.Request{reqmeta.Parse(r.Path, after)})
	if e, _ := choose.Judge(folder, v.survey.Facts, r.ID); e.ReasonCode == fault.LatestRunNeedsInput {
		e.Describe(v.Catalog().Text)
		v.Warn("request.set_stopped", fault.Facts{"id": r.ID, "value": e.Detail})
	}
}

// parsePairs reads KEY=VALUE arguments.
func parsePairs(pairs []string) (values map[string]string, keys []string, err error) {
	values = map[string]string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		key = known(key)
		if _, twice := values[key]; !ok || key == "" || twice {
			return nil, nil, cli.Usage("bad_value", "name", "KEY=VALUE", "value", pair, "allowed", "status=ready priority=P1 …")
		}
		values[key], keys = value, append(keys, key)
	}
	return values, keys, nil
}

// known lets a person write depends-on, as the flag of new is called. A key
// of somebody else keeps its name.
func known(key string) string {
	switch key {
	case "depends-on", "created-at", "updated-at":
		return strings.ReplaceAll(key, "-", "_")
	}
	return key
}

// claim holds the lock of the request while its status changes, so that no run
// begins meanwhile. A running one is left alone. Where no lock can be written,
// no run can begin either.
func (v *view) claim(id string) (release func(), err error) {
	if err := v.refuseRunning(id); err != nil {
		return nil, err
	}
	if _, err := os.Stat(v.p.Path(v.p.Config.Paths.LocksDir)); err != nil {
		return func() {}, nil // nothing has ever run here
	}
	m, err := v.p.Locks()
	if err != nil {
		return nil, err
	}
	lease, err := m.AcquireRequest(context.Background(), id, locks.Ask{Wait: 2 * time.Second})
	switch {
	case err == nil:
		return func() { _ = lease.Release() }, nil
	case fault.Has(err, fault.PathNotWritable):
		return func() {}, nil
	}
	return nil, err
}

// refuseRunning leaves a request alone that runs now.
func (v *view) refuseRunning(id string) error {
	h := v.survey.Facts.Holder(id)
	if h == nil {
		return nil
	}
	return fault.New(fault.RunInProgress, "request_id", id, "run_id", h.RunID, "pid", h.PID,
		"host", h.Hostname, "since", h.Since.Format(time.RFC3339), "until", h.Until.Format(time.RFC3339))
}

// refuseRing looks at what the request would be: new dependencies must not
// close a ring. Those that do not exist are told of and allowed.
func (v *view) refuseRing(r *reqmeta.Request, values map[string]string) error {
	if _, asked := values["depends_on"]; !asked {
		return nil
	}
	data, err := v.survey.Folder.Read(r)
	if err != nil {
		return err
	}
	if data, err = edit.SetValues(r.Path, data, values, v.p.Now()); err != nil {
		return err
	}
	changed := reqmeta.Parse(r.Path, data)
	list := slices.Clone(v.survey.Folder.Requests)
	list[slices.Index(list, r)] = changed
	would := folder.NewFolder(v.p.RequestsDir(), list)
	if e, _ := choose.JudgeNamed(would, choose.Facts{}, changed.ID); e.ReasonCode == fault.DependsCycle && !v.inRing(r.ID) {
		return fault.New(fault.DependsCycle, "id", r.ID, "value", e.Facts["ring"])
	}
	warnMissing(v.Shell, v.p, changed)
	return nil
}

// inRing reports whether the request is in a ring already: then it may be taken
// out step by step.
func (v *view) inRing(id string) bool {
	e, _ := choose.JudgeNamed(v.survey.Folder, choose.Facts{}, id)
	return e.ReasonCode == fault.DependsCycle
}

func (v *view) printSet(r *reqmeta.Request, before, after []byte, keys []string) (item, error) {
	old, now := reqmeta.Parse(r.Path, before), reqmeta.Parse(r.Path, after)
	if v.JSON {
		if err := v.look(); err != nil {
			return item{}, err
		}
		found, err := v.survey.Folder.Get(r.Path)
		if err != nil {
			return item{}, err
		}
		return v.item(found), nil
	}
	for _, key := range keys {
		was, is := cmp.Or(valueOf(old.Meta, key), "-"), cmp.Or(valueOf(now.Meta, key), "-")
		if was == is {
			v.line(v.Text("request.set_same", "id", r.ID, "key", key, "value", is))
		} else {
			v.line(v.Text("request.set_changed", "id", r.ID, "key", key, "old", was, "value", is))
		}
	}
	return item{}, nil
}

func valueOf(m reqmeta.Meta, key string) string {
	switch key {
	case "id":
		return m.ID
	case "title":
		return m.Title
	case "priority":
		return m.Priority
	case "status":
		return m.Status
	case "labels":
		return strings.Join(m.Labels, ", ")
	case "depends_on":
		return strings.Join(m.DependsOn, ", ")
	case "estimate":
		return m.Estimate
	case "base":
		return m.Base
	case "created_at":
		return m.CreatedAt.Text
	case "updated_at":
		return m.UpdatedAt.Text
	}
	return m.Unknown[key]
}
