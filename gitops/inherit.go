package gitops

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"aiflow/internal/fault"
)

// inheritSettings makes git in a linked worktree work as it does in the checkout. A
// relative path in its configuration means a place in the worktree that git is
// started in, and a new worktree has none of what is not tracked: hooks (where
// husky puts them), ignore rules, attributes, keys.
func inheritSettings(ctx context.Context, w *Workspace) {
	if !w.linked {
		return
	}
	w.git.Settings = nil
	for key, value := range w.repo.settings(ctx) {
		if at := onlyInCheckout(w, key, value); at != "" && key != originURL {
			w.git.Settings = append(w.git.Settings, key+"="+at)
		}
	}
}

const originURL = "remote.origin.url"

// settings are those of git's settings that name a place, as git itself reads them: the
// last of a key counts. They are asked for once.
type settings struct {
	once  sync.Once
	value map[string]string
}

func (r *reader) settings(ctx context.Context) map[string]string {
	r.config.once.Do(func() {
		out, _ := r.git.Ask(ctx, "config", "-z", "--get-regexp", `^(user\.signingkey|core\.(hookspath|excludesfile|attributesfile)|remote\.origin\.url)$`)
		r.config.value = map[string]string{}
		for _, record := range fields(out) {
			key, value, _ := strings.Cut(record, "\n")
			r.config.value[key] = value
		}
	})
	return r.config.value
}

// onlyInCheckout is where a relative path leads in the checkout when the
// worktree has nothing there; "" otherwise.
func onlyInCheckout(w *Workspace, key, value string) string {
	if value == "" || filepath.IsAbs(value) || strings.HasPrefix(value, "~") {
		return ""
	}
	there, here := filepath.Join(w.repo.top, value), filepath.Join(w.path, value)
	only := isFile(there) && !isFile(here)
	if key == "core.hookspath" { // what git would run as a hook
		entries, _ := os.ReadDir(there)
		only = slices.ContainsFunc(entries, func(e os.DirEntry) bool {
			return !strings.Contains(e.Name(), ".") && isProgram(filepath.Join(there, e.Name())) && !isProgram(filepath.Join(here, e.Name()))
		})
	}
	if !only {
		return ""
	}
	return there
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// modules is where npm puts programs that hooks call.
const modules = "node_modules"

// lackingModules reports whether the checkout has installed what hooks may
// call and this workspace has not.
func lackingModules(w *Workspace) bool {
	return w.linked && exists(filepath.Join(w.repo.top, modules)) && !exists(filepath.Join(w.path, modules))
}

// Lacks names what stands beside the project's files in the user's checkout,
// is ignored by git, and is not in the workspace: installed packages, a virtual
// environment, settings. Only names that usual reports are asked for.
func (w *Workspace) Lacks(ctx context.Context, usual func(name string) bool) ([]string, error) {
	if !w.linked {
		return nil, nil
	}
	entries, err := os.ReadDir(w.repo.root)
	if err != nil {
		return nil, failed(err, fault.PathNotWritable, "path", w.repo.root)
	}
	var names []string
	for _, e := range entries {
		if usual(e.Name()) && !exists(filepath.Join(w.Dir(), e.Name())) {
			names = append(names, e.Name())
		}
	}
	return w.repo.Ignored(ctx, names...)
}

// hookEnv lets hooks find the programs that only the checkout has: a hook
// manager that is not found would pass everything.
func hookEnv(w *Workspace, env []string) []string {
	if !lackingModules(w) {
		return env
	}
	path := ""
	for _, kv := range slices.Concat(w.git.Env, env) {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	bin := filepath.Join(w.repo.top, modules, ".bin")
	if path != "" {
		bin = path + string(os.PathListSeparator) + bin
	}
	return append(slices.Clone(env), "PATH="+bin)
}
