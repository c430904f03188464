package proc

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A command of a group that ends does not take away what another part of the
// program has started in a session of its own and waits for.
func TestOthersAreLeftToThoseWhoWait(t *testing.T) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				cmd := exec.Command("/bin/true")
				cmd.Env = Apart(os.Environ())
				cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
				if err := cmd.Run(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if exit, err := Run(t.Context(), Command{Argv: []string{"/bin/true"}}); err != nil || exit.Status != 0 || exit.Leftover != 0 {
					t.Errorf("beside others: %+v, %v", exit, err)
				}
			}
		})
	}
	for range 50 {
		if exit, err := Run(t.Context(), Command{Argv: []string{"/bin/true"}, Dir: t.TempDir()}); err != nil || exit.Status != 0 {
			t.Errorf("%+v, %v", exit, err)
		}
	}
	close(stop)
	wg.Wait()
}

// The leader of another command that has ended and is not collected yet is left
// to that command: whoever collected it would take its exit status away.
func TestAnEndedLeaderIsNotOurs(t *testing.T) {
	cmd := exec.Command("/bin/true")
	cmd.Env = Apart(os.Environ())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitLeader(cmd.Process.Pid)
	st, ok := readStat(cmd.Process.Pid)
	if !ok || st.state != 'Z' {
		t.Fatalf("no zombie: %+v", st)
	}
	session, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	g := &group{pid: 1 << 30, number: "another"}
	if g.owns(cmd.Process.Pid, st, session) || g.unsure {
		t.Errorf("it is taken for a process of ours, or waited for (unsure: %v)", g.unsure)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
