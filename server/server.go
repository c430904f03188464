package server

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"path"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"aiflow/editlock"
	"aiflow/messages"
	"aiflow/project"
	"aiflow/reqmeta/folder"
	"aiflow/server/ui"
)

// Options say what is served and to whom.
type Options struct {
	Project *project.Project
	Lang    string // of answers, when the caller asks for none
	Host    string // that was asked to listen on
	Port    int    // that is listened on
	Token   string // "" lets everybody on this machine in
	RunBin  string // aiflow-run
	LandBin string // aiflow-land
	HookBin string // aiflow-hook, for doctor
	Version string

	QueueBin      string // aiflow-queue
	QueueEndpoint string // DynamoDB of the queue; "" leaves it to the environment

	Assets fs.FS             // the built page; nil is the embedded one
	Log    func(line string) // told what went wrong inside; nil is nobody
}

// Server answers for one project.
type Server struct {
	Options
	folder  *folderCache
	latest  *latestCache
	hub     *hub
	queue   queueState
	lock    *editlock.Lock
	journal *editlock.Journal
	page    *page

	edits     sync.Mutex // one edit of a file at a time
	surveying sync.Mutex // one survey that puts things right at a time

	ready chan struct{} // closed when changes are noticed

	mu       sync.Mutex
	catalogs map[string]*messages.Catalog
	seen     *snapshot
	past     []pastListing     // the newest last
	open     atomic.Int32      // event streams
	landings map[string]*child // the last one that was started here, and by run the last restack
}

// New makes a server. It touches no file.
func New(o Options) *Server {
	p := o.Project
	files := &folderCache{p: p, dir: p.Path(p.RequestsDir()), stale: true, changed: map[string]bool{}}
	own := *p
	own.Read = func() (*folder.Folder, error) {
		f, _, err := files.get()
		return f, err
	}
	o.Project = &own
	if o.Assets == nil {
		o.Assets = ui.Assets()
	}
	dir := p.Path(p.Config.Paths.AiflowDir + "/project")
	s := &Server{
		Options:  o,
		folder:   files,
		latest:   &latestCache{p: p, m: map[string]latestEntry{}},
		hub:      newHub(p.Now()),
		lock:     editlock.Open(editlock.Options{Dir: dir, Clock: p.Env.Clock, Disk: p.Env.Disk, Rand: p.Env.Rand}),
		journal:  editlock.OpenJournal(path.Join(dir, "autosave"), p.Now),
		ready:    make(chan struct{}),
		catalogs: map[string]*messages.Catalog{},
		landings: map[string]*child{},
	}
	s.page = newPage(o.Assets, s.lastEvent)
	return s
}

func (s *Server) lastEvent() string {
	select {
	case <-s.ready:
		return strconv.FormatInt(s.hub.now(), 10)
	default:
		return ""
	}
}

// Limits of a connection.
const (
	headerTime  = 5 * time.Second
	readTime    = 30 * time.Second
	writeTime   = 60 * time.Second
	idleTime    = 60 * time.Second
	maxHeader   = 32 << 10
	leaveTime   = 2 * time.Second
	writeOnce   = 10 * time.Second // one event of a stream
	maxStreams  = 256
	defaultBody = 1 << 20
	requestBody = 20 << 20 // a request file may have 16 MiB
)

// Serve answers on l until ctx ends or the project's folder is gone, and watches
// the project meanwhile.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := s.httpServer(ctx)
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(l) }()
	var gone error
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		gone = s.Watch(ctx)
	}()
	defer func() {
		cancel()
		<-watched
	}()
	select {
	case err := <-failed:
		return err
	case <-watched:
	case <-ctx.Done():
	}
	cancel()
	late, done := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer done()
	if err := h.Shutdown(late); err != nil {
		_ = h.Close()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-watched
	return gone
}

func (s *Server) httpServer(ctx context.Context) *http.Server {
	return &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader, DisableGeneralOptionsHandler: true,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    log.New(io.Discard, "", 0),
	}
}

func (s *Server) log(line string) {
	if s.Log != nil {
		s.Log(string(mask([]byte(line), true)))
	}
}

// catalog holds the sentences of one language.
func (s *Server) catalog(lang string) *messages.Catalog {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.catalogs[lang]
	if c == nil {
		c = messages.OpenWith(lang, s.Project.Path(s.Project.Config.Paths.AiflowDir+"/messages"))
		if err := c.Problem(); err != nil {
			s.log(err.Error()) // ours are used
		}
		s.catalogs[lang] = c
	}
	return c
}
