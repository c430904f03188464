package gitcmd

import (
	"os"
	"path/filepath"
	"strings"
)

// Find looks git up in the PATH of env, and gives it to be started with env. Relative
// entries are skipped: they would mean another program in each directory. No git is the
// fault GIT_NOT_AVAILABLE.
func Find(env []string) (Git, error) {
	for _, dir := range filepath.SplitList(value(env, "PATH")) {
		bin := filepath.Join(dir, "git")
		if info, err := os.Stat(bin); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return Git{Bin: bin, Env: env}, nil
		}
	}
	return Git{}, noGit(&os.PathError{Op: "look up", Path: "git", Err: os.ErrNotExist}, "name", "git")
}

func value(env []string, key string) string {
	v := ""
	for _, kv := range env {
		if k, rest, ok := strings.Cut(kv, "="); ok && k == key {
			v = rest
		}
	}
	return v
}
