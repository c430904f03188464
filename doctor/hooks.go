package doctor

import (
	"context"
	"os"

	"aiflow/hooks"
)

// hookLine is one hook as evidence.
type hookLine struct {
	Name    string      `json:"name"`
	Path    string      `json:"path"`
	State   hooks.State `json:"state"`
	How     string      `json:"how,omitempty"`
	Reason  string      `json:"reason,omitempty"`
	Reached *bool       `json:"reached,omitempty"`
}

func checkHooks(ctx context.Context, x *examiner) {
	repo, err := hooks.LookIn(ctx, x.p.Git(), x.repo.CommonDir(), x.repo.Top())
	if err != nil {
		x.warns("hooks", err)
		return
	}
	folder := hooks.Read(repo)
	st := hooks.Inspect(folder, hooks.Options{Bin: x.HookBin})
	if x.full() { // git really runs them
		scratch, err := os.MkdirTemp("", "aiflow-doctor-")
		if err == nil {
			defer os.RemoveAll(scratch)
			err = hooks.Probe(ctx, x.p.Git().In(folder.Top), folder, &st, scratch)
		}
		if err != nil {
			x.warns("hooks", err)
			return
		}
	}
	var lines []hookLine
	var missing, unreached, old []string
	for _, h := range st.Hooks {
		lines = append(lines, hookLine{h.Name, h.Path, h.State, h.How, h.Reason, h.Reached})
		switch {
		case h.State == hooks.Unreached, h.Reached != nil && !*h.Reached:
			unreached = append(unreached, h.Name)
		case h.State != hooks.Installed:
			missing = append(missing, h.Name)
		case !h.Current && h.Reason == "" && x.HookBin != "":
			old = append(old, h.Name)
		}
	}
	seen := Evidence{"dir": st.Dir, "hooks": lines, "worktrees_without_hooks": st.Lacking}
	switch {
	case len(unreached) > 0:
		x.warn("hooks", "unreached", seen, "names", some(unreached))
	case len(missing) == len(lines):
		x.warn("hooks", "none", seen)
	case len(missing) > 0:
		x.warn("hooks", "missing", seen, "names", some(missing))
	case len(st.Lacking) > 0:
		x.warn("hooks", "lacking", seen, "names", some(st.Lacking))
	case len(old) > 0:
		x.warn("hooks", "old", seen, "names", some(old))
	case x.full():
		x.pass("hooks", "proven", seen, "count", len(lines))
	default:
		x.pass("hooks", "ok", seen, "count", len(lines))
	}
}
