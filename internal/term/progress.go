package term

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Progress keeps lines alive on a terminal, one for each name of what goes on: they are
// rewritten in place with the time since the current text of each was set. Elsewhere
// each new text is one plain line, and nothing is repeated.
//
// It does not tick by itself: whoever owns the clock calls Tick.
type Progress struct {
	mu    sync.Mutex
	o     ProgressOptions
	lines []*live // in the order in which they began
	shown []string
}

// live is a line that is kept alive.
type live struct {
	name  string
	text  string
	since time.Time
	until time.Time // zero: the time since is shown, else what is left
}

// ProgressOptions say where and how a Progress writes.
type ProgressOptions struct {
	W       io.Writer
	Live    bool             // rewrite one line; true only on a terminal
	Columns func() int       // width of the terminal; nil means 80
	Now     func() time.Time // required
}

// NewProgress makes a progress line that shows nothing yet.
func NewProgress(o ProgressOptions) *Progress {
	if o.Columns == nil {
		o.Columns = func() int { return 80 }
	}
	return &Progress{o: o}
}

// Set shows text as what goes on from now on under a name.
func (p *Progress) Set(name, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.line(name); l == nil || text != l.text {
		p.show(name, text, time.Time{})
	}
}

// Count shows text with the time that is left until a moment.
func (p *Progress) Count(name, text string, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.show(name, text, until)
}

func (p *Progress) line(name string) *live {
	for _, l := range p.lines {
		if l.name == name {
			return l
		}
	}
	return nil
}

func (p *Progress) show(name, text string, until time.Time) {
	l := p.line(name)
	if l == nil {
		l = &live{name: name}
		p.lines = append(p.lines, l)
	}
	l.text, l.since, l.until = text, p.o.Now(), until
	if p.o.Live {
		p.draw()
		return
	}
	fmt.Fprintln(p.o.W, text)
}

// Tick renews the elapsed time of the live lines; elsewhere it does nothing.
func (p *Progress) Tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.o.Live {
		p.draw()
	}
}

// Line prints a line that stays, above the live ones.
func (p *Progress) Line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	fmt.Fprintln(p.o.W, text)
	if p.o.Live {
		p.draw()
	}
}

// Done takes the live line of a name away. Set may begin a new one.
func (p *Progress) Done(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = slices.DeleteFunc(p.lines, func(l *live) bool { return l.name == name })
	if p.o.Live {
		p.draw()
	}
}

// Clear takes all live lines away.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.lines = nil
}

func (p *Progress) draw() {
	lines := make([]string, len(p.lines))
	for i, l := range p.lines {
		elapsed := " " + Elapsed(p.o.Now().Sub(l.since))
		if !l.until.IsZero() {
			elapsed = " -" + Elapsed(l.until.Sub(p.o.Now()))
		}
		lines[i] = Truncate(l.text, p.o.Columns()-1-Width(elapsed)) + elapsed
	}
	if slices.Equal(lines, p.shown) {
		return
	}
	p.erase()
	fmt.Fprint(p.o.W, strings.Join(lines, "\n"))
	p.shown = lines
}

// erase leaves the cursor where the first live line was.
func (p *Progress) erase() {
	for i := range p.shown {
		if i > 0 {
			fmt.Fprint(p.o.W, "\x1b[A")
		}
		fmt.Fprint(p.o.W, "\r\x1b[K")
	}
	p.shown = nil
}

// Elapsed writes a duration as people read it: 7s, 3m05s, 2h04m.
func Elapsed(d time.Duration) string {
	s := int(max(d, 0) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
}

// Lines splits a text of several lines and escapes each.
func Lines(s string) []string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, l := range lines {
		lines[i] = Escape(strings.TrimSuffix(l, "\r"))
	}
	return lines
}
