//go:build failpoint

package app

import (
	"aiflow/internal/atomicfile"
	"aiflow/internal/failpoint"
	"aiflow/project"
)

// Watch lets a test stop the program at a chosen write.
func Watch(env *project.Env) {
	if p := failpoint.FromEnv(env.Environ); p != nil {
		env.Disk = failpoint.Disk(p, atomicfile.OS{})
	}
}

// Point lets a test stop the program at a named place; nil when no test asks.
func Point(p *project.Project) func(name string) {
	if d, ok := p.Env.Disk.(interface{ At(name string) }); ok {
		return d.At
	}
	return nil
}
