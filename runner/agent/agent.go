// Package agent reads what an AI command line says while it works: one readable
// line in the log for each event, at once; the final text, which the contract of
// a role is read from; what the call cost; and, when it went wrong, what went
// wrong, until when the provider cannot be asked, and who is asked next.
//
// It knows no run, starts nothing, and does not take what an agent did into
// anything.
package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"aiflow/internal/config"
	"aiflow/internal/contract"
)

// Usage is what one call took, as the program reports it; nothing is estimated.
type Usage struct {
	Input      int64 // tokens that were read and were not in the provider's cache
	Cached     int64 // tokens that were read from the cache
	Output     int64
	CostUSD    *float64 // nil: the program does not say
	Turns      int
	SessionID  string
	Model      string
	DurationMS int64
	Denied     []string // tools that were refused, with what they were to do
}

// Options say how to read.
type Options struct {
	Kind   string    // config.OutputText, …
	Log    io.Writer // gets what people read
	Prompt string    // a program may repeat it; what stands there is never taken for its own words
	Now    func() time.Time
	// Heard is told of each sign of life; nil is nobody.
	Heard func()
}

// Reader takes standard output by Write and standard error by Stderr, in any
// pieces and from two goroutines.
type Reader struct {
	o Options

	mu      sync.Mutex
	lines   splitter
	events  decoder // nil: text
	text    capped  // the final text, as far as it is known
	plain   capped  // lines that are no events
	usage   Usage
	failed  failure // what an event said
	ended   bool    // the last event of the program was there
	began   bool    // one event was
	partial bool    // a line in the log is open
	refused string
	tools   map[string]string // what a call of a tool was to do, by its id
	spoken  words             // lines that are no events, of both streams
	stderr  splitter
}

// decoder turns one event into what the reader keeps; false: it is none.
type decoder interface {
	event(r *Reader, line []byte) bool
}

// New makes a reader of one call.
func New(o Options) *Reader {
	r := &Reader{o: o, text: capped{max: contract.MaxAnswer}, plain: capped{max: contract.MaxAnswer}}
	r.spoken.prompt = o.Prompt
	r.stderr.people, r.lines.people = true, o.Kind == config.OutputText
	switch o.Kind {
	case config.OutputClaude:
		r.events = &claude{}
	case config.OutputCodex:
		r.events = &codex{}
	case config.OutputGemini:
		r.events = &gemini{}
	}
	return r
}

// Write never fails: a program must not notice who reads it.
func (r *Reader) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard()
	if r.events == nil {
		_, _ = r.o.Log.Write(p)
		r.plain.Write(p)
	}
	r.lines.feed(p, r.line)
	return len(p), nil
}

// Stderr is where standard error goes: into the log as it comes.
func (r *Reader) Stderr() io.Writer { return errorStream{r} }

type errorStream struct{ r *Reader }

func (e errorStream) Write(p []byte) (int, error) {
	e.r.mu.Lock()
	defer e.r.mu.Unlock()
	e.r.heard()
	e.r.closeLine()
	_, _ = e.r.o.Log.Write(p)
	e.r.stderr.feed(p, e.r.aside)
	return len(p), nil
}

func (r *Reader) heard() {
	if r.o.Heard != nil {
		r.o.Heard()
	}
}

// Close takes what is left of an open line. cut: a stream of events ended in the
// middle, or without its last event.
func (r *Reader) Close() (cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	torn := r.lines.any
	r.lines.end(r.line)
	r.stderr.end(r.aside)
	r.closeLine()
	cut = r.began && !r.ended
	if cut && torn {
		r.say("[... the stream ends in the middle of an event ...]")
	} else if cut {
		r.say("[... the stream ends without its last event ...]")
	}
	return cut
}

// aside takes one line of standard error.
func (r *Reader) aside(line []byte, _ int) {
	r.spoken.add(line)
	if _, ok := r.events.(*codex); !ok {
		return
	}
	if _, why, ok := strings.Cut(string(line), "patch rejected: "); ok { // which no event tells
		r.deny("apply_patch: " + why)
	}
}

// line takes one line of standard output; lost is how much of it was cut.
func (r *Reader) line(line []byte, lost int) {
	if r.events == nil {
		r.spoken.add(line)
		return
	}
	trimmed := bytes.TrimSpace(line)
	switch {
	case len(trimmed) > 0 && trimmed[0] == '{' && r.events.event(r, trimmed):
		r.began = true
	case lost > 0 && len(trimmed) > 0 && trimmed[0] == '{':
		r.say(fmt.Sprintf("[... an event of %d bytes is left out ...]", len(line)+lost))
	default:
		r.closeLine()
		r.plain.Write(line)
		r.plain.Write([]byte{'\n'})
		_, _ = r.o.Log.Write(append(line[:len(line):len(line)], '\n'))
		r.spoken.add(line)
	}
}

// Text is the answer: what the program said last, or all of it where it said it
// to people.
func (r *Reader) Text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.text.buf) == 0 {
		return r.plain.String()
	}
	return r.text.String()
}

// Usage is what the call took, nil where the program did not say anything of it.
func (r *Reader) Usage() *Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.began {
		return nil
	}
	u := r.usage
	u.Denied = append([]string{}, u.Denied...)
	return &u
}

// Refused is the forbidden command that the agent started, as its events tell; ""
// is none.
func (r *Reader) Refused() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused
}

// say writes one line into the log.
func (r *Reader) say(line string) {
	r.closeLine()
	_, _ = io.WriteString(r.o.Log, strings.TrimRight(line, "\n")+"\n")
}

// piece writes a part of a line.
func (r *Reader) piece(text string) {
	if text != "" {
		_, _ = io.WriteString(r.o.Log, text)
		r.partial = !strings.HasSuffix(text, "\n")
	}
}

func (r *Reader) closeLine() {
	if r.partial {
		_, _ = io.WriteString(r.o.Log, "\n")
		r.partial = false
	}
}

const maxDenied = 20

func (r *Reader) deny(what string) {
	what = ShortLine(what)
	if len(r.usage.Denied) < maxDenied && !slices.Contains(r.usage.Denied, what) {
		r.usage.Denied = append(r.usage.Denied, what)
	}
}

// uses notes what a call of a tool is to do, for when it fails.
func (r *Reader) uses(id, name string, input json.RawMessage) {
	did := toolCall(name, input)
	if r.tools == nil || len(r.tools) > 1000 {
		r.tools = map[string]string{}
	}
	r.tools[id] = did
	r.say("> " + did)
}

// object reads an event; false: it is not whole, or none.
func object(line []byte, v any) bool {
	err := json.Unmarshal(line, v)
	if _, odd := err.(*json.UnmarshalTypeError); odd {
		return true // a field that became something else; the others were read
	}
	return err == nil
}

// capped keeps what is written to it up to max bytes, and one more to show that
// there was more.
type capped struct {
	max int
	buf []byte
}

func (c *capped) Write(p []byte) {
	if room := c.max + 1 - len(c.buf); room > 0 {
		c.buf = append(c.buf, p[:min(room, len(p))]...)
	}
}

func (c *capped) set(s string) {
	c.buf = c.buf[:0]
	c.Write([]byte(s))
}

func (c *capped) String() string { return string(c.buf) }
