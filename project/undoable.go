package project

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"aiflow/internal/config"
	"aiflow/reqmeta"
)

// Warn puts before a choice's other warnings that a run of it could only stop:
// it has no steps, and nobody is named to plan or to do it. The router is read
// for a choice without steps alone; one that cannot be read is doctor's to tell.
func (p *Project) Warn(res reqmeta.Result) reqmeta.Result {
	if res.Next == nil || !p.Undoable(res.Next.Request) {
		return res
	}
	res.Warnings = slices.Insert(slices.Clone(res.Warnings), 0, res.Next.Request.Undoable())
	return res
}

// Undoable reports whether a run of r could only stop.
func (p *Project) Undoable(r *reqmeta.Request) bool {
	return len(r.Meta.Steps) == 0 && !p.anybody()
}

// anybody reports whether the router names somebody for a request without
// steps.
func (p *Project) anybody() bool {
	if _, err := os.Lstat(p.path(config.RouterFile)); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	r, _, err := config.LoadRouter(p.Dir, p.Config)
	return err != nil || len(r.Calls(config.RoleImplementer)) > 0 || len(r.Calls(config.RolePlanner)) > 0
}
