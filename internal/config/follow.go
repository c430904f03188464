package config

import (
	"os"
	"path/filepath"
	"strings"

	"aiflow/internal/fault"
)

// follow gives the folder of requests the name under which git knows it, where
// its own is a symbolic link. One that leads out of the project cannot be
// committed: CONFIG_INVALID.
func (c *Config) follow(root string) error {
	dir := c.Paths.RequestsDir
	if !hasLink(root, dir) {
		return nil
	}
	real, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(dir)))
	if err != nil {
		return nil // there is no folder: told where one is needed
	}
	if top, err := filepath.EvalSymlinks(root); err == nil {
		root = top
	}
	rel, err := filepath.Rel(root, real)
	if err != nil || !isOwnFolder(filepath.ToSlash(rel)) {
		return fault.New(fault.ConfigInvalid, "path", c.Origin("paths.requests_dir").Where, "key", "paths.requests_dir",
			"value", dir, "target", real, "cause_key", "config.leads_outside")
	}
	c.Paths.RequestsDir = filepath.ToSlash(rel)
	return nil
}

// hasLink reports whether a part of dir is a symbolic link.
func hasLink(root, dir string) bool {
	at := root
	for part := range strings.SplitSeq(dir, "/") {
		at = filepath.Join(at, part)
		if fi, err := os.Lstat(at); err == nil && fi.Mode()&os.ModeSymlink != 0 {
			return true
		}
	}
	return false
}
