package server

import (
	"net/http"

	"aiflow/internal/fault"
	"aiflow/server/ui/lockapi"
)

// answer is a route: it writes its answer, or gives the error that is one.
type answer func(w http.ResponseWriter, r *http.Request) error

const runPath = "/api/requests/{id}/runs/{run}"

// routes are the whole API, in the order of docs/openapi.yaml.
func (s *Server) routes() map[string]answer {
	return map[string]answer{
		"GET /api/health":                    s.health,
		"GET /api/requests":                  s.listRequests,
		"POST /api/requests":                 s.createRequest,
		"GET /api/requests/{id}":             s.showRequest,
		"PUT /api/requests/{id}":             s.writeRequest,
		"GET /api/requests/{id}/meta":        s.showMeta,
		"PATCH /api/requests/{id}/meta":      s.changeMeta,
		"POST /api/requests/{id}/run":        s.run,
		"GET /api/requests/{id}/runs":        s.listRuns,
		"GET /api/requests/{id}/latest-run":  s.latestRun,
		"GET " + runPath:                     s.showRun,
		"GET " + runPath + "/stage":          s.showStage,
		"GET " + runPath + "/errors":         s.showErrors,
		"GET " + runPath + "/report":         s.showReport,
		"GET " + runPath + "/logs/{path...}": s.showLog,
		"GET " + runPath + "/diff":           s.showDiff,
		"POST " + runPath + "/resume":        s.resume,
		"POST " + runPath + "/answer":        s.answer,
		"POST " + runPath + "/stop":          s.stop,
		"GET /api/queue/next":                s.queueNext,
		"POST /api/queue/run-next":           s.runNext,
		"GET /api/taskqueue":                 s.taskQueue,
		"POST /api/taskqueue":                s.addTask,
		"GET /api/taskqueue/{task}":          s.showTask,
		"POST /api/taskqueue/{task}/cancel":  s.cancelTask,
		"GET /api/autorun":                   s.autorun,
		"POST /api/autorun/start":            s.startAutorun,
		"POST /api/autorun/stop":             s.stopAutorun,
		"GET /api/land/forecast":             s.landForecast,
		"POST /api/land":                     s.land,
		"GET /api/graph":                     s.graph,
		"GET /api/locks":                     s.listLocks,
		"GET /api/doctor":                    s.doctorQuick,
		"POST /api/doctor":                   s.doctor,
		"GET /api/config":                    s.showConfig,
		"PUT /api/config":                    s.writeConfig,
		"GET /api/messages":                  s.messages,
		"GET /api/events":                    s.events,
	}
}

// Handler is the whole face.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, a := range s.routes() {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := a(w, r); err != nil {
				s.fail(w, r, err)
			}
		})
	}
	record := lockapi.Record(s.lock, s.fail)
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		mux.Handle(method+" /api/project-lock", record)
	}
	mux.HandleFunc("GET "+runPath+"/logs", func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, fault.New(fault.NotFound)) })
	mux.Handle("POST /api/project-lock/events", lockapi.Events(s.journal, s.fail))
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) { s.noRoute(mux, w, r) })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			s.noRoute(mux, w, r)
			return
		}
		s.page.ServeHTTP(w, r)
	})
	return s.guard(mux)
}

// noRoute says 405 where another method has a route, 404 elsewhere.
func (s *Server) noRoute(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		other := &http.Request{Method: method, URL: r.URL, Host: r.Host}
		if _, pattern := mux.Handler(other); pattern != "/" && pattern != "/api/" {
			w.Header().Add("Allow", method)
		}
	}
	if w.Header().Get("Allow") == "" {
		s.fail(w, r, fault.New(fault.NotFound))
		return
	}
	s.failWith(w, r, http.StatusMethodNotAllowed, fault.New(fault.InvalidRequest, "key", "method"))
}

func (s *Server) health(w http.ResponseWriter, r *http.Request) error {
	_, queue := s.queuePlace()
	return s.give(w, r, struct {
		OK      bool   `json:"ok"`
		Name    string `json:"name"`
		Version string `json:"version"`
		Project string `json:"project"`
		Lang    string `json:"lang"`
		Queue   bool   `json:"taskqueue"`
	}{true, "aiflow", s.Version, s.projectName(), s.language(r), queue})
}

func (s *Server) messages(w http.ResponseWriter, r *http.Request) error {
	return s.giveTagged(w, r, s.catalog(s.language(r)).All())
}
