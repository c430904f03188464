package gitcmd

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Failure is a git that ran and ended with a non-zero exit status.
type Failure struct {
	Args       []string
	ExitStatus int // -1 when a signal ended it
	Stderr     string
}

func (f *Failure) Error() string {
	return fmt.Sprintf("git %s: exit status %d: %s", strings.Join(f.Args, " "), f.ExitStatus, strings.TrimSpace(f.Stderr))
}

// Exit is the exit status that err reports, 0 for nil and -1 for an error
// that is not a Failure.
func Exit(err error) int {
	if err == nil {
		return 0
	}
	if f, ok := errors.AsType[*Failure](err); ok {
		return f.ExitStatus
	}
	return -1
}

// Stderr is what a failed git said, or err's own text.
func Stderr(err error) string {
	if f, ok := errors.AsType[*Failure](err); ok {
		return strings.TrimSpace(f.Stderr)
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

const (
	headBytes = 8 << 10
	tailBytes = 24 << 10
)

// bounded keeps the beginning and the end of what is written to it.
type bounded struct {
	head, tail []byte
	lost       int
}

func (b *bounded) Write(p []byte) (int, error) {
	n := len(p)
	if room := headBytes - len(b.head); room > 0 {
		k := min(room, len(p))
		b.head, p = append(b.head, p[:k]...), p[k:]
	}
	b.tail = append(b.tail, p...)
	if over := len(b.tail) - tailBytes; over > 0 {
		b.lost += over
		b.tail = append(b.tail[:0], b.tail[over:]...)
	}
	return n, nil
}

func (b *bounded) String() string {
	if b.lost == 0 {
		return string(b.head) + string(b.tail)
	}
	return fmt.Sprintf("%s\n[%d bytes left out]\n%s", b.head, b.lost, b.tail)
}

// limited passes on a number of bytes and then fails, which ends git. A limit
// of zero passes on everything.
type limited struct {
	w    io.Writer
	left int64
	seen int64
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	l.seen += int64(len(p))
	if l.left > 0 && l.seen > l.left {
		l.over = true
		return 0, ErrTooLarge
	}
	return l.w.Write(p)
}
