package main

import (
	"cmp"
	"encoding/csv"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/cli"
	"aiflow/reqmeta"
	"aiflow/reqmeta/convert"
)

type exportOptions struct {
	to     string
	bom    bool
	status urfave.StringSlice
}

// exported is a request with its text.
type exported struct {
	item
	Body string `json:"body"`
}

// export prints all requests, by id, in bytes that depend on nothing else.
func export(s *cli.Shell, o exportOptions) error {
	if o.to != "json" && o.to != "csv" {
		return cli.Usage("bad_value", "name", "--to", "value", o.to, "allowed", "json, csv")
	}
	if err := (filter{status: o.status}).check(); err != nil {
		return err
	}
	v, err := open(s)
	if err != nil {
		return err
	}
	list := slices.Clone(v.survey.Folder.Requests)
	slices.SortStableFunc(list, func(a, b *reqmeta.Request) int { return strings.Compare(a.ID, b.ID) })
	list = slices.DeleteFunc(list, func(r *reqmeta.Request) bool { return !oneOf(given(o.status), r.Meta.Status) })
	if o.to == "csv" {
		return v.exportCSV(list, o.bom)
	}
	var unread error // the first file that cannot be read; the others are given all the same
	for _, r := range list {
		data, err := v.survey.Folder.Read(r)
		if err != nil {
			unread = cmp.Or(unread, err)
			continue
		}
		if err := v.PrintJSON(exported{v.item(r), string(reqmeta.Readable(data))}); err != nil {
			return err
		}
	}
	return unread
}

func (v *view) exportCSV(list []*reqmeta.Request, bom bool) error {
	if bom {
		v.Printf("\ufeff")
	}
	w := csv.NewWriter(v.Out())
	w.UseCRLF = true // RFC 4180
	_ = w.Write(convert.Columns)
	var unread error
	for _, r := range list {
		data, err := v.survey.Folder.Read(r)
		if err != nil {
			unread = cmp.Or(unread, err)
			continue
		}
		_ = w.Write(convert.Row(r, string(reqmeta.Readable(data))))
	}
	w.Flush()
	return cmp.Or(w.Error(), unread)
}
