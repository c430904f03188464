package server

import (
	"encoding/json"
	"sync"
	"time"
)

// event is one thing that happened. Ids grow, over restarts too.
type event struct {
	id   int64
	kind string
	data []byte
}

// hub keeps the latest events for those who come back, and wakes those who
// wait. It knows no listeners: a slow one misses events and is told to reset,
// and nobody waits for it.
type hub struct {
	mu    sync.Mutex
	last  int64
	ring  []event
	wake  chan struct{}
	first int64 // the id before the oldest that is kept
}

const kept = 1024

// newHub begins where no earlier server has been.
func newHub(now time.Time) *hub {
	at := now.UnixMilli() * 1000
	return &hub{last: at, first: at, wake: make(chan struct{})}
}

func (h *hub) publish(kind string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	h.ring = append(h.ring, event{h.last, kind, data})
	if len(h.ring) > kept {
		h.first = h.ring[0].id
		h.ring = h.ring[1:]
	}
	close(h.wake)
	h.wake = make(chan struct{})
}

// since gives what came after id. reset says that this is no longer known;
// wake is closed when there is more.
func (h *hub) since(id int64) (events []event, reset bool, last int64, wake <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if id < h.first || id > h.last {
		return nil, true, h.last, h.wake
	}
	for i := range h.ring {
		if h.ring[i].id > id {
			return append([]event{}, h.ring[i:]...), false, h.last, h.wake
		}
	}
	return nil, false, h.last, h.wake
}

func (h *hub) now() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}
