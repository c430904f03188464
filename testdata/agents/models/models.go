// Package models plays the servers of three providers of models for the real AI
// command lines: Anthropic's messages, OpenAI's responses and Gemini's
// generateContent. What the model does stands in a scenario file, which the first
// part of the address names; which of its turns comes next follows from how many
// results of tools a request holds, so nothing is kept between two requests.
//
// It is for tests alone and knows nothing of aiflow but two lines of its prompts.
package models

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Scenario is what a model does, or how its server fails.
type Scenario struct {
	Turns []Turn
	Fail  *Fail
	Break string // "hang": no answer; "drop": the connection is closed
}

// Turn is one answer of the model: it says something or calls a tool.
type Turn struct {
	Say   string
	Times int    // how often it is said; 0 is once
	Write string // a file's path, with Text
	Text  string
	Run   string // a command
}

// Fail is an answer that is none, in the words of each provider.
type Fail struct {
	Status                    int
	Headers                   map[string]string
	Anthropic, OpenAI, Gemini json.RawMessage
}

// Server answers requests; Scenarios is the folder of their files.
type Server struct{ Scenarios string }

// request is what the three kinds of requests have in common.
type request struct {
	scenario, role, body string

	tools   []string // that it offers
	results int      // of tools that were called so far

	stream bool
	names  map[string]string // tool -> how it is called
	model  string
	schema bool // the answer is to be JSON of some schema
}

var (
	role    = regexp.MustCompile(`You are the (planner|implementer|qa) of aiflow`)
	workdir = regexp.MustCompile(`checkout of that branch: (/[^\s"\\]+)`)
	later   = regexp.MustCompile(`\{\{in (\d+)\}\}`)
)

// provider is one kind of API.
type provider struct {
	read   func(body []byte) request
	answer func(q request, turn Turn) (events []event, whole any)
	fail   func(f *Fail) json.RawMessage
}

type event struct {
	name string // "": without one
	data any
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	var p provider
	switch {
	case err != nil:
		return
	case strings.HasSuffix(rest, "count_tokens"), strings.HasSuffix(rest, ":countTokens"):
		reply(w, http.StatusOK, map[string]int{"input_tokens": 100, "totalTokens": 100})
		return
	case strings.HasSuffix(rest, "/messages"):
		p = provider{readAnthropic, answerAnthropic, func(f *Fail) json.RawMessage { return f.Anthropic }}
	case strings.HasSuffix(rest, "/responses"):
		p = provider{readOpenAI, answerOpenAI, func(f *Fail) json.RawMessage { return f.OpenAI }}
	case strings.Contains(rest, "enerateContent"):
		p = provider{readGemini, answerGemini, func(f *Fail) json.RawMessage { return f.Gemini }}
	default:
		reply(w, http.StatusNotFound, map[string]any{"error": map[string]any{"code": 404, "message": "there is no such page"}})
		return
	}
	q := p.read(body)
	q.stream = q.stream || strings.Contains(rest, ":stream")
	q.scenario, q.body = name, string(body)
	if m := role.FindSubmatch(body); m != nil {
		q.role = string(m[1])
	}
	c, err := s.scenario(q)
	if err != nil {
		panic(err) // a mistake in a test
	}
	switch {
	case c.Break == "hang":
		<-r.Context().Done()
	case c.Break == "drop":
		panic(http.ErrAbortHandler)
	case c.Fail != nil:
		for k, v := range c.Fail.Headers {
			w.Header().Set(k, v)
		}
		body := p.fail(c.Fail)
		var own struct{ Error struct{ Code int } }
		_ = json.Unmarshal(body, &own) // gemini's says its status itself
		reply(w, cmp.Or(own.Error.Code, c.Fail.Status), body)
	default:
		events, whole := p.answer(q, c.next(q))
		if !q.stream {
			reply(w, http.StatusOK, whole)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			if e.name != "" {
				fmt.Fprintf(w, "event: %s\n", e.name)
			}
			fmt.Fprintf(w, "data: %s\n\n", encoded(e.data))
		}
	}
}

// next is the turn that answers q; the last one is said for ever.
func (c Scenario) next(q request) Turn {
	switch {
	case q.schema && len(q.tools) == 0: // whom gemini asks beside: which model, who speaks next
		return Turn{Say: `{"reasoning":"done","next_speaker":"user","model_choice":"flash","complexity_score":1,"complexity_reasoning":"simple"}`}
	case len(q.tools) == 0 || len(c.Turns) == 0:
		return Turn{Say: "ok"}
	}
	t := c.Turns[min(q.results, len(c.Turns)-1)]
	t.Say = strings.Repeat(t.Say, max(1, t.Times))
	return t
}

// scenario reads the file: NAME-ROLE.json or that of the role for planner and qa,
// NAME.json for the others. A failing server fails for all.
func (s *Server) scenario(q request) (Scenario, error) {
	var c Scenario
	names := []string{q.scenario}
	if q.role == "planner" || q.role == "qa" {
		names = []string{q.scenario + "-" + q.role, q.role}
	}
	for _, name := range append(names, q.scenario) {
		data, err := os.ReadFile(filepath.Join(s.Scenarios, path.Base(name)+".json"))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return c, err
		}
		if own := name == q.scenario; !own && s.fails(q.scenario) {
			continue
		}
		return c, json.Unmarshal([]byte(s.filled(string(data), q)), &c)
	}
	return c, fmt.Errorf("there is no scenario %q", q.scenario)
}

func (s *Server) fails(name string) bool {
	var c Scenario
	data, err := os.ReadFile(filepath.Join(s.Scenarios, path.Base(name)+".json"))
	return err == nil && json.Unmarshal([]byte(s.filled(string(data), request{})), &c) == nil && (c.Fail != nil || c.Break != "")
}

// filled puts what is known now into the places of a scenario: {{workdir}},
// {{root}} (the main checkout), and {{in SECONDS}} as an epoch.
func (s *Server) filled(text string, q request) string {
	dir := ""
	if m := workdir.FindStringSubmatch(q.body); m != nil {
		dir = m[1]
	}
	root, _, _ := strings.Cut(dir, "/.aiflow/")
	return later.ReplaceAllStringFunc(strings.NewReplacer("{{workdir}}", dir, "{{root}}", root).Replace(text), func(place string) string {
		n, _ := strconv.Atoi(later.FindStringSubmatch(place)[1])
		return strconv.FormatInt(time.Now().Unix()+int64(n), 10)
	})
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encoded(body))
}

func encoded(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// id is a name that no other answer of the same talk has.
func (q request) id(kind string) string { return fmt.Sprintf("%s_%d_%d", kind, q.results, len(q.body)) }
