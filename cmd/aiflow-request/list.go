package main

import (
	"cmp"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/internal/fault"
	"aiflow/internal/term"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
	"aiflow/runs"
)

// filter is what list leaves in: one of the named values of each kind, every
// label.
type filter struct {
	status, priority, label urfave.StringSlice
	runnable                bool
}

func (f filter) check() error {
	for _, want := range []struct {
		flag           string
		given, allowed []string
	}{
		{"--status", given(f.status), reqmeta.Statuses[:]},
		{"--priority", given(f.priority), reqmeta.Priorities[:]},
	} {
		for _, value := range want.given {
			if !slices.Contains(want.allowed, value) {
				return cli.Usage("bad_value", "name", want.flag, "value", value, "allowed", strings.Join(want.allowed, ", "))
			}
		}
	}
	return nil
}

func (f filter) passes(r *reqmeta.Request, runnable bool) bool {
	for _, label := range given(f.label) {
		if !slices.Contains(r.Meta.Labels, label) {
			return false
		}
	}
	return (!f.runnable || runnable) && oneOf(given(f.status), r.Meta.Status) && oneOf(given(f.priority), r.Meta.Priority)
}

func oneOf(wanted []string, value string) bool {
	return len(wanted) == 0 || slices.Contains(wanted, value)
}

func list(s *cli.Shell, f filter) error {
	if err := f.check(); err != nil {
		return err
	}
	v, err := open(s)
	if err != nil {
		return err
	}
	chosen := slices.DeleteFunc(choose.Order(v.survey.Folder), func(r *reqmeta.Request) bool { return !f.passes(r, v.runnable[r.Path]) })
	if !v.JSON { // for people what is over comes last
		isOpen := func(r *reqmeta.Request) bool { return !r.Over() }
		over := slices.DeleteFunc(slices.Clone(chosen), isOpen)
		v.printTable(append(slices.DeleteFunc(chosen, (*reqmeta.Request).Over), over...))
		return nil
	}
	items := make([]item, len(chosen))
	for i, r := range chosen {
		items[i] = v.item(r)
	}
	return v.PrintJSON(cli.Items(items))
}

// printTable aligns every column but the last. The third says what a script
// finds as a reason code elsewhere.
func (v *view) printTable(chosen []*reqmeta.Request) {
	rows := [][4]string{{v.Text("request.list_id"), v.Text("request.list_priority"), v.Text("request.list_status"), v.Text("request.list_state")}}
	titles := []string{v.Text("request.list_title")}
	for _, r := range chosen {
		rows = append(rows, [4]string{
			term.Escape(r.ID), term.Escape(cmp.Or(r.Meta.Priority, "-")), term.Escape(cmp.Or(r.Meta.Status, "-")), v.state(r),
		})
		titles = append(titles, term.Escape(r.Title()))
	}
	if v.Terminal() {
		v.shorten(rows[1:], chosen)
	}
	var width [4]int
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], term.Width(cell))
		}
	}
	for n, row := range rows {
		text := ""
		for i, cell := range row {
			text += term.Pad(cell, width[i]) + "  "
		}
		v.line(text + titles[n])
	}
	v.printErrors(chosen)
}

// titleRoom is how much of a title must be seen for it to say anything.
const titleRoom = 30

// shorten gives ids by their unique beginning where the terminal has no room for
// the titles beside whole ones.
func (v *view) shorten(rows [][4]string, chosen []*reqmeta.Request) {
	longest, others := 0, 0
	for _, row := range rows {
		longest = max(longest, term.Width(row[0]))
		others = max(others, term.Width(row[3]))
	}
	if longest+others+len("P2  blocked  ")+2*len("  ")+titleRoom <= term.Columns(v.Stdout) {
		return
	}
	var ids []string
	for _, r := range v.survey.Folder.Requests {
		ids = append(ids, r.ID)
	}
	short := app.ShortIDs(ids)
	for i, r := range chosen {
		rows[i][0] = term.Escape(short[r.ID])
	}
}

func (v *view) state(r *reqmeta.Request) string {
	last := v.survey.Latest(r.ID)
	switch e := v.excluded[r.Path]; {
	case v.runnable[r.Path] && last != nil && !last.State.Ended():
		return v.Text("request.list_interrupted", "state", fault.Interrupted)
	case len(v.on[r.Path]) > 0:
		return v.Text("request.list_stacked", "ids", reqmeta.Join(v.on[r.Path]))
	case v.runnable[r.Path]:
		return "runnable"
	case e == nil:
		return "-"
	case r.Meta.Status == reqmeta.Blocked && e.ReasonCode == fault.NotReady && last != nil && (last.State == runs.NeedsInput || last.State == runs.Failed):
		return v.Text("request.list_waits", "state", last.State)
	default:
		return string(e.ReasonCode)
	}
}

// printErrors tells under the table how to mend the broken files in it.
func (v *view) printErrors(chosen []*reqmeta.Request) {
	var list []reqmeta.Problem
	for _, r := range chosen {
		for _, p := range r.Problems {
			if p.Level == reqmeta.LevelError {
				list = append(list, p)
			}
		}
	}
	if len(list) == 0 {
		return
	}
	v.Printf("\n")
	v.printProblems(list)
}

func (v *view) printProblems(list []reqmeta.Problem) {
	if _, n := app.Problems(v.Shell, "", list, v.all, app.MostCauses); n > 0 {
		v.Printf("%s\n", v.Text("request.check_hidden", "count", n))
	}
}
