package project

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"aiflow/internal/gitcmd"
	"aiflow/reqmeta"
)

// CommitStatus commits the status of requests, and nothing else, on top of
// HEAD. It works beside a merge that is just ending, where `git commit` would
// refuse: the commit is made by itself and HEAD moves only from where it was.
// No hooks run, so none can start it again. Files in which more differs than
// what tools write are left alone. It gives the ids that are committed.
func (p *Project) CommitStatus(ctx context.Context, requests []*reqmeta.Request) ([]string, error) {
	paths := make([]string, len(requests))
	for i, r := range requests {
		paths[i] = r.Path
	}
	owned, err := p.OwnedOnly(ctx, paths)
	if err != nil {
		return nil, err
	}
	var ids []string
	paths = paths[:0]
	for _, r := range requests {
		if owned[r.Path] {
			ids, paths = append(ids, r.ID), append(paths, r.Path)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	message := "aiflow: requests are done\n\n" + strings.Join(ids, "\n")
	if len(ids) == 1 {
		message = "aiflow: " + ids[0] + " is done"
	}
	return ids, commitPaths(ctx, p, paths, message)
}

// commitPaths stages the files in the user's index first: should anything
// after that fail, their change is merely staged.
func commitPaths(ctx context.Context, p *Project, paths []string, message string) error {
	g := p.Git()
	if _, err := g.Do(ctx, append([]string{"update-index", "--"}, paths...)...); err != nil {
		return err
	}
	head, err := g.Ask(ctx, "rev-parse", "--verify", "HEAD")
	if err != nil {
		return err
	}
	tree, err := treeWith(ctx, p, paths)
	if err != nil {
		return err
	}
	old := strings.TrimSpace(string(head))
	commit, err := g.Do(ctx, "commit-tree", tree, "-p", old, "-m", message)
	if err != nil {
		return err
	}
	_, err = g.Do(ctx, "update-ref", "-m", "aiflow: status", "HEAD", strings.TrimSpace(string(commit)), old)
	return err
}

// treeWith is HEAD's tree with the files as they are in the checkout, made in
// an index of its own.
func treeWith(ctx context.Context, p *Project, paths []string) (string, error) {
	dir, err := os.MkdirTemp("", "aiflow-index-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	do := func(args ...string) ([]byte, error) {
		return p.Git().Run(ctx, gitcmd.Call{Args: args, Mode: gitcmd.Write, Env: []string{"GIT_INDEX_FILE=" + filepath.Join(dir, "index")}})
	}
	if _, err := do("read-tree", "HEAD"); err != nil {
		return "", err
	}
	if _, err := do(append([]string{"update-index", "--"}, paths...)...); err != nil {
		return "", err
	}
	out, err := do("write-tree")
	return strings.TrimSpace(string(out)), err
}
