package proc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func sh(t *testing.T, script string) Command {
	t.Helper()
	return Command{Argv: []string{"/bin/sh", "-c", script}, Dir: t.TempDir(), Env: append(os.Environ(), markOf(t))}
}

func markOf(t *testing.T) string { return "AIFLOW_TEST_MARK=" + t.Name() }

func run(t *testing.T, ctx context.Context, c Command) Exit {
	t.Helper()
	e, err := Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := marked(markOf(t)); len(left) != 0 {
		t.Errorf("still running: %v", left)
	}
	return e
}

func TestRunPassesStatusOutputAndInput(t *testing.T) {
	var out bytes.Buffer
	c := sh(t, "read -r a; echo got $a; echo err >&2; exit 7")
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader("hello\n"), &out, io.Discard
	if e := run(t, t.Context(), c); e != (Exit{Status: 7}) {
		t.Errorf("exit %+v", e)
	}
	if out.String() != "got hello\n" {
		t.Errorf("output %q", out.String())
	}
}

func TestSignalledCommandIs128Plus(t *testing.T) {
	if e := run(t, t.Context(), sh(t, "kill -9 $$")); e.Status != 128+9 {
		t.Errorf("exit %+v", e)
	}
}

func TestMissingProgramIsAnError(t *testing.T) {
	c := Command{Argv: []string{filepath.Join(t.TempDir(), "none")}}
	if _, err := Run(t.Context(), c); err == nil {
		t.Error("no error")
	}
}

// A FIFO that a child opened tells without waiting that the child is up.
func started(t *testing.T, fifo string) {
	t.Helper()
	f, err := os.Open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.ReadAll(f); err != nil {
		t.Fatal(err)
	}
}

func mkfifo(t *testing.T) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "up")
	if err := syscall.Mkfifo(p, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestChildrenThatOutliveTheLeaderAreEnded(t *testing.T) {
	for name, script := range map[string]string{
		"same group":                 "sleep 600 & echo x > %[1]s",
		"own session":                "setsid sleep 600 & echo x > %[1]s",
		"own session, no env":        "env -i setsid sleep 600 & echo x > %[1]s",
		"own session, holds stdout":  "setsid sh -c 'sleep 600; :' & echo x > %[1]s",
		"double fork":                "(setsid sh -c 'sleep 600 & sleep 600' &) ; echo x > %[1]s",
		"ignores TERM":               "setsid sh -c 'trap \"\" TERM; echo x > %[1]s; while :; do sleep 600; done' & wait_for=1; read -r _ < %[2]s",
		"ignores TERM in same group": "sh -c 'trap \"\" TERM; echo x > %[1]s; while :; do sleep 600; done' & read -r _ < %[2]s",
	} {
		t.Run(name, func(t *testing.T) {
			up, go_ := mkfifo(t), mkfifo(t)
			c := sh(t, fmt.Sprintf(script, up, go_))
			c.Stdout = io.Discard
			go func() {
				started(t, up)
				if strings.Contains(script, "%[2]s") {
					_ = os.WriteFile(go_, []byte("x\n"), 0)
				}
			}()
			e := run(t, t.Context(), c)
			if e.Status != 0 || e.Leftover == 0 {
				t.Errorf("exit %+v", e)
			}
		})
	}
}

func TestTimeoutAndStopEndTheGroup(t *testing.T) {
	for _, ignore := range []string{"", "trap '' TERM;"} {
		up := mkfifo(t)
		c := sh(t, ignore+"echo x > "+up+"; while :; do sleep 600; done")
		c.Grace = 30 * time.Millisecond
		ctx, cancel := context.WithCancel(t.Context())
		go func() { started(t, up); cancel() }()
		if e := run(t, ctx, c); !e.Stopped || e.TimedOut || e.Status < 128 {
			t.Errorf("stop: %+v", e)
		}
		c = sh(t, ignore+"while :; do sleep 600; done")
		c.Timeout = 50 * time.Millisecond
		if e := run(t, t.Context(), c); !e.TimedOut || e.Stopped || e.Status < 128 {
			t.Errorf("timeout: %+v", e)
		}
	}
}

func TestStraysAreFoundByMarkAndByLeader(t *testing.T) {
	up := mkfifo(t)
	c := sh(t, "echo x > "+up+"; while :; do sleep 600; done")
	type id struct {
		pid   int
		start uint64
	}
	got := make(chan id, 1)
	c.Started = func(pid int, start uint64) { got <- id{pid, start} }
	done := make(chan Exit, 1)
	go func() { e, _ := Run(context.Background(), c); done <- e }()
	started(t, up)
	leader := <-got
	if n := EndStrays("AIFLOW_TEST_MARK=other", leader.pid, leader.start+1); n != 0 {
		t.Fatalf("ended %d of somebody else", n)
	}
	if n := EndStrays("AIFLOW_TEST_MARK=other", leader.pid, leader.start); n == 0 {
		t.Error("leader not found")
	}
	if e := <-done; e.Status != 128+9 {
		t.Errorf("exit %+v", e)
	}
}

func TestBoundedLogKeepsHeadAndTail(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"abc", "abc"},
		{"abcdefgh", "abcdefgh"},
		{"abcdefghi", "abcd\n[... 1 bytes left out ...]\nfghi"},
		{"0123456789abcdefghij", "0123\n[... 12 bytes left out ...]\nghij"},
	} {
		for chunk := 1; chunk <= len(tc.in); chunk++ {
			var out bytes.Buffer
			b := &BoundedLog{W: &out, Head: 4, Tail: 4}
			for rest := tc.in; rest != ""; {
				n := min(chunk, len(rest))
				fmt.Fprint(b, rest[:n])
				rest = rest[n:]
			}
			if err := b.Close(); err != nil || out.String() != tc.want {
				t.Errorf("%q by %d: %q, %v", tc.in, chunk, out.String(), err)
			}
		}
	}
}

func TestHurryEndsTheGrace(t *testing.T) {
	up := mkfifo(t)
	c := sh(t, "trap '' TERM; echo x > "+up+"; while :; do sleep 600; done")
	hurry := make(chan struct{})
	c.Grace, c.Hurry = time.Hour, hurry
	ctx, cancel := context.WithCancel(t.Context())
	go func() { started(t, up); cancel(); close(hurry) }()
	if e := run(t, ctx, c); !e.Stopped || e.Status != 128+9 {
		t.Errorf("exit %+v", e)
	}
}

// A daemon of the person's that a command happened to start lives on, wherever
// it stands, with what is below it. A name alone makes no daemon.
func TestDaemonsOfThePersonAreLeftAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		program, start string
		spared         bool
	}{
		"own session":  {"ssh-agent", "setsid %s", true},
		"same group":   {"gpg-agent", "%s", true},
		"other name":   {"gpg-agency", "setsid %s", false},
		"named script": {"", "setsid %s", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir, up := t.TempDir(), mkfifo(t)
			daemon := filepath.Join(dir, tc.program)
			put := "cp /bin/sleep " + daemon
			if tc.program == "" {
				daemon = filepath.Join(dir, "watchman")
				put = "printf '#!/bin/sh\nwhile :; do sleep $1; done\n' >" + daemon + "; chmod +x " + daemon
			}
			c := sh(t, put+"; sleep 600 & "+fmt.Sprintf(tc.start, daemon)+" 600 >/dev/null 2>&1 & until readlink /proc/$!/exe | grep -q \"/$(basename "+daemon+" | sed s/watchman/.*sh/)$\"; do :; done; echo $! >"+up)
			pid := whileRunning(t, up, func() {
				want := 1
				if !tc.spared {
					want = 2
				}
				if e, err := Run(t.Context(), c); err != nil || e.Leftover < want || tc.spared && e.Leftover != want {
					t.Errorf("exit %+v, %v", e, err)
				}
			})
			if n := EndStrays(markOf(t), 0, 0); n != 0 {
				t.Errorf("%d strays ended", n)
			}
			if got := Alive(pid, 0) == Living; got != tc.spared {
				t.Errorf("the daemon lives: %v", got)
			}
			if tc.spared {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		})
	}
}

// Who is just beginning a program is looked at until it is known whose it is,
// however slow the machine; one that never can be told does not hold us up.
func TestWhoIsBeginningIsLookedAtAgain(t *testing.T) {
	looks := 0
	look := func() ([]member, bool) {
		if looks++; looks <= 100 {
			return nil, true
		}
		return []member{{pid: 7}}, false
	}
	if got := settled(look); len(got) != 1 || got[0].pid != 7 {
		t.Errorf("after %d looks: %v", looks, got)
	}
	if got := settled(func() ([]member, bool) { return nil, true }); got != nil {
		t.Error(got)
	}
	looks = 0
	if got := settled(func() ([]member, bool) { looks++; return nil, false }); got != nil || looks != 2 {
		t.Errorf("%v after %d looks", got, looks)
	}
}

// A process that is ending is nobody's daemon, whatever its name: its children
// are looked at too, so that none of them is missed while it goes.
func TestWhoIsEndingIsNoDaemon(t *testing.T) {
	script := filepath.Join(t.TempDir(), "watchman")
	if err := WriteProgram(script, []byte("#!/bin/sh\nexit 0\n")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(script)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitLeader(cmd.Process.Pid)
	if st, ok := readStat(cmd.Process.Pid); !ok || st.name != "watchman" || personal(cmd.Process.Pid, st) {
		t.Errorf("%+v, %v: taken for a daemon of the person's", st, ok)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// whileRunning runs do and gives the number that was written to fifo meanwhile.
func whileRunning(t *testing.T, fifo string, do func()) int {
	t.Helper()
	said := make(chan string, 1)
	go func() {
		data, _ := os.ReadFile(fifo)
		said <- strings.TrimSpace(string(data))
	}()
	do()
	pid, err := strconv.Atoi(<-said)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// What a command that timed out waited for is the first other program below it.
func TestWaitedForIsNamed(t *testing.T) {
	for limit := 300 * time.Millisecond; ; limit *= 2 { // until it is long enough for it to begin
		c := sh(t, "sh -c 'sleep 600; :' & wait")
		c.Timeout, c.Grace = limit, time.Second
		e := run(t, t.Context(), c)
		if e.TimedOut && e.Waited == "sleep 600" {
			return
		}
		if !e.TimedOut || limit > time.Minute {
			t.Fatalf("exit %+v", e)
		}
	}
}
