package server

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"aiflow/internal/proc"
	"aiflow/project"
)

// programs is where the programs are that the server starts, built by TestMain.
var programs string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "aiflow-bin")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		programs = dir
		out, err := exec.Command("go", "build", "-trimpath", "-tags", "urfave_cli_no_docs,netgo,osusergo", "-o", dir, "aiflow/cmd/aiflow-run", "aiflow/cmd/aiflow-land").CombinedOutput()
		if err != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
			return 1
		}
		status := m.Run()
		endsBrowser()
		if f := flag.Lookup("test.run"); status == 0 && (f == nil || f.Value.String() == "") && len(seen) > 0 {
			if missing := unseen(); len(missing) > 0 {
				fmt.Println("no test saw the answers", strings.Join(missing, "\n"))
				status = 1
			}
		}
		return status
	}())
}

func testEnv(dir string, environ []string) project.Env {
	return project.SystemEnv(dir, environ, proc.ClockOf(time.Now, proc.BootClock), os.Getpid())
}
