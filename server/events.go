package server

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const pulse = 15 * time.Second

// events is the stream of what happens. The id that a browser sends when it
// comes back brings what it missed, or "reset" when that is no longer known.
func streamEvents(s *Server, w http.ResponseWriter, r *http.Request) error {
	if !enterStream(s) {
		s.failWith(w, r, http.StatusServiceUnavailable, invalid("streams", "allowed", maxStreams))
		return nil
	}
	defer leaveStream(s)
	select {
	case <-s.ready:
	case <-r.Context().Done():
		return nil
	}
	at := s.hub.now()
	if text := lastEventID(r); text != "" {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			id = -1
		}
		at = id
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	st := &stream{s: s, w: w, rc: http.NewResponseController(w)}
	_ = st.rc.SetReadDeadline(time.Time{})
	if st.write(fmt.Appendf(nil, ": aiflow\nretry: 1000\n\n")) != nil {
		return nil
	}
	st.follow(r, at)
	return nil
}

func lastEventID(r *http.Request) string {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		return id
	}
	return r.URL.Query().Get("last_event_id")
}

func enterStream(s *Server) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= maxStreams {
		return false
	}
	s.open++
	return true
}

func leaveStream(s *Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
}

type stream struct {
	s  *Server
	w  http.ResponseWriter
	rc *http.ResponseController
}

func (st *stream) follow(r *http.Request, at int64) {
	beat := time.NewTicker(pulse)
	defer beat.Stop()
	named := false
	for {
		events, reset, last, wake := st.s.hub.since(at)
		var text []byte
		switch {
		case reset:
			at = last
			text = fmt.Appendf(nil, "id: %d\nevent: reset\ndata: {}\n\n", at)
		case len(events) > 0:
			text = format(events)
			at = events[len(events)-1].id
		case !named:
			text = fmt.Appendf(nil, "id: %d\n\n", at) // where to come back to, before anything happened
		}
		named = true
		if len(text) > 0 && st.write(text) != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-wake:
		case <-beat.C:
			if st.write([]byte(": \n\n")) != nil {
				return
			}
		}
	}
}

func format(events []event) []byte {
	var b bytes.Buffer
	for _, e := range events {
		fmt.Fprintf(&b, "id: %d\nevent: %s\ndata: %s\n\n", e.id, e.kind, e.data)
	}
	return b.Bytes()
}

func (st *stream) write(text []byte) error {
	_ = st.rc.SetWriteDeadline(st.s.Project.Now().Add(writeOnce))
	if _, err := st.w.Write(text); err != nil {
		return err
	}
	return st.rc.Flush()
}
