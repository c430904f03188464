package stage

import (
	"bytes"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/runner/agent"
)

// guardDir makes the folder that comes first in the PATH of everything that
// the run starts. For each forbidden command it holds one of that name which
// refuses and leaves a mark.
func guardDir(run *Run) (string, error) {
	if run.guard != "" {
		return run.guard, nil
	}
	c, err := run.Router()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(run.Dir.Path, "tmp", "guard")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", notMade(err, run, "tmp/guard")
	}
	for _, name := range c.Guards.ForbidCommands {
		if name == "" || filepath.Base(name) != name {
			continue
		}
		o := atomicfile.Options{Perm: 0o777, Volatile: true, TempSuffix: run.Project.Suffix()}
		if err := atomicfile.Write(run.Project.Env.Disk, filepath.Join(dir, name), agent.RefusingCommand(name, run.markPath()), o); err != nil {
			return "", notMade(err, run, "tmp/guard")
		}
	}
	_ = os.Remove(run.markPath()) // of a command that was killed; what it did is done again
	run.guard = dir
	return dir, nil
}

func (run *Run) markPath() string { return filepath.Join(run.Dir.Path, "tmp", "guard.mark") }

// forbiddenCall says which forbidden command was called since the last look.
func forbiddenCall(run *Run, log string) error {
	data, err := os.ReadFile(run.markPath())
	if err != nil {
		return nil
	}
	_ = os.Remove(run.markPath())
	line, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	return forbiddenCommand(line, log)
}

func forbiddenCommand(line, log string) error {
	return forbiddenUse(line, log, "command", "command", line)
}

func forbiddenUse(value, path, reason string, more ...any) error {
	return fault.New(fault.GHDependencyDetected, append(more, "value", value, "path", path, "reason", reason)...)
}

// forbiddenText refuses a text in which a forbidden pattern occurs. path is
// where a person finds the text.
func forbiddenText(run *Run, lines iter.Seq[string], path string) error {
	c, err := run.Router()
	if err != nil {
		return err
	}
	line, pattern := c.Forbidden(lines)
	if pattern == "" {
		return nil
	}
	return forbiddenUse(agent.ShortLine(line), path, pattern)
}

// forbiddenInLog looks at what a shell command of the run printed.
func forbiddenInLog(run *Run, res result) error {
	f, err := os.Open(run.Project.Path(res.log))
	if err != nil {
		return nil // the log is gone; there is nothing to look at
	}
	defer f.Close()
	if _, err := f.Seek(res.from, io.SeekStart); err != nil {
		return nil
	}
	return forbiddenText(run, agent.Lines(f), res.log)
}

func addedLines(patch []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range bytes.Lines(patch) {
			if line[0] == '+' && !bytes.HasPrefix(line, []byte("+++ ")) && !yield(string(line[1:])) {
				return
			}
		}
	}
}
