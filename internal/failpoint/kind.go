//go:build failpoint

package failpoint

import (
	"path/filepath"
	"regexp"
	"strings"

	"aiflow/internal/atomicfile"
)

// Kind names what a file is, from its name alone; a temporary file is of the
// kind of the file that it will become.
func Kind(path string) string {
	base := filepath.Base(path)
	if atomicfile.IsTemp(base) {
		base, _, _ = strings.Cut(base[1:], atomicfile.TempMark)
	}
	if kind, ok := named[base]; ok {
		return kind
	}
	for _, p := range patterns {
		if p.name.MatchString(base) {
			return p.kind
		}
	}
	if filepath.Base(filepath.Dir(path)) == "requests" && strings.HasSuffix(base, ".md") {
		return "request"
	}
	return "other"
}

var named = map[string]string{
	"stage.json": "stage", "stage.json.prev": "stageprev", "planning.json": "plan", "errors.json": "errors",
	"report.md": "report", "request.before.md": "runrequest", "queue.lock.json": "queuelock",
	".spare": "spare",
}

var patterns = []struct {
	name *regexp.Regexp
	kind string
}{
	{regexp.MustCompile(`^request\..*\.lock\.json$`), "lock"},
	{regexp.MustCompile(`\.lock\.json$`), "namedlock"},
	{regexp.MustCompile(`\.attempt[0-9]+\.patch$`), "attempt"},
	{regexp.MustCompile(`\.patch$`), "patch"},
}
