package runs

import (
	"encoding/json"
	"time"

	"aiflow/internal/fault"
)

// LoadStage reads stage.json. When it is missing or torn and the record before
// it is whole, that one is given with FellBack set. A record of a
// newer version and one of another run are refused, never replaced by an older
// one. No record at all is RUN_NOT_FOUND.
func (d *Dir) LoadStage() (*Stage, error) {
	s, err := d.loadStage(stageFile)
	if err == nil {
		return s, nil
	}
	f, ok := fault.As(err)
	if !ok || f.Code != fault.RunNotFound && !(f.Code == fault.StageUnreadable && (f.Facts["reason"] == "torn" || f.Facts["reason"] == "incomplete")) {
		return nil, err
	}
	prev, perr := d.loadStage(prevFile)
	if again, aerr := d.loadStage(stageFile); aerr == nil {
		return again, nil // it was being replaced while we looked
	}
	if perr != nil {
		return nil, err
	}
	prev.FellBack = true
	return prev, nil
}

func (d *Dir) loadStage(name string) (*Stage, error) {
	data, err := d.read(name)
	if err != nil {
		return nil, err
	}
	s, err := Decode(data)
	if err != nil {
		if f, ok := fault.As(err); ok {
			f.Facts["path"], f.Facts["run_id"], f.Facts["request_id"] = d.RelPath(name), d.RunID, d.RequestID
		}
		return nil, err
	}
	if s.RequestID != d.RequestID || s.RunID != d.RunID {
		return nil, d.unreadable("foreign", nil, name, "cause", "it is the record of "+s.RequestID+"/"+s.RunID)
	}
	return s, nil
}

func (d *Dir) read(name string) ([]byte, error) {
	if !safeName(d.RequestID) || !safeName(d.RunID) {
		return nil, d.notFound()
	}
	data, err := read(d.file(name), maxRecord)
	if missing(err) {
		return nil, d.notFound()
	}
	if err != nil {
		return nil, d.unreadable("io", err, name)
	}
	return data, nil
}

func (d *Dir) notFound() error {
	return notFound(d.RunID, "request_id", d.RequestID, "path", d.Rel)
}

func notFound(runID string, more ...any) error {
	return fault.New(fault.RunNotFound, append(more, "run_id", runID)...)
}

func (d *Dir) unreadable(reason string, err error, name string, more ...any) error {
	return unreadable(reason, err, append(more, "path", d.RelPath(name), "run_id", d.RunID, "request_id", d.RequestID)...)
}

// LoadPlan reads planning.json; RUN_NOT_FOUND when there is none.
func (d *Dir) LoadPlan() (*Plan, error) { return load[Plan](d, planFile) }

// LoadErrors reads errors.json; RUN_NOT_FOUND when there is none.
func (d *Dir) LoadErrors() (*Errors, error) { return load[Errors](d, errorsFile) }

func load[T any](d *Dir, name string) (*T, error) {
	data, err := d.read(name)
	if err != nil {
		return nil, err
	}
	v := new(T)
	if err := json.Unmarshal(data, v); err != nil {
		return nil, d.unreadable("torn", err, name)
	}
	return v, nil
}

// LoadReport reads report.md; "" when there is none.
func (d *Dir) LoadReport() (string, error) {
	data, err := d.read(reportFile)
	if fault.Has(err, fault.RunNotFound) {
		return "", nil
	}
	return string(data), err
}

// Rebuilt is the record of a finished run of which nothing is left but its
// commits: what they tell, oldest first, and no more.
func Rebuilt(requestID, runID, title string, g Git, started, ended time.Time) *Stage {
	s := NewStage(requestID, runID, title, started)
	s.Git = g
	for _, c := range g.Commits {
		if c.StepID == RecordStep || s.Step(c.StepID) != nil {
			continue
		}
		step := Step{StepID: c.StepID, Title: c.Subject, Summary: c.Subject, Status: StepDone, Attempt: 1}
		step.fillIn()
		s.Steps = append(s.Steps, step)
		s.CurrentStepIndex, s.CurrentStepID = len(s.Steps)-1, c.StepID
	}
	s.State, s.EndedAt = Done, &ended
	s.AddEvent(ended, EventRebuilt, "", "")
	s.AddEvent(ended, EventDone, "", "")
	return s
}
