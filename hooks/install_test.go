package hooks

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInstallWhereNothingIs(t *testing.T) {
	b := newBench(t)
	if _, code := b.commit(); code != 0 || b.logged() != "" {
		t.Fatal("control: something ran before installing")
	}
	if got, want := b.install(b.options()), all("install"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if out, code := b.commit(); code != 0 || out != "" {
		t.Errorf("commit: %d %q", code, out)
	}
	if got := b.logged(); got != "ours pre-commit;ours post-commit" {
		t.Errorf("ran %s", got)
	}
	if got, want := b.install(b.options()), all("keep:current"); got != want {
		t.Errorf("again: got  %s\nwant %s", got, want)
	}
	if got, want := b.uninstall(b.options()), all("remove"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := b.uninstall(b.options()), all("keep:nothing"); got != want {
		t.Errorf("again: got  %s\nwant %s", got, want)
	}
	if strings.Contains(snapshot(t, b.hook("")), "aiflow") {
		t.Error("something of ours is left")
	}
}

func TestEveryHookRunsWithItsArgumentsAndInput(t *testing.T) {
	b := newBench(t)
	b.put(b.bin, "#!/bin/sh\necho \"$* $(wc -l)\" | tr -s ' ' >>\"$LOG\"\n", 0o755)
	b.install(b.options())
	b.commit()
	b.git("checkout", "-q", "-b", "other")
	b.commit()
	b.git("checkout", "-q", "main")
	b.logged()
	b.git("merge", "-q", "other")
	if got := b.logged(); got != "post-merge 0 0" {
		t.Errorf("merge: %s", got)
	}
	b.git("commit", "-q", "--allow-empty", "--amend", "-m", "z")
	if got := b.logged(); got != "pre-commit 0;post-commit 0;post-rewrite amend 1" {
		t.Errorf("amend: %s", got)
	}
	b.git("checkout", "-q", "other")
	if got := b.logged(); !strings.HasPrefix(got, "post-checkout ") || !strings.HasSuffix(got, " 1 0") {
		t.Errorf("checkout: %s", got)
	}
}

// Strangers' hooks: what becomes of them, what runs, and what uninstalling
// gives back.
func TestBesideOthers(t *testing.T) {
	sh := "#!/bin/sh\necho theirs \"$@\" >>\"$LOG\"\n"
	for _, tc := range []struct {
		name, text string
		mode       fs.FileMode
		kind       string
		ran        string
		code       int
	}{
		{"sh", sh, 0o755, "add", "ours;theirs", 0},
		{"odd mode", sh, 0o715, "add", "ours;theirs", 0},
		{"exec at the end", sh + "exec true\n", 0o755, "add", "ours;theirs", 0},
		{"exit in the middle", sh + "exit 0\nfalse\n", 0o755, "add", "ours;theirs", 0},
		{"fails", sh + "exit 7", 0o755, "add", "ours;theirs", 1},
		{"last command fails", sh + "false\n", 0o755, "add", "ours;theirs", 1},
		{"bash through env", "#!/usr/bin/env bash\nset -euo pipefail\necho theirs >>\"$LOG\"\n", 0o755, "add", "ours;theirs", 0},
		{"options in the shebang", "#!/bin/sh -eu\necho theirs >>\"$LOG\"\n", 0o755, "add", "ours;theirs", 0},
		{"no shebang", "echo theirs >>\"$LOG\"\n", 0o755, "add", "ours;theirs", 0},
		{"no final newline", strings.TrimSuffix(sh, "\n"), 0o755, "add", "ours;theirs", 0},
		{"unended here-document", sh + "cat >/dev/null <<X\nabc\n", 0o755, "add", "ours;theirs", 0},
		{"other character set", sh + "# \x83n\x83C\n", 0o755, "add", "ours;theirs", 0},
		{"empty", "", 0o755, "add", "ours", 0},
		{"python", "#!/usr/bin/python3\nimport os\nopen(os.environ['LOG'],'a').write('theirs\\n')\n", 0o755, "chain", "theirs;ours", 0},
		{"python fails", "#!/usr/bin/python3\nimport os,sys\nopen(os.environ['LOG'],'a').write('theirs\\n')\nsys.exit(3)\n", 0o755, "chain", "theirs", 1},
		{"perl", "#!/usr/bin/env -S perl -w\nopen(F,'>>',$ENV{LOG});print F \"theirs\\n\"\n", 0o755, "chain", "theirs;ours", 0},
		{"node", "#!/usr/bin/env node\nrequire('fs').appendFileSync(process.env.LOG,'theirs\\n')\n", 0o755, "chain", "theirs;ours", 0},
		{"CRLF", "#!/bin/sh\r\necho theirs >>\"$LOG\"\r\n", 0o755, "chain", "", 1},
		{"not executable", sh, 0o644, "chain", "ours", 0},
		{"shebang alone", "#!/bin/sh", 0o755, "chain", "ours", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			b.put(b.hook(PreCommit), tc.text, tc.mode)
			before := snapshot(t, b.hook(""))
			if got := strings.Fields(b.install(b.options()))[0]; got != "pre-commit:"+tc.kind {
				t.Errorf("decided %s", got)
			}
			again := b.install(b.options())
			if again != all("keep:current") {
				t.Errorf("again: %s", again)
			}
			_, code := b.commit()
			ran := strings.ReplaceAll(strings.TrimSuffix(strings.ReplaceAll(b.logged(), "ours post-commit", ""), ";"), "ours pre-commit", "ours")
			if ran != tc.ran || code != tc.code {
				t.Errorf("ran %q with exit status %d", ran, code)
			}
			b.uninstall(b.options())
			if after := snapshot(t, b.hook("")); after != before {
				t.Errorf("not given back:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

func TestOursBlocksBesideOthers(t *testing.T) {
	for _, text := range []string{"#!/bin/sh\necho theirs >>\"$LOG\"\n", "#!/usr/bin/perl\nexit 0\n"} {
		b := newBench(t)
		b.put(b.hook(PreCommit), text, 0o755)
		b.install(b.options())
		if _, code := b.commit("OURS_EXIT=3"); code != 1 {
			t.Errorf("%q: commit went through", text)
		}
	}
}

func TestOurFailureNeverSpoilsTheOtherHooks(t *testing.T) {
	for _, text := range []string{"", "#!/bin/sh\necho theirs >>\"$LOG\"\nexit 5\n", "#!/usr/bin/perl\nopen(F,'>>',$ENV{LOG});print F \"theirs\\n\";exit 5\n"} {
		b := newBench(t)
		b.commit()
		want := 0
		if text != "" {
			b.put(b.hook(PostCheckout), text, 0o755)
			want = 1 // what git makes of it
		}
		b.install(b.options())
		if _, code := b.run([]string{"OURS_EXIT=9"}, "git", "checkout", "-q", "-b", "o"); code != want {
			t.Errorf("%q: exit status %d, want %d", text, code, want)
		}
		if got := b.logged(); !strings.Contains(got, "ours post-checkout") || strings.Contains(got, "theirs") != (text != "") {
			t.Errorf("ran %s", got)
		}
	}
}

func TestTheirHookGetsTheInput(t *testing.T) {
	for _, text := range []string{"#!/bin/sh\ncat >>\"$LOG\"\n", "#!/usr/bin/perl\nopen(F,'>>',$ENV{LOG});print F <STDIN>\n"} {
		b := newBench(t)
		b.put(b.bin, "#!/bin/sh\ncat >/dev/null\n", 0o755)
		b.commit()
		b.put(b.hook(PostRewrite), text, 0o755)
		b.install(b.options())
		b.git("commit", "-q", "--allow-empty", "--amend", "-m", "z")
		if got := len(strings.Fields(b.logged())); got != 2 {
			t.Errorf("%q: theirs read %d words", text, got)
		}
	}
}

func TestBinaryHook(t *testing.T) {
	b := newBench(t)
	elf, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Skip(err)
	}
	b.put(b.hook(PreCommit), string(elf), 0o755)
	before := snapshot(t, b.hook(""))
	if got := b.install(b.options()); !strings.HasPrefix(got, "pre-commit:chain ") {
		t.Error(got)
	}
	if _, code := b.commit(); code != 0 || b.logged() != "ours pre-commit;ours post-commit" {
		t.Error("not run")
	}
	b.uninstall(b.options())
	if snapshot(t, b.hook("")) != before {
		t.Error("not given back")
	}
}

func TestSymlinks(t *testing.T) {
	for name, link := range map[string]string{"in the repository": "../../tools/pc", "outside": "", "dangling": "nowhere"} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			text := "#!/bin/sh\necho theirs >>\"$LOG\"\n"
			b.put(filepath.Join(b.repo, "tools/pc"), text, 0o755)
			out := filepath.Join(b.root, "outside")
			b.put(out, text, 0o755)
			if link == "" {
				link = out
			}
			if err := os.Symlink(link, b.hook(PreCommit)); err != nil {
				t.Fatal(err)
			}
			before := snapshot(t, b.hook("")) + snapshot(t, filepath.Join(b.repo, "tools"))
			if got := b.install(b.options()); !strings.HasPrefix(got, "pre-commit:chain ") {
				t.Error(got)
			}
			want := "theirs;ours pre-commit;ours post-commit"
			if name == "dangling" {
				want = "ours pre-commit;ours post-commit"
			}
			if _, code := b.commit(); code != 0 {
				t.Error("commit refused")
			}
			if got := b.logged(); got != want {
				t.Errorf("ran %s", got)
			}
			b.uninstall(b.options())
			if got := snapshot(t, b.hook("")) + snapshot(t, filepath.Join(b.repo, "tools")); got != before {
				t.Errorf("not given back:\n%s", got)
			}
		})
	}
}

func TestEditsAroundOurBlockSurvive(t *testing.T) {
	b := newBench(t)
	b.put(b.hook(PreCommit), "#!/bin/sh\necho one >>\"$LOG\"\n", 0o750)
	b.install(b.options())
	data, _ := os.ReadFile(b.hook(PreCommit))
	edited := strings.Replace(string(data), "#!/bin/sh\n", "#!/bin/sh\nset -e\n", 1) + "echo two >>\"$LOG\"\n"
	b.put(b.hook(PreCommit), edited, 0o750)
	if got := b.install(b.options()); got != all("keep:current") {
		t.Error(got)
	}
	b.uninstall(b.options())
	if data, _ := os.ReadFile(b.hook(PreCommit)); string(data) != "#!/bin/sh\nset -e\necho one >>\"$LOG\"\necho two >>\"$LOG\"\n" {
		t.Errorf("got %q", data)
	}
}

func TestLinesAddedToOurOwnFileSurvive(t *testing.T) {
	b := newBench(t)
	b.install(b.options())
	data, _ := os.ReadFile(b.hook(PostMerge))
	b.put(b.hook(PostMerge), string(data)+"echo mine\n", 0o755)
	if got := b.uninstall(b.options()); !strings.Contains(got, "post-merge:strip") {
		t.Error(got)
	}
	if data, _ := os.ReadFile(b.hook(PostMerge)); string(data) != "#!/bin/sh\necho mine\n" {
		t.Errorf("got %q", data)
	}
}

func TestOurLinesEditedByHand(t *testing.T) {
	b := newBench(t)
	b.install(b.options())
	data, _ := os.ReadFile(b.hook(PreCommit))
	edited := strings.Replace(string(data), "exit 1\n", "exit 0\n", 1)
	b.put(b.hook(PreCommit), edited, 0o755)
	if got := b.install(b.options()); !strings.HasPrefix(got, "pre-commit:refuse:edited ") {
		t.Error(got)
	}
	if got := b.uninstall(b.options()); !strings.HasPrefix(got, "pre-commit:refuse:edited ") {
		t.Error(got)
	}
	if now, _ := os.ReadFile(b.hook(PreCommit)); string(now) != edited {
		t.Error("it was changed")
	}
	o := b.options()
	o.Force = true
	if got := b.install(o); !strings.HasPrefix(got, "pre-commit:upgrade ") {
		t.Error(got)
	}
	if now, _ := os.ReadFile(b.hook(PreCommit)); string(now) != string(data) {
		t.Error("not renewed")
	}
}

func TestBrokenMarksAreLeftAlone(t *testing.T) {
	p := params{hook: PreCommit, place: placeAdded, bin: "/x", miss: Block}
	text := render(p)
	for name, bad := range map[string]string{
		"no end":     strings.Replace(text, closeMark, "", 1),
		"no start":   text[strings.Index(text, "\n")+1:],
		"twice":      text + text,
		"turned":     closeMark + strings.Replace(text, closeMark, "", 1),
		"end inside": strings.Replace(text, closeMark, closeMark+closeMark, 1),
	} {
		b := newBench(t)
		b.put(b.hook(PreCommit), "#!/bin/sh\n"+bad, 0o755)
		o := b.options()
		o.Force = true
		if got := b.install(o); !strings.HasPrefix(got, "pre-commit:refuse:broken ") {
			t.Errorf("%s: %s", name, got)
		}
		if got := b.uninstall(o); !strings.HasPrefix(got, "pre-commit:refuse:broken ") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestHookThatLooksAtItsNameStays(t *testing.T) {
	b := newBench(t)
	text := "#!/usr/bin/env ruby\nhook = File.basename($0)\n"
	b.put(b.hook(PreCommit), text, 0o755)
	if got := b.install(b.options()); !strings.HasPrefix(got, "pre-commit:refuse:knows_name ") {
		t.Error(got)
	}
	if data, _ := os.ReadFile(b.hook(PreCommit)); string(data) != text {
		t.Error("changed")
	}
}

func TestTakenAsidePlace(t *testing.T) {
	b := newBench(t)
	b.put(b.hook(PreCommit), "#!/usr/bin/perl\n", 0o755)
	b.put(b.hook(PreCommit)+AsideSuffix, "precious", 0o644)
	if got := b.install(b.options()); !strings.HasPrefix(got, "pre-commit:refuse:aside_exists ") {
		t.Error(got)
	}
	if got := b.uninstall(b.options()); !strings.HasPrefix(got, "pre-commit:keep:aside_left ") {
		t.Error(got)
	}
}

// A file in the hooks folder may be deleted by hand; the moved hook is found.
func TestDeletedByHandWhileChained(t *testing.T) {
	b := newBench(t)
	b.put(b.hook(PreCommit), "#!/usr/bin/perl\nopen(F,'>>',$ENV{LOG});print F \"theirs\\n\"\n", 0o750)
	before := snapshot(t, b.hook(""))
	b.install(b.options())
	if err := os.Remove(b.hook(PreCommit)); err != nil {
		t.Fatal(err)
	}
	if got := b.install(b.options()); !strings.HasPrefix(got, "pre-commit:install ") {
		t.Error(got)
	}
	b.commit()
	if got := b.logged(); !strings.HasPrefix(got, "theirs;ours pre-commit") {
		t.Error(got)
	}
	if err := os.Remove(b.hook(PreCommit)); err != nil {
		t.Fatal(err)
	}
	b.uninstall(b.options())
	if snapshot(t, b.hook("")) != before {
		t.Error("not given back")
	}
}

func TestSampleHooksAreNoHooks(t *testing.T) {
	b := newBench(t)
	b.put(b.hook("pre-commit.sample"), "#!/bin/sh\nexit 1\n", 0o755)
	if got := b.install(b.options()); got != all("install") {
		t.Error(got)
	}
}

func TestFolderInTheWay(t *testing.T) {
	b := newBench(t)
	if err := os.MkdirAll(b.hook(PreCommit), 0o755); err != nil {
		t.Fatal(err)
	}
	others := strings.TrimPrefix(all("install"), "pre-commit:install")
	if got := b.install(b.options()); got != "pre-commit:refuse:unreadable"+others {
		t.Error(got)
	}
}

// git writes CRLF into a hook that is tracked where core.autocrlf says so. It
// is ours all the same: installing writes LF, uninstalling finds what is ours
// and leaves the line ends of others as they are.
func TestCRLFInOurOwn(t *testing.T) {
	const theirs = "#!/bin/sh\necho theirs >>\"$LOG\"\n"
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	for _, tc := range []struct{ name, before, after, ran string }{
		{"a file of our own", "", "", "ours"},
		{"beside theirs", theirs, crlf(theirs), "ours;theirs"},
	} {
		for _, what := range []string{"whole", "first line"} {
			t.Run(tc.name+", "+what, func(t *testing.T) {
				b := newBench(t)
				if tc.before != "" {
					b.put(b.hook(PreCommit), tc.before, 0o755)
				}
				b.install(b.options())
				data, err := os.ReadFile(b.hook(PreCommit))
				if err != nil {
					t.Fatal(err)
				}
				good := string(data)
				bad := crlf(good)
				if what == "first line" {
					bad = strings.Replace(good, "\n", "\r\n", 1)
				}
				b.put(b.hook(PreCommit), bad, 0o755)
				if out, code := b.commit(); code == 0 {
					t.Fatalf("control: git starts it: %s", out)
				}
				if got := b.install(b.options()); !strings.HasPrefix(got, "pre-commit:upgrade:crlf ") {
					t.Errorf("decided %s", got)
				}
				if data, _ := os.ReadFile(b.hook(PreCommit)); string(data) != good {
					t.Errorf("mended to %q", data)
				}
				if out, code := b.commit(); code != 0 || !strings.HasPrefix(strings.ReplaceAll(b.logged(), " pre-commit", ""), tc.ran) {
					t.Errorf("commit: %d %s", code, out)
				}
				if what != "whole" {
					return
				}
				b.put(b.hook(PreCommit), bad, 0o755)
				b.uninstall(b.options())
				if data, _ := os.ReadFile(b.hook(PreCommit)); string(data) != tc.after {
					t.Errorf("uninstalled to %q", data)
				}
			})
		}
	}
}
