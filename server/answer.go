package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"aiflow/internal/fault"
	"aiflow/locks"
	"aiflow/messages"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/runs"
)

// errorBody is the form of every refusal (seed 000, D45).
type errorBody struct {
	Error errorDetail `json:"error"`
}

type errorDetail struct {
	Category   fault.Category `json:"category"`
	ReasonCode fault.Code     `json:"reason_code"`
	Message    string         `json:"message"`
	Context    fault.Facts    `json:"context"`
	Actions    []string       `json:"actions"`
	Advice     []fault.Advice `json:"advice,omitempty"` // about the run that it is of
}

// language is what the caller reads: ?lang=, else Accept-Language, else ours.
func (s *Server) language(r *http.Request) string {
	if lang := r.URL.Query().Get("lang"); lang == "ja" || lang == "en" {
		return lang
	}
	for part := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		switch tag := strings.ToLower(strings.TrimSpace(part)); {
		case strings.HasPrefix(tag, "ja"):
			return "ja"
		case strings.HasPrefix(tag, "en"):
			return "en"
		}
	}
	return s.Lang
}

func (s *Server) words(r *http.Request) *messages.Catalog { return s.catalog(s.language(r)) }

// says are the words for what a record stopped with.
func (s *Server) says(r *http.Request) runs.Words { return s.faultWords(s.language(r)) }

func (s *Server) faultWords(lang string) runs.Words {
	c := s.catalog(lang)
	return func(code fault.Code, facts fault.Facts) (string, string, []string) {
		words := c.Code(code, facts)
		return words.Title, words.Message, words.Actions
	}
}

// give answers with v as JSON.
func give(w http.ResponseWriter, status int, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	send(w, status, data)
	return nil
}

// giveTagged is give with an ETag, for what rarely changes.
func giveTagged(w http.ResponseWriter, r *http.Request, v any) error {
	data, err := json.Marshal(v)
	if err == nil && !unchanged(w, r, etag(data)) {
		send(w, http.StatusOK, data)
	}
	return err
}

// etag is of the content: one of a counter would begin anew with the server and
// name another answer then.
func etag(data []byte) string { return `"` + project.Fingerprint(data)[:32] + `"` }

// unchanged answers 304 to who has what the tag names.
func unchanged(w http.ResponseWriter, r *http.Request, tag string) bool {
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "no-cache")
	if !matches(r.Header.Get("If-None-Match"), tag) {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

func matches(list, tag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimSpace(one); one == tag || one == "W/"+tag || one == "*" {
			return true
		}
	}
	return false
}

func send(w http.ResponseWriter, status int, data []byte) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

// fail answers with a fault in the caller's language.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &big):
		s.failWith(w, r, http.StatusRequestEntityTooLarge, invalid("body", "allowed", big.Limit))
		return
	case r.Context().Err() != nil:
		return // nobody listens
	}
	s.failWith(w, r, fault.HTTPStatus(err), err)
}

func (s *Server) failWith(w http.ResponseWriter, r *http.Request, status int, err error) {
	if status == http.StatusInternalServerError {
		s.log(err.Error())
	}
	locate(s, w, err)
	w.Header().Del("ETag")
	w.Header().Set("Cache-Control", "no-store")
	_ = give(w, status, errorBody{s.detail(r, err)})
}

func (s *Server) detail(r *http.Request, err error) errorDetail {
	code, facts := fault.CodeOf(err), fault.Facts{}
	if f, ok := fault.As(err); ok {
		facts = s.shown(f.Facts)
	}
	if p, ok := reqmeta.ProblemOf(err); ok {
		facts["cause"] = s.words(r).Text("problem."+p.Kind, p.Facts)
	}
	list := locks.AdviceOf(err)
	words := s.words(r).Code(code, fault.WithAdvice(facts, list))
	d := errorDetail{
		Category: code.Info().Category, ReasonCode: code, Context: facts, Actions: words.Actions, Advice: list,
		Message: strings.TrimSuffix(words.Title+": "+words.Message, ": "),
	}
	if code == fault.RunInProgress || code == fault.QueueInProgress {
		d.Message = words.Title
		maps.DeleteFunc(d.Context, func(name, v string) bool { return v == "" || name != "request_id" && name != "run_id" })
	}
	return d
}

// shown are facts without the place of the project on this machine.
func (s *Server) shown(facts fault.Facts) fault.Facts {
	all := fault.Facts{}
	for k, v := range facts {
		all[k] = string(mask([]byte(fromDir(v, s.Project.Dir)), true))
	}
	return all
}

// fromDir names what is in dir from there; another folder whose name only begins like it, or ends like it, stays.
func fromDir(text, dir string) string {
	inName := func(r rune) bool { return r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	parts := strings.Split(text, dir)
	named := parts[0]
	for _, after := range parts[1:] {
		left, _ := utf8.DecodeLastRuneInString(named)
		right, size := utf8.DecodeRuneInString(after)
		beyond, _ := utf8.DecodeRuneInString(after[size:])
		switch {
		case inName(left) || inName(right) || right == '.' && inName(beyond):
			named += dir + after
		case right == filepath.Separator:
			named += after[size:]
		default:
			named += "." + after
		}
	}
	return named
}

// locate names the run that is in the way.
func locate(s *Server, w http.ResponseWriter, err error) {
	f, ok := fault.As(err)
	if !ok || f.Code != fault.RunInProgress && f.Code != fault.QueueInProgress {
		return
	}
	switch id, run := f.Facts["request_id"], f.Facts["run_id"]; {
	case id != "" && run != "":
		w.Header().Set("Location", runURL(id, run))
	case id != "":
		w.Header().Set("Location", "/api/requests/"+url.PathEscape(id)+"/runs")
	default:
		w.Header().Set("Location", "/api/autorun")
	}
}

func runURL(id, run string) string {
	return "/api/requests/" + url.PathEscape(id) + "/runs/" + url.PathEscape(run)
}

// read decodes a JSON object with no other keys than v has; no body at all
// leaves v as it is.
func read(r *http.Request, v any) error {
	data, err := io.ReadAll(r.Body)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return err
	}
	if err != nil {
		return invalidFor(err, "body", "cause", "cut off")
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	if !utf8.Valid(data) { // the decoder would put other characters in the place of what it cannot read
		return invalid("body", "cause", "not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		cause := strings.TrimPrefix(err.Error(), "json: ")
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			cause = wrong.Field + ": " + wrong.Value + ", not " + jsonKind(wrong.Type)
		}
		return invalidFor(err, "body", "cause", strings.TrimPrefix(cause, ": "))
	}
	if _, err := d.Token(); err != io.EOF {
		return invalid("body", "cause", "more than one value")
	}
	return nil
}

// jsonKind names what JSON has for a type of ours.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonKind(t.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Struct, reflect.Map:
		return "object"
	}
	return "number"
}

func invalid(key string, more ...any) error { return invalidFor(nil, key, more...) }

func invalidFor(err error, key string, more ...any) error {
	return fault.Wrap(err, fault.InvalidRequest, append(more, "key", key)...)
}

func conflict(path string, more ...any) error {
	return fault.New(fault.Conflict, append(more, "path", path)...)
}

func noRequest(err error, id string, more ...any) error {
	return fault.Wrap(err, fault.RequestNotFound, append(more, "id", id)...)
}

func noRun(requestID string, more ...any) error {
	return fault.New(fault.RunNotFound, append(more, "request_id", requestID)...)
}

func nothingToDo(st *runs.Stage, reason string) error {
	return fault.New(fault.NothingToDo, "request_id", st.RequestID, "run_id", st.RunID, "reason", reason)
}
