package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
	"aiflow/reqmeta/edit"
	"aiflow/reqmeta/folder"
)

// setting is what is asked of some requests, by arguments or by a line of a file.
type setting struct {
	names, pairs []string
	where        string // FILE:LINE; "" of arguments
	values       map[string]string
	keys         []string
	chosen       []*reqmeta.Request
}

// set changes values of requests. No file is changed where one of the names is of
// no request, or one of the values cannot be set.
func set(s *cli.Shell, args []string, from string) error {
	list := []*setting{{}}
	var err error
	switch first := slices.IndexFunc(args, func(arg string) bool { return strings.Contains(arg, "=") }); {
	case from != "" && len(args) > 0:
		return cli.Usage("exclusive", "name", "--from", "other", args[0])
	case from != "":
		if list, err = settings(s, from); err != nil {
			return err
		}
	case first == 0 || len(args) == 0:
		return cli.Usage("missing_argument", "name", "ID", "command", "aiflow-request set")
	case first < 0 && len(args) == 1:
		return cli.Usage("missing_argument", "name", "KEY=VALUE", "command", "aiflow-request set")
	case first < 0: // what stands last is meant as one
		list[0].names, list[0].pairs = args[:len(args)-1], args[len(args)-1:]
	default:
		list[0].names, list[0].pairs = args[:first], args[first:]
	}
	v, err := open(s)
	if err != nil {
		return err
	}
	for _, one := range list {
		if err := v.understand(one); err != nil {
			return one.at(s, err)
		}
	}
	if err := v.rehearse(list); err != nil {
		return err
	}
	items, err := v.setAll(list)
	switch {
	case err != nil || !v.JSON:
		return err
	case len(items) == 1:
		return v.PrintJSON(items[0])
	}
	return v.PrintJSON(cli.Items(items))
}

// at names the line of a mistake.
func (one *setting) at(s *cli.Shell, err error) error {
	if one.where == "" || err == nil {
		return err
	}
	return cli.Usage("set_line", "where", one.where, "cause", s.Body(err).Message)
}

// settings reads lines "ID… KEY=VALUE…" of a file, or of standard input. A value
// with blanks stands in quotes; blank lines and those that begin with # are none.
func settings(s *cli.Shell, from string) ([]*setting, error) {
	in := s.Stdin
	if from != "-" {
		file, err := os.Open(from)
		if err != nil {
			return nil, noFile(err, from)
		}
		defer file.Close()
		in = file
	}
	var list []*setting
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		where := fmt.Sprintf("%s:%d", cmp.Or(strings.TrimPrefix(from, "-"), "stdin"), n)
		line := strings.TrimPrefix(lines.Text(), "\ufeff")
		words, ok := proc.Words(line)
		if len(words) == 0 && ok || strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		first := slices.IndexFunc(words, func(w string) bool { return strings.Contains(w, "=") })
		if first < 1 || !ok {
			return nil, cli.Usage("set_line", "where", where, "cause", s.Text("request.set_form", "value", line))
		}
		list = append(list, &setting{names: words[:first], pairs: words[first:], where: where})
	}
	if err := lines.Err(); err != nil {
		return nil, noFile(err, from)
	}
	return list, nil
}

// noFile is why a file that was named cannot be read.
func noFile(err error, name string) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return cli.Usage("no_file", "value", name)
	case errors.Is(err, fs.ErrPermission):
		return cli.Usage("no_access", "value", name)
	}
	return cli.Usage("cannot_read", "value", name, "cause", err.Error())
}

// understand finds the requests and reads the values.
func (v *view) understand(one *setting) (err error) {
	for _, name := range one.names {
		r, err := app.Find(v.p, v.survey.Folder, name)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(one.chosen, func(c *reqmeta.Request) bool { return c.Path == r.Path }) {
			one.chosen = append(one.chosen, r)
		}
	}
	if one.values, one.keys, err = parsePairs(one.pairs); err != nil {
		return err
	}
	if one.values["status"] == reqmeta.Running {
		return fault.New(fault.UsageError, "id", one.chosen[0].ID, "cause_key", "request.running_by_hand")
	}
	if ids, ok := reqmeta.ListItems(one.values["depends_on"]); ok && len(ids) > 0 {
		one.values["depends_on"] = reqmeta.ListText(wholeIn(v.survey.Folder, ids))
	}
	return nil
}

// rehearse sets all values in memory, so that nothing is half done for a mistake.
func (v *view) rehearse(list []*setting) error {
	data := map[string][]byte{}
	for _, one := range list {
		for _, r := range one.chosen {
			if len(list) == 1 && len(one.chosen) == 1 {
				return nil
			}
			var err error
			if data[r.Path] == nil {
				data[r.Path], err = v.survey.Folder.Read(r)
			}
			if err == nil {
				data[r.Path], err = edit.SetValues(r, data[r.Path], one.values, v.p.Now())
			}
			if err != nil {
				return one.at(v.Shell, readable(err))
			}
		}
	}
	return nil
}

func (v *view) setAll(list []*setting) (items []item, err error) {
	changed := false
	for _, one := range list {
		_, related := one.values["depends_on"]
		for _, r := range one.chosen {
			if changed && related { // what was set before may decide about rings
				if err := v.look(); err != nil {
					return nil, err
				}
				if r, err = v.survey.Folder.Get(r.Path); err != nil {
					return nil, err
				}
			}
			if err := v.setOne(r, one); err != nil {
				return nil, one.at(v.Shell, err)
			}
			changed = true
		}
	}
	if !v.JSON {
		return nil, nil
	}
	if err := v.look(); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, one := range list {
		for _, r := range one.chosen {
			now, err := v.survey.Folder.Get(r.Path)
			if err != nil {
				return nil, err
			}
			if !seen[r.Path] {
				items = append(items, v.item(now))
			}
			seen[r.Path] = true
		}
	}
	return items, nil
}

func (v *view) setOne(r *reqmeta.Request, one *setting) error {
	if err := v.refuseRing(r, one.values); err != nil {
		return readable(err)
	}
	if _, asked := one.values["status"]; asked {
		release, err := v.claim(r.ID)
		if err != nil {
			return err
		}
		defer release()
	}
	before, after, err := edit.Update(v.p.Env.Disk, v.p.Dir, r, one.values, v.p.Now(), v.p.Suffix())
	if err != nil {
		return readable(err)
	}
	old, now := r.Parse(before), r.Parse(after)
	// One that is ready again is passed over all the same while its latest run needs a person.
	alone := folder.NewFolder(v.p.RequestsDir(), []*reqmeta.Request{now})
	if e, _ := choose.Judge(alone, v.survey.Facts, r.ID); e.ReasonCode == fault.LatestRunNeedsInput {
		e.Describe(v.Catalog().Text)
		v.Warn("request.set_stopped", fault.Facts{"id": r.ID, "value": e.Detail})
	}
	for _, key := range one.keys {
		was, is := cmp.Or(valueOf(old.Meta, key), "-"), cmp.Or(valueOf(now.Meta, key), "-")
		if key == "title" { // which may be the heading
			was, is = cmp.Or(old.Title(), "-"), cmp.Or(now.Title(), "-")
		}
		switch {
		case v.JSON:
		case was == is:
			v.line(v.Text("request.set_same", "id", r.ID, "key", key, "value", is))
		default:
			v.line(v.Text("request.set_changed", "id", r.ID, "key", key, "old", was, "value", is))
		}
	}
	return nil
}

// parsePairs reads KEY=VALUE arguments.
func parsePairs(pairs []string) (values map[string]string, keys []string, err error) {
	values = map[string]string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if key == "depends-on" || key == "created-at" || key == "updated-at" { // as the flag of new is called
			key = strings.ReplaceAll(key, "-", "_")
		}
		if _, twice := values[key]; !ok || key == "" || twice {
			return nil, nil, cli.Usage("bad_value", "name", "KEY=VALUE", "value", pair, "allowed", "status=ready priority=P1 …")
		}
		values[key], keys = value, append(keys, key)
	}
	return values, keys, nil
}

// claim is project.HoldRequest for a request that is not running.
func (v *view) claim(id string) (release func(), err error) {
	if err := v.refuseRunning(id); err != nil {
		return nil, err
	}
	return project.HoldRequest(context.Background(), v.p, id)
}

// refuseRunning leaves a request alone that runs now.
func (v *view) refuseRunning(id string) error {
	h := v.survey.Facts.Holder(id)
	if h == nil {
		return nil
	}
	if h.Unreadable {
		return fault.New(fault.LockUnreadable)
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
	if data, err = edit.SetValues(r, data, values, v.p.Now()); err != nil {
		return err
	}
	changed := r.Parse(data)
	if err := choose.ClosesRing(v.survey.Folder, r, changed); err != nil {
		return err
	}
	warnMissing(v.Shell, v.p, changed)
	return nil
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
		return reqmeta.JoinItems(m.Labels)
	case "depends_on":
		return reqmeta.JoinItems(m.DependsOn)
	case "touches":
		return reqmeta.JoinItems(m.Touches)
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
