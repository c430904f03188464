package server

import (
	"bytes"
	"context"
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
	if err == nil {
		err = sn.refuseRing(req, data, values)
	}
	if err != nil {
		return err
	}
	if _, asked := values["status"]; asked {
		release, err := claim(r.Context(), s, sn, req.ID)
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
		return nil, e, runningByHand()
	}
	return values, e, nil
}

// runningByHand refuses the status that only a run may set.
func runningByHand() error {
	return invalid("status", "cause_key", "request.running_by_hand")
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
	case json.Unmarshal(raw, &list) != nil:
		return "", false
	}
	odd := ",[]\"'"
	if key == "touches" {
		odd = ",\"'" // a glob may have brackets
	}
	for _, one := range list {
		if strings.ContainsAny(one, odd) {
			return "", false
		}
	}
	return "[" + strings.Join(list, ", ") + "]", true
}

// refuseRing looks at what the request would be where its dependencies are changed.
func (sn *snapshot) refuseRing(req *reqmeta.Request, data []byte, values map[string]string) error {
	if _, asked := values["depends_on"]; !asked {
		return nil
	}
	return choose.ClosesRing(sn.folder, req, req.Parse(data))
}

// claim is project.HoldRequest for a request that is not running.
func claim(ctx context.Context, s *Server, sn *snapshot, id string) (release func(), err error) {
	if h := sn.locked(id); h != nil {
		return nil, inTheWay(id, h.RunID)
	}
	return project.HoldRequest(ctx, s.Project, id)
}

func inTheWay(id, run string) error {
	return fault.New(fault.RunInProgress, "request_id", id, "run_id", run)
}
