//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"aiflow/internal/atomicfile/powercut"
)

// Points counts what a process does and acts when its moment has come.
type Points struct {
	point  string // KIND.OP
	nth    int
	action string // "kill", "enospc", "eio"
	always bool
	list   string
	record string

	mu    sync.Mutex
	count map[string]int
	over  bool // always, and its moment has come
	kill  func()
}

// FromEnv reads AIFLOW_FAILPOINT, AIFLOW_FAILPOINT_LIST and
// AIFLOW_FAILPOINT_RECORD; nil when none is set. A value that it cannot read is
// a panic: a test that tests nothing would be worse.
func FromEnv(environ []string) *Points {
	spec, list, record := lookup(environ, "AIFLOW_FAILPOINT"), lookup(environ, "AIFLOW_FAILPOINT_LIST"), lookup(environ, "AIFLOW_FAILPOINT_RECORD")
	if spec == "" && list == "" && record == "" {
		return nil
	}
	p := &Points{list: list, record: record, count: map[string]int{}, kill: func() {
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
		select {}
	}}
	if spec != "" {
		p.parse(spec)
	}
	return p
}

func lookup(environ []string, name string) string {
	value := ""
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

func (p *Points) parse(spec string) {
	rest, always := strings.CutSuffix(spec, ",always")
	where, action, ok := strings.Cut(rest, "=")
	if !ok {
		action = "kill"
	}
	name, nth, ok := strings.Cut(where, ":")
	if !ok {
		nth = "1"
	}
	n, err := strconv.Atoi(nth)
	known := action == "kill" || action == "enospc" || action == "eio"
	if err != nil || n < 1 || !known || !strings.Contains(name, ".") {
		panic("AIFLOW_FAILPOINT: cannot read " + strconv.Quote(spec))
	}
	p.point, p.nth, p.action, p.always = name, n, action, always
}

// At passes a named place; only killing can happen there.
func (p *Points) At(name string) {
	if p.pass("at."+name) == "kill" {
		p.kill()
	}
}

// pass counts a point and gives what is to happen there, "" for nothing.
func (p *Points) pass(point string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count[point]++
	n := p.count[point]
	p.note(point, n)
	_, op, _ := strings.Cut(point, ".")
	switch {
	case p.over && (p.action == "eio" || slices.Contains([]string{powercut.Create, powercut.Write, powercut.Sync, powercut.Link}, op)):
		return p.action // a disk that stays full can still rename and remove
	case point == p.point && n == p.nth:
		p.over = p.always
		return p.action
	}
	return ""
}

func (p *Points) note(point string, n int) {
	if p.list == "" {
		return
	}
	f, err := os.OpenFile(p.list, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		panic("AIFLOW_FAILPOINT_LIST: " + err.Error())
	}
	defer f.Close()
	fmt.Fprintf(f, "%s:%d\n", point, n)
}
