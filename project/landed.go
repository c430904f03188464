package project

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
	"aiflow/runs"
)

// Landed says which commits of runs are in a history, by run.
type Landed map[string]landedRun

type landedRun struct {
	steps    map[string]bool // by id
	subjects []string        // of the commits that tell the run's result
}

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

// LandedIn tells which of these runs a history has: all that their trailers tell, or the
// last commit of the run, or the one that a landing made of it. A branch that a person
// moved says nothing of the run. It is the one answer to what is merged.
func (p *Project) LandedIn(ctx context.Context, tip string, about []*runs.Stage) (map[string]bool, error) {
	found, _, err := landedIn(ctx, p, tip, about)
	return found, err
}

func landedIn(ctx context.Context, p *Project, tip string, about []*runs.Stage) (map[string]bool, Landed, error) {
	found := map[string]bool{}
	at := p.Root.tip(tip)
	about = slices.DeleteFunc(slices.Clone(about), func(st *runs.Stage) bool { return at == beganAt(st) && at != "" }) // nothing came since
	if len(about) == 0 {
		return found, nil, nil
	}
	landed, err := p.Landed(ctx, tip, oldestBase(about))
	asked := map[string][]string{} // commit -> runs
	for _, st := range about {
		if landed.Whole(st) {
			found[st.RunID] = true
			continue
		}
		last := []string{st.Tip()}
		if st.Landed != nil {
			last = append(last, st.Landed.Commit)
		}
		for _, commit := range last {
			if commit != "" && commit != st.Git.BaseCommit {
				asked[commit] = append(asked[commit], st.RunID)
			}
		}
	}
	there, lacks := partition(ctx, p, tip, slices.Collect(maps.Keys(asked)))
	for _, commit := range there {
		if lacks[commit] {
			continue
		}
		for _, id := range asked[commit] {
			found[id] = true
		}
	}
	return found, landed, err
}

// partition are those of the commits that are there, and what a history lacks of all that
// they bring; none where git cannot say.
func partition(ctx context.Context, p *Project, tip string, commits []string) (there []string, lacks map[string]bool) {
	at := p.Root.tip(tip)
	if !slices.ContainsFunc(commits, func(c string) bool { return c != at }) {
		return commits, nil
	}
	ask := func() ([]byte, error) {
		return p.Git().AskInput(ctx, []byte(strings.Join(commits, "\n")+"\n^"+tip+"\n"), "rev-list", "--stdin")
	}
	out, err := ask()
	if err != nil { // one of them is no longer there
		found := commitsOf(ctx, p, append(slices.Clone(commits), tip))
		commits = slices.DeleteFunc(commits, func(c string) bool { return found[c] == "" })
		if len(commits) == 0 || found[tip] == "" {
			return nil, nil
		}
		if out, err = ask(); err != nil {
			return nil, nil
		}
	}
	lacks = map[string]bool{}
	for commit := range strings.FieldsSeq(string(out)) {
		lacks[commit] = true
	}
	return commits, lacks
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

// whyUnsure is why git could not say what has been merged: err, or what keeps it from
// telling the branches.
func whyUnsure(ctx context.Context, p *Project, branches Branches, err error) error {
	if err == nil && branches == nil {
		return refusal(ctx, p)
	}
	return err
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
			if found[run].steps == nil {
				found[run] = landedRun{steps: map[string]bool{}}
			}
			continue
		case ResultTrailer:
			step = runs.RecordStep
			if run != "" {
				found[run] = landedRun{found[run].steps, append(found[run].subjects, subject)}
			}
		case StepTrailer:
		default:
			continue
		}
		if run != "" {
			found[run].steps[step] = true
		}
	}
	return found
}

// Whole reports whether everything of a finished run is there: a squash that tells
// its result, or each step's commit. One step that somebody picked is not the whole
// run, and neither is its last commit alone, which the name of the branch means.
func (l Landed) Whole(st *runs.Stage) bool {
	there := l[st.RunID]
	if there.steps[runs.RecordStep] && !onlyRecord(there, st) {
		return true
	}
	steps := 0
	for i := range st.Steps {
		if st.Steps[i].Status != runs.StepDone {
			continue
		}
		steps++
		if !there.steps[st.Steps[i].StepID] {
			return false
		}
	}
	return steps > 0
}

// onlyRecord: the result is told by copies of the run's last commit alone, and the
// commit of a step is missing.
func onlyRecord(there landedRun, st *runs.Stage) bool {
	missing := false
	for _, c := range st.Git.Commits {
		if c.StepID != runs.RecordStep {
			missing = missing || !there.steps[c.StepID]
		} else if slices.ContainsFunc(there.subjects, func(subject string) bool { return subject != c.Subject }) {
			return false
		}
	}
	return missing
}
