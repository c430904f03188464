package hooks

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// block is what parse found of ours in a hook file.
type block struct {
	params
	version  int
	pristine bool // exactly as we shipped it
	start    int  // offsets in the file; end is behind the closing mark
	end      int
	line     int  // of the opening mark, from 1
	crlf     bool // lines down to its end have CRLF, so that no shell can run it
}

// openLine is compiled when it is needed: the hooks themselves never do.
var openLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^# >>> aiflow hook (\d+) \(([a-z-]+), (new|added|chained)\)[^\n]*\n`)
})

// closeLine ends in CRLF where git checked the file out that way.
var closeLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(regexp.QuoteMeta(strings.TrimSuffix(closeMark, "\n")) + `\r?\n`)
})

// errBroken says that our marks are there but do not enclose one block.
var errBroken = errors.New("marks do not enclose one block")

// parse finds our block. No mark of ours: nil, nil. Marks that do not pair, or
// more than one pair: errBroken, because nobody can say which lines are ours.
func parse(data []byte) (*block, error) {
	opens := openLine().FindAllSubmatchIndex(data, -1)
	closes := closeLine().FindAllIndex(data, -1)
	if len(opens) == 0 && len(closes) == 0 {
		return nil, nil
	}
	if len(opens) != 1 || len(closes) != 1 || closes[0][0] < opens[0][0] {
		return nil, errBroken
	}
	m := opens[0]
	version, err := strconv.Atoi(string(data[m[2]:m[3]]))
	if err != nil {
		return nil, errBroken
	}
	b := &block{
		version: version, start: m[0], end: closes[0][1],
		line: 1 + bytes.Count(data[:m[0]], []byte("\n")),
		crlf: bytes.Contains(data[:closes[0][1]], []byte("\r\n")),
	}
	b.hook, b.place = string(data[m[4]:m[5]]), place(data[m[6]:m[7]])
	b.recognise(string(lineEnds(data[b.start:b.end])))
	return b, nil
}

// recognise fills bin and miss from the text and says whether it is, byte for
// byte, one that we shipped.
func (b *block) recognise(text string) {
	b.miss = Block
	bin, ok := quotedAfter(text, "elif [ -f ")
	renderer := renderers()[b.version]
	if !ok || renderer == nil {
		return
	}
	b.bin = bin
	for _, miss := range []IfMissing{Block, Pass} {
		p := b.params
		p.miss = miss
		if renderer(p) == text {
			b.miss, b.pristine = miss, true
			return
		}
	}
}

// quotedAfter reads the word that quote wrote behind mark.
func quotedAfter(text, mark string) (string, bool) {
	_, rest, ok := strings.Cut(text, mark)
	if !ok {
		return "", false
	}
	var word strings.Builder
	for {
		if !strings.HasPrefix(rest, "'") {
			return "", false
		}
		part, after, ok := strings.Cut(rest[1:], "'")
		if !ok {
			return "", false
		}
		word.WriteString(part)
		if !strings.HasPrefix(after, `\''`) {
			return word.String(), true
		}
		word.WriteByte('\'')
		rest = after[2:]
	}
}

// lineEnds is data with LF line ends.
func lineEnds(data []byte) []byte { return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) }

// without gives the file with the block cut out.
func (b *block) without(data []byte) []byte {
	return slices.Concat(data[:b.start], data[b.end:])
}

// with gives the file with the block replaced by text. A script with CRLF runs
// nowhere, so that all of it gets LF.
func (b *block) with(data []byte, text string) []byte {
	before, after := data[:b.start], data[b.end:]
	if b.crlf {
		before, after = lineEnds(before), lineEnds(after)
	}
	return slices.Concat(before, []byte(text), after)
}

// alone reports whether nothing but our own shebang surrounds the block.
func (b *block) alone(data []byte) bool {
	return string(lineEnds(b.without(data))) == shebang
}

// insert puts text at the top of a stranger's sh hook, behind its shebang, so
// that neither an exit nor an exec nor an option of theirs can keep it from
// being reached, and their exit status stays the hook's.
func insert(data []byte, text string) []byte {
	at := 0
	if bytes.HasPrefix(data, []byte("#!")) {
		at = len(data)
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			at = i + 1
		}
	}
	if at > 0 && data[at-1] != '\n' {
		return nil // a shebang without a line end: nothing to add to
	}
	return slices.Concat(data[:at], []byte(text), data[at:])
}
