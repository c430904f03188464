package runs

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Kinds of logs.
const (
	LogRunner      = "runner"
	LogStep        = "step"
	LogPlanner     = "planner"
	LogImplementer = "implementer"
	LogQA          = "qa"
	LogUnit        = "unit"
	LogE2E         = "e2e"
	LogStatic      = "static"
	LogLand        = "land"
	LogApply       = "apply"
	LogApplied     = "applied"

	routerLog = "router."
)

// RouterLog is the kind of the log of who was asked to play a role.
func RouterLog(role string) string { return routerLog + role }

// LogName is the log's path inside the run: logs/runner.log, logs/step-<n>.log,
// logs/<role>.<step>.attempt<n>.log, logs/tests/<kind>.<step>.attempt<n>.log,
// logs/router.<role>.log (RouterLog), logs/git/apply.check.txt and
// apply.result.txt.
// step is a step id; for LogStep its number is used.
func LogName(kind, step string, attempt int) string {
	switch kind {
	case LogRunner:
		return "logs/runner.log"
	case LogStep:
		return fmt.Sprintf("logs/step-%d.log", stepNumber(step))
	case LogApply:
		return "logs/git/apply.check.txt"
	case LogApplied:
		return "logs/git/apply.result.txt"
	case LogUnit, LogE2E, LogStatic:
		return fmt.Sprintf("logs/tests/%s.%s.attempt%d.log", kind, step, attempt)
	}
	if strings.HasPrefix(kind, routerLog) {
		return "logs/" + kind + ".log"
	}
	if step == "" {
		return fmt.Sprintf("logs/%s.attempt%d.log", kind, attempt)
	}
	return fmt.Sprintf("logs/%s.%s.attempt%d.log", kind, step, attempt)
}

func stepNumber(step string) int {
	n := 0
	_, _ = fmt.Sscanf(step, "S%d", &n)
	return n
}

// PatchName is the patch's path inside the run; attempt 0 is the step's own.
func PatchName(stepID string, attempt int) string {
	if attempt == 0 {
		return "patches/" + stepID + ".patch"
	}
	return fmt.Sprintf("patches/%s.attempt%d.patch", stepID, attempt)
}

// LogPath is the log's file on disk; see LogName. RelPath(LogName(…)) is what
// goes into records.
func (d *Dir) LogPath(kind, step string, attempt int) string {
	return d.file(LogName(kind, step, attempt))
}

// AppendLog adds to a log. Logs are not synced: losing the end of one in a
// power cut harms nothing.
func (d *Dir) AppendLog(kind, step string, attempt int, data []byte) error {
	f, err := d.OpenLog(kind, step, attempt)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return writeFault(cmp.Or(err, f.Close()), d.RelPath(LogName(kind, step, attempt)))
}

// OpenLog opens a log to add to it.
func (d *Dir) OpenLog(kind, step string, attempt int) (*os.File, error) {
	name := LogName(kind, step, attempt)
	if err := d.folderOf(name); err != nil {
		return nil, writeFault(err, d.RelPath(name))
	}
	f, err := os.OpenFile(d.file(name), os.O_WRONLY|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW, 0o666)
	return f, writeFault(err, d.RelPath(name))
}

// Logs lists a run's log files, relative to the project and in byte order.
// runPath is the run's folder, relative to root. What stands beside them but
// says nothing of how it went (meta.json, git's status) is none.
func Logs(root, runPath string) []string {
	base := filepath.Join(root, filepath.FromSlash(runPath))
	notes := []string{metaFile, statusFile(StatusBefore), statusFile(StatusAfter)}
	names := []string{}
	_ = filepath.WalkDir(filepath.Join(base, "logs"), func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if rel, err := filepath.Rel(base, p); err == nil && !slices.Contains(notes, filepath.ToSlash(rel)) {
			names = append(names, path.Join(runPath, filepath.ToSlash(rel)))
		}
		return nil
	})
	return names
}
