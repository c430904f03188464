package main

import (
	"aiflow/cmd/internal/cli"
	"aiflow/reqmeta"
)

func graph(s *cli.Shell, format string) error {
	if format != "dot" && format != "mermaid" && format != "svg" {
		return cli.Usage("bad_value", "name", "--format", "value", format, "allowed", "dot, mermaid, svg")
	}
	v, err := open(s)
	if err != nil {
		return err
	}
	n := reqmeta.Graph(v.survey.Folder, v.survey.Facts)
	switch {
	case s.JSON:
		return s.PrintJSON(n)
	case format == "mermaid":
		return reqmeta.Mermaid(s.Out(), n)
	case format == "svg":
		return reqmeta.SVG(s.Out(), n)
	}
	return reqmeta.DOT(s.Out(), n)
}
