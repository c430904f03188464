package stage

import (
	"errors"
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
	to := "artifacts/e2e/" + s.StepID + "/" + strconv.Itoa(attempt)
	files, err := copyMatching(run.workDir(), filepath.Join(run.Dir.Path, to), filepath.ToSlash(filepath.Clean(glob)))
	if err != nil {
		run.Tell(Event{Kind: Warned, StepID: s.StepID, What: run.InWords(err)})
	}
	if files > 0 {
		s.Logs = appendOnce(s.Logs, run.Dir.RelPath(to))
	}
}

// copyMatching copies the files that match, as many as the bounds allow. It looks only
// below the part of the glob that is no pattern.
func copyMatching(from, to, glob string) (files int, err error) {
	root := from
	for part := range strings.SplitSeq(glob, "/") {
		if strings.ContainsAny(part, `*?[\`) {
			break
		}
		root = filepath.Join(root, part)
	}
	left := int64(maxArtifactBytes)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		switch {
		case err != nil || !filepath.IsLocal(rel), d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case !d.Type().IsRegular() || !reqmeta.MatchPath(glob, filepath.ToSlash(rel)):
			return nil
		case files >= maxArtifacts || left <= 0:
			return fs.SkipAll
		}
		n, err := copyFile(path, filepath.Join(to, rel), left)
		if left -= n; err == nil {
			files++
		}
		return err
	})
	if os.IsNotExist(err) {
		return files, nil
	}
	return files, err
}

func copyFile(from, to string, most int64) (n int64, err error) {
	in, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return 0, err
	}
	out, err := os.Create(to)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(out, io.LimitReader(in, most))
	return n, errors.Join(err, out.Close())
}
