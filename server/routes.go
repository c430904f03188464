package server

import (
	"net/http"
	"path/filepath"

	"aiflow/internal/fault"
	"aiflow/runs"
	"aiflow/server/ui/lockapi"
)

// answer is a route: it writes its answer, or gives the error that is one.
type answer func(s *Server, w http.ResponseWriter, r *http.Request) error

// ofRun is a route about the run that the address names.
func ofRun(do func(s *Server, w http.ResponseWriter, r *http.Request, st *runs.Stage, d *runs.Dir) error) answer {
	return func(s *Server, w http.ResponseWriter, r *http.Request) error {
		st, d, err := theRun(s, r)
		if err != nil {
			return err
		}
		return do(s, w, r, st, d)
	}
}

// taking is a route that is given the body of the request.
func taking[B any](do func(s *Server, w http.ResponseWriter, r *http.Request, b B) error) answer {
	return func(s *Server, w http.ResponseWriter, r *http.Request) error {
		var b B
		if err := read(r, &b); err != nil {
			return err
		}
		return do(s, w, r, b)
	}
}

const runPath = "/api/requests/{id}/runs/{run}"

// routes are the whole API, in the order of docs/openapi.yaml.
func routes() map[string]answer {
	return map[string]answer{
		"GET /api/health":                    showHealth,
		"GET /api/requests":                  listRequests,
		"POST /api/requests":                 taking(createRequest),
		"GET /api/requests/{id}":             showRequest,
		"PUT /api/requests/{id}":             taking(writeRequest),
		"GET /api/requests/{id}/meta":        showMeta,
		"PATCH /api/requests/{id}/meta":      changeMeta,
		"POST /api/requests/{id}/run":        taking(startRun),
		"GET /api/requests/{id}/runs":        listRuns,
		"GET /api/requests/{id}/latest-run":  latestRun,
		"GET " + runPath:                     ofRun(showRun),
		"GET " + runPath + "/stage":          ofRun(showStage),
		"GET " + runPath + "/errors":         ofRun(showErrors),
		"GET " + runPath + "/report":         ofRun(showReport),
		"GET " + runPath + "/logs/{path...}": ofRun(showLog),
		"GET " + runPath + "/diff":           ofRun(showDiff),
		"POST " + runPath + "/resume":        taking(resumeRun),
		"POST " + runPath + "/answer":        taking(answerRun),
		"POST " + runPath + "/stop":          taking(stopRun),
		"GET " + runPath + "/restack":        ofRun(showRestack),
		"POST " + runPath + "/restack":       taking(startRestack),
		"GET /api/queue/next":                queueNext,
		"POST /api/queue/run-next":           taking(runNext),
		"GET /api/taskqueue":                 ofQueue(showQueue),
		"POST /api/taskqueue":                ofQueue(taking(addTask)),
		"GET /api/taskqueue/{task}":          ofQueue(showTask),
		"POST /api/taskqueue/{task}/cancel":  ofQueue(taking(cancelTask)),
		"GET /api/autorun":                   showAutorun,
		"POST /api/autorun/start":            taking(startAutorun),
		"POST /api/autorun/stop":             taking(stopAutorun),
		"GET /api/land/forecast":             showForecast,
		"GET /api/land":                      showLanding,
		"POST /api/land":                     taking(startLanding),
		"GET /api/graph":                     showGraph,
		"GET /api/locks":                     listLocks,
		"GET /api/doctor":                    doctorQuick,
		"POST /api/doctor":                   taking(doctorFull),
		"GET /api/config":                    showConfig,
		"PUT /api/config":                    taking(writeConfig),
		"GET /api/messages":                  showMessages,
		"GET /api/events":                    streamEvents,
	}
}

// Handler is the whole face.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, a := range routes() {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := a(s, w, r); err != nil {
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
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) { noRoute(s, mux, w, r) })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			noRoute(s, mux, w, r)
			return
		}
		s.page.ServeHTTP(w, r)
	})
	return s.guard(mux)
}

// noRoute says 405 where another method has a route, 404 elsewhere.
func noRoute(s *Server, mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
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
	s.failWith(w, r, http.StatusMethodNotAllowed, invalid("method"))
}

func showHealth(s *Server, w http.ResponseWriter, r *http.Request) error {
	_, queue := queuePlace(s)
	return give(w, http.StatusOK, struct {
		OK      bool   `json:"ok"`
		Name    string `json:"name"`
		Version string `json:"version"`
		Project string `json:"project"`
		Lang    string `json:"lang"`
		Queue   bool   `json:"taskqueue"`
	}{true, "aiflow", s.Version, filepath.Base(s.Project.Dir), s.language(r), queue})
}

func showMessages(s *Server, w http.ResponseWriter, r *http.Request) error {
	return giveTagged(w, r, s.catalog(s.language(r)).All())
}
