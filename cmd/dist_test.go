package cmd

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The same sources give the same archives, whoever makes them where and when; what
// is in them works.
func TestDist(t *testing.T) {
	if out, err := exec.Command("tar", "--version").Output(); err != nil || !bytes.Contains(out, []byte("GNU")) {
		t.Skip("no GNU tar")
	}
	for _, script := range []string{"../scripts/dist", "../scripts/install"} { // a change of these is a reason to test again
		if _, err := os.ReadFile(script); err != nil {
			t.Fatal(err)
		}
	}
	platform := runtime.GOOS + "/" + runtime.GOARCH
	make := func(programs string, env ...string) string {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "dist")
		cmd := exec.Command("sh", "-c", `umask $UMASK; exec ../scripts/dist "$0" "$1"`, dir, platform)
		cmd.Env = append(append(os.Environ(), "VERSION=0.0.0", "PROGRAMS="+programs, "AIFLOW="+filepath.Join(bin, "aiflow"),
			"TAGS="+tags, "LDFLAGS=-s -w -X main.version=0.0.0 -X main.commit=test"), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return dir
	}
	read := func(path string) string {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	small, again := make("aiflow", "UMASK=077", "TZ=Asia/Tokyo"), make("aiflow", "UMASK=002", "TZ=UTC", "LC_ALL=C", "TMPDIR="+t.TempDir())
	if a, b := read(filepath.Join(small, "SHA256SUMS")), read(filepath.Join(again, "SHA256SUMS")); a != b {
		t.Errorf("one %s\ntwo %s", a, b)
	}
	one := make("aiflow aiflow-doctor aiflow-hook aiflow-mcp aiflow-request aiflow-run", "UMASK=077") // those that the first hour uses
	sums := read(filepath.Join(one, "SHA256SUMS"))
	name := "aiflow-0.0.0-" + strings.ReplaceAll(platform, "/", "-")
	if !strings.Contains(sums, "  "+name+".tar.gz\n") {
		t.Errorf("%s", sums)
	}
	run := func(command string, args ...string) string {
		t.Helper()
		out, err := exec.Command(command, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", command, args, err, out)
		}
		return string(out)
	}
	run("sh", "-c", `cd "$0" && sha256sum -c SHA256SUMS`, one)
	run("tar", "-C", one, "-xzf", filepath.Join(one, name+".tar.gz"))
	works := func(usr string) {
		t.Helper()
		if out := run(filepath.Join(usr, "bin", "aiflow"), "version"); out != "aiflow 0.0.0 (test)\n" {
			t.Error(out)
		}
		if out := run(filepath.Join(usr, "bin", "aiflow"), "help", "run", "--lang", "en"); !strings.Contains(out, "aiflow-run") {
			t.Error(out)
		}
	}
	works(filepath.Join(one, name))

	if _, err := exec.LookPath("dpkg-deb"); err != nil || runtime.GOOS != "linux" {
		t.Skip("no dpkg-deb")
	}
	deb, root := filepath.Join(one, "aiflow_0.0.0_"+runtime.GOARCH+".deb"), filepath.Join(one, "root")
	run("dpkg-deb", "-x", deb, root)
	works(filepath.Join(root, "usr"))
	if out := run("dpkg-deb", "-f", deb, "Package", "Version", "Depends"); out != "Package: aiflow\nVersion: 0.0.0\nDepends: git (>= 1:2.26)\n" {
		t.Error(out)
	}
	if out := run("dpkg-deb", "-c", deb); !strings.Contains(out, "-rwxr-xr-x root/root") || strings.Contains(out, "drwx------") {
		t.Error(out)
	}
	installed(t, deb, works)
	for _, file := range []string{"man/man1/aiflow-run.1.gz", "bash-completion/completions/aiflow", "zsh/vendor-completions/_aiflow", "doc/aiflow/copyright"} {
		read(filepath.Join(root, "usr", "share", file))
	}
}

// installed puts the package into a root of its own with the real dpkg, which knows of
// git there, lets a person live with it for an hour, puts it there once more and
// takes it away.
func installed(t *testing.T, deb string, works func(usr string)) {
	t.Helper()
	root := t.TempDir()
	known := filepath.Join(root, "var", "lib", "dpkg")
	if err := errors.Join(os.MkdirAll(filepath.Join(known, "info"), 0o755), os.MkdirAll(filepath.Join(known, "updates"), 0o755), os.WriteFile(filepath.Join(known, "status"),
		[]byte("Package: git\nStatus: install ok installed\nVersion: 1:2.39.5\nArchitecture: "+runtime.GOARCH+"\nMaintainer: x <x@localhost>\nDescription: x\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	dpkg := func(args ...string) {
		t.Helper()
		args = append([]string{"dpkg", "--root=" + root, "--force-not-root", "--force-bad-path", "--log=/dev/null"}, args...)
		if os.Geteuid() != 0 {
			args = append([]string{"fakeroot"}, args...)
		}
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	if _, err := exec.LookPath("fakeroot"); err != nil && os.Geteuid() != 0 {
		t.Skip("no fakeroot")
	}
	dpkg("-i", deb)
	works(filepath.Join(root, "usr"))
	cache, _ := exec.Command("go", "env", "GOCACHE").Output()
	t.Run("used", func(t *testing.T) { // which ends when its script has
		testscript.Run(t, testscript.Params{
			Dir: "../testdata/dist", Cmds: commands(), RequireUniqueNames: true, Condition: condition,
			Setup: func(e *testscript.Env) error {
				e.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
				return setup(e, filepath.Join(root, "usr", "bin"))
			},
		})
	})
	dpkg("-i", deb)
	works(filepath.Join(root, "usr"))
	dpkg("-r", "aiflow")
	if left, _ := filepath.Glob(filepath.Join(root, "usr", "*")); len(left) > 0 {
		t.Errorf("dpkg -r leaves %v", left)
	}
}
