package main

import (
	"context"

	"aiflow/internal/fault"
	"aiflow/reqmeta"
	"aiflow/reqmeta/edit"
)

// save replaces the request file. Whatever goes wrong, the copy stays and is
// named.
func (e *editing) save(after []byte) error {
	was, now := e.r.Parse(e.before), e.r.Parse(after)
	kept := e.shown(e.copy)
	if now.Meta.Status == reqmeta.Running && was.Meta.Status != reqmeta.Running {
		return e.unsaved("request.running_by_hand", "path", kept)
	}
	if now.Meta.UpdatedAt.Text == was.Meta.UpdatedAt.Text {
		after = edit.Renewed(e.r, after, e.p.Now())
	}
	err := e.swap(after)
	if err == nil {
		return nil
	}
	switch fault.CodeOf(err) {
	case fault.LockLost:
		return e.unsaved("request.edit_lost", "path", kept)
	case fault.Conflict:
		return e.unsaved("request.edit_conflict", "path", kept)
	case fault.RunInProgress:
		return e.unsaved("request.edit_running", "path", kept)
	case fault.RequestNotFound:
		return e.unsaved("request.edit_gone", "path", kept)
	}
	e.Tell(e.Text("projectlock.saved", "path", kept))
	return err
}

// swap keeps runs out while it writes.
func (e *editing) swap(after []byte) error {
	if err := e.lease.Renew(context.Background()); err != nil { // looks at the record, too
		return err
	}
	release, err := e.claim(e.r.ID)
	if err != nil {
		return err
	}
	defer release()
	return edit.Swap(e.p.Env.Disk, e.p.Dir, e.r.Path, e.before, after, e.p.Suffix(), e.lease.Check)
}

// edited is a request after an edit, as scripts see it.
type edited struct {
	Changed bool `json:"changed"`
	item
}

// tellEdited says what became of the request and what is wrong with it now. A
// file with mistakes is saved like any other.
func (e *editing) tellEdited(changed bool) error {
	key := "request.edit_same"
	if changed {
		key = "request.edit_saved"
		if err := e.look(); err != nil {
			return err
		}
	}
	r, err := e.survey.Folder.Get(e.r.Path)
	if err != nil {
		return err
	}
	c := checker{Shell: e.Shell, folder: e.survey.Folder, named: true}
	c.request(r, r.Path)
	if e.JSON {
		it := e.item(r)
		it.Problems = append([]reqmeta.Problem{}, c.report.Problems...)
		return e.PrintJSON(edited{changed, it})
	}
	e.Printf("%s\n", e.Text(key, "id", r.ID))
	e.printProblems(c.report.Problems)
	return nil
}
