// Package verify holds JSON against docs/schema and answers of the server
// against docs/openapi.yaml. The validator is somebody else's.
//
// It does not belong to any program: only tests import it.
package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"aiflow/docs/schema"
)

const (
	apiURL  = "file:///docs/openapi.yaml"
	defsURL = "file:///docs/schema/aiflow.v1.schema.json"
)

// book is both documents, and what was compiled of them.
type book struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
	paths    map[string]map[string]operation
	refused  map[string]response
}

type operation struct {
	ID        string              `json:"operationId"`
	Responses map[string]response `json:"responses"`
}

type response struct {
	Ref     string                     `json:"$ref"`
	Headers map[string]json.RawMessage `json:"headers"`
	Content map[string]json.RawMessage `json:"content"`
}

var open = sync.OnceValues(func() (*book, error) {
	text, err := upwards("docs/openapi.yaml")
	if err != nil {
		return nil, err
	}
	return read(text, schema.All())
})

// upwards reads a file of the module: a test runs in the folder of its package.
func upwards(name string) ([]byte, error) {
	for up := "."; len(up) < 20; up += "/.." {
		if text, err := os.ReadFile(filepath.Join(up, name)); err == nil {
			return text, nil
		}
	}
	return nil, errors.New("no " + name)
}

func read(api, defs []byte) (*book, error) {
	var tree any
	if err := yaml.Unmarshal(api, &tree); err != nil {
		return nil, err
	}
	asJSON, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Paths      map[string]map[string]json.RawMessage `json:"paths"`
		Components struct {
			Responses map[string]response `json:"responses"`
		} `json:"components"`
	}
	if err := json.Unmarshal(asJSON, &doc); err != nil {
		return nil, err
	}
	b := &book{
		compiler: jsonschema.NewCompiler(), compiled: map[string]*jsonschema.Schema{},
		paths: map[string]map[string]operation{}, refused: doc.Components.Responses,
	}
	b.compiler.DefaultDraft(jsonschema.Draft2020)
	b.compiler.AssertFormat()
	for path, item := range doc.Paths {
		b.paths[path] = map[string]operation{}
		for method, raw := range item {
			var op operation
			if method == "parameters" {
				continue
			}
			if err := json.Unmarshal(raw, &op); err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			b.paths[path][strings.ToUpper(method)] = op
		}
	}
	return b, errors.Join(b.add(apiURL, asJSON), b.add(defsURL, defs))
}

// add takes a document in, closed: where a schema lets a reader of other versions
// find more, our own may not have more than it says.
func (b *book) add(url string, text []byte) error {
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	closeObjects(tree)
	return b.compiler.AddResource(url, tree)
}

func closeObjects(v any) {
	switch x := v.(type) {
	case map[string]any:
		if _, has := x["properties"].(map[string]any); has && x["additionalProperties"] == nil {
			x["additionalProperties"] = false
		}
		for _, one := range x {
			closeObjects(one)
		}
	case []any:
		for _, one := range x {
			closeObjects(one)
		}
	}
}

// hold validates one JSON text.
func (b *book) hold(at string, text []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, ok := b.compiled[at]
	if !ok {
		var err error
		if s, err = b.compiler.Compile(at); err != nil {
			return err
		}
		b.compiled[at] = s
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

// JSON checks a record or an output against the definition of that name.
func JSON(name string, text []byte) error {
	b, err := open()
	if err != nil {
		return err
	}
	return b.hold(defsURL+"#/$defs/"+name, text)
}

// Operations are "GET /api/health" and so on, with the statuses that each
// answers.
func Operations() (map[string][]string, error) {
	b, err := open()
	if err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for path, item := range b.paths {
		for method, op := range item {
			all[method+" "+path] = slices.Sorted(maps.Keys(op.Responses))
		}
	}
	return all, nil
}

// Answer checks an answer of the server: its status, type, ETag and JSON. It
// gives the operation, "" for a path that is not described.
func Answer(method, path string, status int, header http.Header, body []byte) (name string, err error) {
	b, err := open()
	if err != nil {
		return "", err
	}
	return b.answer(method, path, status, header, body)
}

func (b *book) answer(method, path string, status int, header http.Header, body []byte) (name string, err error) {
	at, op, ok := b.find(method, path)
	if !ok {
		return "", nil
	}
	name = method + " " + at
	code := strconv.Itoa(status)
	place := apiURL + "#/paths/" + pointer(at) + "/" + strings.ToLower(method) + "/responses/" + code
	res, ok := op.Responses[code]
	if !ok {
		return name, fmt.Errorf("%s is not described to answer %s", name, code)
	}
	if shared := strings.TrimPrefix(res.Ref, "#/components/responses/"); res.Ref != "" {
		res, place = b.refused[shared], apiURL+"#/components/responses/"+shared
	}
	if _, described := res.Headers["ETag"]; described != (header.Get("ETag") != "") {
		return name, fmt.Errorf("%s %s: an ETag is described: %v, there is %q", name, code, described, header.Get("ETag"))
	}
	if len(res.Content) == 0 && len(body) == 0 {
		return name, nil
	}
	kind, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	if _, ok := res.Content[kind]; !ok {
		return name, fmt.Errorf("%s %s is not described to have the type %q", name, code, kind)
	}
	if kind != "application/json" {
		return name, nil
	}
	if err := b.hold(place+"/content/"+pointer(kind)+"/schema", body); err != nil {
		return name, fmt.Errorf("%s %s: %w", name, code, err)
	}
	return name, nil
}

func pointer(part string) string {
	part = strings.NewReplacer("~", "~0", "/", "~1").Replace(part)
	return strings.NewReplacer("{", "%7B", "}", "%7D").Replace(part)
}

var placeRE = regexp.MustCompile(`\\\{\w+\\\}`)

func (b *book) find(method, path string) (at string, op operation, ok bool) {
	path, _, _ = strings.Cut(path, "?")
	for at, item := range b.paths {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(at), `\{path\}`, `.+`)
		pattern = placeRE.ReplaceAllString(pattern, `[^/]+`)
		if op, ok := item[method]; ok && regexp.MustCompile("^"+pattern+"$").MatchString(path) {
			return at, op, true
		}
	}
	return "", op, false
}
