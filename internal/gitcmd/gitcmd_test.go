package gitcmd

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
)

type bench struct {
	t   *testing.T
	dir string
	git Git
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "gitconfig")
	write(t, config, "[user]\n\tname = T\n\temail = t@example.org\n[init]\n\tdefaultBranch = main\n")
	g, err := Find([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + config,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, dir: dir, git: g}
}

func (b *bench) repo(name string) Git {
	b.t.Helper()
	dir := filepath.Join(b.dir, name)
	g := b.git.In(dir)
	write(b.t, filepath.Join(dir, "f"), name+"\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", name}} {
		if _, err := g.Do(b.t.Context(), args...); err != nil {
			b.t.Fatal(err)
		}
	}
	return g
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := proc.WriteProgram(path, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func ask(t *testing.T, g Git, args ...string) string {
	t.Helper()
	out, err := g.Ask(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "bin/git"), "#!/bin/sh\n")
	write(t, filepath.Join(dir, "folder/git/x"), "")
	env := []string{"PATH=relative:" + dir + "/none:" + dir + "/folder:" + dir + "/bin"}
	if g, err := Find(env); err != nil || g.Bin != filepath.Join(dir, "bin/git") {
		t.Errorf("Find = %q, %v", g.Bin, err)
	}
	for _, none := range [][]string{nil, {"PATH="}, {"PATH=."}, {"PATH=" + dir}} {
		if _, err := Find(none); !fault.Has(err, fault.GitNotAvailable) {
			t.Errorf("Find(%v) = %v", none, err)
		}
	}
}

func TestGitThatCannotBeStarted(t *testing.T) {
	for _, g := range []Git{{Bin: "/no/such/git"}, {Env: []string{"PATH=/no"}}} {
		if _, err := g.Ask(t.Context(), "version"); !fault.Has(err, fault.GitNotAvailable) {
			t.Errorf("%+v: %v", g, err)
		}
	}
	b := newBench(t)
	if _, err := b.git.In(b.dir+"/gone").Ask(t.Context(), "version"); err == nil || fault.Has(err, fault.GitNotAvailable) {
		t.Errorf("a missing folder is not a missing git: %v", err)
	}
}

func TestBinLookedUpAtEachCall(t *testing.T) {
	b := newBench(t)
	g := b.git
	g.Bin = ""
	if out := ask(t, g, "version"); !strings.HasPrefix(out, "git version ") {
		t.Errorf("version = %q", out)
	}
}

func TestWithoutHome(t *testing.T) {
	b := newBench(t)
	g := b.repo("r")
	g.Env = []string{"PATH=" + os.Getenv("PATH")}
	if out := ask(t, g, "rev-parse", "--abbrev-ref", "HEAD"); out != "main" {
		t.Errorf("HEAD = %q", out)
	}
}

// poison is the environment of a hook of another repository.
func poison(victim string) []string {
	return []string{
		"GIT_DIR=" + victim + "/.git", "GIT_INDEX_FILE=" + victim + "/.git/index", "GIT_WORK_TREE=" + victim,
		"GIT_PREFIX=x/", "GIT_OBJECT_DIRECTORY=" + victim + "/.git/objects", "GIT_COMMON_DIR=" + victim + "/.git",
		"GIT_AUTHOR_DATE=2001-01-01T00:00:00Z", "GIT_CONFIG_PARAMETERS='core.bare=true'", "GIT_NAMESPACE=n",
		"GIT_LITERAL_PATHSPECS=1", "GIT_CONFIG=" + victim + "/.git/config",
	}
}

func TestPoisonedEnvironmentTouchesNobody(t *testing.T) {
	b := newBench(t)
	victim, ours := b.repo("victim"), b.repo("ours")
	before := snapshot(t, victim.Dir)
	g := ours.With(poison(victim.Dir)...)
	write(t, filepath.Join(g.Dir, "new"), "new\n")
	for _, args := range [][]string{
		{"config", "x.y", "v"}, {"add", "-A"}, {"commit", "-q", "-m", "ours"}, {"update-ref", "refs/heads/side", "HEAD"},
	} {
		if _, err := g.Do(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	if got := ask(t, g, "rev-parse", "--show-toplevel"); got != ours.Dir {
		t.Errorf("top = %q, want %q", got, ours.Dir)
	}
	if got := ask(t, ours, "log", "-1", "--format=%s %ad", "--date=format:%Y"); strings.HasSuffix(got, " 2001") || !strings.HasPrefix(got, "ours ") {
		t.Errorf("commit = %q", got)
	}
	if after := snapshot(t, victim.Dir); !slices.Equal(before, after) {
		t.Errorf("the victim changed:\n%v\n%v", before, after)
	}

	// Without the scrubbing the same command does hit the victim.
	cmd := exec.Command(g.Bin, "config", "x.y", "v")
	cmd.Dir, cmd.Env = g.Dir, append(slices.Clone(ours.Env), "GIT_DIR="+victim.Dir+"/.git")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if slices.Equal(before, snapshot(t, victim.Dir)) {
		t.Error("the control did not touch the victim: this test proves nothing")
	}
}

// snapshot is every file of a folder with its content.
func snapshot(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		all = append(all, p+"\x00"+string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestEnvironment(t *testing.T) {
	base := []string{
		"PATH=/bin", "HOME=/h", "GIT_DIR=d", "GIT_INDEX_FILE=i", "GIT_SSH_COMMAND=s", "GIT_AUTHOR_NAME=n", "GIT_AUTHOR_DATE=x",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", "GIT_CONFIG_PARAMETERS=p", "GIT_TRACE=1",
		"LANG=ja_JP.UTF-8", "LC_MESSAGES=ja_JP.UTF-8", "LANGUAGE=ja", "GPG_TTY=/dev/pts/1", "GIT_TERMINAL_PROMPT=1", "GIT_EDITOR=vi", "broken",
	}
	common := []string{
		"PATH=/bin", "HOME=/h", "GIT_SSH_COMMAND=s", "GIT_AUTHOR_NAME=n",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", "LANG=ja_JP.UTF-8",
		"GIT_TERMINAL_PROMPT=0", "SSH_ASKPASS_REQUIRE=never", "GIT_PAGER=cat", "GIT_EDITOR=false",
	}
	for _, tc := range []struct {
		mode Mode
		more []string
	}{
		{Question, []string{"LC_ALL=C"}},
		{Staged, []string{"LC_ALL=C", "GIT_DIR=d", "GIT_INDEX_FILE=i", "GIT_CONFIG_PARAMETERS=p"}},
		{Write, []string{"LC_CTYPE=ja_JP.UTF-8", "LC_MESSAGES=C"}},
	} {
		got, want := environment(base, tc.mode), append(slices.Clone(common), tc.more...)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("mode %d:\n got %q\nwant %q", tc.mode, got, want)
		}
	}
}

// TestStagedSeesTheCommitBeingMade runs git as the three kinds of commit run
// their pre-commit hook.
func TestStagedSeesTheCommitBeingMade(t *testing.T) {
	b := newBench(t)
	g := b.repo("r")
	write(t, filepath.Join(g.Dir, "staged"), "s\n")
	if _, err := g.Do(t.Context(), "add", "staged"); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(g.Dir, "f"), "changed\n")
	seen := filepath.Join(b.dir, "env")
	write(t, filepath.Join(g.Dir, ".git/hooks/pre-commit"), "#!/bin/sh\nenv >"+seen+"\ncp \"$GIT_INDEX_FILE\" "+seen+".index\nexit 1\n")
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"plain", nil, "staged"},
		{"all", []string{"-a"}, "f\nstaged"},
		{"only", []string{"f"}, "f"},
	} {
		if _, err := g.Do(t.Context(), append([]string{"commit", "-q", "-m", "x"}, tc.args...)...); Exit(err) != 1 {
			t.Fatalf("%s: %v", tc.name, err)
		}
		data, err := os.ReadFile(seen)
		if err != nil {
			t.Fatal(err)
		}
		inHook := g
		inHook.Env = strings.Split(string(data), "\n")
		inHook = inHook.With("GIT_INDEX_FILE=" + seen + ".index")
		out, err := inHook.AskStaged(t.Context(), "diff", "--cached", "--name-only")
		if err != nil || strings.TrimSpace(string(out)) != tc.want {
			t.Errorf("%s: staged = %q, %v, want %q", tc.name, out, err, tc.want)
		}
	}
}

func TestQuestionTakesNoLockAndWritesNothing(t *testing.T) {
	b := newBench(t)
	g := b.repo("r")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(g.Dir, "f"), old, old); err != nil { // the index would be refreshed
		t.Fatal(err)
	}
	write(t, filepath.Join(g.Dir, ".git/index.lock"), "")
	before := snapshot(t, g.Dir)
	if got := ask(t, g, "status", "--porcelain"); got != "" {
		t.Errorf("status = %q", got)
	}
	if !slices.Equal(before, snapshot(t, g.Dir)) {
		t.Error("a question changed the repository")
	}
}

func TestWriteWaitsForABusyLock(t *testing.T) {
	for _, lock := range []string{"index.lock", "HEAD.lock", "refs/heads/main.lock"} {
		t.Run(lock, func(t *testing.T) {
			b := newBench(t)
			g := b.repo("r")
			path := filepath.Join(g.Dir, ".git", lock)
			write(t, path, "")
			attempts := 0
			g.waiting = func(n int) {
				if attempts = n; n == 3 {
					if err := os.Remove(path); err != nil {
						t.Error(err)
					}
				}
			}
			if _, err := g.Do(t.Context(), "commit", "-q", "--allow-empty", "-m", "x"); err != nil || attempts != 3 {
				t.Errorf("after %d waits: %v", attempts, err)
			}
			if got := ask(t, g, "rev-list", "--count", "HEAD"); got != "2" {
				t.Errorf("%s commits", got)
			}
		})
	}
}

func TestPatienceEnds(t *testing.T) {
	b := newBench(t)
	g := b.repo("r")
	write(t, filepath.Join(g.Dir, ".git/index.lock"), "")
	g.Patience = 20 * time.Millisecond
	waits := 0
	g.waiting = func(int) { waits++ }
	_, err := g.Do(t.Context(), "add", "-A")
	if !Busy(err) || waits == 0 {
		t.Errorf("after %d waits: %v", waits, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	g.Patience, g.waiting = time.Hour, func(int) { cancel() }
	if _, err := g.Do(ctx, "add", "-A"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while waiting: %v", err)
	}
}

func TestNotBusy(t *testing.T) {
	b := newBench(t)
	g := b.repo("r")
	g.waiting = func(int) { t.Error("waited for what will not change") }
	for _, args := range [][]string{
		{"update-ref", "refs/heads/main", "HEAD", ""},
		{"update-ref", "refs/heads/main/sub", "HEAD"},
		{"update-ref", "refs/heads/main", "HEAD", strings.Repeat("1", 40)},
		{"commit", "-q", "-m", "nothing"},
	} {
		if _, err := g.Do(t.Context(), args...); err == nil || Exit(err) <= 0 {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestCancelLetsGitCleanUp(t *testing.T) {
	b := newBench(t)
	g := b.repo("r")
	write(t, filepath.Join(b.dir, "fifo.sh"), "#!/bin/sh\nmkfifo \"$1\"\n")
	fifo := filepath.Join(b.dir, "fifo")
	if out, err := exec.Command("mkfifo", fifo).CombinedOutput(); err != nil {
		t.Skipf("no mkfifo: %s", out)
	}
	write(t, filepath.Join(g.Dir, ".git/hooks/pre-commit"), "#!/bin/sh\necho >"+fifo+"\nexec sleep 600\n")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := g.Do(ctx, "commit", "-q", "--allow-empty", "-a", "-m", "x")
		done <- err
	}()
	if _, err := os.ReadFile(fifo); err != nil { // returns when the hook runs
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(g.Dir, ".git/index.lock")); err != nil {
		t.Fatalf("the hook runs without the lock: %v", err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	if _, err := os.Stat(filepath.Join(g.Dir, ".git/index.lock")); err == nil {
		t.Error("the lock was left")
	}
}

func TestFailure(t *testing.T) {
	b := newBench(t)
	_, err := b.repo("r").Ask(t.Context(), "rev-parse", "--verify", "no-such")
	f, ok := errors.AsType[*Failure](err)
	if !ok || f.ExitStatus != 128 || !slices.Equal(f.Args, []string{"rev-parse", "--verify", "no-such"}) {
		t.Fatalf("%+v", err)
	}
	if Exit(err) != 128 || Stderr(err) != "fatal: Needed a single revision" {
		t.Errorf("%d %q", Exit(err), Stderr(err))
	}
	if Exit(nil) != 0 || Stderr(nil) != "" || Exit(errors.New("x")) != -1 || Stderr(errors.New("x")) != "x" {
		t.Error("of other errors")
	}
}

func TestStderrIsBounded(t *testing.T) {
	b := newBench(t)
	_, err := b.repo("r").Ask(t.Context(), "-c", `alias.x=!printf first >&2; yes 0123456789 | head -c 1000000 >&2; printf last >&2; exit 3; :`, "x")
	s := Stderr(err)
	if Exit(err) != 3 || !strings.HasPrefix(s, "first0123") || !strings.HasSuffix(s, "last") {
		t.Errorf("exit %d, %.40q … %.40q", Exit(err), s, s[max(len(s)-40, 0):])
	}
	if len(s) > 33<<10 || !strings.Contains(s, "[... 967241 bytes left out ...]") {
		t.Errorf("%d bytes", len(s))
	}
}

func TestInput(t *testing.T) {
	b := newBench(t)
	g := b.repo("r")
	out, err := g.AskInput(t.Context(), []byte("hello\n"), "hash-object", "--stdin")
	if err != nil || string(out) != "ce013625030ba8dba906f756967f9e9ca394464a\n" {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := g.Ask(t.Context(), "-c", "alias.x=!cat", "x"); err != nil || len(out) != 0 {
		t.Errorf("no input: %q, %v", out, err)
	}
}

// TestBackgroundChildIsEnded has a hook leave a process that keeps the output
// open.
func TestBackgroundChildIsEnded(t *testing.T) {
	b := newBench(t)
	g := b.repo("r")
	pid := filepath.Join(b.dir, "pid")
	hook(t, g, "post-commit", "sleep 600 &\necho $! >"+pid+"\n")
	if _, err := g.Do(t.Context(), "commit", "-q", "--allow-empty", "-m", "x"); err != nil {
		t.Errorf("err = %v", err)
	}
	goneFrom(t, pid)
}

// hook writes a hook of g's repository.
func hook(t *testing.T, g Git, name, script string) {
	t.Helper()
	write(t, filepath.Join(g.Dir, ".git/hooks", name), "#!/bin/sh\n"+script)
}

// goneFrom looks whether the processes whose numbers are in a file have ended.
func goneFrom(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Fields(string(data)) {
		pid, err := strconv.Atoi(word)
		if err != nil || proc.Alive(pid, 0) != proc.Dead {
			t.Errorf("process %s lives on, %v", word, err)
		}
	}
}

// What git waits for and that does not care about SIGTERM is ended with it,
// also outside of its group, and named.
func TestLimitReachesWhatGitStarted(t *testing.T) {
	const stubborn = "rm -f pids\ntrap '' TERM\necho asking you >&2\necho $$ >>pids\n(setsid sh -c 'trap \"\" TERM; echo $$ >>pids; while :; do sleep 600; done' &)\n" +
		"while :; do sleep 600; done\n" // git does not pass on what a signer says
	for _, tc := range []struct {
		name, hook, waited, said string
		args                     []string
	}{
		{"hook", "pre-commit", "pre-commit", "asking you", []string{"commit", "-q", "--allow-empty", "-m", "x"}},
		{"filter", "", "filter.sh", "asking you", []string{"-c", "filter.f.clean=./filter.sh", "add", "new"}},
		{"signer", "", "filter.sh", "", []string{"-c", "gpg.program=./filter.sh", "commit", "-q", "-S", "--allow-empty", "-m", "x"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			g := b.repo("r")
			if tc.hook != "" {
				hook(t, g, tc.hook, stubborn)
			} else {
				write(t, filepath.Join(g.Dir, "filter.sh"), "#!/bin/sh\n"+stubborn)
				write(t, filepath.Join(g.Dir, ".gitattributes"), "new filter=f\n")
				write(t, filepath.Join(g.Dir, "new"), "new\n")
			}
			pids := filepath.Join(g.Dir, "pids")
			for begun := false; !begun; g.Timeout *= 2 { // long enough for it to begin
				g.Timeout = max(g.Timeout, time.Second)
				_, err := g.Do(t.Context(), tc.args...)
				f, ok := fault.As(err)
				if !ok || f.Code != fault.GitTimeout {
					t.Fatalf("err = %v", err)
				}
				data, _ := os.ReadFile(pids)
				begun = bytes.Count(data, []byte("\n")) == 2
				if begun && (f.Facts["hook"] != tc.hook || !strings.Contains(f.Facts["waited"], tc.waited) || f.Facts["cause"] != tc.said) {
					t.Errorf("facts %v", f.Facts)
				}
			}
			goneFrom(t, pids)
			if _, err := os.Stat(filepath.Join(g.Dir, ".git/index.lock")); err == nil {
				t.Error("the lock was left")
			}
		})
	}
}

// A question has a limit of its own.
func TestQuestionLimit(t *testing.T) {
	b := newBench(t)
	g := b.repo("r")
	g.QuestionTimeout = 100 * time.Millisecond
	_, err := g.Ask(t.Context(), "-c", "alias.x=!sleep 600; :", "x")
	if f, ok := fault.As(err); !ok || f.Code != fault.GitTimeout || f.Facts["limit_key"] != "limits.git_timeout_sec" {
		t.Errorf("err = %v", err)
	}
}

// A stop reaches what git started as the limit does.
func TestStopReachesWhatGitStarted(t *testing.T) {
	b := newBench(t)
	g := b.repo("r")
	pids, up := filepath.Join(b.dir, "pids"), filepath.Join(b.dir, "up")
	if err := syscall.Mkfifo(up, 0o600); err != nil {
		t.Fatal(err)
	}
	hook(t, g, "pre-commit", "trap '' TERM\necho $$ >"+pids+"\necho >"+up+"\nwhile :; do sleep 600; done\n")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := g.Do(ctx, "commit", "-q", "--allow-empty", "-m", "x")
		done <- err
	}()
	if _, err := os.ReadFile(up); err != nil { // returns when the hook runs
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	goneFrom(t, pids)
}

// git keeps a password in a daemon of the person's: it lives on.
func TestCredentialDaemonIsLeftAlone(t *testing.T) {
	b := newBench(t)
	g := b.repo("r")
	socket := filepath.Join(b.dir, "private/socket")
	if err := os.Mkdir(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	cache := []string{"-c", "credential.helper=", "-c", "credential.helper=cache --socket " + socket}
	given := []byte("protocol=https\nhost=example.org\nusername=u\npassword=p\n\n")
	if _, err := g.DoInput(t.Context(), given, append(cache, "credential", "approve")...); err != nil {
		t.Fatal(err)
	}
	out, err := g.AskInput(t.Context(), []byte("protocol=https\nhost=example.org\n\n"), append(cache, "credential", "fill")...)
	if err != nil || !strings.Contains(string(out), "password=p") {
		t.Errorf("fill = %q, %v", out, err)
	}
	if _, err := g.Ask(t.Context(), "credential-cache", "--socket", socket, "exit"); err != nil {
		t.Error(err)
	}
}

// TestNoTerminal: a process of another session cannot open our terminal, so
// nothing that git starts can ask on it.
func TestNoTerminal(t *testing.T) {
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Skip("no /proc")
	}
	b := newBench(t)
	out, err := b.repo("r").Ask(t.Context(), "-c", "alias.x=!cat /proc/self/stat", "x")
	if err != nil {
		t.Fatal(err)
	}
	session := func(stat []byte) string {
		_, rest, _ := strings.Cut(string(stat), ") ")
		return strings.Fields(rest)[3]
	}
	if session(out) == session(own) {
		t.Errorf("git runs in our session %s", session(own))
	}
}

func TestNoRepository(t *testing.T) {
	plain := errors.New("no answer")
	for _, tc := range []struct {
		err         error
		code        fault.Code
		cause, mark string
	}{
		{nil, "", "", ""},
		{plain, "", "", ""},
		{&Failure{ExitStatus: 128, Stderr: "fatal: not a git repository (or any of the parent directories): .git\n"}, fault.GitNotRepo, "fatal: not a git repository (or any of the parent directories): .git", ""},
		{&Failure{ExitStatus: 128, Stderr: "fatal: bad config line 6 in file .git/config\n"}, fault.GitRepoRefused, "bad config line 6 in file .git/config", ""},
		{&Failure{ExitStatus: 128, Stderr: "fatal: detected dubious ownership in repository at '/a b'\nTo add an exception for this directory, call:\n\n\tgit config --global --add safe.directory '/a b'\n"}, fault.GitRepoRefused, "detected dubious ownership in repository at '/a b'", "git config --global --add safe.directory '/a b'"},
	} {
		err := NoRepository(tc.err, "/p")
		if tc.code == "" {
			if err != tc.err {
				t.Errorf("%v became %v", tc.err, err)
			}
			continue
		}
		f, ok := fault.As(err)
		if !ok || f.Code != tc.code || f.Facts["path"] != "/p" || f.Facts["cause"] != tc.cause || f.Facts["trust"] != tc.mark {
			t.Errorf("%v", err)
		}
	}
}
