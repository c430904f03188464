package server

import (
	"fmt"
	"html"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"aiflow/project"
	"aiflow/server/ui"
)

// page serves the built files. Addresses of views, which are no files, get the
// page itself; it reads them.
type page struct {
	files map[string]asset
}

type asset struct {
	data      []byte
	kind, tag string
}

const index = "index.html"

func newPage(assets fs.FS) *page {
	p := &page{files: map[string]asset{}}
	add := func(name string) {
		if data, err := fs.ReadFile(assets, name); err == nil {
			p.files[name] = asset{data, kindOf(name), `"` + project.Fingerprint(data)[:16] + `"`}
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
		p.files[index] = asset{data, kindOf(index), `"` + project.Fingerprint(data)[:16] + `"`}
	}
	return p
}

func kindOf(name string) string {
	switch ext := path.Ext(name); ext {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".json", ".map":
		return "application/json; charset=utf-8"
	case ".webmanifest":
		return "application/manifest+json"
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
	switch first {
	case "", "requests", "runs", "graph", "land", "autorun", "doctor", "queue", "locks", "config", "settings", "timeline", "help":
		return true
	}
	return false
}

func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	a, ok := p.files[name]
	if !ok && isView(name) {
		a, ok = p.files[index]
	}
	if !ok {
		giveHTML(w, http.StatusNotFound, "en", "404", nil)
		return
	}
	h := w.Header()
	h.Set("ETag", a.tag)
	h.Set("Cache-Control", "no-cache")
	if matches(r.Header.Get("If-None-Match"), a.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", a.kind)
	_, _ = w.Write(a.data)
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
