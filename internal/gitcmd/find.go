package gitcmd

import (
	"os"
	"path/filepath"
	"strings"
)

// Find looks git up: with look (such as exec.LookPath) or, when look is nil,
// in the PATH of env. The result starts git with env. No git is the fault
// GIT_NOT_AVAILABLE.
func Find(env []string, look func(name string) (string, error)) (Git, error) {
	if look == nil {
		look = func(name string) (string, error) { return lookIn(value(env, "PATH"), name) }
	}
	bin, err := look("git")
	if err != nil {
		return Git{}, noGit(err, "name", "git")
	}
	return Git{Bin: bin, Env: env}, nil
}

// lookIn skips relative entries: they would mean another program in each
// directory.
func lookIn(path, name string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		p := filepath.Join(dir, name)
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return p, nil
		}
	}
	return "", &os.PathError{Op: "look up", Path: name, Err: os.ErrNotExist}
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
