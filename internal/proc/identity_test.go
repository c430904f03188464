package proc

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// roleVar makes the test binary play another process.
const roleVar = "AIFLOW_PROC_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "":
		os.Exit(m.Run())
	case "hold":
		fmt.Println("READY")
		_, _ = io.ReadAll(os.Stdin)
	case "ask":
		pid, _ := strconv.Atoi(os.Args[1])
		fmt.Println(Alive(pid, 0))
	case "zombie-leader":
		leaveMainThread()
	}
}

// helper starts this binary in a role and waits for its first line.
func helper(t *testing.T, role string, args ...string) (*exec.Cmd, io.Closer, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), roleVar+"="+role)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, in, line
}

func TestSelfIsAlive(t *testing.T) {
	self := Self()
	if self.PID != os.Getpid() || self.Hostname == "" || self.BootID == "" || self.Machine == "" ||
		self.PIDNS == "" || self.PIDStart == 0 {
		t.Errorf("incomplete: %+v", self)
	}
	for _, tc := range []struct {
		start uint64
		want  Liveness
	}{{self.PIDStart, Living}, {0, Living}, {self.PIDStart + 1, Dead}, {self.PIDStart - 1, Dead}} {
		if got := Alive(self.PID, tc.start); got != tc.want {
			t.Errorf("start %d: %v, want %v", tc.start, got, tc.want)
		}
	}
}

func TestBeganIsWhenAProcessStarted(t *testing.T) {
	const tick = 10 * time.Millisecond // /proc counts in these
	before := time.Now()
	cmd, _, _ := helper(t, "hold")
	after := time.Now()
	began, ok := Began(cmd.Process.Pid, time.Now(), BootClock())
	if !ok || began.Before(before.Add(-2*tick)) || began.After(after.Add(tick)) {
		t.Errorf("%v, %v: started between %v and %v", began, ok, before, after)
	}
	if _, ok := Began(1<<22, time.Now(), BootClock()); ok {
		t.Error("a process that is not there has begun")
	}
}

func TestImpossiblePids(t *testing.T) {
	for pid, want := range map[int]Liveness{0: Unknown, -1: Unknown, 1 << 22: Dead, 1<<31 - 1: Dead} {
		if got := Alive(pid, 0); got != want {
			t.Errorf("%d: %v, want %v", pid, got, want)
		}
	}
}

func TestChildThroughItsLife(t *testing.T) {
	cmd, in, _ := helper(t, "hold")
	pid := cmd.Process.Pid
	wantLife := lifeOf(t, pid)
	wantLife("running", Living)
	_ = in.Close()
	waitLeader(pid)
	wantLife("zombie", Dead)
	_ = cmd.Wait()
	wantLife("reaped", Dead)
}

// lifeOf asks for a process that is there now, by its start time and, where the
// kernel has one, by its number in pidfs.
func lifeOf(t *testing.T, pid int) func(when string, want Liveness) {
	start, number := StartOf(pid), inodeOf(pid)
	return func(when string, want Liveness) {
		t.Helper()
		if got := Alive(pid, start); got != want {
			t.Errorf("%s: %v", when, got)
		}
		if got := AliveAs(pid, number); number != 0 && got != want {
			t.Errorf("%s, by pidfs: %v", when, got)
		}
	}
}

func TestBootClockGrows(t *testing.T) {
	a := BootClock()
	if b := BootClock(); a <= 0 || b < a {
		t.Errorf("%v then %v", a, b)
	}
}

func TestMachineIsHashedAndOneBootIsNotAnother(t *testing.T) {
	if hashed("a") == hashed("b") || len(hashed("a")) != 32 {
		t.Errorf("hash: %s", hashed("a"))
	}
	if id := machineID(); id != "" && machine("x") == id {
		t.Error("the machine's own number is shown")
	}
}
