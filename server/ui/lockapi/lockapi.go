// Package lockapi answers for the project lock over HTTP: the record at
// /api/project-lock, with conditions on its lease, and the telemetry that pages
// send.
//
// It does not decide who may call it (the server checks host and token before)
// and does not word errors: the server's own function does.
package lockapi

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strconv"

	"aiflow/editlock"
	"aiflow/internal/fault"
)

// Fail answers a request with a fault.
type Fail func(w http.ResponseWriter, r *http.Request, err error)

// maxBody is more than any record or batch of lines needs.
const maxBody = 64 << 10

// Record answers GET (200 or 404), PUT and DELETE (204; 412 when the record is
// not the one that If-Match or If-None-Match names).
func Record(p *editlock.Lock, fail Fail) http.Handler {
	h := &record{p, fail}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", h.get)
	mux.HandleFunc("PUT /", h.put)
	mux.HandleFunc("DELETE /", h.remove)
	return mux
}

type record struct {
	p    *editlock.Lock
	fail Fail
}

func (h *record) get(w http.ResponseWriter, r *http.Request) {
	s, found, err := h.p.Read(r.Context())
	if err != nil {
		h.fail(w, r, err)
		return
	}
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	if !found {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	header.Set("Content-Type", "application/json")
	header.Set("ETag", s.ETag)
	header.Set("X-Lock-Age-Ms", strconv.FormatInt(s.Age.Milliseconds(), 10))
	_, _ = w.Write(s.Text)
}

func (h *record) put(w http.ResponseWriter, r *http.Request) {
	ifMatch := r.Header.Get("If-Match") // the ETag that must be there, "" for none at all
	if (ifMatch == "") != (r.Header.Get("If-None-Match") == "*") {
		h.unconditional(w, r)
		return
	}
	body, err := readJSON(w, r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	h.answer(w, r, h.p.CompareAndSwap(r.Context(), body, ifMatch))
}

func (h *record) remove(w http.ResponseWriter, r *http.Request) {
	ifMatch := r.Header.Get("If-Match")
	if ifMatch == "" {
		h.unconditional(w, r)
		return
	}
	h.answer(w, r, h.p.CompareAndRemove(r.Context(), ifMatch))
}

func (h *record) unconditional(w http.ResponseWriter, r *http.Request) {
	h.fail(w, r, invalid(nil, "condition_missing", "key", "If-Match"))
}

func (h *record) answer(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case fault.Has(err, fault.Conflict):
		w.WriteHeader(http.StatusPreconditionFailed)
	default:
		h.fail(w, r, err)
	}
}

// Events answers POST with a JSON array of telemetry lines: 204 when all are
// written, and none when one is not of the table.
func Events(j *editlock.Journal, fail Fail) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		lines, err := readLines(w, r)
		if err == nil {
			err = j.Append(lines...)
		}
		if err != nil {
			fail(w, r, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

func readLines(w http.ResponseWriter, r *http.Request) ([]editlock.Line, error) {
	body, err := readJSON(w, r)
	if err != nil {
		return nil, err
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(body, &raw); err != nil {
		return nil, invalid(err, "bad_lock_event")
	}
	lines := make([]editlock.Line, 0, len(raw))
	for _, one := range raw {
		l, err := editlock.CheckLine(one)
		if err != nil {
			return nil, err
		}
		lines = append(lines, l)
	}
	return lines, nil
}

func readJSON(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, invalid(nil, "not_json", "key", "Content-Type")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, invalid(err, "body_too_large")
	}
	return body, nil
}

func invalid(err error, reason string, more ...any) error {
	return fault.Wrap(err, fault.InvalidRequest, append(more, "reason", reason)...)
}
