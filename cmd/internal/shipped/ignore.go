package shipped

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiflow/internal/config"
)

// mark is the line above the entries of ours, by which deinit knows them from those
// that a person wrote.
const mark = "# aiflow: init wrote these lines, deinit takes them away"

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

// Stealthy are the entries that hide the whole project from git, for a file of which
// the repository's top is at prefix ("" or "folder/").
func Stealthy(root, prefix string, c config.Config, runs bool) []string {
	var entries []string
	dirs := []string{".aiflow", c.Paths.RequestsDir, c.Paths.LocksDir, c.Paths.CacheDir}
	if runs {
		dirs = append(dirs, c.Paths.RunsDir)
	}
	for _, dir := range dirs {
		if dir == ".aiflow" || !strings.HasPrefix(dir, ".aiflow/") {
			entries = append(entries, "/"+prefix+entry(root, dir))
		}
	}
	return entries
}

// Marked reports whether entries of ours are in an ignore file.
func Marked(text string) bool {
	return slices.Contains(strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), mark)
}

// Began reports whether a file begins with a part of ours: then init made it. In
// one that was there, even empty, a line end stands before.
func Began(text string) bool {
	return strings.HasPrefix(text, mark) || strings.HasPrefix(text, agentsBegin)
}

// WithIgnored is the text of an ignore file with the entries that it lacks at its
// end, in its own kind of line ending; there is whether the file was.
func WithIgnored(text string, there bool, entries []string) (string, []string) {
	have := map[string]bool{}
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, " \t\r")
		line = strings.TrimLeft(line, "/")
		have[line], have[strings.TrimRight(line, "/")+"/"] = true, true
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
	return with(text, there, mark+"\n"+strings.Join(missing, "\n")+"\n"), missing
}

// with is the text and a part of ours, after one line end that tells without from
// what it is to be told: whether the text ended with one, and whether there was a file.
func with(text string, there bool, part string) string {
	eol := "\n"
	if strings.Contains(text, "\r\n") {
		eol = "\r\n"
	}
	if there {
		text += eol
	}
	return text + strings.ReplaceAll(part, "\n", eol)
}

// without is the text around a part of ours; lines do not grow together that way.
func without(before, after string) string {
	cut := strings.TrimSuffix(strings.TrimSuffix(before, "\n"), "\r")
	if after != "" && cut != "" && !strings.HasSuffix(cut, "\n") {
		cut = before
	}
	return cut + after
}

// WithoutIgnored is the text without the entries below our mark, which these were,
// and which stay because keep says so.
func WithoutIgnored(text string, entries []string, keep func(entry string) bool) (rest string, gone, kept []string) {
	before := ""
	for line := range strings.Lines(text) {
		text = text[len(line):]
		if strings.TrimRight(line, "\r\n") != mark {
			before += line
			continue
		}
		left := ""
		for below := range strings.Lines(text) {
			plain := strings.TrimRight(below, "\r\n")
			if !slices.Contains(entries, plain) {
				break
			}
			text = text[len(below):]
			if keep(plain) {
				kept, left = append(kept, plain), left+below
			} else {
				gone = append(gone, plain)
			}
		}
		after, more, keptMore := WithoutIgnored(text, entries, keep)
		gone, kept = append(gone, more...), append(kept, keptMore...)
		if left != "" {
			return before + line + left + after, gone, kept
		}
		return without(before, after), gone, kept
	}
	return before, gone, kept
}
