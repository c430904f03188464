package project

import (
	"bytes"
	"context"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
	"aiflow/runs"
)

// Landed says which commits of runs are in a history: run -> step ids.
type Landed map[string]map[string]bool

// Landed reads the trailers in the history of a commit, a branch or HEAD since
// another commit; "" is all of it. A squash merge quotes them in its own message. Fault: GIT_REPO_REFUSED.
func (p *Project) Landed(ctx context.Context, tip, since string) (Landed, error) {
	args := []string{"log", "-F", "--grep=" + RunTrailer + ": ", "--format=%x00%B", "--end-of-options", tip}
	if since != "" {
		args = append(args, "^"+since)
	}
	out, err := p.Git().Ask(ctx, append(args, "--")...)
	if err != nil && since != "" {
		return p.Landed(ctx, tip, "") // the base is no longer there
	}
	if err != nil {
		err = refusal(ctx, p)
	}
	return readLanded(out), err
}

// LandedIn is Landed for these runs alone, with those whose branch a commit has in
// its history, whatever became of the trailers.
func (p *Project) LandedIn(ctx context.Context, commit string, about []*runs.Stage) (map[string]bool, error) {
	found := map[string]bool{}
	if len(about) == 0 {
		return found, nil
	}
	landed, err := p.Landed(ctx, commit, oldestBase(about))
	within := refs(ctx, p, "--merged="+commit)
	for _, st := range about {
		found[st.RunID] = landed.Whole(st) || within[st.Git.WorkBranch]
	}
	return found, err
}

// refusal is why git cannot say anything of this repository; nil when it can,
// or there is none.
func refusal(ctx context.Context, p *Project) error {
	_, err := p.Git().Ask(ctx, "rev-parse", "--git-dir")
	if err = gitcmd.NoRepository(err, p.Dir); fault.Has(err, fault.GitRepoRefused) {
		return err
	}
	return nil
}

// readLanded reads messages in which the run's trailer stands before the
// step's, as we write them.
func readLanded(messages []byte) Landed {
	found, run, subject := Landed{}, "", ""
	for line := range bytes.Lines(messages) {
		if first, begins := bytes.CutPrefix(line, []byte{0}); begins {
			run, subject = "", string(bytes.TrimSpace(first))
		}
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(": "))
		step := string(value)
		switch string(name) {
		case RunTrailer:
			run = string(value)
			if found[run] == nil {
				found[run] = map[string]bool{}
			}
			continue
		case ResultTrailer:
			step = runs.RecordStep
			if run != "" {
				found[run][under+subject] = true
			}
		case StepTrailer:
		default:
			continue
		}
		if run != "" {
			found[run][step] = true
		}
	}
	return found
}

// under stands before the subject of a commit that tells a run's result.
const under = "under "

// Whole reports whether everything of a finished run is there: a squash that tells
// its result, or each step's commit. One step that somebody picked is not the whole
// run, and neither is its last commit alone, which the name of the branch means.
func (l Landed) Whole(st *runs.Stage) bool {
	there := l[st.RunID]
	if there[runs.RecordStep] && !onlyRecord(there, st) {
		return true
	}
	steps := 0
	for i := range st.Steps {
		if st.Steps[i].Status != runs.StepDone {
			continue
		}
		steps++
		if !there[st.Steps[i].StepID] {
			return false
		}
	}
	return steps > 0
}

// onlyRecord: the result is told by copies of the run's last commit alone, and the
// commit of a step is missing.
func onlyRecord(there map[string]bool, st *runs.Stage) bool {
	missing := false
	for _, c := range st.Git.Commits {
		if c.StepID != runs.RecordStep {
			missing = missing || !there[c.StepID]
			continue
		}
		for key := range there {
			if subject, is := strings.CutPrefix(key, under); is && subject != c.Subject {
				return false
			}
		}
	}
	return missing
}
