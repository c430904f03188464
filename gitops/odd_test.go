package gitops

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// odd is a repository that git reads well and go-git perhaps not.
type odd struct {
	name string
	make func(b *bench) (root string)
	// goGit says that go-git must be the one that answers, so that the test
	// compares two readers and not git with itself.
	goGit bool
}

func oddRepos() []odd {
	plain := func(b *bench) string { return b.repo("r") }
	with := func(change func(b *bench, dir string)) func(b *bench) string {
		return func(b *bench) string {
			dir := b.repo("r")
			change(b, dir)
			return dir
		}
	}
	config := func(text string) func(b *bench) string {
		return with(func(b *bench, dir string) { appendFile(b.t, filepath.Join(dir, ".git/config"), text) })
	}
	git := func(args ...string) func(b *bench) string {
		return with(func(b *bench, dir string) { b.sh(dir, args...) })
	}
	return []odd{
		{"plain", plain, true},
		{"autocrlf", with(func(b *bench, dir string) {
			b.sh(dir, "config", "core.autocrlf", "true")
			b.commit(dir, "crlf", map[string]string{"w.txt": "a\r\nb\r\n"})
		}), true},
		{"filter", with(func(b *bench, dir string) {
			b.sh(dir, "config", "filter.up.clean", "tr a-z A-Z")
			b.sh(dir, "config", "filter.up.smudge", "tr A-Z a-z")
			b.commit(dir, "filtered", map[string]string{".gitattributes": "*.up filter=up\n", "x.up": "small\n"})
		}), true},
		{"fileMode false", with(func(b *bench, dir string) {
			b.sh(dir, "config", "core.fileMode", "false")
			b.sh(dir, "update-index", "--chmod=+x", "f")
			b.sh(dir, "commit", "-q", "-m", "executable")
		}), true},
		{"links", with(func(b *bench, dir string) {
			for name, target := range map[string]string{"abs": "/etc/passwd", "rel": "dir/g", "dangling": "nowhere", "todir": "dir"} {
				if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
					b.t.Fatal(err)
				}
			}
			b.commit(dir, "links", nil)
			if err := os.Remove(filepath.Join(dir, "rel")); err != nil {
				b.t.Fatal(err)
			}
			b.commit(dir, "link becomes file", map[string]string{"rel": "a file\n"})
		}), true},
		{"submodule", with(func(b *bench, dir string) {
			sub := b.repo("sub")
			b.sh(dir, "submodule", "add", "-q", sub, "sm")
			b.commit(dir, "submodule", nil)
			b.commit(filepath.Join(dir, "sm"), "inside", map[string]string{"f": "inside\n"})
			b.commit(dir, "submodule moved", nil)
		}), true},
		{"nested repository", with(func(b *bench, dir string) {
			b.repo("r/inner")
			b.commit(dir, "gitlink", nil)
		}), true},
		{"opened in a linked worktree", func(b *bench) string {
			dir := b.repo("r")
			b.sh(dir, "worktree", "add", "-q", "-b", "side", "../linked")
			b.commit(filepath.Join(b.dir, "linked"), "there", map[string]string{"f": "there\n"})
			return filepath.Join(b.dir, "linked")
		}, true},
		{"opened in a folder", func(b *bench) string { return filepath.Join(b.repo("r"), "dir") }, true},
		{"sparse", git("sparse-checkout", "set", "dir"), false},
		{"sparse index", git("sparse-checkout", "set", "--cone", "--sparse-index", "dir"), false},
		{"partial clone", func(b *bench) string {
			from := b.repo("from")
			b.sh(from, "config", "uploadpack.allowFilter", "true")
			b.sh(b.dir, "clone", "-q", "--filter=blob:none", "--no-checkout", "file://"+from, "r")
			return filepath.Join(b.dir, "r")
		}, false},
		{"partialClone extension", config("[extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\turl = nowhere\n\tpromisor = true\n"), false},
		{"preciousObjects", config("[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpreciousObjects = true\n"), false},
		{"sha256", func(b *bench) string { return b.repo("r", "--object-format=sha256") }, false},
		{"index v4", git("update-index", "--index-version", "4"), true},
		{"split index", git("update-index", "--split-index"), true},
		{"untracked cache", git("update-index", "--force-untracked-cache"), true},
		{"packed refs", git("pack-refs", "--all"), true},
		{"packed objects", git("gc", "-q"), true},
		{"multi-pack index", with(func(b *bench, dir string) {
			b.sh(dir, "repack", "-qd")
			b.commit(dir, "third", map[string]string{"f": "three\n"})
			b.sh(dir, "repack", "-qd")
			b.sh(dir, "multi-pack-index", "write")
		}), true},
		{"commit graph", git("commit-graph", "write", "--reachable"), true},
		{"separate git dir", func(b *bench) string { return b.repo("r", "--separate-git-dir=../store") }, true},
		{"unborn", func(b *bench) string {
			b.sh(b.dir, "init", "-q", "r")
			return filepath.Join(b.dir, "r")
		}, false},
		{"unborn branch beside commits", git("switch", "-q", "--orphan", "fresh"), false},
		{"detached", git("checkout", "-q", "--detach"), true},
		{"detached at a tag", with(func(b *bench, dir string) {
			b.sh(dir, "tag", "-a", "-m", "tag", "v1")
			b.sh(dir, "checkout", "-q", "v1")
		}), true},
		{"shallow", func(b *bench) string {
			from := b.repo("from")
			b.commit(from, "third", map[string]string{"f": "three\n"})
			b.sh(b.dir, "clone", "-q", "--depth", "2", "file://"+from, "r")
			return filepath.Join(b.dir, "r")
		}, false},
		{"alternates", func(b *bench) string {
			b.repo("from")
			b.sh(b.dir, "clone", "-q", "--shared", "from", "r")
			b.commit(filepath.Join(b.dir, "r"), "own", map[string]string{"f": "own\n"})
			return filepath.Join(b.dir, "r")
		}, false},
		{"replaced commit", with(func(b *bench, dir string) {
			b.commit(dir, "third", map[string]string{"f": "three\n"})
			b.sh(dir, "replace", "--graft", "HEAD")
		}), false},
		{"packed replacement", with(func(b *bench, dir string) {
			b.commit(dir, "third", map[string]string{"f": "three\n"})
			b.sh(dir, "replace", "--graft", "HEAD")
			b.sh(dir, "pack-refs", "--all")
			if err := os.RemoveAll(filepath.Join(dir, ".git/refs/replace")); err != nil {
				b.t.Fatal(err)
			}
		}), false},
		{"grafts", with(func(b *bench, dir string) {
			writeFile(b.t, filepath.Join(dir, ".git/info/grafts"), b.sh(dir, "rev-parse", "HEAD")+"\n")
		}), false},
		{"merge in progress", with(func(b *bench, dir string) {
			b.sh(dir, "checkout", "-q", "-b", "side", "HEAD~1")
			b.commit(dir, "side", map[string]string{"f": "side\n"})
			b.sh(dir, "checkout", "-q", "main")
			if out, err := b.try(dir, "merge", "side"); err == nil {
				b.t.Fatalf("no conflict: %s", out)
			}
		}), true},
		{"merged history", with(func(b *bench, dir string) {
			b.sh(dir, "checkout", "-q", "-b", "side", "HEAD~1")
			b.commit(dir, "side\n\nAiflow-Run: RUN-20260101-000000-000002", map[string]string{"s": "side\n"})
			b.sh(dir, "checkout", "-q", "main")
			b.sh(dir, "merge", "-q", "--no-ff", "-m", "merge", "side")
		}), true},
		{"squashed run", with(func(b *bench, dir string) {
			b.sh(dir, "checkout", "-q", "-b", "side")
			b.commit(dir, "step\n\nAiflow-Request: RQ-1\nAiflow-Run: RUN-20260101-000000-000001", map[string]string{"s": "side\n"})
			b.sh(dir, "checkout", "-q", "main")
			b.sh(dir, "merge", "-q", "--squash", "side")
			b.sh(dir, "commit", "-q", "--no-edit")
		}), true},
		{"old encoding", with(func(b *bench, dir string) {
			b.sh(dir, "config", "i18n.commitEncoding", "ISO-8859-1")
			b.commit(dir, "caf\xe9\n\nA: \xfc", map[string]string{"f": "x\n"})
		}), true},
		{"odd messages", with(func(b *bench, dir string) {
			for i, m := range []string{
				"two\nlines of subject\n\nbody", "subject: only", "a\n\nKey: v\nKey: w\n more of w\n\n\n", "t\n\nnot a trailer\nKey: v",
				"日本語の件名\n\nAiflow-Run: RUN-20260101-000000-000001\nSigned-off-by: é <é@x>", "crlf\r\n\r\nA: b\r",
			} {
				writeFile(b.t, filepath.Join(dir, "f"), fmt.Sprint(i))
				b.sh(dir, "commit", "-q", "--cleanup=verbatim", "-a", "-m", m)
			}
			b.sh(dir, "commit", "-q", "--allow-empty", "--allow-empty-message", "-m", "")
		}), true},
		{"file becomes folder", with(func(b *bench, dir string) {
			b.sh(dir, "rm", "-q", "f")
			b.commit(dir, "folder", map[string]string{"f/x": "one\nmore\n", "f/y": "y\n"})
			b.sh(dir, "mv", "dir/g", "dir/renamed")
			b.commit(dir, "renamed", map[string]string{"dir/renamed": "two\n"})
		}), true},
		{"odd file names", with(func(b *bench, dir string) {
			b.commit(dir, "names", map[string]string{
				"aux.txt": "a\n", "with space": "b\n", "new\nline": "c\n", "日本": "d\n", "-dash": "e\n", "tab\t\"q\"": "f\n", "bad\xff": "g\n",
			})
		}), true},
		{"odd place", func(b *bench) string { return b.repo("sp ace 日本 \"q\"") }, true},
		{"line break in the place", func(b *bench) string { return b.repo("new\nline") }, false},
		{"[foo.bar] section", config("[foo.bar]\n\tx = 1\n"), false},
		{"one line section", config("[a] x=1\n"), false},
		{"pack.window 10k", config("[pack]\n\twindow = 10k\n"), false},
		{"negative refspec", config("[remote \"origin\"]\n\turl = x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\tfetch = ^refs/heads/no\n"), false},
		{"short merge name", config("[branch \"main\"]\n\tremote = origin\n\tmerge = main\n"), false},
		{"Latin-1 in config", config("[a]\n\tx = \"caf\xe9\"\n"), false},
		{"origin", func(b *bench) string {
			from := b.repo("from")
			b.sh(from, "branch", "feature")
			b.sh(b.dir, "clone", "-q", from, "r")
			dir := filepath.Join(b.dir, "r")
			b.sh(dir, "checkout", "-q", "-b", "mine")
			return dir
		}, true},
		{"branch names", with(func(b *bench, dir string) {
			for _, n := range []string{"a/b/c", "日本", "x;id", "x$(id)", "v1.0", "@", "feature|cat"} {
				b.sh(dir, "update-ref", "refs/heads/"+n, "HEAD~1")
			}
			b.sh(dir, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
			b.sh(dir, "tag", "-a", "-m", "t", "main")
		}), true},
	}
}

func appendFile(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestEveryAnswerEqualsGit asks each question of go-git, of the git binary
// through our parsers, and of git in the plainest way there is.
func TestEveryAnswerEqualsGit(t *testing.T) {
	for _, o := range oddRepos() {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			root := o.make(b)
			c := &comparison{b: b, root: root, r: b.open(root), shown: map[string]string{}}
			c.head(o.goGit)
			c.branches()
			if c.commits = everyCommit(b, root); len(c.commits) > 0 {
				c.history()
				c.trees()
				c.files()
			}
			c.status()
		})
	}
}

// everyCommit lists also those that a replacement or graft hides.
func everyCommit(b *bench, root string) []string {
	var all []string
	for _, l := range strings.Split(b.sh(root, "cat-file", "--batch-check=%(objecttype) %(objectname)", "--batch-all-objects"), "\n") {
		if h, ok := strings.CutPrefix(l, "commit "); ok {
			all = append(all, h)
		}
	}
	return all
}

type comparison struct {
	b       *bench
	root    string
	r       *Repo
	commits []string
	shown   map[string]string // what git show says of a name
}

func (c *comparison) git(args ...string) string { return c.b.sh(c.root, args...) }

func (c *comparison) head(goGit bool) {
	t, ctx := c.b.t, c.b.t.Context()
	want := Head{}
	branch, err := c.b.try(c.root, "symbolic-ref", "-q", "HEAD")
	want.Detached = err != nil
	if err == nil {
		want.Branch = strings.TrimPrefix(strings.TrimSpace(branch), "refs/heads/")
	}
	commit, err := c.b.try(c.root, "rev-parse", "-q", "--verify", "HEAD")
	if want.Unborn = err != nil; !want.Unborn {
		want.Commit = strings.TrimSpace(commit)
	}
	direct, err := read(c.r.src, readHead)
	if goGit && (err != nil || direct != want) {
		t.Errorf("go-git: %+v, %v; git says %+v", direct, err, want)
	}
	if !goGit && err == nil && direct != want {
		t.Errorf("go-git answered wrongly: %+v; git says %+v", direct, want)
	}
	names, err := c.r.askNames(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := read(c.r.src, readNames); err == nil {
		byRef := func(a, b Name) int { return strings.Compare(a.Ref, b.Ref) }
		slices.SortFunc(got, byRef)
		slices.SortFunc(names, byRef)
		if !slices.Equal(got, names) {
			t.Errorf("readNames = %v, want %v", got, names)
		}
	}
	if got, err := askHead(ctx, c.r.git); err != nil || got != want {
		t.Errorf("askHead = %+v, %v, want %+v", got, err, want)
	}
	if got, err := c.r.Head(ctx); err != nil || got != want {
		t.Errorf("Head = %+v, %v, want %+v", got, err, want)
	}
}

func (c *comparison) branches() {
	t, ctx := c.b.t, c.b.t.Context()
	list := c.git("for-each-ref", "--format=%(refname)%09%(objectname)", "refs/heads", "refs/remotes")
	for _, l := range strings.Split(list, "\n") {
		ref, want, ok := strings.Cut(l, "\t")
		if !ok {
			continue
		}
		if got, ok, err := c.r.refTip(ctx, ref); got != want || !ok || err != nil {
			t.Errorf("refTip(%s) = %s, %t, %v, want %s", ref, got, ok, err, want)
		}
		name, local := strings.CutPrefix(ref, "refs/heads/")
		if !local || name == "@" {
			continue
		}
		if got, ok, err := c.r.BranchTip(ctx, name); got != want || !ok || err != nil {
			t.Errorf("BranchTip(%s) = %s, %t, %v, want %s", name, got, ok, err, want)
		}
	}
	if got, ok, err := c.r.BranchTip(ctx, "no/such"); got != "" || ok || err != nil {
		t.Errorf("BranchTip of none = %s, %t, %v", got, ok, err)
	}
}

func (c *comparison) history() {
	t, ctx := c.b.t, c.b.t.Context()
	for i, tip := range c.commits {
		for j, base := range c.commits {
			if ends := j == 0 || j == len(c.commits)-1; !ends && (j < i-1 || j > i+1) {
				continue // the ends and the neighbours are enough, in a long history
			}
			want := c.git("rev-list", "--reverse", "--topo-order", "^"+base, tip)
			direct, err := read(c.r.src, func(repo *objects) ([]Commit, error) { return readChain(repo, base, tip) })
			asked, askErr := c.r.askCommits(ctx, base, tip)
			if askErr != nil || hashes(asked) != want {
				t.Errorf("askCommits(%s, %s) = %s, %v, want %s", base, tip, hashes(asked), askErr, want)
			}
			if err == nil && len(direct)+len(asked) > 0 && !reflect.DeepEqual(direct, asked) {
				t.Errorf("readChain(%s, %s)\n go-git %+v\n git    %+v", base, tip, direct, asked)
			}
			ancestor, err := c.r.IsAncestor(ctx, base, tip)
			_, gitErr := c.b.try(c.root, "merge-base", "--is-ancestor", base, tip)
			if err != nil || ancestor != (gitErr == nil) {
				t.Errorf("IsAncestor(%s, %s) = %t, %v", base, tip, ancestor, err)
			}
		}
		c.message(tip)
	}
}

func hashes(found []Commit) string {
	var names []string
	for _, c := range found {
		names = append(names, c.Hash)
	}
	return strings.Join(names, "\n")
}

// message checks subject and trailers of one commit against git's own words.
func (c *comparison) message(commit string) {
	t := c.b.t
	said := strings.Split(c.git("log", "-1", "--no-show-signature", "--encoding=UTF-8", "--format=%B%x00%s%x00%(trailers:only,unfold)", commit), "\x00")
	whole := said[0]
	if got, want := subject(whole), said[1]; got != strings.TrimRight(want, "\r") {
		t.Errorf("subject %q, git says %q", got, want)
	}
	var got []string
	for key, values := range Trailers(whole) {
		for _, v := range values {
			got = append(got, key+": "+v)
		}
	}
	want := strings.Split(strings.ReplaceAll(said[2], "\r", ""), "\n")
	sort.Strings(got)
	sort.Strings(want)
	if g, w := strings.Join(got, "|"), strings.Trim(strings.Join(want, "|"), "|"); g != w {
		t.Errorf("trailers of %q: %q, git says %q", whole, g, w)
	}
}

func (c *comparison) trees() {
	t, ctx := c.b.t, c.b.t.Context()
	for i, from := range c.commits {
		to := c.commits[(i+1)%len(c.commits)]
		found, err := c.r.changed(ctx, from, to, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, raw := rawLines(c.r.prefix, found), c.rawDiff(from, to); got != raw {
			t.Errorf("changed(%s, %s)\n%s\ngit says\n%s", from, to, got, raw)
		}
		tree, err := c.r.treeOf(ctx, to)
		if w := c.git("rev-parse", to+"^{tree}"); err != nil || tree != w {
			t.Errorf("treeOf(%s) = %s, %v, want %s", to, tree, err, w)
		}
		c.diff(from, to)
	}
}

func (c *comparison) rawDiff(from, to string) string {
	out := c.git("-c", "core.quotePath=false", "diff", "--raw", "--no-abbrev", "-M", "-z", from, to)
	return strings.ReplaceAll(strings.TrimSuffix(out, "\x00"), "\x00", "|")
}

func rawLines(prefix string, entries []entry) string {
	var all []string
	for _, e := range entries {
		letters := map[Status]string{Added: "A", Modified: "M", Deleted: "D", TypeChanged: "T", Renamed: "R100"}
		paths := path.Join(prefix, e.Path)
		if e.OldPath != "" {
			paths = path.Join(prefix, e.OldPath) + "|" + paths
		}
		all = append(all, fmt.Sprintf(":%s %s %s %s %s|%s", e.OldMode, e.NewMode, e.oldHash, e.newHash, letters[e.Status], paths))
	}
	return strings.Join(all, "|")
}

// diff checks that the hunks lead from one side to the other, whoever read
// the blobs.
func (c *comparison) diff(from, to string) {
	t, ctx := c.b.t, c.b.t.Context()
	d, err := c.r.Diff(ctx, from, to, DiffOptions{})
	if err != nil {
		t.Fatalf("Diff: %v", err)
	}
	for _, f := range d.Files {
		if f.Binary || f.Submodule {
			continue
		}
		old := ""
		if f.Status != Added {
			old = c.content(from, f.Path, f.OldPath)
		}
		now := ""
		if f.Status != Deleted {
			now = c.content(to, f.Path, "")
		}
		if got := patched(old, f.Hunks); got != strings.ToValidUTF8(now, "\uFFFD") {
			t.Errorf("%s: hunks lead to %q, want %q", f.Path, got, now)
		}
	}
}

func (c *comparison) content(commit, path, oldPath string) string {
	if oldPath != "" {
		path = oldPath
	}
	name := commit + ":./" + path
	text, known := c.shown[name]
	if !known {
		var err error
		if text, err = c.b.try(c.root, "show", name); err != nil {
			c.b.t.Fatalf("%s: %s", path, text)
		}
		c.shown[name] = text
	}
	return text
}

// files reads every file of every commit, and one that is not there.
func (c *comparison) files() {
	t, ctx := c.b.t, c.b.t.Context()
	seen := map[string]bool{} // the same file is in many commits
	for i, commit := range c.commits {
		for _, l := range fields([]byte(c.git("ls-tree", "-r", "-z", commit))) {
			about, name, _ := strings.Cut(l, "\t")
			if strings.Contains(about, " commit ") || seen[l] {
				continue
			}
			seen[l] = true
			want := c.content(commit, name, "")
			got, ok, err := c.r.ReadFile(ctx, commit, name)
			if err != nil || !ok || string(got) != want {
				t.Errorf("ReadFile(%s) = %q, %t, %v, want %q", name, got, ok, err, want)
			}
			asked, ok, err := c.r.askFile(ctx, commit, c.r.prefix+name)
			if err != nil || !ok || string(asked) != want {
				t.Errorf("askFile(%s) = %q, %t, %v, want %q", name, asked, ok, err, want)
			}
		}
		if i > 0 {
			continue
		}
		for _, none := range []string{"no such", "no/such/file", "dir", "f/no"} {
			if _, ok, err := c.r.ReadFile(ctx, commit, none); ok || err != nil {
				t.Errorf("ReadFile(%s) = %t, %v", none, ok, err)
			}
		}
	}
}

func (c *comparison) status() {
	t, ctx := c.b.t, c.b.t.Context()
	changes, err := c.r.Dirty(ctx)
	if err != nil {
		t.Fatal(err)
	}
	clean := c.git("status", "--porcelain") == ""
	if clean != (len(changes) == 0) {
		t.Errorf("Dirty = %+v, clean is %t", changes, clean)
	}
	name, email, err := c.r.Identity(ctx)
	if err != nil || name != "Tester" || email != "tester@example.org" {
		t.Errorf("Identity = %s, %s, %v", name, email, err)
	}
}

// patched applies hunks to a text.
func patched(old string, found []Hunk) string {
	lines := slices.Collect(strings.Lines(old))
	var out strings.Builder
	at := 0
	for _, h := range found {
		start := h.OldStart - 1
		if h.OldLines == 0 {
			start = h.OldStart
		}
		for ; at < start; at++ {
			out.WriteString(lines[at])
		}
		for _, l := range h.Lines {
			if l.Op != "+" {
				at++
			}
			if l.Op == "-" {
				continue
			}
			out.WriteString(l.Text)
			if !l.NoNL {
				out.WriteString("\n")
			}
		}
	}
	for ; at < len(lines); at++ {
		out.WriteString(lines[at])
	}
	return out.String()
}

// TestPackedWhileOpen: a server keeps the repository open while git packs it.
func TestPackedWhileOpen(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	b.sh(root, "gc", "-q")
	r := b.open(root)
	direct := func(commit string) error {
		_, err := read(r.src, func(repo *objects) (bool, error) {
			_, err := repo.CommitObject(plumbing.NewHash(commit))
			return err == nil, err
		})
		return err
	}
	if err := direct(b.sh(root, "rev-parse", "HEAD")); err != nil {
		t.Fatal(err)
	}
	b.commit(root, "later", map[string]string{"f": "later\n"})
	later := b.sh(root, "rev-parse", "HEAD")
	b.sh(root, "gc", "-q", "--prune=now")
	if got, ok, err := r.ReadFile(t.Context(), later, "f"); err != nil || !ok || string(got) != "later\n" {
		t.Errorf("%q, %t, %v", got, ok, err)
	}
	if err := direct(later); err != nil {
		t.Errorf("go-git was not opened anew: %v", err)
	}
}
