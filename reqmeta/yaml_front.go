package reqmeta

import (
	"io"
	"strings"

	"github.com/adrg/frontmatter"
	"go.yaml.in/yaml/v3"
)

// fence never stands in a head that passed checkText, so that the library
// cannot see another end of the head than our own rule.
const fence = "\x00"

func parseHead(head string, doc *yaml.Node) error {
	text := io.MultiReader(strings.NewReader(fence+"\n"), strings.NewReader(head), strings.NewReader(fence+"\n"))
	_, err := frontmatter.MustParse(text, doc, frontmatter.NewFormat(fence, fence, decodeWhole))
	return err
}
