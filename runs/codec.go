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
		s.unknown, s.raw = unknownFields(s.raw), nil
	}
	return encode(s, s.unknown)
}

func encode(v any, unknown map[string]any) ([]byte, error) {
	if len(unknown) > 0 {
		tree, err := toTree(v)
		if err != nil {
			return nil, err
		}
		v = graft(tree, unknown)
	}
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
// incomplete. Records without a version and of D56's shape are read and become
// ours at the next save.
func Decode(data []byte) (*Stage, error) {
	if s := decodeOurs(data); s != nil {
		return s, nil
	}
	var h head
	if err := json.Unmarshal(data, &h); err != nil {
		return nil, unreadable("torn", err)
	}
	if major(h.Version) > ourMajor {
		return nil, unreadable("newer", errors.New("version "+unquote(h.Version)+" is newer than this program"))
	}
	s := &Stage{}
	if err := json.Unmarshal(asOurs(data, h), s); err != nil {
		return nil, unreadable("torn", err)
	}
	if s.RequestID == "" || s.RunID == "" || !s.State.known() {
		return nil, unreadable("incomplete", errors.New("request_id, run_id or state is missing"))
	}
	return s.readFrom(data), nil
}

// decodeOurs reads what this version wrote, which needs no second look; nil is
// everything else.
func decodeOurs(data []byte) *Stage {
	s := &Stage{}
	err := json.Unmarshal(data, s)
	if err != nil || s.Version != Version || s.RequestID == "" || s.RunID == "" || !s.State.known() {
		return nil
	}
	return s.readFrom(data)
}

func (s *Stage) readFrom(data []byte) *Stage {
	s.Version = Version
	s.raw = data
	mend(s)
	return s
}

// head is what must be known of a record before the rest is read.
type head struct {
	Version json.RawMessage `json:"version"`
	State   json.RawMessage `json:"state"`
	Stage   json.RawMessage `json:"stage"`
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

// asOurs turns the state names of D22 and D56, the step statuses of D22 and a
// version that is a number into ours; everything else stays.
func asOurs(data []byte, h head) []byte {
	state := ourState(unquote(h.State), unquote(h.Stage))
	if string(state) == unquote(h.State) && (len(h.Version) == 0 || h.Version[0] == '"') {
		return data
	}
	tree := map[string]any{}
	if decodeNumbers(data, &tree) != nil {
		return data
	}
	tree["state"], tree["version"] = state, Version
	upperSteps(tree["steps"])
	if out, err := json.Marshal(tree); err == nil {
		return out
	}
	return data
}

func upperSteps(steps any) {
	list, _ := steps.([]any)
	for i, one := range list {
		step, ok := one.(map[string]any)
		if !ok {
			continue
		}
		if status, ok := step["status"].(string); ok {
			step["status"] = strings.ToUpper(status)
		}
		if id, _ := step["step_id"].(string); id == "" {
			step["step_id"] = StepID(i + 1)
		}
	}
}

func ourState(state, stage string) State {
	switch state {
	case "QUEUED", "DOCTOR_RUNNING":
		return Init
	case "DOCTOR_BLOCKED":
		return NeedsInput
	case "STEP_RUNNING":
		return Implementing
	case "TESTS_RUNNING":
		return Testing
	case "PUSHING", "EVALUATING":
		return Reporting
	case "CANCELED":
		return Failed
	case "RUNNING":
		return stateOfStage(stage)
	}
	return State(state)
}

func stateOfStage(stage string) State {
	switch stage {
	case "PLANNING":
		return Planning
	case "IMPLEMENTING", "APPLYING":
		return Implementing
	case "TESTING":
		return Testing
	case "REPORTING", "FINALIZING", "END":
		return Reporting
	}
	return Init
}
