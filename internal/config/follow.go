package config

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
)

// follow gives the folders that hold our files the names under which git knows
// them: without detours, and behind symbolic links that stay in the project.
// What is noted in a requests folder outside could not be committed:
// CONFIG_INVALID.
func (c *Config) follow(root string) error {
	for _, dir := range []*string{&c.Paths.RunsDir, &c.Paths.LocksDir, &c.Paths.CacheDir} {
		*dir, _ = followed(root, *dir)
	}
	said := path.Clean(c.Paths.RequestsDir)
	dir, linked := followed(root, said)
	c.Paths.RequestsDir = dir
	switch {
	case !linked:
		return nil
	case dir != said:
		c.requestsLink = said
		return nil
	}
	real, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(dir)))
	if err != nil {
		return nil // it leads nowhere: told where a folder is needed
	}
	return unusable(nil, c.Origin("paths.requests_dir").Where, "key", "paths.requests_dir", "value", said,
		"target", real, "link", firstLink(root, dir), "cause_key", "config.leads_outside")
}

// followed is dir without detours and behind links that stay in the project;
// linked reports whether there are links.
func followed(root, dir string) (name string, linked bool) {
	dir = path.Clean(dir)
	if firstLink(root, dir) == "" {
		return dir, false
	}
	return cmp.Or(inside(root, dir), dir), true
}

// RequestsLink is the symbolic link that leads to the folder of requests; "" for
// none.
func (c Config) RequestsLink() string { return c.requestsLink }

// inside is where the links of dir lead; "" for nowhere, or out of the project.
func inside(root, dir string) string {
	real, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(dir)))
	if err != nil {
		return ""
	}
	top, err := filepath.EvalSymlinks(root)
	if err != nil {
		return ""
	}
	rel, err := filepath.Rel(top, real)
	if rel = filepath.ToSlash(rel); err != nil || !isOwnFolder(rel) {
		return ""
	}
	return rel
}

// firstLink is the first part of dir that is a symbolic link, with what is before it; "" is none.
func firstLink(root, dir string) string {
	for at := range len(dir) + 1 {
		if at < len(dir) && dir[at] != '/' {
			continue
		}
		if fi, err := os.Lstat(filepath.Join(root, filepath.FromSlash(dir[:at]))); err == nil && fi.Mode()&os.ModeSymlink != 0 {
			return dir[:at]
		}
	}
	return ""
}

// checkFolders refuses, once links have been followed, one folder for two things: each is filled, listed and cleaned by
// a rule of its own.
func (c *Config) checkFolders() error {
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
			if !c.isSet(d.key) {
				d.key, other.key = other.key, d.key
			}
			return unusable(nil, c.Origin(d.key).Where, "key", d.key, "value", d.dir,
				"other", other.key, "cause_key", "config.same_folder")
		}
	}
	return nil
}
