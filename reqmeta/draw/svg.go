package draw

import (
	"bufio"
	"cmp"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"aiflow/reqmeta/choose"
)

// Sizes of the picture, in pixels.
const (
	boxWidth, boxHeight = 230, 58
	gapX, gapY          = 70, 18
	margin              = 16
)

// SVG writes the graph as a picture: a column for each step of waiting,
// what can be done first on the left. The same graph gives the same bytes.
func SVG(w io.Writer, n choose.Network) error {
	nodes := all(n)
	columns := layout(n, nodes)
	at := places(columns)
	tallest := 0
	for _, c := range columns {
		tallest = max(tallest, len(c))
	}
	b := bufio.NewWriter(w)
	width := 2*margin + max(1, len(columns))*(boxWidth+gapX) - gapX
	height := 2*margin + max(1, tallest)*(boxHeight+gapY) - gapY
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height, width, height)
	fmt.Fprintln(b, `<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" fill="#666"/></marker></defs>`)
	number := map[string]int{}
	for i, node := range nodes {
		number[node.ID] = i
	}
	for _, e := range n.Edges {
		drawEdge(b, e, at[number[e.To]], at[number[e.From]])
	}
	for i, node := range nodes {
		drawNode(b, node, at[i])
	}
	fmt.Fprintln(b, "</svg>")
	return b.Flush()
}

type point struct{ x, y int }

func places(columns [][]int) map[int]point {
	at := map[int]point{}
	for c, column := range columns {
		for r, i := range column {
			at[i] = point{margin + c*(boxWidth+gapX), margin + r*(boxHeight+gapY)}
		}
	}
	return at
}

func drawEdge(w io.Writer, e choose.Edge, from, to point) {
	x1, y1, x2, y2 := from.x+boxWidth, from.y+boxHeight/2, to.x, to.y+boxHeight/2
	bend := max(gapX/2, (x2-x1)/2)
	dash := ""
	if e.State != choose.EdgeDone {
		dash = ` stroke-dasharray="5 3"`
	}
	fmt.Fprintf(w, `<path d="M%d %dC%d %d %d %d %d %d" fill="none" stroke="%s"%s marker-end="url(#tip)"/>`+"\n",
		x1, y1, x1+bend, y1, x2-bend, y2, x2, y2, colorOf(e), dash)
}

func drawNode(w io.Writer, n choose.Node, p point) {
	l := lookOf(n)
	fmt.Fprintf(w, `<g class="%s"><title>%s</title><rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="%s" stroke="%s"/>`,
		l.name, html.EscapeString(visible(n.ID+" "+n.Title)), p.x, p.y, boxWidth, boxHeight, l.fill, l.stroke)
	for i, line := range strings.Split(label(n, "\n"), "\n") {
		weight := ""
		if i == 0 {
			weight = ` font-weight="bold"`
		}
		fmt.Fprintf(w, `<text x="%d" y="%d" fill="#111"%s>%s</text>`, p.x+10, p.y+18+16*i, weight, html.EscapeString(shorten(line, maxLabel+6)))
	}
	fmt.Fprintln(w, "</g>")
}

// layout puts every node into the column behind the last of its dependencies
// (edges of rings do not count), and orders the columns so that edges stay
// short.
func layout(n choose.Network, nodes []choose.Node) [][]int {
	number := map[string]int{}
	for i, node := range nodes {
		number[node.ID] = i
	}
	next := make([][]int, len(nodes)) // who waits for it
	deps := make([][]int, len(nodes))
	open := make([]int, len(nodes))
	for _, e := range n.Edges {
		if from, to := number[e.From], number[e.To]; from != to && e.State != choose.EdgeCycle {
			next[to] = append(next[to], from)
			deps[from] = append(deps[from], to)
			open[from]++
		}
	}
	column := levels(next, open)
	var columns [][]int
	for i := range nodes {
		for len(columns) <= column[i] {
			columns = append(columns, nil)
		}
		columns[column[i]] = append(columns[column[i]], i)
	}
	arrange(columns, deps)
	return columns
}

// levels gives the longest way to each node (Kahn). What is left in a ring that
// runs through done requests stays where it was reached.
func levels(next [][]int, open []int) []int {
	column := make([]int, len(next))
	var queue []int
	for i := range next {
		if open[i] == 0 {
			queue = append(queue, i)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		i := queue[0]
		for _, d := range next[i] {
			column[d] = max(column[d], column[i]+1)
			if open[d]--; open[d] == 0 {
				queue = append(queue, d)
			}
		}
	}
	return column
}

// arrange sorts each column by the middle of what its nodes depend on.
func arrange(columns, deps [][]int) {
	row := map[int]int{}
	for _, column := range columns {
		middle := map[int]float64{}
		for k, i := range column {
			middle[i] = float64(k)
			if len(deps[i]) > 0 {
				sum := 0
				for _, d := range deps[i] {
					sum += row[d]
				}
				middle[i] = float64(sum) / float64(len(deps[i]))
			}
		}
		slices.SortStableFunc(column, func(a, b int) int { return cmp.Compare(middle[a], middle[b]) })
		for k, i := range column {
			row[i] = k
		}
	}
}
