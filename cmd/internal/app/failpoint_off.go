//go:build !failpoint

package app

import "aiflow/project"

// Watch does nothing: only builds for tests can be stopped at a write.
func Watch(*project.Env) {}

// Point is nil: only builds for tests can be stopped at a named place.
func Point(*project.Project) func(name string) { return nil }
