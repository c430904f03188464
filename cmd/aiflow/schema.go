package main

import (
	"slices"
	"strings"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/docs/schema"
	"aiflow/internal/config"
	"aiflow/internal/near"
	"aiflow/internal/term"
)

// madeSchemas are the schemas that are no part of the one file.
func madeSchemas() map[string]func() []byte {
	contract := func(role string) func() []byte { return func() []byte { return schema.Contract(role) } }
	return map[string]func() []byte{
		"config": config.Schema, "router": config.RouterSchema,
		"planner": contract("planner"), "implementer": contract("implementer"), "qa": contract("qa"),
	}
}

func schemaNames(s *cli.Shell) []schema.Name {
	all := schema.Names()
	for name := range madeSchemas() {
		all = append(all, schema.Name{Name: name})
	}
	for i, n := range all {
		if key := "cli.schema_" + n.Name; s.Catalog().Has(key) {
			all[i].Description = s.Text(key)
		}
	}
	slices.SortFunc(all, func(a, b schema.Name) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// printSchema prints the schema that is named, words being as good as dashes, or
// the list of them.
func printSchema(s *cli.Shell, words []string) error {
	if env, err := app.Env(s, nil); err == nil {
		app.AdoptLanguage(s, env)
	}
	all := schemaNames(s)
	if len(words) == 0 {
		return listSchemas(s, all)
	}
	name := strings.Join(words, "-")
	if text, ok := madeSchemas()[name]; ok {
		s.Printf("%s", text())
		return nil
	}
	if text := schema.Of(name); text != nil && name == strings.ToLower(name) {
		s.Printf("%s", text)
		return nil
	}
	return cli.Usage("unknown_schema", "value", name, "near", near.Word(name, named(all)))
}

func named(all []schema.Name) []string {
	names := make([]string, len(all))
	for i, n := range all {
		names[i] = n.Name
	}
	return names
}

func listSchemas(s *cli.Shell, all []schema.Name) error {
	if s.JSON {
		return s.PrintJSON(cli.Items(all))
	}
	wide := 0
	for _, n := range all {
		wide = max(wide, term.Width(n.Name))
	}
	for _, n := range all {
		s.Printf("%s  %s\n", term.Pad(n.Name, wide), n.Description)
	}
	return nil
}
