package stage

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"aiflow/gitops"
	"aiflow/internal/config"
	"aiflow/internal/gitcmd"
	"aiflow/runner/agent"
	"aiflow/runs"
)

// noteStart writes down which program works for the run from now on, and what
// was not committed in the checkout when it began.
func noteStart(run *Run) {
	if run.MayWrite() != nil {
		return
	}
	r := run.Lease.Record()
	p := run.Project
	git, _ := gitcmd.Find(p.Env.Environ)
	_ = run.Dir.AddStart(runs.Start{
		At: p.Now().UTC(), Command: append([]string{}, run.Invoked...), PID: p.Env.PID, Hostname: r.Hostname, Lang: run.Words.Lang,
		Aiflow: p.Env.Build, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Git: git.Bin,
		Config: hashed(run, cmp.Or(p.Env.Config, p.Env.Getenv("AIFLOW_CONFIG"), config.File)), Router: hashed(run, config.RouterFile),
	})
	if run.uncommitted != nil && run.Stage.State == runs.Init {
		_ = run.Dir.SaveStatus(runs.StatusBefore, statusText(run.uncommitted))
	}
	run.log, _ = run.Dir.OpenLog(runs.LogRunner, "", 0)
	run.logLine("RUN", run.Stage.RunID+" "+string(run.Stage.State)+" "+run.Stage.Git.WorkBranch)
}

// noteEnd writes down how it stands when this program leaves it.
func noteEnd(run *Run) {
	if run.log == nil {
		return
	}
	run.logLine("RUN", strings.TrimSpace(run.Stage.RunID+" "+string(run.Stage.State)+" "+run.Stage.ReasonCode()))
	_ = run.log.Close()
	run.log = nil
}

// hashed is a file of the configuration as it is now; nil when there is none.
func hashed(run *Run, name string) *runs.Hashed {
	for _, dir := range []string{run.Project.Dir, run.Project.Env.Dir} {
		path := filepath.FromSlash(name)
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
			return nil // a pipe would be waited for
		}
		if data, err := os.ReadFile(path); err == nil {
			return &runs.Hashed{Path: name, SHA256: fmt.Sprintf("%x", sha256.Sum256(data))}
		}
	}
	return nil
}

// noteLeft writes down what was not committed in the workspace as the run
// stopped.
func noteLeft(run *Run) {
	if run.Workspace == nil || run.MayWrite() != nil {
		return
	}
	left := make([]gitops.Change, len(run.left))
	for i, f := range run.left {
		left[i] = gitops.Change{Path: f.Path, OldPath: f.OldPath, Status: f.Status, Staged: true}
	}
	_ = run.Dir.SaveStatus(runs.StatusAfter, statusText(left))
}

// noteApplied writes down which patch was really applied.
func noteApplied(run *Run, s *runs.Step, r agent.Reply, patch []byte) {
	note := fmt.Sprintf("%s attempt %d (%s): git apply\n%d bytes, sha256 %x\n%s\n",
		s.StepID, r.Try, r.Call.Provider, len(patch), sha256.Sum256(patch), strings.Join(patchedFiles(patch), "\n"))
	if run.MayWrite() == nil && run.Dir.AppendLog(runs.LogApplied, "", 0, []byte(note)) == nil {
		s.Logs = appendOnce(s.Logs, run.Dir.RelPath(runs.LogName(runs.LogApplied, "", 0)))
	}
}

func patchedFiles(patch []byte) []string {
	var names []string
	for line := range strings.Lines(string(patch)) {
		for _, mark := range []string{"--- ", "+++ "} {
			name, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), mark)
			if _, inside, in := strings.Cut(name, "/"); ok && in && name != os.DevNull && !slices.Contains(names, inside) {
				names = append(names, inside)
			}
		}
	}
	return names
}

// statusText is the short format of git status.
func statusText(changes []gitops.Change) []byte {
	letters := map[gitops.Status]string{
		gitops.Added: "A", gitops.Modified: "M", gitops.Deleted: "D", gitops.Renamed: "R", gitops.TypeChanged: "T",
		gitops.Untracked: "??", gitops.Unmerged: "UU",
	}
	var b strings.Builder
	for _, c := range changes {
		letter, path := letters[c.Status], agent.OneLine(c.Path)
		switch {
		case len(letter) > 1:
		case c.Staged:
			letter += " "
		default:
			letter = " " + letter
		}
		if c.OldPath != "" {
			path = agent.OneLine(c.OldPath) + " -> " + path
		}
		b.WriteString(letter + " " + path + "\n")
	}
	return []byte(b.String())
}

// logEvent adds an event to logs/runner.log.
func (run *Run) logEvent(e Event) {
	if run.log == nil {
		return
	}
	tag := "RUN"
	switch e.Kind {
	case StepBegun, CommandBegun, StepDone, StepAdopted:
		tag = "STEP"
	case TestBegun:
		tag = "TEST"
	case RoleBegun, RoleFailed, SentBack:
		tag = "ROLE"
	case Warned:
		tag = "WARN"
	}
	run.logLine(tag, run.Words.Text("work.event_"+string(e.Kind), e.Facts()))
}

func (run *Run) logLine(tag, text string) {
	if run.log == nil || run.MayWrite() != nil {
		return
	}
	_, _ = fmt.Fprintf(run.log, "%s [%s] %s\n", run.Project.Now().UTC().Format(time.RFC3339), tag, agent.OneLine(text))
}
