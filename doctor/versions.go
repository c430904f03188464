package doctor

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"aiflow/hooks"
	"aiflow/project/serving"
)

// checkVersions compares this program with those that a person, hooks and make
// targets start, and with the server that runs: after an upgrade they differ.
func checkVersions(ctx context.Context, x *examiner) {
	var started, other []string
	for _, dir := range filepath.SplitList(x.Env.Getenv("PATH")) {
		if _, present := stat(filepath.Join(dir, "aiflow")); present && filepath.IsAbs(dir) {
			started = append(started, filepath.Join(dir, "aiflow"))
			break
		}
	}
	if dir := binOf(x); dir != "" {
		started = append(started, filepath.Join(dir, "aiflow"))
	}
	if repo, err := hooks.LookIn(ctx, x.p.Git(), x.repo.CommonDir(), x.repo.Top()); err == nil {
		for _, h := range hooks.Inspect(hooks.Read(repo), hooks.Options{Bin: x.HookBin}).Hooks {
			if _, present := stat(h.Bin); present {
				started = append(started, h.Bin)
			}
		}
	}
	slices.Sort(started)
	started = slices.Compact(started)
	for _, path := range started {
		status, out, _ := startElsewhere(ctx, x, path, "--version")
		_, version, _ := strings.Cut(firstLine(out), " ")
		version = strings.NewReplacer("(", "", ")", "").Replace(version)
		if status == 0 && x.Env.Build != "" && version != x.Env.Build {
			other = append(other, path+" ("+version+")")
		}
	}
	if id, ok := serving.Running(x.p); ok {
		name := "[" + strconv.Itoa(id.PID) + "] aiflow-serve"
		started = append(started, name)
		if x.Env.Build != "" && id.Build != "" && id.Build != x.Env.Build {
			other = append(other, name+" ("+id.Build+")")
		}
	}
	seen := Evidence{"version": x.Env.Build, "started": started}
	if len(other) > 0 {
		x.warn("versions", "other", seen, "version", x.Env.Build, "names", some(other))
		return
	}
	x.pass("versions", "ok", seen, "version", x.Env.Build)
}
