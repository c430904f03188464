package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiflow/internal/config"
	"aiflow/internal/fault"
)

// program finds a provider's program: a bare name on PATH, a path from the
// project's root. What a workspace brings along is never started as a role.
func (j *job) program(call config.Call) (string, error) {
	name := call.Command.Bin
	c, err := j.routes()
	if err != nil {
		return "", err
	}
	if base := filepath.Base(name); slices.Contains(c.Guards.ForbidCommands, base) {
		return "", fault.New(fault.GHDependencyDetected, "value", name, "path", config.RouterFile, "reason", "command", "command", name)
	}
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = j.Project.Path(name)
		}
		if executable(name) {
			return name, nil
		}
		return "", unavailable(call)
	}
	for _, dir := range filepath.SplitList(j.Project.Env.Getenv("PATH")) {
		if path := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(path) {
			return path, nil
		}
	}
	return "", unavailable(call)
}

func executable(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0
}

func unavailable(call config.Call) error {
	return fault.New(fault.CLINotAvailable, "command", call.Command.Bin, "name", call.Provider)
}
