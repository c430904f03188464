package server

import (
	"bytes"
	"cmp"
	"net/http"
	"os"
	"time"

	"aiflow/internal/fault"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
	"aiflow/reqmeta/edit"
)

// detail is one request with its text. What is not UTF-8 has none: it would not
// come back as it was.
type detail struct {
	item
	CanRun    bool    `json:"can_run"` // aiflow run ID would not be refused
	Body      *string `json:"body_markdown,omitempty"`
	Markdown  *string `json:"markdown,omitempty"` // the whole file
	UpdatedAt string  `json:"updated_at"`
}

// file is a request file as it stands.
type file struct {
	data  []byte
	mtime time.Time
}

func (f file) tag() string     { return etag(f.data) }
func (f file) updated() string { return f.mtime.UTC().Format(time.RFC3339Nano) }

func showRequest(s *Server, w http.ResponseWriter, r *http.Request) error {
	return giveRequest(s, w, r, r.PathValue("id"), true)
}

func showMeta(s *Server, w http.ResponseWriter, r *http.Request) error {
	return giveRequest(s, w, r, r.PathValue("id"), false)
}

// giveRequest answers with a request as it stands now. Without its text it is
// REQUEST_NOT_UTF8, unless the text is not what was asked for.
func giveRequest(s *Server, w http.ResponseWriter, r *http.Request, id string, withText bool) error {
	sn, err := s.look(r.Context())
	if err != nil {
		return err
	}
	req, err := exactly(sn.folder, id)
	if err != nil {
		return err
	}
	f, err := readFile(s, sn, req)
	if err != nil {
		return err
	}
	d := detail{item: sn.item(req, s.words(r)), UpdatedAt: f.updated()}
	_, d.CanRun = choose.JudgeNamed(sn.folder, sn.facts, req.ID)
	if i, ok := sn.excluded[req.Path]; ok {
		e := sn.sel.Excluded[i]
		d.Derived.Why.Advice = e.Advise("")
	}
	if err = f.isText(req); err == nil {
		body, all := string(reqmeta.Body(f.data)), string(f.data)
		d.Body, d.Markdown = &body, &all
	} else if withText {
		return err
	}
	w.Header().Set("ETag", f.tag())
	return give(w, http.StatusOK, d)
}

// isText is REQUEST_NOT_UTF8 for a file whose text cannot be handed out and
// taken back.
func (f file) isText(req *reqmeta.Request) error {
	line, encoding := reqmeta.Foreign(f.data)
	if line == 0 {
		return nil
	}
	return fault.New(fault.RequestNotUTF8, "request_id", req.ID, "path", req.Path, "line", line, "encoding", encoding)
}

func readFile(s *Server, sn *snapshot, req *reqmeta.Request) (file, error) {
	data, err := sn.folder.Read(req)
	if err != nil {
		return file{}, err
	}
	fi, err := os.Stat(s.Project.Path(req.Path))
	if err != nil {
		return file{}, noRequest(err, req.ID, "path", req.Path)
	}
	return file{data, fi.ModTime()}, nil
}

// conditions are what a write asks for; either condition may be missing.
type conditions struct {
	ifMatch  string
	expected *string // expected_updated_at
}

// allows refuses to overwrite what the caller has not seen.
func (e conditions) allows(req *reqmeta.Request, f file) error {
	same := e.ifMatch == "" || matches(e.ifMatch, f.tag())
	if e.expected != nil {
		at, err := time.Parse(time.RFC3339Nano, *e.expected)
		if err != nil {
			return invalid("expected_updated_at")
		}
		same = same && at.Equal(f.mtime)
	}
	if same {
		return nil
	}
	return changed(req, f)
}

// changed refuses to overwrite f, which is not what the caller has read.
func changed(req *reqmeta.Request, f file) error {
	return conflict(req.Path, "request_id", req.ID, "updated_at", f.updated(), "etag", f.tag())
}

// toEdit finds a request to edit; the caller holds edits.
func toEdit(s *Server, r *http.Request, e conditions) (*snapshot, *reqmeta.Request, file, error) {
	sn, req, err := theRequest(s, r)
	if err != nil {
		return nil, nil, file{}, err
	}
	f, err := readFile(s, sn, req)
	if err == nil {
		err = cmp.Or(edit.OneName(req), e.allows(req, f))
	}
	return sn, req, f, err
}

// newText is the body of PUT /api/requests/{id}: the text under the head, or
// the whole file.
type newText struct {
	Body     *string `json:"body_markdown"`
	Markdown *string `json:"markdown"`
	Expected *string `json:"expected_updated_at"`
}

func writeRequest(s *Server, w http.ResponseWriter, r *http.Request, n newText) error {
	if (n.Body == nil) == (n.Markdown == nil) {
		return invalid("body_markdown", "allowed", "body_markdown, markdown")
	}
	s.edits.Lock()
	defer s.edits.Unlock()
	_, req, f, err := toEdit(s, r, conditions{r.Header.Get("If-Match"), n.Expected})
	if err != nil {
		return err
	}
	if err := f.isText(req); err != nil {
		return err
	}
	data, err := newFile(s, req, f.data, n)
	if err != nil {
		return err
	}
	if !bytes.Equal(data, f.data) {
		if err := replace(s, req, f, data); err != nil {
			return err
		}
	}
	return giveRequest(s, w, r, req.ID, true)
}

// replace writes the file unless somebody changed it since it was read.
func replace(s *Server, req *reqmeta.Request, f file, data []byte) error {
	p := s.Project
	_, err := edit.Replace(p.Env.Disk, p.Dir, req.Path, func(now []byte) ([]byte, error) {
		if bytes.Equal(now, f.data) {
			return data, nil
		}
		fi, err := os.Stat(p.Path(req.Path))
		if err != nil {
			return nil, noRequest(err, req.ID, "path", req.Path)
		}
		return nil, changed(req, file{now, fi.ModTime()})
	}, p.Suffix())
	return err
}

// newFile is the file with its new text, in the line ends of the old one. The
// head is not touched but for its updated_at, and the whole file must still be
// the same request.
func newFile(s *Server, req *reqmeta.Request, old []byte, n newText) ([]byte, error) {
	if n.Markdown != nil {
		data := edit.KeepLineEnds(old, []byte(*n.Markdown))
		was, now := req.Parse(old), req.Parse(data)
		switch {
		case now.ID != req.ID:
			return nil, invalid("id")
		case now.Meta.Status == reqmeta.Running && was.Meta.Status != reqmeta.Running:
			return nil, runningByHand(req.ID)
		}
		return sized(s, data)
	}
	head := old[:len(old)-len(reqmeta.Body(old))]
	if len(head) > 0 && head[len(head)-1] != '\n' && *n.Body != "" {
		head = append(bytes.Clone(head), '\n')
	}
	_, broken := reqmeta.Split(old)
	data, fits := append(bytes.Clone(head), *n.Body...), func(data []byte) bool {
		_, p := reqmeta.Split(data)
		return string(reqmeta.Body(data)) == *n.Body && (p == nil || broken != nil)
	}
	if !fits(data) { // a head without fences ends at a blank line
		data = append(append(bytes.Clone(head), '\n'), *n.Body...)
	}
	if !fits(data) {
		return nil, invalid("body_markdown")
	}
	if data = edit.KeepLineEnds(old, data); bytes.Equal(data, old) {
		return old, nil
	}
	return sized(s, edit.Renewed(req, data, s.Project.Now()))
}

func sized(s *Server, data []byte) ([]byte, error) {
	if len(data) > reqmeta.MaxFile {
		return nil, invalid("body_markdown", "allowed", reqmeta.MaxFile)
	}
	return data, nil
}
