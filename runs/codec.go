package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"aiflow/internal/fault"
)

// ourMajor is the newest major version that we read and write.
const ourMajor = 1

// Encode is the stage as stage.json, fields that we do not know included.
func (s *Stage) Encode() ([]byte, error) {
	s.fillIn()
	if s.raw != nil {
		tree, found, err := withUnknown(s)
		if err != nil {
			return nil, err
		}
		if found {
			return encode(tree)
		}
		s.raw = nil
	}
	return encode(s)
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Decode reads stage.json. A record of a newer major version, a torn one and
// one without ids are STAGE_UNREADABLE, with the fact reason: newer, torn,
// incomplete. A record without a version is read and becomes ours at the next save.
func Decode(data []byte) (*Stage, error) {
	s := &Stage{}
	err := json.Unmarshal(data, s)
	if err != nil || s.Version != Version { // what this version wrote needs no second look
		var head struct {
			Version json.RawMessage `json:"version"`
		}
		if json.Unmarshal(data, &head) == nil && major(head.Version) > ourMajor {
			return nil, unreadable("newer", errors.New("version "+unquote(head.Version)+" is newer than this program"))
		}
	}
	switch {
	case err != nil:
		return nil, unreadable("torn", err)
	case s.RequestID == "" || s.RunID == "" || !s.State.known():
		return nil, unreadable("incomplete", errors.New("request_id, run_id or state is missing"))
	}
	s.Version, s.raw = Version, data
	mend(s)
	return s, nil
}

func unquote(raw json.RawMessage) string { return strings.Trim(string(raw), `" `) }

func unreadable(reason string, err error, more ...any) *fault.Error {
	return fault.Wrap(err, fault.StageUnreadable, append(more, "reason", reason)...)
}

// major is the first number of a version that is a string or a number; 0 when
// there is none.
func major(raw json.RawMessage) int {
	text, _, _ := strings.Cut(unquote(raw), ".")
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// mend makes a record that others wrote keep our promises.
func mend(s *Stage) {
	s.fillIn()
	if s.State.Ended() && s.EndedAt == nil {
		at := s.UpdatedAt
		s.EndedAt = &at
	}
	if !s.State.Ended() {
		s.EndedAt = nil
	}
	if i := s.Index(s.CurrentStepID); i >= 0 {
		s.CurrentStepIndex = i
	}
	if s.CurrentStepIndex < 0 || s.CurrentStepIndex >= len(s.Steps) {
		s.CurrentStepIndex = 0
	}
}
