package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFullDisk runs on a small disk with so many KiB left: what git and the
// logs write fails too. With room again the run goes on.
func TestFullDisk(t *testing.T) {
	l := threeSteps(t)
	done := 0
	for _, left := range []int{0, 8, 24, 64, 120, 160, 200, 240} {
		t.Run(fmt.Sprintf("%d KiB", left), func(t *testing.T) {
			w := l.smallDisk(t)
			fill := w.fill(left)
			res := w.run("aiflow-run", []string{l.request})
			w.oneReason(res)
			w.looks("on a full disk")
			if err := os.Remove(fill); err != nil {
				t.Fatal(err)
			}
			if res.status == 0 {
				done++
			} else if again := w.again(); again.status != 0 {
				t.Fatalf("run again: %s\nbefore: %s", again, res)
			}
			w.settled()
			w.twiceAtMost()
			if t.Failed() {
				t.Logf("first: %s", res)
			}
		})
	}
	t.Logf("%d runs had room enough", done)
}

// smallDisk is a world on a file system of its own.
func (l *lab) smallDisk(t *testing.T) *world {
	t.Helper()
	home := t.TempDir()
	if err := syscall.Mount("none", home, "tmpfs", 0, "size=120m"); err != nil {
		t.Skipf("cannot mount: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(home, syscall.MNT_DETACH) })
	w := &world{lab: l, t: t, dir: filepath.Join(home, "repo"), side: filepath.Join(t.TempDir(), "side")}
	if out, err := exec.Command("cp", "-a", l.template, w.dir).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v %s", err, out)
	}
	return w
}

// fill leaves so many KiB free and gives the file that takes the rest. The disk
// is large, because a small one is what doctor stops at.
func (w *world) fill(left int) string {
	w.t.Helper()
	var st syscall.Statfs_t
	if err := syscall.Statfs(w.dir, &st); err != nil {
		w.t.Fatal(err)
	}
	size := int64(st.Bavail)*st.Bsize - int64(left)<<10
	path := filepath.Join(filepath.Dir(w.dir), "fill")
	f, err := os.Create(path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	chunk := []byte(strings.Repeat("x", 1<<20))
	for ; size > 0; size -= int64(len(chunk)) {
		if _, err := f.Write(chunk[:min(size, int64(len(chunk)))]); err != nil {
			w.t.Fatal(err)
		}
	}
	return path
}

// TestStepFillsTheDisk: where not even the reason of a stop can be recorded, the run says of
// itself what the list says of it, and goes on once there is room.
func TestStepFillsTheDisk(t *testing.T) {
	l := threeSteps(t)
	w := l.smallDisk(t)
	request := filepath.Join(w.dir, "requests", l.request+".md")
	text := "---\ntitle: Fills it\nstatus: ready\nsteps: [{title: x, run: 'test -e ../full || cat /dev/zero > big.bin; echo x > x.txt'}]\n---\n"
	if err := os.WriteFile(request, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	res := w.run("aiflow-run", []string{l.request})
	for _, want := range []string{"Interrupted: " + l.request + " at S01", "STEP_COMMAND_FAILED", "STAGE_WRITE_FAILED: "} {
		if !strings.Contains(res.stdout+res.stderr, want) {
			t.Errorf("no %q: %s", want, res)
		}
	}
	if list := w.run("aiflow-run", []string{"list"}); !strings.Contains(list.stdout, "  INTERRUPTED  ") {
		t.Errorf("list: %s", list)
	}
	left := filepath.Join(w.dir, ".aiflow", "worktrees", l.request)
	if err := os.Remove(filepath.Join(left, "big.bin")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(left), "full"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if again := w.run("aiflow-run", []string{l.request}); again.status != 0 {
		t.Errorf("again: %s", again)
	}
}
