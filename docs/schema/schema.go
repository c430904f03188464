// Package schema holds the JSON Schemas of what aiflow writes, prints and
// answers, and the contracts of the roles.
//
// It does not check anything against them: that is done by programs of others,
// and in the tests.
package schema

import (
	"embed"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

//go:embed *.contract.v1.json aiflow.v1.schema.json
var files embed.FS

// Contract is what an answer of a role is held against, as it ships.
func Contract(role string) []byte {
	data, err := files.ReadFile(role + ".contract.v1.json")
	if err != nil {
		panic(err) // the roles and the files are both ours
	}
	return data
}

// All is the file with every definition. The names of records and outputs are
// in small letters, those of their parts are not.
func All() []byte {
	data, err := files.ReadFile("aiflow.v1.schema.json")
	if err != nil {
		panic(err)
	}
	return data
}

// Name is a schema and what it is of.
type Name struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Names lists the records and outputs, by name.
func Names() []Name {
	var list []Name
	for name, raw := range definitions() {
		if name == strings.ToLower(name) {
			n := Name{Name: name}
			_ = json.Unmarshal(raw, &n)
			list = append(list, Name{name, n.Description})
		}
	}
	slices.SortFunc(list, func(a, b Name) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Of is the schema of one of them with the definitions that it needs, complete
// in itself; nil when there is none of that name.
func Of(name string) []byte {
	all, needed := definitions(), map[string]json.RawMessage{}
	ref := regexp.MustCompile(`"\$ref": *"#/\$defs/([^"]+)"`)
	for todo := []string{name}; len(todo) > 0; todo = todo[1:] {
		raw, ok := all[todo[0]]
		if !ok {
			return nil
		}
		if _, had := needed[todo[0]]; had {
			continue
		}
		needed[todo[0]] = raw
		for _, m := range ref.FindAllSubmatch(raw, -1) {
			todo = append(todo, string(m[1]))
		}
	}
	data, err := json.MarshalIndent(struct {
		Schema string                     `json:"$schema"`
		Title  string                     `json:"title"`
		Ref    string                     `json:"$ref"`
		Defs   map[string]json.RawMessage `json:"$defs"`
	}{"https://json-schema.org/draft/2020-12/schema", "aiflow " + name, "#/$defs/" + name, needed}, "", "  ")
	if err != nil {
		panic(err) // they were JSON a moment ago
	}
	return append(data, '\n')
}

func definitions() map[string]json.RawMessage {
	var file struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(All(), &file); err != nil {
		panic(err) // the tests read it
	}
	return file.Defs
}
