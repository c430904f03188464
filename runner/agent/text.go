package agent

import (
	"bufio"
	"io"
	"iter"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
)

// OneLine is a text without line breaks and repeated blanks.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// FirstLine is the first line of a command of several.
func FirstLine(text string) string {
	text = strings.TrimSpace(text)
	if line, _, more := strings.Cut(text, "\n"); more {
		return strings.TrimSpace(line) + " …"
	}
	return text
}

// shownCommand is how many characters of a command a sentence shows.
const shownCommand = 120

// Shown is what a sentence shows of a command that is long or of several lines.
func Shown(text string) string {
	line := FirstLine(text)
	if runes := []rune(line); len(runes) > shownCommand {
		line = strings.TrimSpace(string(runes[:shownCommand])) + " …"
	}
	return line
}

// NamedCommand are the facts of a command: what sentences show, and all of it for the
// evidence and for JSON, where that is more.
func NamedCommand(text string) []any {
	facts := []any{"command", Shown(text)}
	if whole := strings.TrimSpace(text); whole != facts[1] {
		facts = append(facts, fault.WholeCommandFact, whole)
	}
	return facts
}

// LastLine is the last line that is not empty.
func LastLine(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

const shownLine = 200

// ShortLine is OneLine of a length that a sentence can show.
func ShortLine(s string) string {
	s = strings.ToValidUTF8(OneLine(s[:min(len(s), 8*shownLine)]), "\uFFFD") // most of a long one is not even looked at
	if r := []rune(s); len(r) > shownLine {
		return string(r[:shownLine]) + "…"
	}
	return s
}

// Lines gives the lines of a stream, very long ones in pieces.
func Lines(r io.Reader) iter.Seq[string] {
	return func(yield func(string) bool) {
		b := bufio.NewReaderSize(r, 64<<10)
		for {
			line, err := b.ReadSlice('\n')
			if len(line) > 0 && !yield(string(line)) {
				return
			}
			if err != nil && err != bufio.ErrBufferFull {
				return
			}
		}
	}
}

// TailKept is how much is kept of the end of a command's output.
const TailKept = 2 << 10

// Output writes what a command says into a log, of very much only the beginning and the
// end, and keeps the last of it.
func Output(log io.Writer) (out *proc.BoundedLog, end *Tail) {
	end = &Tail{Max: TailKept}
	return &proc.BoundedLog{W: io.MultiWriter(log, end), Head: 4 << 20, Tail: 1 << 20}, end
}

// Tail keeps the last max bytes written to it.
type Tail struct {
	Max int
	buf []byte
}

func (t *Tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p[max(0, len(p)-t.Max):]...)
	if over := len(t.buf) - t.Max; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *Tail) String() string { return strings.ToValidUTF8(string(t.buf), "\uFFFD") }
