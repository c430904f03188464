package edit

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"aiflow/reqmeta"
)

// KeepLineEnds gives the new text of a request file the line ends that the file
// has, whatever the program made of them that it was edited with: a line that
// was not changed keeps its own, or the lack of one at the end of the file; a
// new line takes the one that most lines of the body have. A byte order mark
// stays too. A file that is not UTF-8 gets the new text as it is.
func KeepLineEnds(was, text []byte) []byte {
	if line, _ := reqmeta.Foreign(was); line > 0 || !utf8.Valid(text) || bytes.Equal(was, text) {
		return text
	}
	if bytes.HasPrefix(was, []byte(bom)) && !bytes.HasPrefix(text, []byte(bom)) {
		text = append([]byte(bom), text...)
	}
	before, after := textLines(was), textLines(text)
	usual := usualEnd(textLines(reqmeta.Body(was)))
	if usual == "" {
		usual = usualEnd(before)
	}
	if usual == "" {
		return text
	}
	same := sameLines(before, after)
	out := make([]byte, 0, len(text)+len(before))
	for i, l := range after {
		isLast, end := i == len(after)-1, l.end
		if k := same[i]; k >= 0 && (before[k].end != "" && l.end != "" || isLast && k == len(before)-1) {
			end = before[k].end
		} else if end == "\n" || end == "\r\n" {
			end = usual
		}
		if end == "\n" && l.text == "" && bytes.HasSuffix(out, []byte("\r")) {
			end = "\r\n" // else the two would be one
		}
		out = append(append(out, l.text...), end...)
	}
	return out
}

const bom = "\ufeff"

// textLine is a line and what ends it: "\n", "\r\n", "\r" (for which text areas
// of browsers take it too), or "" at the end of the text.
type textLine struct{ text, end string }

func textLines(data []byte) []textLine {
	var list []textLine
	for s := string(data); s != ""; {
		n := strings.IndexAny(s, "\r\n")
		if n < 0 {
			n = len(s)
		}
		end := s[n:min(n+1, len(s))]
		if end == "\r" && n+1 < len(s) && s[n+1] == '\n' {
			end = "\r\n"
		}
		list = append(list, textLine{s[:n], end})
		s = s[n+len(end):]
	}
	return list
}

// usualEnd is the end that most lines have; "" where none has one.
func usualEnd(lines []textLine) string {
	count := map[string]int{}
	for _, l := range lines {
		count[l.end]++
	}
	usual := ""
	for _, end := range []string{"\r", "\r\n", "\n"} {
		if count[end] > 0 && (usual == "" || usual == "\r" || count[end] >= count[usual]) {
			usual = end
		}
	}
	return usual
}

// sameLines gives for each line of after the line of before that it was, in
// order; -1 for a new one.
func sameLines(before, after []textLine) []int {
	same := make([]int, len(after))
	from := 0
	for from < min(len(before), len(after)) && before[from].text == after[from].text {
		same[from] = from
		from++
	}
	n, m := len(before), len(after)
	for n > from && m > from && before[n-1].text == after[m-1].text {
		n, m = n-1, m-1
		same[m] = n
	}
	for i := from; i < m; i++ {
		same[i] = -1
	}
	if (n-from)*(m-from) <= maxCompared {
		longestCommon(before[from:n], after[from:m], from, same[from:m])
	}
	return same
}

// maxCompared bounds the work for what changed between two saves: a thousand
// lines against a thousand.
const maxCompared = 1 << 20

// longestCommon finds the longest list of lines that both have in the same
// order; first is the number of the first line of before.
func longestCommon(before, after []textLine, first int, same []int) {
	width := len(after) + 1
	length := make([]int32, (len(before)+1)*width) // of the best list from line i and line k on
	for i := len(before) - 1; i >= 0; i-- {
		for k := len(after) - 1; k >= 0; k-- {
			at := i*width + k
			if before[i].text == after[k].text {
				length[at] = length[at+width+1] + 1
			} else {
				length[at] = max(length[at+width], length[at+1])
			}
		}
	}
	for i, k := 0, 0; i < len(before) && k < len(after); {
		switch at := i*width + k; {
		case before[i].text == after[k].text:
			same[k] = first + i
			i, k = i+1, k+1
		case length[at+width] >= length[at+1]:
			i++
		default:
			k++
		}
	}
}
