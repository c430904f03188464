package server

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"html"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"aiflow/project"
	"aiflow/server/ui"
)

// page serves the built files. Addresses of views, which are no files, get the
// page itself; it reads them.
type page struct {
	files map[string]asset
	event func() string // the id of the last event, "" while changes are not noticed yet
}

type asset struct {
	data      []byte
	kind, tag string
	packed    []byte // by gzip, where that is less
}

func newAsset(name string, data []byte) asset {
	a := asset{data: data, kind: kindOf(name), tag: project.Fingerprint(data)[:16]}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(data) // into memory
	if z.Close() == nil && b.Len() < len(data) {
		a.packed = b.Bytes()
	}
	return a
}

// form is what of an asset is sent, and its tag: one for each form.
func (a asset) form(r *http.Request) (data []byte, encoding, tag string) {
	if a.packed != nil && takesGzip(r.Header.Values("Accept-Encoding")) {
		return a.packed, "gzip", `"` + a.tag + `-gzip"`
	}
	return a.data, "", `"` + a.tag + `"`
}

func takesGzip(accepted []string) bool {
	for one := range strings.SplitSeq(strings.Join(accepted, ","), ",") {
		name, q, _ := strings.Cut(strings.ReplaceAll(one, " ", ""), ";q=")
		if weight, err := strconv.ParseFloat(q, 64); name == "gzip" {
			return q == "" || err == nil && weight > 0
		}
	}
	return false
}

const index = "index.html"

// lastEvent is where the index says what the last event was before it was sent:
// the page asks for what came after it, and need not read everything again when
// its stream opens.
const lastEvent = `name="last-event" content="`

func newPage(assets fs.FS, event func() string) *page {
	p := &page{files: map[string]asset{}, event: event}
	add := func(name string) {
		if data, err := fs.ReadFile(assets, name); err == nil {
			p.files[name] = newAsset(name, data)
		}
	}
	_ = fs.WalkDir(assets, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			add(name)
		}
		return nil
	})
	add(ui.Library)
	if _, ok := p.files[index]; !ok {
		data := []byte(plainPage("en", "aiflow", []string{"The page is not built into this program; the API under /api is."}))
		p.files[index] = newAsset(index, data)
	}
	return p
}

func kindOf(name string) string {
	switch ext := path.Ext(name); ext {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	default:
		if kind := mime.TypeByExtension(ext); kind != "" {
			return kind
		}
	}
	return "application/octet-stream"
}

// isView reports whether an address is one of the page's views.
func isView(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	views := []string{"", "requests", "runs", "graph", "land", "autorun", "doctor", "queue", "locks", "config", "settings", "timeline", "help"}
	return slices.Contains(views, first)
}

func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	a, ok := p.files[name]
	switch {
	case name == index, !ok && isView(name):
		preload(w, r)
		p.giveIndex(w, http.StatusOK)
		return
	case !ok && strings.Contains(r.Header.Get("Accept"), "text/html"):
		p.giveIndex(w, http.StatusNotFound) // who came there reads it on the page, which leads home
		return
	case !ok:
		giveHTML(w, http.StatusNotFound, "en", "404", nil)
		return
	}
	data, encoding, tag := a.form(r)
	h := w.Header()
	h.Set("Vary", "Accept-Encoding")
	if unchanged(w, r, tag) {
		return
	}
	h.Set("Content-Type", a.kind)
	if encoding != "" {
		h.Set("Content-Encoding", encoding)
	}
	_, _ = w.Write(data)
}

// giveIndex gives it anew each time, and nobody keeps it: an old id would bring
// what the page has read.
func (p *page) giveIndex(w http.ResponseWriter, status int) {
	a := p.files[index]
	w.Header().Set("Content-Type", a.kind)
	w.WriteHeader(status)
	_, _ = w.Write(bytes.Replace(a.data, []byte(lastEvent), []byte(lastEvent+p.event()), 1))
}

// preload has the browser ask for the diff that the page will show while it still
// reads the page's program: a large one takes git a while. The address must be that
// of diff_view.ts to the letter.
func preload(w http.ResponseWriter, r *http.Request) {
	if at := r.URL.EscapedPath(); r.URL.RawQuery == "" && strings.HasPrefix(at, "/requests/") && strings.HasSuffix(at, "/diff") {
		w.Header().Set("Link", "</api"+at+"?hunks=20>; rel=preload; as=fetch; crossorigin")
	}
}

func giveHTML(w http.ResponseWriter, status int, lang, title string, lines []string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(plainPage(lang, title, lines)))
}

func plainPage(lang, title string, lines []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=%q><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"+
		"<title>%s</title>\n<h1>%s</h1>\n", lang, html.EscapeString(title), html.EscapeString(title))
	for _, line := range lines {
		fmt.Fprintf(&b, "<p>%s</p>\n", html.EscapeString(line))
	}
	return b.String()
}
