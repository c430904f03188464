package convert

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// encodings are those that a source may be said to have.
var encodings = map[string]encoding.Encoding{
	"utf-8": unicode.UTF8BOM, "utf-16le": unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "utf-16be": unicode.UTF16(unicode.BigEndian, unicode.UseBOM),
	"shift_jis": japanese.ShiftJIS, "euc-jp": japanese.EUCJP, "iso-2022-jp": japanese.ISO2022JP,
	"windows-1252": charmap.Windows1252, "iso-8859-1": charmap.ISO8859_1,
}

// Encodings are their names.
func Encodings() []string { return slices.Sorted(maps.Keys(encodings)) }

var errEncoding = errors.New("not of that encoding")

// decoded gives what r holds as UTF-8. A byte that is none of the encoding's ends
// it: nothing is replaced by a sign for what could not be read.
func decoded(r io.Reader, name string) io.Reader {
	e := encodings[strings.ToLower(name)]
	if e == nil {
		return r
	}
	return &strict{r: transform.NewReader(r, e.NewDecoder())}
}

type strict struct {
	r    io.Reader
	tail []byte // of what was read before: the sign has three bytes
}

func (s *strict) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	seen := append(s.tail, p[:n]...)
	if bytes.Contains(seen, []byte("\ufffd")) {
		return 0, errEncoding
	}
	s.tail = bytes.Clone(seen[max(0, len(seen)-2):])
	return n, err
}
