package runner

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"aiflow/internal/contract"
	"aiflow/internal/fault"
	"aiflow/runs"
)

// readResult gives what a role wrote into AIFLOW_RESULT: "" when there is no
// ordinary file with something in it. More than an answer may have is cut
// there, and then it is no answer.
func readResult(path string) string {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return ""
	}
	data, err := io.ReadAll(io.LimitReader(f, contract.MaxAnswer+1))
	if err != nil || strings.TrimSpace(string(data)) == "" {
		return ""
	}
	return string(data)
}

// read holds an answer against the role's contract, and against the project's
// own if it has one.
func (j *job) read(r reply) (contract.Answer, error) {
	a, err := contract.Read(r.call.Role, r.text(), j.ownContract(r.call.Role))
	if err != nil {
		return a, located(err, r)
	}
	return a, refusalIn(a, r)
}

func (j *job) ownContract(role string) []byte {
	data, err := readSmall(filepath.Join(j.Project.Path(j.Project.Config.Paths.SchemasDir), contract.FileName(role)))
	if err != nil {
		return nil
	}
	return data
}

const maxSmall = 1 << 20

// readSmall reads a file that a person wrote.
func readSmall(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSmall))
}

// located adds who was asked and where to look.
func located(err error, r reply) error {
	if f, ok := fault.As(err); ok {
		f.Facts["name"], f.Facts["path"], f.Facts["command"] = r.call.Provider, r.log, r.call.Command.Bin
	}
	return err
}

// refusalIn is what an answer says against going on: a step that is too large, a
// question, a role that gave up.
func refusalIn(a contract.Answer, r reply) error {
	facts := []any{"name", r.call.Provider, "path", r.log, "cause", shortLine(a.Summary)}
	switch {
	case a.TooLarge():
		return fault.New(fault.StepTooLarge, facts...)
	case a.Asks():
		return fault.New(fault.NeedsClarification, append(facts, "value", questionsIn(a, " / "), runs.QuestionsFact, questionsIn(a, "\n"))...)
	case a.Failed():
		return fault.New(fault.ProcessCrashed, append(facts, "command", r.call.Command.Bin)...)
	}
	return nil
}

func questionsIn(a contract.Answer, between string) string {
	if len(a.Questions) == 0 {
		return oneLine(a.Summary)
	}
	list := make([]string, len(a.Questions))
	for i, q := range a.Questions {
		list[i] = oneLine(q)
	}
	return strings.Join(list, between)
}

// readOptional is for those who edit files: their answer is the files. A file
// in AIFLOW_RESULT is held against the contract; of what they print only an
// object that says which role it is from counts.
func (j *job) readOptional(r reply) error {
	if r.file == "" && !looksLikeAnswer(r.stdout) {
		return nil
	}
	_, err := j.read(r)
	return err
}

func looksLikeAnswer(text string) bool {
	raw, err := contract.Object(text)
	if err != nil {
		return false
	}
	var o struct {
		Role   string `json:"role"`
		Status string `json:"status"`
	}
	return json.Unmarshal(raw, &o) == nil && o.Role != "" && o.Status != ""
}
