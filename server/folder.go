package server

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/reqmeta"
)

// folderCache keeps the request files as they were read until the system says
// that one of them changed. It is asked before every use, so that an answer is
// never older than the files.
type folderCache struct {
	p   *project.Project
	dir string

	mu      sync.Mutex
	tell    notifier
	folder  *reqmeta.Folder
	gen     uint64
	stale   bool
	links   bool // a linked file may change where nobody tells us
	changed map[string]bool
	all     bool // more changed than can be named
}

// notifier names the files of a folder that changed since it was last asked.
// ok is false when it no longer can.
type notifier interface {
	changes() (names []string, all, ok bool)
	close()
}

func newFolderCache(p *project.Project) *folderCache {
	return &folderCache{p: p, dir: p.Path(p.RequestsDir()), stale: true, changed: map[string]bool{}}
}

// poll notes what changed. The caller holds mu.
func (c *folderCache) poll() {
	if c.tell == nil {
		c.tell = newNotifier(c.dir)
		c.stale = true
		return
	}
	names, all, ok := c.tell.changes()
	for _, n := range names {
		if isRequestFile(n) {
			c.changed[n] = true
			c.stale = true
		}
	}
	if all || !ok {
		c.all, c.stale = true, true
	}
	if !ok {
		c.tell.close()
		c.tell = newNotifier(c.dir)
	}
}

func isRequestFile(name string) bool {
	return strings.HasSuffix(name, ".md") && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_")
}

// get gives the requests and a number that changes with them.
func (c *folderCache) get() (*reqmeta.Folder, uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.poll()
	if c.folder != nil && !c.stale && !c.links {
		return c.folder, c.gen, nil
	}
	c.folder = nil
	folder, err := reqmeta.Load(c.p.Dir, c.p.RequestsDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fault.Wrap(err, fault.RequestsDirNotFound, "path", c.p.RequestsDir())
	}
	if err != nil {
		return nil, 0, err
	}
	c.links = hasLinks(c.dir)
	c.folder, c.stale = folder, false
	c.gen++
	return folder, c.gen, nil
}

func hasLinks(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Type()&fs.ModeSymlink != 0 })
}

// take gives the names of files that changed since it was last called.
func (c *folderCache) take() (names []string, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.tell == nil
	c.poll()
	for n := range c.changed {
		names = append(names, n)
	}
	slices.Sort(names)
	all = c.all && !first
	c.changed, c.all = map[string]bool{}, false
	return names, all
}

func (c *folderCache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tell != nil {
		c.tell.close()
		c.tell = nil
	}
}

// sweep finds changes by looking at every file.
type sweep struct {
	dir  string
	seen map[string]stamp
}

func newSweep(dir string) notifier {
	s := &sweep{dir: dir}
	s.seen, _ = s.look()
	return s
}

func (s *sweep) look() (map[string]stamp, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]stamp, len(entries))
	for _, e := range entries {
		if isRequestFile(e.Name()) {
			seen[e.Name()] = stampOf(e.Info())
		}
	}
	return seen, nil
}

func (s *sweep) changes() (names []string, all, ok bool) {
	now, err := s.look()
	if err != nil {
		return nil, true, false
	}
	for n, st := range now {
		if s.seen[n] != st {
			names = append(names, n)
		}
	}
	for n := range s.seen {
		if _, there := now[n]; !there {
			names = append(names, n)
		}
	}
	s.seen = now
	return names, false, true
}

func (s *sweep) close() {}
