// Package draw draws what depends on what: for Graphviz, Mermaid, and as a picture.
//
// It does not find that out; see choose.Graph.
package draw
