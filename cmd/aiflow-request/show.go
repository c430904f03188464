package main

import (
	"cmp"
	"strings"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/internal/term"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
	"aiflow/reqmeta/draw"
)

// detail is one request with its text.
type detail struct {
	item
	Body string `json:"body_markdown"` // "" where it is not UTF-8: see the problems
}

func show(s *cli.Shell, name string) error {
	v, err := open(s)
	if err != nil {
		return err
	}
	r, err := app.Find(v.p, v.survey.Folder, name)
	if err != nil {
		return err
	}
	body := ""
	data, err := v.survey.Folder.Read(r)
	switch {
	case err == nil:
		body = string(reqmeta.Readable(data))
	case r.Valid():
		return err
	}
	d := detail{v.item(r), body}
	if v.JSON {
		return v.PrintJSON(d)
	}
	v.printDetail(r, d)
	return nil
}

func (v *view) printDetail(r *reqmeta.Request, d detail) {
	v.line(term.Escape(d.ID + " " + cmp.Or(d.Meta.Priority, "-") + " " + d.Title))
	v.fact("request.show_status", cmp.Or(d.Meta.Status, "-"))
	if e := v.excluded[r.Path]; e != nil && len(d.Problems) == 0 {
		e.Describe(v.Catalog().Text)
		v.Printf("  %s: %s\n", e.ReasonCode, e.Detail)
	}
	v.fact("request.show_file", d.Path)
	v.fact("request.show_labels", strings.Join(d.Meta.Labels, ", "))
	v.fact("request.show_depends_on", strings.Join(d.Meta.DependsOn, ", "))
	v.fact("request.show_blocked_by", strings.Join(d.Derived.BlockedBy, ", "))
	v.fact("request.show_estimate", d.Meta.Estimate)
	v.fact("request.show_base", d.Meta.Base)
	v.fact("request.show_touches", strings.Join(d.Meta.Touches, ", "))
	v.fact("request.show_created", d.Meta.CreatedAt.Text)
	v.fact("request.show_updated", d.Meta.UpdatedAt.Text)
	if run := d.Derived.LatestRun; run != nil {
		text := run.RunID + " " + run.State
		if run.Interrupted {
			text = run.RunID + " " + string(*run.ReasonCode) + " (" + run.State + ")"
		} else if run.ReasonCode != nil {
			text += " " + string(*run.ReasonCode)
		}
		v.fact("request.show_run", text)
	}
	v.printProblems(d.Problems)
	if body := strings.Trim(d.Body, "\r\n"); body != "" {
		v.Printf("\n%s\n", strings.Join(term.Lines(body), "\n"))
	}
}

func (v *view) fact(key, value string) {
	if value != "" {
		v.line("  " + v.Text(key, "value", value))
	}
}

func graph(s *cli.Shell, format string) error {
	if format != "dot" && format != "mermaid" && format != "svg" {
		return cli.Usage("bad_value", "name", "--format", "value", format, "allowed", "dot, mermaid, svg")
	}
	v, err := open(s)
	if err != nil {
		return err
	}
	n := choose.Graph(v.survey.Folder, v.survey.Facts)
	switch {
	case s.JSON:
		return s.PrintJSON(n)
	case format == "mermaid":
		return draw.Mermaid(s.Out(), n)
	case format == "svg":
		return draw.SVG(s.Out(), n)
	}
	return draw.DOT(s.Out(), n)
}
