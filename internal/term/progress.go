package term

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Progress keeps one line alive on a terminal: it is rewritten in place with
// the time since the current text was set. Elsewhere each new text is one
// plain line, and nothing is repeated.
//
// It does not tick by itself: whoever owns the clock calls Tick.
type Progress struct {
	mu    sync.Mutex
	o     ProgressOptions
	text  string
	since time.Time
	until time.Time // zero: the time since is shown, else what is left
	shown string
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

// Set shows text as what goes on from now on.
func (p *Progress) Set(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if text == p.text {
		return
	}
	p.show(text, time.Time{})
}

// Count shows text with the time that is left until a moment.
func (p *Progress) Count(text string, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.show(text, until)
}

func (p *Progress) show(text string, until time.Time) {
	p.text, p.since, p.until = text, p.o.Now(), until
	if p.o.Live {
		p.draw()
		return
	}
	fmt.Fprintln(p.o.W, text)
}

// Tick renews the elapsed time of the live line; elsewhere it does nothing.
func (p *Progress) Tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.o.Live && p.text != "" {
		p.draw()
	}
}

// Line prints a line that stays, above the live one.
func (p *Progress) Line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	fmt.Fprintln(p.o.W, text)
	if p.o.Live && p.text != "" {
		p.draw()
	}
}

// Done takes the live line away. Set may begin a new one.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.text = ""
}

func (p *Progress) draw() {
	elapsed := " " + Elapsed(p.o.Now().Sub(p.since))
	if !p.until.IsZero() {
		elapsed = " -" + Elapsed(p.until.Sub(p.o.Now()))
	}
	line := Truncate(p.text, p.o.Columns()-1-Width(elapsed)) + elapsed
	if line == p.shown {
		return
	}
	fmt.Fprint(p.o.W, "\r\x1b[K", line)
	p.shown = line
}

func (p *Progress) erase() {
	if p.shown != "" {
		fmt.Fprint(p.o.W, "\r\x1b[K")
		p.shown = ""
	}
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
