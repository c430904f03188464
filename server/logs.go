package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aiflow/runs"
)

const noFollow = unix.O_NOFOLLOW | unix.O_NONBLOCK

// showLog gives a log, or the part that a Range header asks for, with secrets
// hidden byte for byte, so that places in it stay what they are.
func showLog(s *Server, w http.ResponseWriter, r *http.Request, _ *runs.Stage, d *runs.Dir) error {
	f, err := openLog(d, r.PathValue("path"))
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Log-Size", strconv.FormatInt(fi.Size(), 10))
	if r.URL.Query().Get("numbered") == "1" {
		line, err := lineAt(f, min(beginning(r.Header.Get("Range")), fi.Size()))
		if err != nil {
			return err
		}
		w.Header().Set("X-Log-Line", strconv.Itoa(line))
	}
	_ = http.NewResponseController(w).SetWriteDeadline(s.Project.Now().Add(10 * writeTime))
	part := &ranged{ResponseWriter: w}
	http.ServeContent(part, r, "", time.Time{}, &masked{f: f, size: fi.Size()})
	if part.refused {
		s.failWith(w, r, http.StatusRequestedRangeNotSatisfiable, invalid("Range", "allowed", fi.Size()))
	}
	return nil
}

// ranged keeps back the words that net/http has for a range that cannot be given: the API has its own.
type ranged struct {
	http.ResponseWriter
	refused bool
}

func (p *ranged) WriteHeader(status int) {
	if p.refused = status == http.StatusRequestedRangeNotSatisfiable; !p.refused {
		p.ResponseWriter.WriteHeader(status)
	}
}

func (p *ranged) Write(b []byte) (int, error) {
	if p.refused {
		return len(b), nil
	}
	return p.ResponseWriter.Write(b)
}

// beginning is where a range of bytes begins; 0 where nobody says it.
func beginning(header string) int64 {
	from, _, _ := strings.Cut(strings.TrimPrefix(header, "bytes="), "-")
	at, err := strconv.ParseInt(from, 10, 64)
	if err != nil {
		return 0
	}
	return max(0, at)
}

// lineAt is the number of the line in which a byte stands.
func lineAt(f io.ReaderAt, at int64) (int, error) {
	line, buf := 1, make([]byte, piece)
	for from := int64(0); from < at; {
		n, err := f.ReadAt(buf[:min(piece, at-from)], from)
		line += bytes.Count(buf[:n], []byte{'\n'})
		from += int64(n)
		if errors.Is(err, io.EOF) {
			break // it was cut meanwhile
		}
		if err != nil {
			return 0, err
		}
	}
	return line, nil
}

// masked reads a file of a fixed size with secrets hidden. It reads somewhat
// more than it is asked for, so that a secret is seen whole.
type masked struct {
	f    *os.File
	size int64
	at   int64
}

const (
	around = 8 << 10
	piece  = 64 << 10
)

func (m *masked) Read(b []byte) (int, error) {
	if m.at >= m.size {
		return 0, io.EOF
	}
	want := min(int64(len(b)), piece, m.size-m.at)
	from := max(0, m.at-around)
	buf := make([]byte, min(m.size, m.at+want+around)-from)
	n, err := m.f.ReadAt(buf, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	have := min(int64(n)-(m.at-from), want)
	if have <= 0 {
		return 0, io.ErrUnexpectedEOF // it was cut meanwhile
	}
	text := mask(buf[:n], true)
	copy(b, text[m.at-from:][:have])
	m.at += have
	return int(have), nil
}

func (m *masked) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += m.at
	case io.SeekEnd:
		offset += m.size
	}
	if offset < 0 {
		return 0, errors.New("before the beginning")
	}
	m.at = offset
	return offset, nil
}
