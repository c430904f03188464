package agent

import (
	"encoding/json"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"aiflow/internal/config"
	"aiflow/internal/contract"
	"aiflow/internal/fault"
)

// Reply is what a role gave back.
type Reply struct {
	Call   config.Call
	Stdout string
	File   string // of AIFLOW_RESULT; "" when it left none
	Log    string
	Try    int // over the whole run
	Usage  *Usage
}

// Text is the answer: the file if there is one.
func (r Reply) Text() string {
	if r.File != "" {
		return r.File
	}
	return r.Stdout
}

// ReadResult gives what a role wrote into AIFLOW_RESULT: "" when there is no
// ordinary file with something in it. More than an answer may have is cut
// there, and then it is no answer.
func ReadResult(path string) string {
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

const maxSmall = 1 << 20

// ReadSmall reads a file that a person wrote.
func ReadSmall(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSmall))
}

// Located adds who was asked and where to look.
func Located(err error, r Reply) error {
	if f, ok := fault.As(err); ok {
		f.Facts["name"], f.Facts["path"], f.Facts["command"] = r.Call.Provider, r.Log, r.Call.Command.Bin
	}
	return err
}

// RefusalIn is what an answer says against going on: a step that is too large, a
// question, a role that gave up.
func RefusalIn(a contract.Answer, r Reply) error {
	facts := []any{"name", r.Call.Provider, "path", r.Log, "cause", ShortLine(a.Summary)}
	switch {
	case a.TooLarge():
		return fault.New(fault.StepTooLarge, facts...)
	case a.Asks():
		return fault.New(fault.NeedsClarification, append(facts, "value", questionsIn(a, " / "), fault.QuestionsFact, questionsIn(a, "\n"))...)
	case a.Failed():
		return fault.New(fault.ProcessCrashed, append(facts, "command", r.Call.Command.Bin)...)
	}
	return nil
}

func questionsIn(a contract.Answer, between string) string {
	if len(a.Questions) == 0 {
		return OneLine(a.Summary)
	}
	list := make([]string, len(a.Questions))
	for i, q := range a.Questions {
		list[i] = OneLine(q)
	}
	return strings.Join(list, between)
}

// LooksLikeAnswer reports whether a text holds an object that says whose answer it is,
// or one that is badly written and speaks against going on: a question must not get lost
// by a comma.
func LooksLikeAnswer(text string) bool {
	raw, err := contract.Object(text)
	if err != nil {
		status := badStatus().FindStringSubmatch(text)
		return badObject().MatchString(text) && badRole().MatchString(text) && status != nil && !strings.EqualFold(status[1], contract.OK)
	}
	var o struct {
		Role   string `json:"role"`
		Status string `json:"status"`
	}
	return json.Unmarshal(raw, &o) == nil && o.Role != "" && o.Status != ""
}

var (
	badObject = Lazily(`(?m)^\s*\{`)
	badRole   = Lazily(`"role"\s*:\s*"`)
	badStatus = Lazily(`"status"\s*:\s*"([^"]*)"`)
)
