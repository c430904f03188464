package locks

import (
	"bufio"
	"flag"
	"io"
	"os"
	"os/exec"
	"testing"
)

// roleVar makes the test binary play another process.
const roleVar = "AIFLOW_LOCKS_TEST_ROLE"

func TestMain(m *testing.M) {
	flag.Parse()
	role, ok := roles[os.Getenv(roleVar)]
	if !ok {
		os.Exit(m.Run())
	}
	role(flag.Args())
}

// roles are the processes that this binary can be.
var roles = map[string]func(args []string){
	"hold":          hold,
	"stress":        stressChild,
	"zombie-leader": zombieLeader,
	"ask":           ask,
}

func roleCommand(role string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), roleVar+"="+role)
	return cmd
}

// helper starts a role and waits for its first line; closing stdin ends it.
func helper(t *testing.T, role string, args ...string) (cmd *exec.Cmd, stdin io.Closer, line string) {
	t.Helper()
	cmd = roleCommand(role, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s said %q: %v", role, line, err)
	}
	return cmd, in, line
}
