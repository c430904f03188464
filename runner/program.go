package runner

import (
	"path/filepath"
	"slices"

	"aiflow/internal/config"
	"aiflow/internal/fault"
)

// program finds a provider's program.
func (j *job) program(call config.Call) (string, error) {
	name := call.Command.Bin
	c, err := j.routes()
	if err != nil {
		return "", err
	}
	if base := filepath.Base(name); slices.Contains(c.Guards.ForbidCommands, base) {
		return "", fault.New(fault.GHDependencyDetected, "value", name, "path", config.RouterFile, "reason", "command", "command", name)
	}
	path := j.Project.Program(name)
	if path == "" {
		return "", fault.New(fault.CLINotAvailable, "command", name, "name", call.Provider)
	}
	return path, nil
}
