package gitops

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var workspaces = flag.Int("workspaces", 6, "how many random workspaces the property test makes")

// leavings are things that somebody may do in a workspace. Each puts unique words
// into it, in files or commits, that must not be lost.
var leavings = map[string]func(p *mess, at string){
	"new":     func(p *mess, at string) { p.write(at, "new/file") },
	"changed": func(p *mess, at string) { p.write(at, "f") },
	"staged":  func(p *mess, at string) { p.write(at, "s"); p.b.sh(at, "add", "s") },
	"ignored": func(p *mess, at string) { p.write(at, "a.log"); p.write(at, "d.log/x") },
	"forced":  func(p *mess, at string) { p.write(at, "forced.log"); p.b.sh(at, "add", "-f", "forced.log") },
	"ignored now": func(p *mess, at string) {
		p.write(at, "dir/g")
		p.b.sh(at, "rm", "-q", "--cached", "dir/g")
		p.raw(filepath.Join(at, ".git-info-exclude"), "")
		p.append(filepath.Join(at, ".gitignore"), "dir/g\n")
	},
	"assumed": func(p *mess, at string) { p.b.sh(at, "update-index", "--assume-unchanged", "h1"); p.write(at, "h1") },
	"skipped": func(p *mess, at string) { p.b.sh(at, "update-index", "--skip-worktree", "h2"); p.write(at, "h2") },
	"sparse": func(p *mess, at string) {
		p.b.sh(at, "sparse-checkout", "set", "--no-cone", "/*", "!/far/")
		p.write(at, "far/new")
	},
	"repository":                  func(p *mess, at string) { p.inner(at, "app", true) },
	"repository without a commit": func(p *mess, at string) { p.inner(at, "unborn", false) },
	"ignored repository":          func(p *mess, at string) { p.inner(at, "in.log/repo", true) },
	"repository that was added": func(p *mess, at string) {
		p.inner(at, "added", true)
		p.b.sh(at, "add", "added")
		p.b.sh(at, "commit", "-q", "-m", "gitlink")
	},
	"submodule commit": func(p *mess, at string) {
		p.submodule(at)
		p.write(at, "sub/f")
		p.b.sh(filepath.Join(at, "sub"), "commit", "-q", "-am", "in the submodule")
		p.write(at, "sub/f")
	},
	"submodule removed": func(p *mess, at string) {
		p.submodule(at)
		p.write(at, "sub/f")
		p.b.sh(filepath.Join(at, "sub"), "commit", "-q", "-am", "in the submodule")
		remove(p.t, filepath.Join(at, "sub"))
	},
	"untouched submodule": func(p *mess, at string) { p.submodule(at) },
	"half merged": func(p *mess, at string) {
		p.b.sh(at, "stash", "-q", "-u")
		_, _ = p.b.try(at, "merge", "-q", "side")
		_, _ = p.b.try(at, "stash", "pop", "-q")
		p.write(at, "f")
	},
	"detached": func(p *mess, at string) {
		p.b.sh(at, "checkout", "-q", "--detach")
		p.commit(at)
	},
	"left behind by a reset": func(p *mess, at string) {
		p.commit(at)
		p.b.sh(at, "reset", "-q", "--soft", "HEAD~")
		p.b.sh(at, "reset", "-q")
	},
	"ref of its own": func(p *mess, at string) {
		p.commit(at)
		p.b.sh(at, "update-ref", "refs/worktree/mine", "HEAD")
		p.b.sh(at, "reset", "-q", "HEAD~")
		remove(p.t, filepath.Join(p.w.gitDir, "logs"))
	},
	"another branch": func(p *mess, at string) {
		p.b.sh(at, "checkout", "-q", "-b", fmt.Sprintf("aiflow/other/%d", p.next()))
		p.commit(at)
	},
	"index gone":       func(p *mess, _ string) { remove(p.t, filepath.Join(p.w.gitDir, "index")) },
	"half made":        func(p *mess, _ string) { writeFile(p.t, filepath.Join(p.w.gitDir, "locked"), "initializing") },
	"link lost":        func(p *mess, at string) { remove(p.t, filepath.Join(at, ".git")) },
	"folder of no git": func(p *mess, at string) { p.write(at, "odd/.git/notes") },
	"not readable":     func(p *mess, at string) { p.write(at, "shut.log/x"); p.mode(filepath.Join(at, "shut.log"), 0) },
	"read-only":        func(p *mess, at string) { p.inner(at, "ro", true); p.mode(filepath.Join(at, "ro"), 0o555) },
}

// last are those after which git can no longer be asked for more.
var last = []string{"index gone", "half made", "link lost", "not readable", "read-only"}

// doors are the ways by which a workspace goes or is put back.
var doors = map[string]func(p *mess, k Keep) error{
	"remove": func(p *mess, k Keep) error { return p.r.RemoveWorktree(p.t.Context(), p.w.path, k) },
	"refuse": func(p *mess, k Keep) error { k.Refuse = true; return p.r.RemoveWorktree(p.t.Context(), p.w.path, k) },
	"nothing is kept": func(p *mess, k Keep) error {
		return p.r.RemoveWorktree(p.t.Context(), p.w.path, Keep{Before: func(Kept) error { return fs.ErrExist }})
	},
	"made again": func(p *mess, k Keep) error {
		_, err := p.r.AddWorktree(p.t.Context(), p.w.path, p.w.branch, k)
		return err
	},
	"put back":             func(p *mess, k Keep) error { return p.w.ResetTo(p.t.Context(), "HEAD", k) },
	"put back to the base": func(p *mess, k Keep) error { return p.w.ResetTo(p.t.Context(), "main", k) },
	"moved away": func(p *mess, k Keep) error {
		if err := os.Rename(p.w.path, p.w.path+"-elsewhere"); err != nil {
			return err
		}
		_, err := p.r.AddWorktree(p.t.Context(), p.w.path, p.w.branch, k)
		return err
	},
	"record lost": func(p *mess, k Keep) error {
		at := filepath.Join(p.b.dir, "lost-record") // what only the record had is lost by whoever lost it
		if err := os.Rename(p.w.gitDir, at); err != nil {
			return err
		}
		_, err := p.r.AddWorktree(p.t.Context(), p.w.path, p.w.branch, k)
		return err
	},
}

// mess is one random workspace.
type mess struct {
	t     *testing.T
	b     *bench
	r     *Repo
	w     *Workspace
	n     int
	words []string
}

func (p *mess) next() int { p.n++; return p.n }

func (p *mess) word() string {
	w := fmt.Sprintf("precious-%d-end", p.next())
	p.words = append(p.words, w)
	return w
}

func (p *mess) raw(path, text string) { writeFile(p.t, path, text) }

func (p *mess) append(path, text string) {
	data, _ := os.ReadFile(path)
	writeFile(p.t, path, string(data)+text)
}

func (p *mess) write(at, name string) { p.raw(filepath.Join(at, name), p.word()+"\n") }

func (p *mess) mode(path string, mode fs.FileMode) {
	if err := os.Chmod(path, mode); err != nil {
		p.t.Fatal(err)
	}
}

func (p *mess) commit(at string) {
	p.b.sh(at, "commit", "-q", "--allow-empty", "--no-verify", "-m", p.word())
}

func (p *mess) inner(at, name string, commit bool) {
	dir := filepath.Join(at, name)
	mkdir(p.t, dir)
	p.b.sh(dir, "init", "-q")
	if commit {
		p.write(dir, "was")
		p.b.sh(dir, "add", "-A")
		p.b.sh(dir, "commit", "-q", "-m", "inner")
		remove(p.t, filepath.Join(dir, "was"))
	}
	p.write(dir, "now")
}

func (p *mess) submodule(at string) {
	if exists(filepath.Join(at, "sub", ".git")) {
		return
	}
	p.b.sh(at, "submodule", "-q", "add", "--force", filepath.Join(p.b.dir, "library"), "sub")
}

// lost are the words that are in no file, no object that a ref reaches, and no
// kept repository below the bench's folder.
func (p *mess) lost() []string {
	var all strings.Builder
	repositories := []string{p.r.root}
	_ = filepath.WalkDir(p.b.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil && d != nil && d.IsDir() {
			return filepath.WalkDir(path, func(string, fs.DirEntry, error) error { return os.Chmod(path, 0o700) })
		}
		switch {
		case err != nil:
		case d.IsDir() && exists(filepath.Join(path, "objects")) && exists(filepath.Join(path, "HEAD")):
			repositories = append(repositories, path)
			if path != p.r.commonDir { // also what is in its own worktrees and modules
				return nil
			}
		case d.Type().IsRegular() && !strings.Contains(path, string(filepath.Separator)+"objects"+string(filepath.Separator)) &&
			!strings.HasPrefix(path, filepath.Join(p.r.commonDir, "logs")):
			data, _ := os.ReadFile(path)
			all.Write(data)
		}
		return nil
	})
	for _, dir := range repositories {
		args := []string{"--git-dir", dir, "--work-tree", dir, "log", "--all", "-p", "-m", "--root"}
		if dir == p.r.root {
			args = args[4:]
		}
		out, _ := p.b.try(dir, args...)
		all.WriteString(out)
	}
	if exists(p.w.gitDir) { // still in its place
		out, _ := p.b.try(p.r.root, "--git-dir", p.w.gitDir, "--work-tree", p.r.root, "log", "--all", "--reflog", "-p", "-m", "--root")
		all.WriteString(out)
	}
	return slices.DeleteFunc(slices.Clone(p.words), func(w string) bool { return strings.Contains(all.String(), w) })
}

func newMess(t *testing.T, seed uint64) (*mess, string) {
	b := newBench(t)
	root := b.repo("r")
	b.commit(root, "more", map[string]string{"h1": "h1\n", "h2": "h2\n", "far/x": "x\n"})
	b.sh(root, "checkout", "-q", "-b", "side")
	b.commit(root, "side", map[string]string{"f": "other\n"})
	b.sh(root, "checkout", "-q", "main")
	b.repo("library")
	r := b.open(root)
	p := &mess{t: t, b: b, r: r, w: b.worktree(r, "RQ-1")}
	rnd := rand.New(rand.NewPCG(seed, 1))
	names := slices.Sorted(maps.Keys(leavings))
	rnd.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:1+rnd.IntN(4)]
	slices.SortStableFunc(names, func(x, y string) int { return slices.Index(last, x) - slices.Index(last, y) })
	for _, name := range names {
		leavings[name](p, p.w.path)
	}
	all := slices.Sorted(maps.Keys(doors))
	door := all[rnd.IntN(len(all))]
	t.Logf("seed %d: %q by %q", seed, names, door)
	return p, door
}

// TestNothingInAWorkspaceIsLost leaves random things in workspaces and takes them
// away by random doors. Whatever the door says, every byte is then in git, in
// what was kept, or still in its place.
func TestNothingInAWorkspaceIsLost(t *testing.T) {
	for seed := range uint64(*workspaces) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			p, door := newMess(t, seed)
			k := keepAll(t)
			k.Dir = filepath.Join(p.b.dir, "kept")
			err := doors[door](p, k)
			if lost := p.lost(); len(lost) > 0 {
				t.Errorf("lost by %q: %q (err = %v)", door, lost, err)
			}
		})
	}
}

// TestADoorThatDoesNotAskIsCaught is the negative control: the same check finds
// what a removal loses that does not look first.
func TestADoorThatDoesNotAskIsCaught(t *testing.T) {
	for _, name := range []string{"new", "ignored", "assumed", "repository", "submodule commit", "detached"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			root := b.repo("r")
			b.commit(root, "more", map[string]string{"h1": "h1\n"})
			b.repo("library")
			r := b.open(root)
			p := &mess{t: t, b: b, r: r, w: b.worktree(r, "RQ-1")}
			leavings[name](p, p.w.path)
			if lost := p.lost(); len(lost) > 0 {
				t.Fatalf("%q is lost before", lost)
			}
			if err := r.unregister(t.Context(), p.w.path, r.adminOf(p.w.path)); err != nil {
				t.Fatal(err)
			}
			if len(p.lost()) == 0 {
				t.Error("not noticed")
			}
		})
	}
}
