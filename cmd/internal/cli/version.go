package cli

import (
	"runtime"
	"runtime/debug"
)

// PrintVersion says which build this is.
func (s *Shell) PrintVersion() error {
	v, commit := s.build()
	if s.JSON {
		return s.PrintJSON(map[string]string{"name": s.Name, "version": v, "commit": commit, "go": runtime.Version()})
	}
	if commit != "" {
		commit = " (" + commit + ")"
	}
	s.Printf("%s %s%s\n", s.Name, v, commit)
	return nil
}

// build is what the linker wrote, or else what the Go toolchain recorded.
func (s *Shell) build() (version, commit string) {
	version, commit = s.Version, s.Commit
	if info, ok := debug.ReadBuildInfo(); ok && version == "" {
		version = info.Main.Version
		for _, kv := range info.Settings {
			if kv.Key == "vcs.revision" && commit == "" {
				commit = kv.Value[:min(12, len(kv.Value))]
			}
		}
	}
	if version == "" || version == "(devel)" {
		version = "devel"
	}
	return version, commit
}
