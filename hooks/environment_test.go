package hooks

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aiflow/internal/proc"
)

func TestEmptyEnvironment(t *testing.T) {
	b := newBench(t)
	b.git("config", "user.name", "a")
	b.git("config", "user.email", "a@b")
	b.put(b.bin, strings.ReplaceAll(fakeBin, `"$LOG"`, proc.Quoted(b.log)), 0o755)
	b.install(b.options())
	git, _ := exec.LookPath("git")
	for _, env := range [][]string{nil, {"PATH=/usr/bin:/bin:/usr/sbin:/sbin"}, {"PATH="}, {"LC_ALL=ja_JP.UTF-8"}} {
		cmd := exec.Command(git, "commit", "-q", "--allow-empty", "-m", "x")
		cmd.Dir, cmd.Env = b.repo, append([]string{"GIT_CONFIG_NOSYSTEM=1"}, env...)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%v: %v %s", env, err, out)
		}
		if got := b.logged(); got != "ours pre-commit;ours post-commit" {
			t.Errorf("%v: ran %s", env, got)
		}
	}
}

func TestMovedBinaryIsFoundInPath(t *testing.T) {
	b := newBench(t)
	b.install(b.options())
	elsewhere := filepath.Join(b.root, "else where")
	if err := os.Rename(filepath.Dir(b.bin), elsewhere); err != nil {
		t.Fatal(err)
	}
	path := []string{"PATH=" + elsewhere + ":" + pathWithoutUs()}
	if out, code := b.commit(path...); code != 0 || out != "" {
		t.Errorf("%d %s", code, out)
	}
	if got := b.logged(); got != "ours pre-commit;ours post-commit" {
		t.Errorf("ran %s", got)
	}
	if err := os.Rename(filepath.Join(elsewhere, "aiflow-hook"), filepath.Join(elsewhere, "aiflow")); err != nil {
		t.Fatal(err)
	}
	b.commit(path...)
	if got := b.logged(); got != "ours hook pre-commit;ours hook post-commit" {
		t.Errorf("aiflow: ran %s", got)
	}
	b.commit(append(path, "OURS_EXIT=4")...)
	if got := b.logged(); got != "ours hook pre-commit" {
		t.Errorf("aiflow refuses: ran %s", got)
	}
}

func TestMissingBinary(t *testing.T) {
	for _, tc := range []struct {
		name, theirs string
		miss         IfMissing
		code         int
		lines        int
	}{
		{"alone, block", "", Block, 1, 1},
		{"alone, pass", "", Pass, 0, 2},
		{"default", "", "", 1, 1},
		{"added, block", "#!/bin/sh\n", Block, 1, 1},
		{"added, pass", "#!/bin/sh\n", Pass, 0, 2},
		{"chained, block", "#!/usr/bin/perl\n", Block, 1, 1},
		{"chained, pass", "#!/usr/bin/perl\n", Pass, 0, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			if tc.theirs != "" {
				b.put(b.hook(PreCommit), tc.theirs, 0o755)
			}
			o := b.options()
			o.IfMissing = tc.miss
			b.install(o)
			if err := os.Remove(b.bin); err != nil {
				t.Fatal(err)
			}
			out, code := b.commit()
			if code != tc.code || strings.Count(out, "\n") != tc.lines {
				t.Errorf("exit status %d:\n%s", code, out)
			}
			if tc.code != 0 && !strings.Contains(out, "git commit --no-verify") {
				t.Errorf("no way out: %s", out)
			}
			if _, code := b.run(nil, "git", "checkout", "-q", "-b", "x"); code != 0 {
				t.Error("another hook refused")
			}
		})
	}
}

// Installing again keeps what was chosen for a missing binary, unless asked.
func TestChoiceForAMissingBinaryStays(t *testing.T) {
	b := newBench(t)
	o := b.options()
	o.IfMissing = Pass
	b.install(o)
	if got := b.install(b.options()); got != all("keep:current") {
		t.Error(got)
	}
	o.IfMissing = Block
	if got := b.install(o); !strings.HasPrefix(got, "pre-commit:upgrade ") {
		t.Error(got)
	}
}

func TestGuardLetsEverythingPass(t *testing.T) {
	for _, text := range []string{"", "#!/bin/sh\necho theirs >>\"$LOG\"\n", "#!/usr/bin/perl\nopen(F,'>>',$ENV{LOG});print F \"theirs\\n\"\n"} {
		b := newBench(t)
		if text != "" {
			b.put(b.hook(PreCommit), text, 0o755)
		}
		b.install(b.options())
		if _, code := b.commit("AIFLOW_HOOK=pre-commit", "OURS_EXIT=1"); code != 0 {
			t.Error("refused")
		}
		if got := b.logged(); (got == "theirs") != (text != "") || strings.Contains(got, "ours") {
			t.Errorf("%q: ran %s", text, got)
		}
	}
}

// git commit | cat ends with the commit: nothing of ours keeps the pipe.
func TestNothingHoldsTheOutput(t *testing.T) {
	b := newBench(t)
	b.install(b.options())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "commit", "-q", "--allow-empty", "-m", "x")
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = b.repo, b.env, w, w
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if data, err := io.ReadAll(r); err != nil || len(data) != 0 {
		t.Errorf("%q %v", data, err)
	}
}
