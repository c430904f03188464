package server

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const keepAlive = 15 * time.Second

// events is the stream of what happens. The id that a browser sends when it
// comes back brings what it missed, or "reset" when that is no longer known.
func streamEvents(s *Server, w http.ResponseWriter, r *http.Request) error {
	defer s.open.Add(-1)
	if s.open.Add(1) > maxStreams {
		s.failWith(w, r, http.StatusServiceUnavailable, invalid("streams", "allowed", maxStreams))
		return nil
	}
	select {
	case <-s.ready:
	case <-r.Context().Done():
		return nil
	}
	at := s.hub.now()
	if text := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("last_event_id")); text != "" {
		var err error
		if at, err = strconv.ParseInt(text, 10, 64); err != nil {
			at = -1
		}
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

type stream struct {
	s  *Server
	w  http.ResponseWriter
	rc *http.ResponseController
}

func (st *stream) follow(r *http.Request, at int64) {
	beat := time.NewTicker(keepAlive)
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
			for _, e := range events {
				text = fmt.Appendf(text, "id: %d\nevent: %s\ndata: %s\n\n", e.id, e.kind, e.data)
			}
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

func (st *stream) write(text []byte) error {
	_ = st.rc.SetWriteDeadline(st.s.Project.Now().Add(writeOnce))
	if _, err := st.w.Write(text); err != nil {
		return err
	}
	return st.rc.Flush()
}
