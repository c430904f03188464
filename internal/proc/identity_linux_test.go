package proc

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func init() {
	if os.Getenv(roleVar) == "zombie-leader" {
		runtime.LockOSThread() // the main goroutine stays on the leader's thread
	}
}

// leaveMainThread makes this process a zombie whose other threads live on.
func leaveMainThread() {
	go func() {
		waitForState('Z')
		fmt.Println("READY")
		_, _ = io.ReadAll(os.Stdin)
		os.Exit(0)
	}()
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}

func waitForState(state byte) {
	for {
		if s, ok := readStat(os.Getpid()); ok && s.state == state {
			return
		}
		runtime.Gosched()
	}
}

func TestZombieWithLivingThreadsLives(t *testing.T) {
	cmd, in, _ := helper(t, "zombie-leader")
	pid := cmd.Process.Pid
	s, ok := readStat(pid)
	if !ok || s.state != 'Z' || s.threads < 2 {
		t.Fatalf("no zombie leader: %+v", s)
	}
	wantLife := lifeOf(t, pid)
	wantLife("threads alive", Living)
	_ = in.Close()
	_ = cmd.Wait()
	wantLife("afterwards", Dead)
}

func TestProcessThatWeMayNotSignalLives(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to become somebody else")
	}
	// The test binary's folder is private; the link in /proc is not.
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	cmd := exec.Command("/proc/self/fd/3", strconv.Itoa(os.Getpid()))
	cmd.ExtraFiles = []*os.File{self}
	cmd.Env = append(os.Environ(), roleVar+"=ask")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := strings.TrimSpace(string(out)); got != "living" {
		t.Errorf("EPERM counts as %q", got)
	}
}

func TestParseStat(t *testing.T) {
	const rest = " S 1 42 3 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 7 0 12345 0 0 0 0"
	want := stat{state: 'S', ppid: 1, pgrp: 42, session: 3, threads: 7, start: 12345, ended: true}
	for _, name := range []string{"sh", "a b", "x) Z 9 (y", "(", "))"} {
		want.name = name
		if got, ok := parseStat([]byte("7 (" + name + ")" + rest)); !ok || got != want {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
	for _, bad := range []string{"", "7 (sh", "7 (sh)", "7 (sh) S 1 2 3", "7 (sh) SS" + rest[2:]} {
		if got, ok := parseStat([]byte(bad)); ok {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}

func TestDeadStates(t *testing.T) {
	for _, tc := range []struct {
		s     stat
		start uint64
		want  bool
	}{
		{stat{state: 'R', threads: 1, start: 5}, 5, false},
		{stat{state: 'R', threads: 1, start: 5}, 0, false},
		{stat{state: 'R', threads: 1, start: 5}, 6, true},
		{stat{state: 'D', threads: 1, start: 5}, 5, false},
		{stat{state: 'T', threads: 1, start: 5}, 5, false},
		{stat{state: 'Z', threads: 1, start: 5}, 5, true},
		{stat{state: 'Z', threads: 0, start: 5}, 5, true},
		{stat{state: 'Z', threads: 2, start: 5}, 5, false},
		{stat{state: 'X', threads: 1, start: 5}, 5, true},
	} {
		if got := tc.s.dead(tc.start); got != tc.want {
			t.Errorf("%+v for %d: %v", tc.s, tc.start, got)
		}
	}
}

func TestGroupLivesAsLongAsAMember(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "sleep 1000 >/dev/null & echo $!; exec 1>&-; read x")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pgid := cmd.Process.Pid
	defer syscall.Kill(-pgid, syscall.SIGKILL)
	_, _ = io.ReadAll(out)
	start := StartOf(pgid)
	if got := GroupAlive(pgid, start+1); got != Dead {
		t.Errorf("later group with the same number: %v", got)
	}
	_ = in.Close()
	_ = cmd.Wait()
	if got := GroupAlive(pgid, start); got != Living {
		t.Errorf("leader gone, child alive: %v", got)
	}
	EndCommand(pgid, start, true)
	for GroupAlive(pgid, start) != Dead {
		runtime.Gosched()
	}
	if got := GroupAlive(1, 0); got != Unknown {
		t.Errorf("group 1: %v", got)
	}
}

// No two processes have a number in common, and one that is another's is dead.
func TestNumbersInPidfs(t *testing.T) {
	if inodeOf(os.Getpid()) == 0 {
		t.Skip("a kernel before 6.9")
	}
	for pid, want := range map[int]Liveness{0: Unknown, -1: Unknown, 1 << 22: Dead} {
		if got := AliveAs(pid, 1); got != want {
			t.Errorf("%d: %v, want %v", pid, got, want)
		}
	}
	if got := AliveAs(os.Getpid(), 0); got != Unknown {
		t.Errorf("without a number: %v", got)
	}
	seen := map[uint64]bool{inodeOf(os.Getpid()): true}
	for range 3 {
		cmd, in, _ := helper(t, "hold")
		number := inodeOf(cmd.Process.Pid)
		if seen[number] || number == 0 {
			t.Errorf("number %d of %d: %v", number, cmd.Process.Pid, seen)
		}
		seen[number] = true
		if got := AliveAs(cmd.Process.Pid, number+1); got != Dead {
			t.Errorf("another's number: %v", got)
		}
		_ = in.Close()
		_ = cmd.Wait()
	}
}
