package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"aiflow/internal/fault"
)

// ignore adds what is missing to .gitignore and leaves what is there as it is.
func (in *initializer) ignore() error {
	const name = ".gitignore"
	old, err := os.ReadFile(in.path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(err, fault.PathNotWritable, "path", name)
	}
	p := in.cfg.Paths
	entries := []string{in.entry(p.LocksDir), in.entry(p.CacheDir), ".aiflow/worktrees/", ".aiflow/project/"}
	if !in.othersIn(p.RunsDir) {
		entries = append([]string{in.entry(p.RunsDir)}, entries...)
	}
	text, lines := withIgnored(string(old), entries)
	if len(lines) == 0 {
		in.note(name, kept)
		return nil
	}
	in.note(name, added, lines...)
	return in.write(name, []byte(text))
}

// entry is what ignores a folder: for git, a link to one is a file.
func (in *initializer) entry(dir string) string {
	if fi, err := os.Lstat(in.path(dir)); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
		return dir
	}
	return dir + "/"
}

// withIgnored is text with the entries that it lacks at its end, in its own
// kind of line ending.
func withIgnored(text string, entries []string) (string, []string) {
	have := map[string]bool{}
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, " \t\r")
		line = strings.TrimLeft(line, "/")
		have[line], have[strings.TrimRight(line, "/")+"/"] = true, true
	}
	eol := "\n"
	if strings.Contains(text, "\r\n") {
		eol = "\r\n"
	}
	var missing []string
	for _, e := range entries {
		if !have[strings.TrimLeft(e, "/")] {
			missing = append(missing, e)
		}
	}
	if len(missing) == 0 {
		return text, nil
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += eol
	}
	return text + strings.Join(missing, eol) + eol, missing
}
