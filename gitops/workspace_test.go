package gitops

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
)

func stepMessage() CommitMessage {
	return CommitMessage{
		Subject: "aiflow(RQ-1): do it [S01]", Body: "why\n# not a comment",
		Trailers: [][2]string{{"Aiflow-Request", "RQ-1"}, {"Aiflow-Run", "RUN-20260101-000000-000001"}, {"Aiflow-Step", "S01"}},
	}
}

func TestRunOfThreeSteps(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	r := b.open(root)
	before := b.sh(root, "rev-parse", "HEAD")
	w := b.worktree(r, "RQ-1")
	if w.Branch() != "aiflow/RQ-1/20260102-030405" || w.Path() != filepath.Join(root, ".aiflow/worktrees/RQ-1") {
		t.Fatalf("workspace %+v", w)
	}
	for _, name := range []string{"a", "b", "c"} {
		writeFile(t, filepath.Join(w.Path(), name), name+"\n")
		set, err := w.Changes(t.Context())
		if err != nil || len(set.Files) != 1 || set.Added != 1 {
			t.Fatalf("%+v, %v", set, err)
		}
		made, err := w.Commit(t.Context(), stepMessage(), CommitOptions{RunHooks: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.sh(w.Path(), "rev-parse", "HEAD"); got != made.Hash {
			t.Errorf("made.Hash %s, HEAD %s", made.Hash, got)
		}
		if tree, err := r.treeOf(t.Context(), made.Hash); err != nil || tree != set.Tree {
			t.Errorf("tree %s, %v, Changes said %s", tree, err, set.Tree)
		}
	}
	done, err := r.Commits(t.Context(), before, "refs/heads/"+w.Branch())
	if err != nil || len(done) != 3 || done[2].Subject != "aiflow(RQ-1): do it [S01]" || done[0].Trailers["Aiflow-Step"][0] != "S01" {
		t.Errorf("%+v, %v", done, err)
	}
	if err := r.RemoveWorktree(t.Context(), w.Path(), Keep{}); err != nil {
		t.Fatal(err)
	}
	if b.sh(root, "rev-parse", "HEAD") != before || b.sh(root, "status", "--porcelain") != "" || exists(w.Path()) {
		t.Error("the checkout changed or the worktree stayed")
	}
	if got := b.sh(root, "fsck", "--strict"); got != "" {
		t.Errorf("fsck: %s", got)
	}
}

func TestChangesOfEveryKind(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	b.commit(root, "more", map[string]string{"old": strings.Repeat("line\n", 20), "gone": "g\n", "mode": "m\n", "type": "t\n", "bin": "\x00\x01"})
	w := b.worktree(b.open(root), "RQ-1")
	p := func(name string) string { return filepath.Join(w.Path(), name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Rename(p("old"), p("new\nname")))
	must(os.Remove(p("gone")))
	must(os.Chmod(p("mode"), 0o755))
	must(os.Remove(p("type")))
	must(os.Symlink("f", p("type")))
	writeFile(t, p("bin"), "\x00\x02")
	writeFile(t, p("日本/x y"), "1\n2\n")
	writeFile(t, p("late NULs"), strings.Repeat("x\n", 5000)+"\x00\x00\n")
	writeFile(t, p("f"), "one\n")
	writeFile(t, p("ignored.log"), "x")
	set, err := w.Changes(t.Context())
	must(err)
	want := []FileChange{
		{Path: "bin", Status: Modified, Binary: true, OldMode: "100644", NewMode: "100644"},
		{Path: "f", Status: Modified, Deleted: 1, OldMode: "100644", NewMode: "100644"},
		{Path: "gone", Status: Deleted, Deleted: 1, OldMode: "100644", NewMode: "000000"},
		{Path: "late NULs", Status: Added, Added: 5001, OldMode: "000000", NewMode: "100644"},
		{Path: "mode", Status: Modified, OldMode: "100644", NewMode: "100755", ModeChange: true},
		{Path: "new\nname", OldPath: "old", Status: Renamed, OldMode: "100644", NewMode: "100644"},
		{Path: "type", Status: TypeChanged, Added: 1, Deleted: 1, OldMode: "100644", NewMode: "120000", ModeChange: true},
		{Path: "日本/x y", Status: Added, Added: 2, OldMode: "000000", NewMode: "100644"},
	}
	if !reflect.DeepEqual(set.Files, want) {
		t.Errorf("got  %+v\nwant %+v", set.Files, want)
	}
	if set.Added != 5004 || set.Deleted != 3 {
		t.Errorf("+%d -%d", set.Added, set.Deleted)
	}
	sameJudged(t, w, set)
	roundTrip(t, b, w, set.Tree)
}

// sameJudged: the patch that is read together with the changes is the one that
// is asked for alone, to the byte.
func sameJudged(t *testing.T, w *Workspace, set ChangeSet) {
	t.Helper()
	alone, err := w.Patch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tree := range []string{"", set.Tree} {
		set.Tree = tree
		got, err := w.Judged(t.Context(), tree != "")
		if err != nil || !reflect.DeepEqual(got, set) {
			t.Errorf("judged %+v, %v\nwant %+v", got, err, set)
		}
		if w.patch == nil {
			t.Error("the patch was not read with the changes")
		}
		if together, err := w.Patch(t.Context()); err != nil || !bytes.Equal(together, alone) {
			t.Errorf("%v: together\n%s\nalone\n%s", err, together, alone)
		}
	}
	writeFile(t, filepath.Join(w.Path(), "f"), "another\n")
	if _, err := w.Changes(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now, err := w.Patch(t.Context()); err != nil || bytes.Equal(now, alone) {
		t.Errorf("%v: an old patch for new changes\n%s", err, now)
	}
	writeFile(t, filepath.Join(w.Path(), "f"), "one\n")
	if _, err := w.Judged(t.Context(), true); err != nil {
		t.Fatal(err)
	}
}

func TestJudgedNothing(t *testing.T) {
	b := newBench(t)
	w := b.worktree(b.open(b.repo("r")), "RQ-1")
	set, err := w.Judged(t.Context(), false)
	if err != nil || !set.Empty() || w.patch == nil {
		t.Fatalf("%+v, %v, %q", set, err, w.patch)
	}
	if data, err := w.Patch(t.Context()); err != nil || len(data) != 0 {
		t.Errorf("%q, %v", data, err)
	}
}

// roundTrip puts the changes away as a patch and gets them back.
func roundTrip(t *testing.T, b *bench, w *Workspace, tree string) {
	t.Helper()
	data, err := w.Patch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.ResetTo(t.Context(), "HEAD", keepAll(t)); err != nil {
		t.Fatal(err)
	}
	set, err := w.Changes(t.Context())
	if err != nil || !set.Empty() || set.Tree != b.sh(w.Path(), "rev-parse", "HEAD^{tree}") {
		t.Fatalf("after the reset: %+v, %v", set, err)
	}
	if readFileText(t, filepath.Join(w.Path(), "ignored.log")) != "x" {
		t.Error("an ignored file is gone")
	}
	if err := w.ApplyPatch(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	if set, err = w.Changes(t.Context()); err != nil || set.Tree != tree {
		t.Errorf("tree %s, %v, want %s", set.Tree, err, tree)
	}
}

func TestCommitCommitsWhatChangesSaw(t *testing.T) {
	b := newBench(t)
	w := b.worktree(b.open(b.repo("r")), "RQ-1")
	writeFile(t, filepath.Join(w.Path(), "a"), "a\n")
	if _, err := w.Changes(t.Context()); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(w.Path(), "late"), "left by the tests\n")
	if _, err := w.Commit(t.Context(), stepMessage(), CommitOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := b.sh(w.Path(), "show", "--name-only", "--format=", "HEAD"); got != "a" {
		t.Errorf("committed %q", got)
	}
	if _, err := w.Commit(t.Context(), stepMessage(), CommitOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := b.sh(w.Path(), "show", "--name-only", "--format=", "HEAD"); got != "late" {
		t.Errorf("committed %q", got)
	}
}

func TestNothingToCommit(t *testing.T) {
	b := newBench(t)
	w := b.worktree(b.open(b.repo("r")), "RQ-1")
	_, err := w.Commit(t.Context(), stepMessage(), CommitOptions{RunHooks: true})
	if !errors.Is(err, ErrNothingToCommit) || !fault.Has(err, fault.GitCommitFailed) {
		t.Errorf("err = %v", err)
	}
	if _, err := w.Commit(t.Context(), stepMessage(), CommitOptions{AllowEmpty: true}); err != nil {
		t.Errorf("empty commit: %v", err)
	}
}

func TestMessageIsKept(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	b.sh(root, "config", "commit.cleanup", "scissors")
	b.sh(root, "config", "commit.template", "/no/such")
	b.sh(root, "config", "i18n.commitEncoding", "ISO-8859-1")
	w := b.worktree(b.open(root), "RQ-1")
	m := CommitMessage{Subject: "#1 日本\nx\x1b[31m\x00", Body: "# body\n\n\xff", Trailers: [][2]string{{"Aiflow-Run", "a\nb"}}}
	if _, err := w.Commit(t.Context(), m, CommitOptions{AllowEmpty: true}); err != nil {
		t.Fatal(err)
	}
	if got, want := b.sh(w.Path(), "log", "-1", "--format=%B"), "#1 日本 x[31m\n\n# body\n\n\uFFFD\n\nAiflow-Run: a b\n"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
}

func TestHooks(t *testing.T) {
	for _, tc := range []struct {
		name, hook, script string
		run                bool
		output             string // of the refusal; "" means a commit
		files              string // in the commit
	}{
		{"none", "", "", true, "", "a"},
		{"refuses", "pre-commit", "echo 'out: no'; echo 'err: no' >&2; exit 1", true, "out: no\nerr: no", ""},
		{"refuses the message", "commit-msg", "echo bad message; exit 1", true, "bad message", ""},
		{"skipped", "pre-commit", "exit 1", false, "", "a"},
		{"adds a file", "pre-commit", "echo x >added && git add added", true, "", "a\nadded"},
		{"changes a file", "pre-commit", "echo changed >a && git add a", true, "", "a"},
		{"asks", "pre-commit", "read answer && exit 0; echo nobody answers; exit 1", true, "nobody answers", ""},
		{"writes to another place", "pre-commit", "git -C ../../.. status >/dev/null; exit 0", true, "", "a"},
		{"fails afterwards", "post-commit", "exit 1", true, "", "a"},
		{"cannot run", "pre-commit", "\r", true, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			root := b.repo("r")
			w := b.worktree(b.open(root), "RQ-1")
			if tc.hook != "" {
				installHook(t, filepath.Join(root, ".git/hooks", tc.hook), tc.script)
			}
			writeFile(t, filepath.Join(w.Path(), "a"), "a\n")
			_, err := w.Commit(t.Context(), stepMessage(), CommitOptions{RunHooks: tc.run})
			if tc.files != "" {
				if got := b.sh(w.Path(), "show", "--name-only", "--format=", "HEAD"); err != nil || got != tc.files {
					t.Errorf("committed %q, %v", got, err)
				}
				return
			}
			f, _ := fault.As(err)
			if !fault.Has(err, fault.GitCommitFailed) || tc.output != "" && f.Facts["output"] != tc.output {
				t.Errorf("err = %v", err)
			}
			if got := b.sh(w.Path(), "log", "-1", "--format=%s"); got != "second" {
				t.Errorf("HEAD is %q", got)
			}
		})
	}
}

func installHook(t *testing.T, path, script string) {
	t.Helper()
	text := "#!/bin/sh\n" + script + "\n"
	if strings.HasPrefix(script, "\r") {
		text = "#!/bin/nosuch\r\n"
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), proc.WriteProgram(path, []byte(text))); err != nil {
		t.Fatal(err)
	}
}

func TestHooksPathAndEnvironment(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	hooks := filepath.Join(b.dir, "hooks dir")
	b.sh(root, "config", "core.hooksPath", hooks)
	installHook(t, filepath.Join(hooks, "pre-commit"), `test "$AIFLOW_RUN" = 1 || { echo "AIFLOW_RUN=$AIFLOW_RUN"; exit 1; }`)
	w := b.worktree(b.open(root), "RQ-1")
	if _, err := w.Commit(t.Context(), stepMessage(), CommitOptions{RunHooks: true, AllowEmpty: true}); !fault.Has(err, fault.GitCommitFailed) {
		t.Errorf("the hook in core.hooksPath did not run: %v", err)
	}
	o := CommitOptions{RunHooks: true, AllowEmpty: true, Env: []string{"AIFLOW_RUN=1"}}
	if _, err := w.Commit(t.Context(), stepMessage(), o); err != nil {
		t.Error(err)
	}
}

func TestSigningWithoutKeyFailsAtOnce(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	b.sh(root, "config", "commit.gpgsign", "true")
	b.sh(root, "config", "user.signingkey", "NOSUCHKEY")
	b.sh(root, "config", "gpg.program", "false")
	w := b.worktree(b.open(root), "RQ-1")
	_, err := w.Commit(t.Context(), stepMessage(), CommitOptions{AllowEmpty: true})
	f, _ := fault.As(err)
	if !fault.Has(err, fault.GitCommitFailed) || !strings.Contains(f.Facts["output"], "gpg failed to sign") {
		t.Errorf("err = %v", err)
	}
	if _, err := w.KeepAttempt(t.Context(), "refs/aiflow/attempts/RUN-1/S01/1", stepMessage()); err != nil {
		t.Errorf("an attempt needs no signature: %v", err)
	}
}

func TestNoIdentity(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	writeFile(t, filepath.Join(b.dir, "gitconfig"), "[user]\n\tuseConfigOnly = true\n")
	r := b.open(root)
	w := b.worktree(r, "RQ-1")
	_, _, err := r.Identity(t.Context())
	f, _ := fault.As(err)
	if f == nil || !strings.Contains(f.Facts["output"], "git config --global user.email") || f.Facts["reason"] != "identity_missing" {
		t.Errorf("err = %v", err)
	}
	if _, err := w.Commit(t.Context(), stepMessage(), CommitOptions{AllowEmpty: true}); !fault.Has(err, fault.GitCommitFailed) {
		t.Errorf("err = %v", err)
	}
	commit, err := w.KeepAttempt(t.Context(), "refs/aiflow/attempts/RUN-1/S01/1", stepMessage())
	if err != nil || b.sh(root, "log", "-1", "--format=%an", commit) != "aiflow" {
		t.Errorf("attempt: %v", err)
	}
}

func TestFiltersAndLineEndings(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	b.sh(root, "config", "filter.up.clean", "tr a-z A-Z")
	b.sh(root, "config", "filter.up.smudge", "tr A-Z a-z")
	b.sh(root, "config", "filter.up.required", "true")
	b.sh(root, "config", "core.autocrlf", "true")
	b.commit(root, "filtered", map[string]string{".gitattributes": "*.up filter=up -text\n", "x.up": "small\n"})
	r := b.open(root)
	w := b.worktree(r, "RQ-1")
	if set, err := w.Changes(t.Context()); err != nil || !set.Empty() {
		t.Fatalf("a fresh worktree has changes: %+v, %v", set.Files, err)
	}
	if got := readFileText(t, filepath.Join(w.Path(), "f")); got != "one\r\nmore\r\n" {
		t.Errorf("f = %q", got)
	}
	made, err := w.CommitFile(t.Context(), "y.up", []byte("abc\n"), stepMessage(), CommitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := r.ReadFile(t.Context(), made.Hash, "y.up"); err != nil || string(got) != "ABC\n" {
		t.Errorf("y.up = %q, %v", got, err)
	}
	if made, err = w.CommitFile(t.Context(), "f", []byte("two\r\n"), stepMessage(), CommitOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, _, err := r.ReadFile(t.Context(), made.Hash, "f"); err != nil || string(got) != "two\n" {
		t.Errorf("f = %q, %v", got, err)
	}
	b.sh(root, "config", "filter.up.clean", "false")
	writeFile(t, filepath.Join(w.Path(), "z.up"), "z\n")
	if _, err := w.Changes(t.Context()); !fault.Has(err, fault.GitCommandFailed) {
		t.Errorf("a broken filter: %v", err)
	}
}

func TestCommitFileCommitsOnlyThatFile(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	b.commit(root, "script", map[string]string{"requests/RQ-1.md": "---\nstatus: running\n---\n"})
	b.sh(root, "update-index", "--chmod=+x", "requests/RQ-1.md")
	b.sh(root, "commit", "-q", "-m", "mode")
	w := b.worktree(b.open(root), "RQ-1")
	writeFile(t, filepath.Join(w.Path(), "other"), "other\n")
	if _, err := w.Changes(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"requests/RQ-1.md", "new/:(glob)*"} {
		made, err := w.CommitFile(t.Context(), name, []byte("done\n"), stepMessage(), CommitOptions{RunHooks: true})
		if err != nil {
			t.Fatal(err)
		}
		got := b.sh(w.Path(), "show", "--raw", "--abbrev=4", "--format=", made.Hash)
		want := []string{":100755 100755", ":000000 100644"}[i]
		if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "\t"+name) || strings.Contains(got, "\n") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := b.sh(w.Path(), "status", "--porcelain"); got != "A  other" {
		t.Errorf("status %q", got)
	}
	if _, err := w.CommitFile(t.Context(), "requests/RQ-1.md", []byte("done\n"), stepMessage(), CommitOptions{}); !errors.Is(err, ErrNothingToCommit) {
		t.Errorf("the same bytes again: %v", err)
	}
}

func TestCommitFileStaysInside(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	outside := filepath.Join(b.dir, "outside")
	writeFile(t, filepath.Join(outside, "x"), "mine\n")
	w := b.worktree(b.open(root), "RQ-1")
	for name, target := range map[string]string{"dirlink": outside, "filelink": filepath.Join(outside, "x")} {
		if err := os.Symlink(target, filepath.Join(w.Path(), name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"../../../f", "/etc/x", "dirlink/x", "filelink", ""} {
		if _, err := w.CommitFile(t.Context(), name, []byte("theirs\n"), stepMessage(), CommitOptions{}); !fault.Has(err, fault.GitCommitFailed) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if got := readFileText(t, filepath.Join(outside, "x")); got != "mine\n" {
		t.Errorf("outside: %q", got)
	}
}

func TestKeepAttempt(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	w := b.worktree(b.open(root), "RQ-1")
	writeFile(t, filepath.Join(w.Path(), "new"), "tried\n")
	writeFile(t, filepath.Join(w.Path(), "f"), "tried\n")
	writeFile(t, filepath.Join(w.Path(), "x.log"), "ignored\n")
	b.sh(w.Path(), "add", "f")
	status, index := b.sh(w.Path(), "status", "--porcelain"), readFileText(t, filepath.Join(w.gitDir, "index"))
	ref := "refs/aiflow/attempts/RUN-1/S01/1"
	commit, err := w.KeepAttempt(t.Context(), ref, stepMessage())
	if err != nil {
		t.Fatal(err)
	}
	if got := b.sh(root, "diff", "--name-status", "HEAD", ref); got != "M\tf\nA\tnew" {
		t.Errorf("kept %q", got)
	}
	if b.sh(w.Path(), "status", "--porcelain") != status || readFileText(t, filepath.Join(w.gitDir, "index")) != index {
		t.Error("the workspace was touched")
	}
	if left, _ := filepath.Glob(filepath.Join(w.gitDir, "aiflow-*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	if again, err := w.KeepAttempt(t.Context(), ref, stepMessage()); err != nil || again != commit {
		t.Errorf("the same again: %s, %v", again, err)
	}
	writeFile(t, filepath.Join(w.Path(), "new"), "other\n")
	if _, err := w.KeepAttempt(t.Context(), ref, stepMessage()); !errors.Is(err, ErrMoved) {
		t.Errorf("other content: %v", err)
	}
	for _, bad := range []string{"refs/heads/main", "refs/aiflow/../heads/main", "refs/aiflow/x.lock", "x"} {
		if _, err := w.KeepAttempt(t.Context(), bad, stepMessage()); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestResetRefusesTheUsersCheckout(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	w, err := b.open(root).InPlace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(root, "f"), "mine\n")
	if err := w.ResetTo(t.Context(), "HEAD", keepAll(t)); !fault.Has(err, fault.WorkspaceFailed) {
		t.Errorf("err = %v", err)
	}
	if got := readFileText(t, filepath.Join(root, "f")); got != "mine\n" {
		t.Errorf("f = %q", got)
	}
}

func TestResetTakesBackWhatAnAgentCommitted(t *testing.T) {
	b := newBench(t)
	w := b.worktree(b.open(b.repo("r")), "RQ-1")
	start, err := w.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.commit(w.Path(), "by the agent", map[string]string{"a": "a\n"})
	b.sh(w.Path(), "checkout", "-q", "-b", "elsewhere")
	writeFile(t, filepath.Join(w.Path(), "b"), "b\n")
	if _, err := w.Commit(t.Context(), stepMessage(), CommitOptions{}); !fault.Has(err, fault.WorkspaceFailed) {
		t.Errorf("a commit on another branch: %v", err)
	}
	if err := w.ResetTo(t.Context(), start, keepAll(t)); err != nil {
		t.Fatal(err)
	}
	if got := b.sh(w.Path(), "rev-parse", "HEAD", "--symbolic-full-name", "HEAD"); got != start+"\nrefs/heads/"+w.Branch() {
		t.Errorf("at %q", got)
	}
	if got := b.sh(w.Path(), "status", "--porcelain"); got != "" {
		t.Errorf("status %q", got)
	}
}

func TestRepositoryInsideIsNamedAndKept(t *testing.T) {
	b := newBench(t)
	w := b.worktree(b.open(b.repo("r")), "RQ-1")
	b.repo("r/.aiflow/worktrees/RQ-1/inner")
	set, err := w.Changes(t.Context())
	if err != nil || len(set.Files) != 1 || !set.Files[0].Submodule || set.Files[0].Path != "inner" {
		t.Errorf("%+v, %v", set, err)
	}
	err = w.ResetTo(t.Context(), "HEAD", Keep{})
	if f, _ := fault.As(err); f == nil || f.Facts["reason"] != "nested_repository" || f.Facts["name"] != "inner" {
		t.Errorf("err = %v", err)
	}
	if !exists(filepath.Join(w.Path(), "inner/f")) {
		t.Error("it was removed")
	}
	k := keepAll(t)
	if err := w.ResetTo(t.Context(), "HEAD", k); err != nil || exists(filepath.Join(w.Path(), "inner")) {
		t.Errorf("err = %v", err)
	}
	if got := b.sh(filepath.Join(k.Dir, "inner"), "show", "HEAD:f"); got != "one\nmore" {
		t.Errorf("kept: %q", got)
	}
}

// TestLostLinkNeverReachesTheCheckout: without its .git file a worktree is
// just a folder in the user's checkout, and git would climb up to it.
func TestLostLinkNeverReachesTheCheckout(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	w := b.worktree(b.open(root), "RQ-1")
	dotGit := filepath.Join(w.Path(), ".git")
	if err := os.Remove(dotGit); err != nil {
		t.Fatal(err)
	}
	if out, err := w.git.Ask(t.Context(), "rev-parse", "--show-toplevel"); err == nil {
		t.Errorf("git climbed up to %s", out)
	}
	if got := b.sh(w.Path(), "rev-parse", "--show-toplevel"); got != root {
		t.Errorf("the control: top is %s", got)
	}
	writeFile(t, filepath.Join(w.Path(), "a"), "a\n")
	if set, err := w.Changes(t.Context()); err != nil || len(set.Files) != 1 {
		t.Errorf("the link was not made again: %+v, %v", set, err)
	}
	if err := os.Remove(dotGit); err != nil {
		t.Fatal(err)
	}
	b.sh(w.Path(), "init", "-q")
	if _, err := w.Changes(t.Context()); !fault.Has(err, fault.WorkspaceFailed) {
		t.Errorf("a foreign repository in its place: %v", err)
	}
}

func TestPoisonedEnvironment(t *testing.T) {
	b := newBench(t)
	victim := b.repo("victim")
	root := b.repo("r")
	index := readFileText(t, filepath.Join(victim, ".git/index"))
	b.git = b.git.With("GIT_DIR="+victim+"/.git", "GIT_INDEX_FILE="+victim+"/.git/index", "GIT_WORK_TREE="+victim)
	w := b.worktree(b.open(root), "RQ-1")
	writeFile(t, filepath.Join(w.Path(), "a"), "a\n")
	if _, err := w.KeepAttempt(t.Context(), "refs/aiflow/attempts/RUN-1/S01/1", stepMessage()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context(), stepMessage(), CommitOptions{RunHooks: true}); err != nil {
		t.Fatal(err)
	}
	if readFileText(t, filepath.Join(victim, ".git/index")) != index || b.sh(victim, "for-each-ref") != strings.Split(b.sh(victim, "for-each-ref"), "\n")[0] {
		t.Error("the victim was touched")
	}
	if got := b.sh(w.Path(), "log", "-1", "--format=%s"); got != stepMessage().Subject {
		t.Errorf("HEAD is %q", got)
	}
}

func TestApplyPatch(t *testing.T) {
	const good = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-more\n+less\n"
	for _, tc := range []struct{ name, patch, want string }{
		{"good", good, "one\nless\n"},
		{"no final line break", strings.TrimSuffix(good, "\n"), "one\nless\n"},
		{"wrong counts", strings.Replace(good, "-1,2 +1,2", "-1,7 +1,9", 1), "one\nless\n"},
		{"does not fit", strings.Replace(good, " one", " two", 1), ""},
		{"half fits", good + "--- a/no\n+++ b/no\n@@ -1 +1 @@\n-x\n+y\n", ""},
		{"outside", "--- /dev/null\n+++ b/../../../x\n@@ -0,0 +1 @@\n+x\n", ""},
		{"into .git", "--- /dev/null\n+++ b/.git/x\n@@ -0,0 +1 @@\n+x\n", ""},
		{"nonsense", "hello\n", ""},
		{"empty", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			w := b.worktree(b.open(b.repo("r")), "RQ-1")
			err := w.ApplyPatch(t.Context(), []byte(tc.patch))
			got := readFileText(t, filepath.Join(w.Path(), "f"))
			if tc.want != "" && (err != nil || got != tc.want) {
				t.Errorf("f = %q, %v", got, err)
			}
			if tc.want == "" && (!fault.Has(err, fault.PatchApplyFailed) || got != "one\nmore\n" || b.sh(w.Path(), "status", "--porcelain") != "") {
				t.Errorf("f = %q, %v", got, err)
			}
		})
	}
}

func TestInPlace(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	r := b.open(root)
	h, err := r.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.CreateBranch(t.Context(), "aiflow/RQ-1/x", h.Commit); err != nil {
		t.Fatal(err)
	}
	w, err := r.InPlace(t.Context())
	if err != nil || w.Branch() != "main" || w.Path() != root {
		t.Fatalf("%+v, %v", w, err)
	}
	if err := w.Switch(t.Context(), "aiflow/RQ-1/x"); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(root, "a"), "a\n")
	writeFile(t, filepath.Join(root, ".aiflow/locks/queue.lock.json"), "{}")
	set, err := w.Changes(t.Context())
	if err != nil || len(set.Files) != 1 || set.Files[0].Path != "a" {
		t.Errorf("%+v, %v", set.Files, err)
	}
	if _, err := w.Commit(t.Context(), stepMessage(), CommitOptions{RunHooks: true}); err != nil {
		t.Error(err)
	}
	writeFile(t, filepath.Join(root, "a"), "not saved\n")
	if err := w.Switch(t.Context(), "main"); !fault.Has(err, fault.WorkspaceFailed) || readFileText(t, filepath.Join(root, "a")) != "not saved\n" {
		t.Errorf("switching over changes: %v", err)
	}
	if cleared, err := w.ClearStaleLocks(); err != nil || cleared != nil {
		t.Errorf("locks of the checkout: %v, %v", cleared, err)
	}
}

func TestClearStaleLocks(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	w := b.worktree(b.open(root), "RQ-1")
	ours := filepath.Join(w.gitDir, "index.lock")
	writeFile(t, ours, "")
	theirs := filepath.Join(root, ".git/index.lock")
	writeFile(t, theirs, "")
	cleared, err := w.ClearStaleLocks()
	if err != nil || len(cleared) != 1 || cleared[0] != ours || exists(ours) || !exists(theirs) {
		t.Errorf("%v, %v", cleared, err)
	}
}

func TestProjectInAFolderOfItsRepository(t *testing.T) {
	b := newBench(t)
	top := b.repo("r")
	b.commit(top, "project", map[string]string{"sub/requests/RQ-1.md": "x\n", "sub/.gitignore": ".aiflow/worktrees\n"})
	r := b.open(filepath.Join(top, "sub"))
	if r.Top() != top {
		t.Fatalf("top %q", r.Top())
	}
	w := b.worktree(r, "RQ-1")
	if w.Dir() != filepath.Join(w.Path(), "sub") {
		t.Errorf("Dir = %s", w.Dir())
	}
	made, err := w.CommitFile(t.Context(), "requests/RQ-1.md", []byte("done\n"), stepMessage(), CommitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, ok, err := r.ReadFile(t.Context(), made.Hash, "requests/RQ-1.md"); !ok || err != nil || string(got) != "done\n" {
		t.Errorf("%q, %t, %v", got, ok, err)
	}
	writeFile(t, filepath.Join(w.Path(), "f"), "x\n")
	writeFile(t, filepath.Join(w.Path(), "sub/y"), "y\n")
	set, err := w.Changes(t.Context())
	if err != nil || len(set.Files) != 2 || set.Files[0].Path != "../f" || set.Files[1].Path != "y" || set.Files[0].Deleted != 2 {
		t.Errorf("%+v, %v", set.Files, err)
	}
}
