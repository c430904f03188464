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
	found := p.Idle(res.Next.Request)
	if r := res.Next.Request; p.Undoable(r) {
		found = []reqmeta.Problem{r.Undoable()}
	}
	if len(found) > 0 {
		res.Warnings = slices.Concat(found, res.Warnings)
	}
	return res
}

// Unfilled is the first line of a request that would go to an AI command as a
// whole and says nothing: its file still is as the template was. 0 is none.
func (p *Project) Unfilled(r *reqmeta.Request) int {
	if len(r.Meta.Steps) > 0 || p.Undoable(r) {
		return 0
	}
	data, _ := os.ReadFile(p.path(r.Path)) // gone: then nothing is said of it
	return reqmeta.Unfilled(data)
}

// Idle are the warnings for what an AI command would get of r and nobody could
// do: steps without anybody, a file that still is as its template was.
func (p *Project) Idle(r *reqmeta.Request) []reqmeta.Problem {
	if line := p.Unfilled(r); line > 0 {
		return []reqmeta.Problem{r.StillTemplate(line)}
	}
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
