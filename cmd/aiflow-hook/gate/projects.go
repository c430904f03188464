package gate

import (
	"context"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"aiflow/internal/gitcmd"
)

// Projects gives the folders below the top, as "dir/", in which the tree that
// would be committed may have a project: they hold .aiflow or requests. Where
// the index does not tell, git is asked.
func Projects(ctx context.Context, g gitcmd.Git, p Place) ([]string, error) {
	found := map[string]bool{}
	note := func(dir string) {
		if name := path.Base(dir); name == ".aiflow" || name == "requests" {
			if parent := path.Dir(dir); parent != "." {
				found[parent+"/"] = true
			}
		}
	}
	if data, err := os.ReadFile(p.Index); err == nil && p.GitDir != "" {
		folders, ok := indexTree(data)
		if ok && !slices.Contains(slices.Collect(maps.Values(folders)), "") { // what was added since may be missing
			for dir := range folders {
				note(dir)
			}
			return slices.Sorted(maps.Keys(found)), nil
		}
	}
	out, err := g.AskStaged(ctx, "ls-files", "-z", "--full-name", "--", ":(top,glob)*/**/.aiflow/**", ":(top,glob)*/**/requests/**")
	if err != nil {
		return nil, failed(err)
	}
	for name := range strings.SplitSeq(string(out), "\x00") {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			note(dir)
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}
