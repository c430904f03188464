package config

import "aiflow/internal/fault"

// apart refuses, once links have been followed, one folder for two things: each is filled, listed and cleaned by
// a rule of its own.
func (c *Config) apart() error {
	dirs := [...]struct{ key, dir string }{
		{"paths.requests_dir", c.Paths.RequestsDir},
		{"paths.runs_dir", c.Paths.RunsDir},
		{"paths.locks_dir", c.Paths.LocksDir},
		{"paths.cache_dir", c.Paths.CacheDir},
	}
	for i, d := range dirs {
		for _, other := range dirs[:i] {
			if d.dir != other.dir {
				continue
			}
			if !c.said(d.key) {
				d.key, other.key = other.key, d.key
			}
			return fault.New(fault.ConfigInvalid, "path", c.Origin(d.key).Where, "key", d.key, "value", d.dir,
				"other", other.key, "cause_key", "config.same_folder")
		}
	}
	return nil
}
