package server

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const noFollow = unix.O_NOFOLLOW | unix.O_NONBLOCK

// showLog gives a log, or the part that a Range header asks for, with secrets
// hidden byte for byte, so that places in it stay what they are.
func showLog(s *Server, w http.ResponseWriter, r *http.Request) error {
	_, d, err := theRun(s, r)
	if err != nil {
		return err
	}
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
	_ = http.NewResponseController(w).SetWriteDeadline(s.Project.Now().Add(10 * writeTime))
	http.ServeContent(w, r, "", time.Time{}, &masked{f: f, size: fi.Size()})
	return nil
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
