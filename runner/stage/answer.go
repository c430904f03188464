package stage

import (
	"errors"
	"os"
	"path/filepath"

	"aiflow/internal/contract"
	"aiflow/internal/fault"
	"aiflow/runner/agent"
)

// readAnswer holds an answer against the role's contract, and against the project's
// own if it has one.
func readAnswer(run *Run, r agent.Reply) (contract.Answer, error) {
	own, err := agent.ReadSmall(filepath.Join(run.Project.Path(run.Project.Config.Paths.SchemasDir), contract.FileName(r.Call.Role)))
	if err != nil {
		own = nil
	}
	a, err := contract.Read(r.Call.Role, r.Text(), own)
	if err != nil {
		return a, agent.Located(err, r)
	}
	return a, agent.RefusalIn(a, r)
}

// checkOptionalAnswer is for those who edit files: their answer is the files. A file
// in AIFLOW_RESULT is held against the contract; of what they print only an
// object that says which role it is from counts.
func checkOptionalAnswer(run *Run, r agent.Reply) error {
	if r.File == "" && !agent.LooksLikeAnswer(r.Stdout) {
		return nil
	}
	_, err := readAnswer(run, r)
	return err
}

// prepareResult makes room for the answer's file and removes an old one.
func prepareResult(run *Run, c shellCommand) (string, error) {
	path := run.resultPath(c)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return "", notMade(err, run, "tmp")
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", notWritable(err, path)
	}
	return path, nil
}

// notMade, like notWritable, is err where it is a fault already: a guarded disk may say no.
func notMade(err error, run *Run, name string) error {
	return fault.Of(err, fault.RunsDirCreateFailed, "path", run.Dir.RelPath(name))
}

func notWritable(err error, p string) error { return fault.Of(err, fault.PathNotWritable, "path", p) }
