//go:build failpoint

package failpoint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"aiflow/internal/atomicfile"
)

func TestKind(t *testing.T) {
	for path, want := range map[string]string{
		"/p/runs/RQ/RUN/stage.json":                  "stage",
		"/p/runs/RQ/RUN/.stage.json.prev.tmp-1":      "stageprev",
		"/p/runs/RQ/RUN/.stage.json.tmp-17-ab":       "stage",
		"/p/.aiflow/locks/request.RQ-1.lock.json":    "lock",
		"/p/.aiflow/locks/.queue.lock.json.tmp-1-x":  "queuelock",
		"/p/.aiflow/locks/name.worktrees.lock.json":  "namedlock",
		"/p/.aiflow/locks/.spare":                    "spare",
		"/p/requests/.RQ-1.md.tmp-1":                 "request",
		"/p/runs/RQ/RUN/request.before.md":           "runrequest",
		"/p/runs/RQ/RUN/patches/S01.attempt2.patch":  "attempt",
		"/p/runs/RQ/RUN/patches/.S01.patch.tmp-1-ff": "patch",
		"/p/README": "other",
	} {
		if got := Kind(path); got != want {
			t.Errorf("Kind(%s) = %s, want %s", path, got, want)
		}
	}
}

// world writes plan after plan and says what became of the file.
func world(t *testing.T, spec string) (*Points, func(text string) (string, error)) {
	t.Helper()
	list := filepath.Join(t.TempDir(), "list")
	p := FromEnv([]string{"AIFLOW_FAILPOINT=" + spec, "AIFLOW_FAILPOINT_LIST=" + list})
	path := filepath.Join(t.TempDir(), "planning.json")
	d := Disk(p, atomicfile.OS{})
	return p, func(text string) (string, error) {
		err := atomicfile.Write(d, path, []byte(text), atomicfile.Options{TempSuffix: "x"})
		data, _ := os.ReadFile(path)
		return string(data), err
	}
}

func TestFailsOnceHalfDone(t *testing.T) {
	_, write := world(t, "plan.write:2=enospc")
	for i, tc := range []struct {
		want string
		err  error
	}{{"first", nil}, {"first", syscall.ENOSPC}, {"third", nil}} {
		got, err := write([]string{"first", "second", "third"}[i])
		if got != tc.want || !errors.Is(err, tc.err) {
			t.Errorf("write %d: %q, %v", i+1, got, err)
		}
	}
}

func TestFailsFromThenOn(t *testing.T) {
	_, write := world(t, "plan.rename:2=eio,always")
	for i, want := range []error{nil, syscall.EIO, syscall.EIO} {
		if got, err := write("text"); got != "text" || !errors.Is(err, want) {
			t.Errorf("write %d: %q, %v", i+1, got, err)
		}
	}
}

func TestAFullDiskCanRemove(t *testing.T) {
	p, _ := world(t, "plan.write=enospc,always")
	d := Disk(p, atomicfile.OS{})
	path := filepath.Join(t.TempDir(), "planning.json")
	if err := atomicfile.Write(d, path, []byte("x"), atomicfile.Options{TempSuffix: "x"}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestKillsWhereItIsTold(t *testing.T) {
	p, write := world(t, "plan.sync")
	p.kill = func() { panic("killed") }
	func() {
		defer func() {
			if recover() != "killed" {
				t.Error("not killed")
			}
		}()
		_, _ = write("text")
	}()
	p, _ = world(t, "at.here:2=kill")
	killed := 0
	p.kill = func() { killed++ }
	p.At("here")
	p.At("there")
	if killed != 0 {
		t.Error("too early")
	}
	p.At("here")
	if killed != 1 {
		t.Error("not killed")
	}
}

func TestListsWhatIsPassed(t *testing.T) {
	p, write := world(t, "")
	if _, err := write("text"); err != nil {
		t.Fatal(err)
	}
	p.At("end")
	data, _ := os.ReadFile(p.list)
	want := "plan.create:1 plan.write:1 plan.sync:1 plan.close:1 plan.rename:1 dir.syncdir:1 at.end:1"
	if got := strings.Join(strings.Fields(string(data)), " "); got != want {
		t.Errorf("got %s", got)
	}
}

func TestAnUnreadableValueIsAPanic(t *testing.T) {
	for _, spec := range []string{"stage", "stage.write:0", "stage.write:x", "stage.write=boom"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was taken", spec)
				}
			}()
			FromEnv([]string{"AIFLOW_FAILPOINT=" + spec})
		}()
	}
	if FromEnv(nil) != nil {
		t.Error("points without being asked")
	}
}
