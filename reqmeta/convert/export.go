package convert

import (
	"strings"

	"aiflow/reqmeta"
)

// Columns are the first row of an export as CSV.
var Columns = []string{"id", "title", "status", "priority", "labels", "depends_on", "estimate", "created_at", "updated_at", "source", "source_id", "source_url", "path", "body"}

// Row is a request in these columns. A cell that a spreadsheet would reckon
// with is guarded by a quote.
func Row(r *reqmeta.Request, body string) []string {
	m := r.Meta
	row := []string{
		r.ID, r.Title(), m.Status, m.Priority, strings.Join(m.Labels, ", "), strings.Join(m.DependsOn, ", "), m.Estimate,
		m.CreatedAt.Text, m.UpdatedAt.Text, m.Unknown["source"], m.Unknown["source_id"], m.Unknown["source_url"], r.Path, strings.TrimSpace(body),
	}
	for i, cell := range row {
		if cell != "" && strings.IndexByte("=+-@", cell[0]) >= 0 {
			row[i] = "'" + cell
		}
	}
	return row
}
