package gitops

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiflow/internal/fault"
)

// ConfigFile is the bytes of the repository's own configuration, which every
// worktree shares; nil where it cannot be read.
func (r *Repo) ConfigFile() []byte {
	data, _ := os.ReadFile(filepath.Join(r.commonDir, "config"))
	return data
}

// ChangedSettings names the keys of the repository's configuration that differ
// from what it was, but for those that git writes for a branch. core.bare and
// core.worktree are put back, as the checkout cannot be used with them: put says
// which.
func (r *Repo) ChangedSettings(ctx context.Context, before []byte) (changed, put []string, err error) {
	after := r.ConfigFile()
	if before == nil || bytes.Equal(before, after) {
		return nil, nil, nil
	}
	was, err := settingsIn(ctx, r, before)
	if err != nil {
		return nil, nil, err
	}
	is, err := settingsIn(ctx, r, after)
	if err != nil {
		return nil, nil, err
	}
	for key := range was {
		if _, still := is[key]; !still {
			is[key] = nil
		}
	}
	for key, values := range is {
		if slices.Equal(values, was[key]) || strings.HasPrefix(key, "branch.") {
			continue
		}
		if key != "core.bare" && key != "core.worktree" {
			changed = append(changed, key)
			continue
		}
		args := []string{"config", "--file", filepath.Join(r.commonDir, "config"), "--replace-all", key}
		if old := was[key]; len(old) > 0 {
			args = append(args, old[len(old)-1])
		} else {
			args[3] = "--unset-all"
		}
		if _, err := r.git.Do(ctx, args...); err != nil {
			return nil, nil, failed(err, fault.GitCommandFailed)
		}
		put = append(put, key)
	}
	slices.Sort(changed)
	slices.Sort(put)
	return changed, put, nil
}

// settingsIn are the values by key of a configuration file.
func settingsIn(ctx context.Context, r *Repo, file []byte) (map[string][]string, error) {
	out, err := r.git.AskInput(ctx, file, "config", "--file", "-", "--list", "-z")
	if err != nil {
		return nil, failed(err, fault.GitCommandFailed)
	}
	values := map[string][]string{}
	for _, entry := range fields(out) {
		key, value, _ := strings.Cut(entry, "\n")
		values[key] = append(values[key], value)
	}
	return values, nil
}
