package project

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"aiflow/internal/config"
	"aiflow/reqmeta"
)

// Warn puts before a choice's other warnings that a run of it could only stop,
// or would stop on its way: it, or a step of it, has nothing to run, and nobody
// is named to plan or to do it. The router is read for such a choice alone; of
// one that cannot be read see RouterFault.
func (p *Project) Warn(res reqmeta.Result) reqmeta.Result {
	if res.Next == nil {
		return res
	}
	var found []reqmeta.Problem
	if r := res.Next.Request; p.Undoable(r) {
		found = []reqmeta.Problem{r.Undoable()}
	} else {
		found = p.Idle(r)
	}
	if len(found) > 0 {
		res.Warnings = slices.Concat(found, res.Warnings)
	}
	return res
}

// Idle are the warnings for the steps of r that nobody could do.
func (p *Project) Idle(r *reqmeta.Request) []reqmeta.Problem {
	if !r.Idles() || p.anybody(config.RoleImplementer) {
		return nil
	}
	data, _ := os.ReadFile(p.path(r.Path)) // gone: then there are no lines to tell
	return r.Idle(data)
}

// Undoable reports whether a run of r could only stop.
func (p *Project) Undoable(r *reqmeta.Request) bool {
	return len(r.Meta.Steps) == 0 && !p.anybody(config.RoleImplementer, config.RolePlanner)
}

// RouterFault is why every run would stop at once: a router that is there and
// cannot be used.
func (p *Project) RouterFault() error {
	if _, err := os.Lstat(p.path(config.RouterFile)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, _, err := config.LoadRouter(p.Dir, p.Config)
	return err
}

// anybody reports whether the router names somebody for one of the roles.
func (p *Project) anybody(roles ...string) bool {
	if _, err := os.Lstat(p.path(config.RouterFile)); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	r, _, err := config.LoadRouter(p.Dir, p.Config)
	return err != nil || slices.ContainsFunc(roles, func(role string) bool { return len(r.Calls(role)) > 0 })
}
