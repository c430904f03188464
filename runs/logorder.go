package runs

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// LogsByTime lists a run's logs in the order in which they were last written;
// step "" is all of them.
func LogsByTime(root, runPath, step string) []string {
	var list []timedLog
	for _, name := range Logs(root, runPath) {
		l := timedLog{name: name}
		l.kind, l.step, l.attempt = logParts(path.Base(name))
		if step != "" && l.step != stepNumber(step) {
			continue
		}
		if fi, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name))); err == nil {
			l.at = fi.ModTime()
		}
		list = append(list, l)
	}
	slices.SortStableFunc(list, func(a, b timedLog) int { // of two that were written in one tick of the clock the names tell
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.step, b.step), cmp.Compare(a.attempt, b.attempt), cmp.Compare(logRank(a.kind), logRank(b.kind)))
	})
	names := make([]string, len(list))
	for i, l := range list {
		names[i] = l.name
	}
	return names
}

// IsOutput reports whether a log is what a command, a test or a role said, not
// what the run itself wrote down.
func IsOutput(name string) bool {
	base := path.Base(name)
	return path.Ext(base) == ".log" && base != path.Base(LogName(LogRunner, "", 0)) || strings.HasPrefix(base, LogApply+".")
}

type timedLog struct {
	name, kind    string
	at            time.Time
	step, attempt int
}

// logRank is the place of a kind within a step.
func logRank(kind string) int {
	return slices.Index([]string{LogImplementer, LogStep, LogApply, LogStatic, LogUnit, LogE2E, LogQA}, kind)
}

var logRE = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([a-z0-9]+)(?:-([0-9]+)|\.S([0-9]+))?(?:\.attempt([0-9]+))?\.`)
})

// logParts reads LogName back.
func logParts(base string) (kind string, step, attempt int) {
	m := logRE().FindStringSubmatch(base)
	if m == nil {
		return strings.TrimSuffix(base, path.Ext(base)), 0, 0
	}
	step, _ = strconv.Atoi(m[2] + m[3])
	attempt, _ = strconv.Atoi(m[4])
	return m[1], step, attempt
}
