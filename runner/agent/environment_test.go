package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aiflow/internal/proc"
)

func TestRefusingCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's a folder")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(dir, "mark")
	if err := proc.WriteProgram(filepath.Join(dir, "gh"), RefusingCommand("gh", mark)); err != nil {
		t.Fatal(err)
	}
	env := Guarded([]string{"A=1", "PATH=/usr/bin:/bin"}, dir)
	if env[1] != "PATH="+dir+":/usr/bin:/bin" || Guarded(nil, dir)[0] != "PATH="+dir {
		t.Errorf("%q", env)
	}
	cmd := exec.Command("/bin/sh", "-c", "gh pr 'a  b'; echo $?")
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "gh is forbidden here") || !strings.HasSuffix(string(out), "77\n") {
		t.Errorf("%s %v", out, err)
	}
	if data, _ := os.ReadFile(mark); string(data) != "gh pr a  b\n" {
		t.Errorf("mark %q", data)
	}
}
