package main

import (
	"bytes"
	"os"
	"strings"

	"aiflow/cmd/aiflow-hook/gate"
	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/hooks"
	"aiflow/internal/proc"
	"aiflow/internal/term"
	"aiflow/project"
	"aiflow/reqmeta"
)

// after notices what has been merged: what every hook does that runs when git
// is done. It refuses nothing; what goes wrong is one line.
func after(s *cli.Shell, w here, hook string, args []string) {
	if !moved(hook, args) {
		return
	}
	if hook == hooks.PostMerge || hook == hooks.PostRewrite {
		cameIn(s, w)
	}
	if !sameAs(w.top, w.checkout) { // a linked worktree's commits are merged later
		return
	}
	reconcile(s, w, hook)
	inner, err := gate.Projects(s.Context(), w.git(s), w.place(s))
	if err != nil {
		return
	}
	for _, prefix := range inner {
		if sub, ok := w.in(s, prefix); ok {
			reconcile(s, sub, hook)
		}
	}
}

// cameIn tells what is wrong with what a merge or the end of a rebase brought.
// Warnings about a merge that git committed itself were given before it.
func cameIn(s *cli.Shell, w here) {
	if w.ofRun(s) {
		return
	}
	found, err := w.findings(s, gate.Options{From: "ORIG_HEAD", To: "HEAD", Merge: true})
	if err != nil || len(found) == 0 {
		return // no ORIG_HEAD, for one; check finds it all the same
	}
	bad := failures(found)
	if _, err := w.git(s).Ask(s.Context(), "rev-parse", "--quiet", "--verify", "HEAD^2"); err == nil {
		found = bad
	}
	showFindings(s, found)
	if len(bad) > 0 {
		s.Tell(s.Text("hook.came_in", "count", len(bad)))
	}
}

// reconcile looks after one project.
func reconcile(s *cli.Shell, w here, hook string) {
	if !w.isProject() {
		return
	}
	env := project.SystemEnv(w.main, append(s.Environ(), hooks.EnvGuard+"="+hook), proc.ClockOf(s.Now, proc.BootClock), os.Getpid())
	app.Watch(&env)
	p, err := project.Open(env)
	if err != nil {
		return // every other command says what is wrong
	}
	if !p.EverRan(s.Context()) {
		return
	}
	if hook == hooks.PostCommit {
		// Is what was just made a merge, or does it carry a run's own lines, as a squash does?
		out, err := p.Git().Ask(s.Context(), "log", "-1", "--no-show-signature", "--format=%P%n%B", "HEAD", "--")
		parents, message, _ := bytes.Cut(out, []byte("\n"))
		if err != nil || !bytes.ContainsRune(bytes.TrimSpace(parents), ' ') && !bytes.Contains(message, []byte(project.RunTrailer+": ")) {
			return
		}
	}
	survey, err := p.Reconcile(s.Context())
	if err != nil {
		s.Tell(term.Escape(s.Text("hook.not_reconciled", "cause", s.Body(err).Message)))
	}
	if survey == nil || len(survey.Notes) == 0 {
		return
	}
	// What became done and what can run now, a line each.
	app.Notes(s, survey)
	if p.Config.Hooks.CommitStatus && (hook == hooks.PostMerge || hook == hooks.PostCommit) {
		commitStatus(s, p, survey)
	}
	result := survey.Select()
	if n := result.Next; n != nil {
		s.Tell(term.Escape(s.Text("hook.next", "id", n.RequestID, "title", n.Title, "count", result.Stats.Runnable)))
	}
}

// moved reports whether HEAD may have got what it had not.
func moved(hook string, args []string) bool {
	switch hook {
	case hooks.PostMerge:
		return len(args) == 0 || args[0] != "1" // a squash is committed later
	case hooks.PostCheckout:
		return len(args) == 3 && args[2] == "1" && args[0] != args[1]
	case hooks.PostRewrite:
		return len(args) > 0 && args[0] == "rebase"
	}
	return true
}

func commitStatus(s *cli.Shell, p *project.Project, survey *project.Survey) {
	var written []*reqmeta.Request
	for _, n := range survey.Notes {
		if r, err := survey.Folder.Get(n.RequestID); err == nil && n.Written && n.Kind != project.NoteLanded {
			written = append(written, r)
		}
	}
	ids, err := p.CommitStatus(s.Context(), written)
	switch {
	case err != nil:
		s.Tell(term.Escape(s.Text("hook.not_committed", "cause", s.Body(err).Message)))
	case len(ids) > 0:
		s.Tell(term.Escape(s.Text("hook.committed", "names", strings.Join(ids, ", "))))
	}
}
