package runner

import (
	"bufio"
	"bytes"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/runs"
)

// guardDir makes the folder that comes first in the PATH of everything that
// the run starts. For each forbidden command it holds one of that name which
// refuses and leaves a mark.
func (j *job) guardDir() (string, error) {
	if j.guard != "" {
		return j.guard, nil
	}
	c, err := j.routes()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(j.dir.Path, "tmp", "guard")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", fault.Wrap(err, fault.RunsDirCreateFailed, "path", j.dir.RelPath("tmp/guard"))
	}
	for _, name := range c.Guards.ForbidCommands {
		if name == "" || filepath.Base(name) != name {
			continue
		}
		o := atomicfile.Options{Perm: 0o777, Volatile: true, TempSuffix: j.Project.Suffix()}
		if err := atomicfile.Write(j.Project.Env.Disk, filepath.Join(dir, name), refusingCommand(name, j.markPath()), o); err != nil {
			return "", fault.Wrap(err, fault.RunsDirCreateFailed, "path", j.dir.RelPath("tmp/guard"))
		}
	}
	_ = os.Remove(j.markPath()) // of a command that was killed; what it did is done again
	j.guard = dir
	return dir, nil
}

// dropTemporary removes what was there only while the run ran.
func (j *job) dropTemporary() { _ = os.RemoveAll(filepath.Join(j.dir.Path, "tmp")) }

func (j *job) markPath() string { return filepath.Join(j.dir.Path, "tmp", "guard.mark") }

// refusal is what a refusing command says: some sandboxes let it leave no mark.
const refusal = " is forbidden here (guards.forbid_commands"

func refusingCommand(name, mark string) []byte {
	return []byte("#!/bin/sh\n" +
		// In a sandbox that lets it leave no mark its words must not speak of that:
		// codex tells nothing of a command that met its sandbox.
		"{ printf '%s\\n' " + proc.Quoted(name) + `" $*" >>` + proc.Quoted(mark) + "; } 2>/dev/null\n" +
		"echo " + proc.Quoted("aiflow: "+name+refusal+" in .aiflow/router.v1.json)") + " >&2\n" +
		"exit 77\n")
}

// caught says which forbidden command was called since the last look.
func (j *job) caught(log string) error {
	data, err := os.ReadFile(j.markPath())
	if err != nil {
		return nil
	}
	_ = os.Remove(j.markPath())
	line, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	return forbiddenCommand(line, log)
}

func forbiddenCommand(line, log string) error {
	return fault.New(fault.GHDependencyDetected, "value", line, "path", log, "reason", "command", "command", line)
}

// forbiddenText refuses a text in which a forbidden pattern occurs. path is
// where a person finds the text.
func (j *job) forbiddenText(lines iter.Seq[string], path string) error {
	c, err := j.routes()
	if err != nil {
		return err
	}
	line, pattern := c.forbidden(lines)
	if pattern == "" {
		return nil
	}
	return fault.New(fault.GHDependencyDetected, "value", shortLine(line), "path", path, "reason", pattern)
}

const shownLine = 200

func shortLine(s string) string {
	s = strings.ToValidUTF8(oneLine(s), "\uFFFD")
	if r := []rune(s); len(r) > shownLine {
		return string(r[:shownLine]) + "…"
	}
	return s
}

// forbiddenInLog looks at what a shell command of the run printed.
func (j *job) forbiddenInLog(res result) error {
	f, err := os.Open(j.Project.Path(res.log))
	if err != nil {
		return nil // the log is gone; there is nothing to look at
	}
	defer f.Close()
	if _, err := f.Seek(res.from, io.SeekStart); err != nil {
		return nil
	}
	return j.forbiddenText(lines(f), res.log)
}

// forbiddenInPatch looks at the lines that a step adds.
func (j *job) forbiddenInPatch(s *runs.Step, patch []byte) error {
	return j.forbiddenText(addedLines(patch), runs.PatchName(s.StepID, 0))
}

func lines(r io.Reader) iter.Seq[string] {
	return func(yield func(string) bool) {
		b := bufio.NewReaderSize(r, 64<<10)
		for {
			line, err := b.ReadSlice('\n')
			if len(line) > 0 && !yield(string(line)) {
				return
			}
			if err != nil && err != bufio.ErrBufferFull {
				return
			}
		}
	}
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
