package proc

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
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
