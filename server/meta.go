package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
	"aiflow/reqmeta/edit"
)

// metaKeys are what PATCH may change.
func metaKeys() []string {
	return []string{"title", "priority", "status", "labels", "depends_on", "estimate", "base", "touches", "created_at", "updated_at"}
}

func changeMeta(s *Server, w http.ResponseWriter, r *http.Request) error {
	values, e, err := readMeta(r)
	if err != nil {
		return err
	}
	s.edits.Lock()
	defer s.edits.Unlock()
	sn, req, f, err := toEdit(s, r, e)
	if err != nil {
		return err
	}
	now := s.Project.Now()
	data, err := edit.SetValues(req, f.data, values, now)
	if _, asked := values["depends_on"]; asked && err == nil {
		err = choose.ClosesRing(sn.folder, req, req.Parse(data))
	}
	if err != nil {
		return err
	}
	if _, asked := values["status"]; asked {
		if h := sn.facts.Holder(req.ID); h != nil {
			return inTheWay(req.ID, h.RunID)
		}
		release, err := project.HoldRequest(r.Context(), s.Project, req.ID)
		if err != nil {
			return err
		}
		defer release()
	}
	if !bytes.Equal(data, f.data) {
		if err := replace(s, req, f, data); err != nil {
			return err
		}
	}
	return giveRequest(s, w, r, req.ID, false)
}

// readMeta reads {key: text | [text] | null}, and the condition.
func readMeta(r *http.Request) (map[string]string, conditions, error) {
	e := conditions{ifMatch: r.Header.Get("If-Match")}
	var raw map[string]json.RawMessage
	if err := read(r, &raw); err != nil {
		return nil, e, err
	}
	values := map[string]string{}
	for key, text := range raw {
		if key == "expected_updated_at" {
			if json.Unmarshal(text, &e.expected) != nil {
				return nil, e, invalid(key)
			}
			continue
		}
		value, ok := metaValue(key, text)
		if !ok || !slices.Contains(metaKeys(), key) {
			return nil, e, invalid(key, "allowed", strings.Join(metaKeys(), ", "))
		}
		values[key] = value
	}
	switch {
	case len(values) == 0:
		return nil, e, invalid("body", "allowed", strings.Join(metaKeys(), ", "))
	case values["status"] == reqmeta.Running:
		return nil, e, runningByHand(r.PathValue("id"))
	}
	return values, e, nil
}

// runningByHand refuses the status that only a run may set; id may be "".
func runningByHand(id string) error {
	return invalid("status", "cause_key", "request.running_by_hand", "id", id)
}

func metaValue(key string, raw json.RawMessage) (string, bool) {
	var list []string
	var text *string
	switch {
	case json.Unmarshal(raw, &text) == nil:
		if text == nil {
			return "", true
		}
		return *text, true
	case !reqmeta.IsList(key) || json.Unmarshal(raw, &list) != nil:
		return "", false
	}
	return reqmeta.ListText(list), true
}

func inTheWay(id, run string) error {
	return fault.New(fault.RunInProgress, "request_id", id, "run_id", run)
}
