package stage

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"aiflow/reqmeta"
	"aiflow/runs"
)

// Bounds on what is kept of an e2e test.
const (
	maxArtifacts     = 500
	maxArtifactBytes = 256 << 20
)

// keepArtifacts copies what an e2e test left (tests.e2e.artifacts_glob) to
// artifacts/e2e/<step>/<attempt>/. What cannot be copied is told and stops
// nobody.
func keepArtifacts(run *Run, s *runs.Step, attempt int) {
	glob := run.Project.Config.Tests.E2E.ArtifactsGlob
	if glob == "" {
		return
	}
	to := filepath.Join(run.Dir.Path, "artifacts", "e2e", s.StepID, strconv.Itoa(attempt))
	c := &copier{from: run.workDir(), to: to, glob: filepath.ToSlash(filepath.Clean(glob))}
	if err := c.run(); err != nil {
		run.Tell(Event{Kind: Warned, StepID: s.StepID, What: run.InWords(err)})
	}
	if c.files > 0 {
		s.Logs = appendOnce(s.Logs, run.Dir.RelPath("artifacts/e2e/"+s.StepID+"/"+strconv.Itoa(attempt)))
	}
}

type copier struct {
	from, to, glob string
	files          int
	bytes          int64
}

// run looks only below the part of the glob that is no pattern.
func (c *copier) run() error {
	root := c.from
	for part := range strings.SplitSeq(c.glob, "/") {
		if strings.ContainsAny(part, `*?[\`) {
			break
		}
		root = filepath.Join(root, part)
	}
	err := filepath.WalkDir(root, c.visit)
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

func (c *copier) visit(path string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(c.from, path)
	if err != nil || !filepath.IsLocal(rel) {
		return fs.SkipDir
	}
	if d.IsDir() {
		if d.Name() == ".git" {
			return fs.SkipDir
		}
		return nil
	}
	if !d.Type().IsRegular() || !reqmeta.MatchPath(c.glob, filepath.ToSlash(rel)) {
		return nil
	}
	if c.files >= maxArtifacts || c.bytes >= maxArtifactBytes {
		return fs.SkipAll
	}
	return c.copy(path, filepath.Join(c.to, rel))
}

func (c *copier) copy(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	n, err := io.CopyN(out, in, maxArtifactBytes-c.bytes)
	c.files, c.bytes = c.files+1, c.bytes+n
	if cerr := out.Close(); err == nil || err == io.EOF {
		err = cerr
	}
	return err
}
