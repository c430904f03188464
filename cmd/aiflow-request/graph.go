package main

import (
	"aiflow/cmd/internal/cli"
	"aiflow/reqmeta/choose"
	"aiflow/reqmeta/draw"
)

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
