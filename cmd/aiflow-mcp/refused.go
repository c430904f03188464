package main

import (
	"regexp"

	"aiflow/internal/fault"
)

// What the schema library says of an argument that is refused. Of each the first group is
// what was given, the second what is allowed.
var (
	refusedAt = regexp.MustCompile(`validating /properties/([^:/]+)`)
	refusals  = []struct {
		key string
		re  *regexp.Regexp
	}{
		{"type", regexp.MustCompile(`(?s)type: .* has type "([^"]+)", want (?:one of )?"([^"]+)"$`)},
		{"enum", regexp.MustCompile(`(?s)enum: (.*) does not equal any of: \[(.*)\]$`)},
		{"least", regexp.MustCompile(`minimum: (\S+?)(?:/1)? is less than (\d+)`)},
		{"most", regexp.MustCompile(`maximum: (\S+?)(?:/1)? is greater than (\d+)`)},
		{"length", regexp.MustCompile(`maxLength: .* contains (\d+) Unicode code points, more than (\d+)$`)},
		{"shape", regexp.MustCompile(`pattern: "(.*)" does not match regular expression "(.*)"$`)},
		{"unknown", regexp.MustCompile(`unexpected additional properties \[(.*)\]$`)},
		{"missing", regexp.MustCompile(`required: missing properties: \[(.*)\]$`)},
	}
)

// wrong says in the reader's language what the schema of a tool refuses; what is not known
// here stays as the library said it.
func (f *face) wrong(said string) string {
	for _, r := range refusals {
		m := r.re.FindStringSubmatch(said)
		if m == nil {
			continue
		}
		facts := fault.Facts{"value": short(m[1])}
		if len(m) > 2 {
			facts["allowed"] = m[2]
		}
		if at := refusedAt.FindStringSubmatch(said); at != nil {
			facts["key"] = at[1]
		}
		return f.shell.Catalog().Text("mcp.wrong_"+r.key, facts)
	}
	return short(said)
}
