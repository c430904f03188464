package shipped

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiflow/internal/config"
)

// mark is the line above the entries of ours, by which deinit knows them.
const mark = "# aiflow"

// Ignored are the entries for what runs leave in the project at root; runs is
// whether theirs are among them.
func Ignored(root string, c config.Config, runs bool) []string {
	entries := []string{entry(root, c.Paths.LocksDir), entry(root, c.Paths.CacheDir), ".aiflow/worktrees/", ".aiflow/project/"}
	if runs {
		entries = append([]string{entry(root, c.Paths.RunsDir)}, entries...)
	}
	return entries
}

// entry is what ignores a folder: for git, a link to one is a file.
func entry(root, dir string) string {
	if fi, err := os.Lstat(filepath.Join(root, filepath.FromSlash(dir))); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
		return dir
	}
	return dir + "/"
}

// WithIgnored is the text of an ignore file with the entries that it lacks at its
// end, in its own kind of line ending.
func WithIgnored(text string, entries []string) (string, []string) {
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
	return text + mark + eol + strings.Join(missing, eol) + eol, missing
}

// WithoutIgnored is the text without the entries below our mark, and which these
// were; those that keep names stay.
func WithoutIgnored(text string, entries, keep []string) (string, []string) {
	var left []string
	var gone []string
	below, stays := false, ""
	for line := range strings.Lines(text) {
		plain := strings.TrimRight(line, "\r\n")
		switch {
		case plain == mark:
			below, stays = true, line
			continue
		case below && slices.Contains(entries, plain):
			if slices.Contains(keep, plain) {
				left = append(left, stays, line)
				stays = ""
			} else {
				gone = append(gone, plain)
			}
			continue
		}
		below = false
		left = append(left, line)
	}
	return strings.Join(left, ""), gone
}
