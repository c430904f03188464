// Package messages turns reason codes and facts into sentences, in Japanese
// and English. Both languages have the same keys and the same places.
//
// It does not decide anything and does not print: the parts hand out codes with
// facts, programs and faces ask here for the words at the very edge.
package messages

import (
	"encoding/json"
	"maps"
	"strings"
	"sync"

	"aiflow/internal/fault"
)

// Catalog holds the sentences of one language. An area of it is parsed when it
// is first used, so that opening one costs next to nothing.
type Catalog struct {
	lang     string
	override string

	mu    sync.Mutex
	areas map[string]string
	texts remembered[string]
	codes remembered[entry]
	own   map[string]entry // texts of codes that the project has replaced; nil: not read yet
	fault error            // what is wrong with them
}

// Rendered is a reason code in words.
type Rendered struct {
	Code    fault.Code `json:"reason_code"`
	Title   string     `json:"title"`
	Message string     `json:"message"`
	Actions []string   `json:"actions"`
}

// Open gives the sentences of lang: "ja", or anything that starts with it
// (ja_JP.UTF-8), is Japanese, everything else is English.
func Open(lang string) *Catalog { return OpenWith(lang, "") }

// OpenWith also lets a project replace texts of reason codes: the file
// messages.v1.<lang>.json in dir, when there is one.
func OpenWith(lang, dir string) *Catalog {
	if lang = strings.ToLower(lang); strings.HasPrefix(lang, "ja") {
		lang = "ja"
	} else {
		lang = "en"
	}
	return &Catalog{lang: lang, override: dir, areas: map[string]string{}, texts: remembered[string]{}, codes: remembered[entry]{}}
}

// Lang is "ja" or "en".
func (c *Catalog) Lang() string { return c.lang }

// Text is the sentence of key ("area.name") with facts in its places. A key
// that does not exist is given back as it is. "codes.CODE" is what a reason code
// says.
func (c *Catalog) Text(key string, facts fault.Facts) string {
	if code, ok := strings.CutPrefix(key, "codes."); ok && fault.Code(code).Known() {
		return c.Code(fault.Code(code), facts).Message
	}
	s, ok := c.lookup(key)
	if !ok {
		return key
	}
	return fill(s, facts)
}

// Has reports whether there is a sentence for key.
func (c *Catalog) Has(key string) bool {
	_, ok := c.lookup(key)
	return ok
}

func (c *Catalog) lookup(key string) (string, bool) {
	area, _, ok := strings.Cut(key, ".")
	if !ok {
		return "", false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.texts.find(key, func() (string, bool) {
		texts := c.area(area)
		s, ok := sentence(texts, strings.TrimPrefix(key, area+"."))
		if !ok {
			s, ok = sentence(texts, key)
		}
		return s, ok
	})
}

// area is the text of an area as it stands. c.mu is held.
func (c *Catalog) area(name string) string {
	texts, ok := c.areas[name]
	if !ok {
		texts = readArea(c.lang, name)
		c.areas[name] = texts
	}
	return texts
}

// Fault is err in words: its code's title, summary and actions with the facts
// in their places. Any error that is not a fault is INTERNAL_ERROR; nil is
// nothing.
func (c *Catalog) Fault(err error) Rendered {
	if err == nil {
		return Rendered{}
	}
	e, ok := fault.As(err)
	if !ok {
		return c.Code(fault.InternalError, fault.Facts{"cause": err.Error()})
	}
	return c.Code(e.Code, e.Facts)
}

// Code is a reason code in words. A code that has no texts is UNKNOWN_ERROR,
// with the code as a fact. When the fact cause_key names a sentence, that
// sentence is the cause.
func (c *Catalog) Code(code fault.Code, facts fault.Facts) Rendered {
	e, ok := c.entry(string(code))
	facts = c.lastReason(c.WithCause(code, facts))
	if facts["hostname"] != "" && facts["host"] != "" { // scripts get a machine's address, people what they call it
		facts = with(facts, "host", facts["hostname"])
	}
	if !ok {
		facts = with(facts, "code", string(code))
		code = fault.UnknownError
		e, _ = c.entry(string(code))
	}
	r := Rendered{Code: code, Title: fill(e.Title, facts), Message: fill(e.Summary, facts), Actions: make([]string, 0, len(e.Actions))}
	for _, a := range e.Actions {
		if a = fill(a, facts); a != "" {
			r.Actions = append(r.Actions, a)
		}
	}
	return r
}

// lastReason names the codes in the facts before and reason by their titles,
// too. A cause that is only that error as programs write it says no more.
func (c *Catalog) lastReason(facts fault.Facts) fault.Facts {
	if before, ok := c.entry(facts["before"]); ok {
		facts = with(facts, "before_title", before.Title)
	}
	reason := facts["reason"]
	of, ok := c.entry(reason)
	if !ok {
		return facts
	}
	facts = with(facts, "reason_title", of.Title)
	if strings.HasPrefix(facts["cause"], reason) {
		delete(facts, "cause")
	}
	return facts
}

// flaws says in words what an answer has wrong, of which the fact flaws is the list:
// the first is the cause of the key, the rest come after it.
func (c *Catalog) flaws(facts fault.Facts) fault.Facts {
	var list []fault.Facts
	if json.Unmarshal([]byte(facts["flaws"]), &list) != nil {
		return facts
	}
	var also []string
	for i, f := range list {
		said := c.Text("contract."+f["wrong"], f)
		if i == 0 {
			facts = with(facts, "cause", said)
			continue
		}
		also = append(also, c.Text("contract.at", with(f, "cause", said)))
	}
	return with(facts, "also", strings.Join(also, "; "))
}

// WithCause gives facts with the sentence that says more than the code does as their
// cause, where there is one: the one that the fact cause_key names, or the one for this
// code and the fact reason.
func (c *Catalog) WithCause(code fault.Code, facts fault.Facts) fault.Facts {
	if facts["flaws"] != "" {
		return c.flaws(facts)
	}
	for _, key := range []string{facts["cause_key"], "why." + strings.ToLower(string(code)+"_"+facts["reason"])} {
		if c.Has(key) {
			return with(facts, "cause", c.Text(key, facts))
		}
	}
	return facts
}

func with(facts fault.Facts, name, value string) fault.Facts {
	all := maps.Clone(facts)
	if all == nil {
		all = fault.Facts{}
	}
	all[name] = value
	return all
}

// Problem is what is wrong with the project's own file of texts, if anything;
// the texts we ship are used then.
func (c *Catalog) Problem() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replaced()
	return c.fault
}
