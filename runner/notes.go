package runner

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
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
	"aiflow/runs"
)

// What is written here helps people to understand a run; no run goes on from
// it, and none stops because it cannot be written.

// noteStart writes down which program works for the run from now on, and what
// was not committed in the checkout when it began.
func (j *job) noteStart() {
	if j.held() != nil {
		return
	}
	r := j.lease.Record()
	p := j.Project
	git, _ := gitcmd.Find(p.Env.Environ, nil)
	_ = j.dir.AddStart(runs.Start{
		At: p.Now().UTC(), Command: append([]string{}, j.Invoked...), PID: p.Env.PID, Hostname: r.Hostname, Lang: j.Words.Lang,
		Aiflow: p.Env.Build, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Git: git.Bin,
		Config: j.hashed(cmp.Or(p.Env.Config, p.Env.Getenv("AIFLOW_CONFIG"), config.File)), Router: j.hashed(config.RouterFile),
	})
	if j.outside != nil && j.stage.State == runs.Init {
		_ = j.dir.SaveStatus(runs.StatusBefore, statusText(j.outside))
	}
	j.diary, _ = j.dir.OpenLog(runs.LogRunner, "", 0)
	j.writeLine("RUN", j.stage.RunID+" "+string(j.stage.State)+" "+j.stage.Git.WorkBranch)
}

// noteEnd writes down how it stands when this program leaves it.
func (j *job) noteEnd() {
	if j.diary == nil {
		return
	}
	j.writeLine("RUN", strings.TrimSpace(j.stage.RunID+" "+string(j.stage.State)+" "+j.stage.ReasonCode()))
	_ = j.diary.Close()
	j.diary = nil
}

// hashed is a file of the configuration as it is now; nil when there is none.
func (j *job) hashed(name string) *runs.Hashed {
	var data []byte
	err := os.ErrNotExist
	for _, dir := range []string{j.Project.Dir, j.Project.Env.Dir} {
		path := filepath.FromSlash(name)
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if fi, statErr := os.Stat(path); statErr == nil && !fi.Mode().IsRegular() {
			return nil // a pipe would be waited for
		}
		if data, err = os.ReadFile(path); err == nil {
			break
		}
	}
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(data)
	return &runs.Hashed{Path: name, SHA256: hex.EncodeToString(sum[:])}
}

// noteLeft writes down what was not committed in the workspace as the run
// stopped.
func (j *job) noteLeft() {
	if j.ws == nil || j.held() != nil {
		return
	}
	left := make([]gitops.Change, len(j.left))
	for i, f := range j.left {
		left[i] = gitops.Change{Path: f.Path, OldPath: f.OldPath, Status: f.Status, Staged: true}
	}
	_ = j.dir.SaveStatus(runs.StatusAfter, statusText(left))
}

// noteApplied writes down which patch was really applied.
func (j *job) noteApplied(s *runs.Step, r reply, patch []byte) {
	sum := sha256.Sum256(patch)
	note := fmt.Sprintf("%s attempt %d (%s): git apply\n%d bytes, sha256 %x\n%s\n",
		s.StepID, r.try, r.call.Provider, len(patch), sum, strings.Join(patchedFiles(patch), "\n"))
	if j.held() == nil && j.dir.AppendLog(runs.LogApplied, "", 0, []byte(note)) == nil {
		s.Logs = appendOnce(s.Logs, j.dir.RelPath(runs.LogName(runs.LogApplied, "", 0)))
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
		letter, path := letters[c.Status], oneLine(c.Path)
		switch {
		case len(letter) > 1:
		case c.Staged:
			letter += " "
		default:
			letter = " " + letter
		}
		if c.OldPath != "" {
			path = oneLine(c.OldPath) + " -> " + path
		}
		b.WriteString(letter + " " + path + "\n")
	}
	return []byte(b.String())
}

// write adds an event to logs/runner.log.
func (j *job) write(e Event) {
	if j.diary == nil {
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
	j.writeLine(tag, j.sentence(e))
}

func (j *job) writeLine(tag, text string) {
	if j.diary == nil || j.held() != nil {
		return
	}
	_, _ = fmt.Fprintf(j.diary, "%s [%s] %s\n", j.Project.Now().UTC().Format(time.RFC3339), tag, oneLine(text))
}

// sentence is what happened, in words.
func (j *job) sentence(e Event) string {
	return j.Words.Text("work.event_"+string(e.Kind), e.Facts())
}
