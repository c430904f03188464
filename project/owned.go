package project

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strconv"
	"strings"

	"aiflow/reqmeta"
)

// OwnedOnly tells which of the request files differ from HEAD in nothing but
// the values that tools own (status, updated_at). Paths are relative to Dir.
// What git cannot show as lines (a mode, a rename, a new file) counts as more.
func (p *Project) OwnedOnly(ctx context.Context, paths []string) (map[string]bool, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	args := []string{
		"-c", "core.quotePath=false", "diff", "-U0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames",
		"--src-prefix=a/", "--dst-prefix=b/", "--relative", "HEAD", "--",
	}
	for _, path := range paths {
		args = append(args, ":(literal)"+path)
	}
	out, err := p.Git().Ask(ctx, args...)
	if err != nil {
		return nil, err
	}
	owned := map[string]bool{}
	for _, part := range bytes.Split(append([]byte("\n"), out...), []byte("\ndiff --git "))[1:] {
		if path, ok := ownedPart(p, part); ok {
			owned[path] = true
		}
	}
	return owned, nil
}

// ownedPart judges what git diff says about one file.
func ownedPart(p *Project, part []byte) (path string, owned bool) {
	lines := strings.Split(strings.TrimSuffix(string(part), "\n"), "\n")
	at := 1
	for ; at < len(lines) && !strings.HasPrefix(lines[at], "@@ "); at++ {
		switch word, rest, _ := strings.Cut(lines[at], " "); word {
		case "index", "---":
		case "+++":
			path = strings.TrimSuffix(strings.TrimPrefix(rest, "b/"), "\t")
		default:
			return "", false // new file, deleted, mode, binary
		}
	}
	data, err := os.ReadFile(p.Path(path))
	if path == "" || err != nil || at == len(lines) {
		return "", false
	}
	keys := append(p.Mapping().Names("status"), p.Mapping().Names("updated_at")...) // by all their names
	return path, ownedHunks(lines[at:], data, keys)
}

// ownedHunks reads hunks without context: "@@ -from,n +to,m @@".
func ownedHunks(lines []string, data []byte, keys []string) bool {
	mine := map[int]bool{}
	for _, key := range keys {
		mine[reqmeta.LineOf(data, key, "")] = true
	}
	at := 0
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "@@ "):
			from, count, ok := newSide(line)
			if !ok || count == 0 {
				return false // lines went: no tool does that
			}
			at = from
		case strings.HasPrefix(line, "-"):
			name, _, ok := strings.Cut(line[1:], ":")
			if name = strings.Trim(strings.TrimSpace(name), `"'`); !ok || !slices.Contains(keys, name) {
				return false
			}
		case strings.HasPrefix(line, "+"):
			if at == 0 || !mine[at] {
				return false
			}
			at++
		default:
			return false // no line end at the end of the file
		}
	}
	return true
}

// newSide reads "+to,m" of a hunk's head.
func newSide(head string) (from, count int, ok bool) {
	for _, word := range strings.Fields(head) {
		rest, found := strings.CutPrefix(word, "+")
		if !found {
			continue
		}
		first, n, more := strings.Cut(rest, ",")
		from, err := strconv.Atoi(first)
		count := 1
		if more && err == nil {
			count, err = strconv.Atoi(n)
		}
		return from, count, err == nil
	}
	return 0, 0, false
}
