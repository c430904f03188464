package locks

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
)

func init() {
	if os.Getenv(roleVar) == "zombie-leader" {
		runtime.LockOSThread() // the main goroutine stays on the leader's thread
	}
}

func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// zombieLeader holds a lock and its witness, and becomes a zombie whose other
// threads live on: what a killed process is for a moment.
func zombieLeader(args []string) {
	dir := args[0]
	m := selfManager(filepath.Join(dir, "locks"))
	if _, err := m.Acquire(context.Background(), Request("RQ-0"), Ask{}); err != nil {
		panic(err)
	}
	if _, alone := oracle(dir, "RQ-0"); !alone {
		panic("not alone")
	}
	go func() {
		for !zombie(os.Getpid()) {
			runtime.Gosched()
		}
		say("READY")
		waitForEnd()
		os.Exit(0)
	}()
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}

func zombie(pid int) bool {
	data, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, after, ok := strings.Cut(string(data), ") ")
	return ok && strings.HasPrefix(after, "Z")
}

// takesFromZombie says whether a manager that judges life so takes the lock of
// a zombie with living threads, and whether the witness then sees two holders.
func takesFromZombie(t *testing.T, judge processes) (takes, double bool) {
	t.Helper()
	dir := t.TempDir()
	helper(t, "zombie-leader", dir)
	m := selfManager(filepath.Join(dir, "locks"))
	m.processes = judge
	l, err := m.Acquire(t.Context(), Request("RQ-0"), Ask{})
	if err != nil {
		wantCode(t, err, fault.RunInProgress)
		return false, false
	}
	defer l.Release()
	_, alone := oracle(dir, "RQ-0")
	return true, !alone
}

func TestCase13ZombieWithLivingThreadsHolds(t *testing.T) {
	for name, judge := range map[string]processes{
		"by its number in pidfs": {proc.Alive, proc.AliveAs, unbegun}, "by /proc": {proc.Alive, unasked, unbegun},
	} {
		if takes, _ := takesFromZombie(t, judge); takes {
			t.Errorf("%s: taken while threads of the holder were alive", name)
		}
	}
}

func TestStressControlZombieIsDeadIsCaught(t *testing.T) {
	takes, double := takesFromZombie(t, processes{func(pid int, start uint64) proc.Liveness {
		if zombie(pid) {
			return proc.Dead
		}
		return proc.Alive(pid, start)
	}, unasked, unbegun})
	if !takes || !double {
		t.Errorf("takes %v, double %v: the witness sees nothing", takes, double)
	}
}

func TestCase13ZombieHolder(t *testing.T) {
	dir := t.TempDir()
	cmd, in, _ := helper(t, "hold", dir, "RQ-1")
	m := selfManager(dir)
	refused(t, m)
	_ = in.Close()
	for proc.Alive(cmd.Process.Pid, 0) != proc.Dead || !zombie(cmd.Process.Pid) {
		runtime.Gosched() // until its last thread is gone; nobody asks for its status
	}
	release(t, take(t, m))
}

// asNobody runs a role as another user. The test binary's folder is private;
// the link in /proc is not.
func asNobody(t *testing.T, role string, args ...string) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root to become somebody else")
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	cmd := exec.Command("/proc/self/fd/3", args...)
	cmd.ExtraFiles = []*os.File{self}
	cmd.Env = append(os.Environ(), roleVar+"="+role)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestCase19TwoUsers(t *testing.T) {
	for _, tc := range []struct {
		umask int
		want  string
	}{
		{0o002, `verdict="held"`},                          // EPERM from kill counts as alive
		{0o022, `verdict="held"`},                          //
		{0o077, `reason="no_access"`},                      // the record cannot be read: held
		{0o077, string(fault.RunInProgress)},               //
		{0o022, `hostname="` + hostname(t) + `"`},          //
		{0o022, `pid="` + strconv.Itoa(os.Getpid()) + `"`}, //
	} {
		dir := filepath.Join(openDir(t), "locks")
		old := syscall.Umask(tc.umask)
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		_ = os.Chmod(dir, 0o777) // a shared group directory
		l := take(t, selfManager(dir))
		syscall.Umask(old)
		if got := asNobody(t, "ask", dir, "RQ-1", "002"); !strings.Contains(got, tc.want) {
			t.Errorf("umask %03o: %s, want %s", tc.umask, got, tc.want)
		}
		if got := asNobody(t, "ask", dir, "RQ-2", "002"); tc.umask == 0o077 && !strings.HasPrefix(got, string(fault.PathNotWritable)) {
			t.Errorf("umask %03o: another lock: %s", tc.umask, got)
		}
		release(t, l)
	}
}

func hostname(t *testing.T) string {
	t.Helper()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// openDir is a directory that every user can reach.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "aiflow-two-users-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}
