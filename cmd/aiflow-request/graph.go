package main

import (
	"aiflow/cmd/internal/door"
	"aiflow/reqmeta"
)

func graph(s *door.Shell, format string) error {
	if format != "dot" && format != "mermaid" && format != "svg" {
		return door.Usage("bad_value", "name", "--format", "value", format, "allowed", "dot, mermaid, svg")
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
		return n.WriteMermaid(s.Out())
	case format == "svg":
		return n.WriteSVG(s.Out())
	}
	return n.WriteDOT(s.Out())
}
