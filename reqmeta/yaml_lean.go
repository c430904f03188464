//go:build lean

package reqmeta

import "go.yaml.in/yaml/v3"

// parseHead of the programs that start at every commit and every prompt: the
// head is cut out already, and the formats that come with the frontmatter
// library take a tenth of such a program's time to get ready
// (docs/decisions/0004).
func parseHead(head string, doc *yaml.Node) error { return decodeWhole([]byte(head), doc) }
