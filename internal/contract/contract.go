// Package contract reads what a role answers: finds the one JSON object in it
// and holds it against the role's contract (D42; D27's contract_version is
// understood too). The contracts are JSON Schemas, published in docs/schema.
//
// It does not repair an answer, and it does not act on one.
package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"aiflow/docs/schema"
	"aiflow/internal/fault"
)

// MaxAnswer is the longest answer that is read.
const MaxAnswer = 4 << 20

// FileName is what the contract of a role is called, shipped and in a project.
func FileName(role string) string { return role + ".contract.v1.json" }

// Read takes the answer of a role apart. Faults: JSON_PARSE_ERROR, and
// JSON_SCHEMA_INVALID with the keys that are wrong. own is the project's own
// contract, which counts besides ours; nil is none.
func Read(role, text string, own []byte) (Answer, error) {
	raw, err := Object(text)
	if err != nil {
		return Answer{}, fault.Wrap(err, fault.JSONParseError, "name", role, "cause_key", "contract."+err.Error())
	}
	raw = renamed(raw)
	var a Answer
	var flaws []flaw
	for _, contract := range [][]byte{schema.Contract(role), own} {
		if contract != nil {
			flaws = append(flaws, check(contract, raw)...)
		}
	}
	if len(flaws) > 0 {
		return a, invalid(role, flaws...)
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		var te *json.UnmarshalTypeError
		if errors.As(err, &te) {
			return a, invalid(role, flaw{te.Field, "type", te.Value, te.Type.String()})
		}
		return a, invalid(role, flaw{Wrong: "unread", Value: err.Error()})
	}
	a.Raw = raw
	return a, nil
}

// maxFlaws is how many things are named at once.
const maxFlaws = 10

// invalid names the flaws, each once; the fact "flaws" is a list of them in JSON.
func invalid(role string, flaws ...flaw) error {
	var each []flaw
	for _, f := range flaws {
		if !slices.Contains(each, f) {
			each = append(each, f)
		}
	}
	if len(each) > maxFlaws {
		each = append(each[:maxFlaws], flaw{Wrong: "more"})
	}
	list, _ := json.Marshal(each) // of texts
	return fault.New(fault.JSONSchemaInvalid, "name", role, "key", each[0].Key, "flaws", string(list))
}

// Lacks is JSON_SCHEMA_INVALID of an answer without something that not every answer has.
func Lacks(role, key string) error { return invalid(role, flaw{Key: key, Wrong: "missing"}) }

// What is wrong with an answer that is not one JSON object; the sentences are
// "contract.<word>".
var (
	errNone     = errors.New("none")
	errBroken   = errors.New("broken")
	errSeveral  = errors.New("several")
	errTooLarge = errors.New("too_large")
)

// Object finds the JSON object that text consists of. It begins at the start
// of a line and ends at the end of one; text or fences around it are left out
// of account. A line that begins an object which is not whole, and a second
// object, make the answer unreadable: nobody guesses which one was meant.
func Object(text string) (json.RawMessage, error) {
	if len(text) > MaxAnswer {
		return nil, errTooLarge
	}
	var found json.RawMessage
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		if !strings.HasPrefix(strings.TrimLeft(line, " \t\r\ufeff"), "{") {
			text = rest
			continue
		}
		one, after, err := decode(text)
		if err != nil {
			return nil, err
		}
		if found != nil {
			return nil, errSeveral
		}
		found, text = one, after
	}
	if found == nil {
		return nil, errNone
	}
	return found, nil
}

// decode reads the object that text begins with, up to the end of its line.
func decode(text string) (json.RawMessage, string, error) {
	start := strings.IndexByte(text, '{')
	d := json.NewDecoder(strings.NewReader(text[start:]))
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return nil, "", errBroken
	}
	tail, rest, _ := strings.Cut(text[start+int(d.InputOffset()):], "\n")
	if strings.Trim(tail, " \t\r`") != "" {
		return nil, "", errBroken
	}
	return raw, rest, nil
}

// renamed gives an object of D27 the name that D42 has for its version, and its status
// in small letters.
func renamed(raw json.RawMessage) json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) != nil {
		return raw
	}
	status := bytes.ToLower(o["status"])
	if o["version"] == nil && o["contract_version"] != nil {
		o["version"] = o["contract_version"]
	} else if bytes.Equal(status, o["status"]) {
		return raw
	}
	if status != nil {
		o["status"] = status
	}
	out, err := json.Marshal(o)
	if err != nil {
		return raw
	}
	return out
}
