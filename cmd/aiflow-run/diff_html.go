package main

import (
	"fmt"
	"html"
	"path/filepath"
	"strconv"
	"strings"

	"aiflow/cmd/internal/cli"
	"aiflow/gitops"
	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/internal/term"
	"aiflow/project"
	"aiflow/runner"
	"aiflow/runs"
)

// saveHTML writes the comparison as one page that loads nothing.
func saveHTML(s *cli.Shell, p *project.Project, st *runs.Stage, d runner.Comparison, path string) error {
	text := comparison(s, st, d)
	if path == "-" {
		s.Printf("%s", text)
		return nil
	}
	o := atomicfile.Options{TempSuffix: p.Suffix()}
	if err := atomicfile.Write(p.Env.Disk, filepath.Clean(path), []byte(text), o); err != nil {
		return fault.NotWritable(err, path)
	}
	if s.JSON {
		return s.PrintJSON(struct {
			OK   bool   `json:"ok"`
			Path string `json:"path"`
		}{true, path})
	}
	s.Printf("%s\n", s.Text("work.diff_saved", "path", path))
	return nil
}

// esc shows foreign text as it is: no tag, and nothing that is not seen.
func esc(text string) string { return html.EscapeString(term.Escape(text)) }

const pageStyle = `:root{color-scheme:light dark;--line:#8884;--old:#d73a4926;--new:#28a74526;--empty:#8881}
body{font:15px/1.5 system-ui,sans-serif;margin:0 auto;max-width:1600px;padding:1rem}
h1{font-size:1.3rem}h2{font:600 .95rem ui-monospace,monospace;margin:0;padding:.5rem .75rem;position:sticky;top:0;background:Canvas;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:max-content 1fr;gap:0 1rem}dt{opacity:.7}dd{margin:0;overflow-wrap:anywhere}
section{border:1px solid var(--line);border-radius:6px;margin:1rem 0;overflow:clip}
table{border-collapse:collapse;width:100%;table-layout:fixed;font:13px/1.45 ui-monospace,monospace}
td{vertical-align:top;padding:0 .5rem;white-space:pre-wrap;overflow-wrap:anywhere;tab-size:4}
td.n{width:3.5rem;text-align:right;opacity:.6;user-select:none}col.n{width:4.5rem}
.o{background:var(--old)}.a{background:var(--new)}.e{background:var(--empty)}
tr.h td{border-top:1px solid var(--line);opacity:.7;padding:.15rem .5rem}
.note{padding:.5rem .75rem;opacity:.8}nav li{overflow-wrap:anywhere}`

// comparison is the page.
func comparison(s *cli.Shell, st *runs.Stage, d runner.Comparison) string {
	var b strings.Builder
	title := esc(st.RequestID + " " + st.Title)
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=%q>\n<head>\n<meta charset=\"utf-8\">\n", s.Lang())
	b.WriteString("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n")
	b.WriteString("<meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"referrer\" content=\"no-referrer\">\n")
	fmt.Fprintf(&b, "<title>%s</title>\n<style>%s</style>\n</head>\n<body>\n<h1>%s</h1>\n", title, pageStyle, title)
	head(&b, s, st, d)
	if len(d.Files) == 0 && d.Uncommitted == nil {
		fmt.Fprintf(&b, "<p>%s</p>\n", esc(s.Text("work.diff_nothing")))
	}
	for i, f := range d.Files {
		section(&b, s, i, f)
	}
	if u := d.Uncommitted; u != nil {
		fmt.Fprintf(&b, "<h1 id=\"kept\">%s</h1>\n", esc(keptTitle(s, u)))
		for i, f := range u.Files {
			section(&b, s, len(d.Files)+i, f)
		}
	}
	if d.Truncated || d.Uncommitted != nil && d.Uncommitted.Truncated {
		fmt.Fprintf(&b, "<p>%s</p>\n", esc(s.Text("work.diff_truncated")))
	}
	b.WriteString("</body>\n</html>\n")
	return b.String()
}

// head says which run it is, lists its commits, and leads to each file.
func head(b *strings.Builder, s *cli.Shell, st *runs.Stage, d runner.Comparison) {
	b.WriteString("<dl>\n")
	for _, row := range [][2]string{
		{"run_id", st.RunID},
		{"state", string(st.State)},
		{"branch", st.Git.WorkBranch + " (" + st.Git.BaseBranch + ")"},
		{"diff", s.Text("work.diff_stat", "base", term.ShortHash(d.Base), "head", term.ShortHash(d.Head), "files", d.Stat.Files, "added", d.Stat.Additions, "deleted", d.Stat.Deletions)},
	} {
		fmt.Fprintf(b, "<dt>%s</dt><dd>%s</dd>\n", row[0], esc(row[1]))
	}
	for _, c := range st.Git.Commits {
		fmt.Fprintf(b, "<dt>%s</dt><dd>%s</dd>\n", esc(term.ShortHash(c.Hash)), esc(c.Subject))
	}
	b.WriteString("</dl>\n<nav><ul>\n")
	for i, f := range d.Files {
		fmt.Fprintf(b, "<li><a href=\"#f%d\">%s</a></li>\n", i, html.EscapeString(fileTitle(f)))
	}
	if d.Uncommitted != nil {
		fmt.Fprintf(b, "<li><a href=\"#kept\">%s</a></li>\n", esc(keptTitle(s, d.Uncommitted)))
	}
	b.WriteString("</ul></nav>\n")
}

func section(b *strings.Builder, s *cli.Shell, i int, f gitops.FileDiff) {
	fmt.Fprintf(b, "<section id=\"f%d\">\n<h2>%s</h2>\n", i, html.EscapeString(fileTitle(f)))
	if f.Binary {
		fmt.Fprintf(b, "<div class=\"note\">%s</div>\n", esc(s.Text("work.diff_binary")))
	}
	if len(f.Hunks) > 0 {
		fmt.Fprintf(b, "<table><colgroup><col class=\"n\"><col><col class=\"n\"><col></colgroup>\n<thead><tr><th></th><th>%s</th><th></th><th>%s</th></tr></thead>\n<tbody>\n",
			esc(s.Text("work.diff_old")), esc(s.Text("work.diff_new")))
		for _, h := range f.Hunks {
			fmt.Fprintf(b, "<tr class=\"h\"><td colspan=\"4\">@@ -%d,%d +%d,%d @@</td></tr>\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
			for _, row := range pairs(h) {
				b.WriteString("<tr>" + htmlCell(row[0], "o") + htmlCell(row[1], "a") + "</tr>\n")
			}
		}
		b.WriteString("</tbody></table>\n")
	}
	if f.Truncated && !f.Binary {
		fmt.Fprintf(b, "<div class=\"note\">%s</div>\n", esc(s.Text("work.diff_cut")))
	}
	b.WriteString("</section>\n")
}

func htmlCell(of side, class string) string {
	switch {
	case of.n == 0:
		return `<td class="n e"></td><td class="e"></td>`
	case of.op == " ":
		class = ""
	}
	return `<td class="` + strings.TrimSpace("n "+class) + `">` + strconv.Itoa(of.n) + `</td><td class="` + class + `">` + esc(expandTabs(of.text)) + `</td>`
}
