package server

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/folder"
)

// folderCache keeps the request files as they were read until the system says
// that one of them changed. It is asked before every use, so that an answer is
// never older than the files.
type folderCache struct {
	p   *project.Project
	dir string

	mu      sync.Mutex
	tell    notifier
	folder  *folder.Folder
	gen     uint64
	stale   bool
	at      stamp   // which folder stands at dir, also behind a link
	beside  []stamp // of the folders of what is done
	changed map[string]bool
	all     bool // more changed than can be named
}

// notifier names the files of a folder and of those below it that changed since
// it was last asked, relative to the folder.
// ok is false when it no longer can.
type notifier interface {
	changes() (names []string, all, ok bool)
	wait(most time.Duration) (changed bool) // true when it knows of one before that time is over
	close()
}

// poll notes what changed. The caller holds mu.
func (c *folderCache) poll() {
	var beside []stamp
	for _, dir := range c.p.Config.Paths.DoneDirs {
		beside = append(beside, stampFile(c.p.Path(dir)))
	}
	if !slices.Equal(beside, c.beside) {
		c.beside, c.all, c.stale = beside, true, true
	}
	at := stampOf(os.Stat(c.dir))
	if at.mtime, at.size = 0, 0; at != c.at { // another folder in its place, or none
		c.at, c.all, c.stale = at, true, true
		c.unwatch()
	}
	if at == (stamp{}) {
		return
	}
	if c.tell == nil {
		c.watch()
		return
	}
	names, all, ok := c.tell.changes()
	for _, n := range names {
		if reqmeta.IsRequest(n, c.p.Config.Paths.Ignore...) {
			c.changed[n] = true
			c.stale = true
		}
	}
	if all || !ok {
		c.all, c.stale = true, true
	}
	if !ok {
		c.unwatch()
		c.watch()
	}
}

// watch begins to be told of changes; it must be told of what is behind a link, not of the link.
func (c *folderCache) watch() {
	real, err := filepath.EvalSymlinks(c.dir)
	if err != nil {
		real = c.dir
	}
	c.tell, c.stale = newNotifier(real), true
}

func (c *folderCache) unwatch() {
	if c.tell != nil {
		c.tell.close()
		c.tell = nil
	}
}

// settle lets who writes a file end: it is emptied first, and filled then.
const settle = 5 * time.Millisecond

// wait lasts until a file changed, at most so long.
func (c *folderCache) wait(most time.Duration) (changed bool) {
	c.mu.Lock()
	tell := c.tell
	c.mu.Unlock()
	if tell == nil {
		time.Sleep(most)
		return false
	}
	if changed = tell.wait(most); changed {
		time.Sleep(settle)
	}
	return changed
}

// get gives the requests and a number that changes with them.
func (c *folderCache) get() (*folder.Folder, uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.poll()
	if c.folder != nil && !c.stale {
		return c.folder, c.gen, nil
	}
	c.folder = nil
	folder, err := c.p.Requests()
	if err != nil {
		return nil, 0, err
	}
	folder.Keep() // the next look reads what changed, and not ten thousand files
	c.folder, c.stale = folder, false
	c.gen++
	return folder, c.gen, nil
}

// take gives the names of files that changed since it was last called.
func (c *folderCache) take() (names []string, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.poll()
	for n := range c.changed {
		names = append(names, n)
	}
	slices.Sort(names)
	all = c.all
	c.changed, c.all = map[string]bool{}, false
	return names, all
}

func (c *folderCache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unwatch()
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
	seen := map[string]stamp{}
	return seen, filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		switch name := strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(path, s.dir)), "/"); {
		case path == s.dir:
			return err
		case err != nil || d.IsDir():
			return nil
		case reqmeta.IsRequest(name):
			seen[name] = stampOf(d.Info())
		}
		return nil
	})
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

// wait knows nothing before it looks again.
func (s *sweep) wait(most time.Duration) bool {
	time.Sleep(most)
	return false
}

func (s *sweep) close() {}
