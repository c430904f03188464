package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/internal/term"
	"aiflow/reqmeta/convert"
)

type importOptions struct {
	convert.Options
	dryRun, update, all        bool
	mapFile, statusWords, zone string
}

// complete reads the flags that are more than a word.
func (o *importOptions) complete() (err error) {
	for _, want := range []struct {
		flag, value string
		allowed     []string
	}{
		{"--from", o.From, convert.Sources},
		{"--only", o.Only, []string{convert.OnlyReady, convert.OnlyOpen, convert.OnlyAll}},
		{"--parents", o.Parents, []string{"keep", "skip"}},
		{"--subtasks", o.Subtasks, []string{"requests", "checklist"}},
		{"--nested", o.Nested, []string{"checklist", "separate"}},
		{"--date-order", o.DateOrder, []string{"mdy", "dmy"}},
		{"--encoding", strings.ToLower(o.Encoding), convert.Encodings()},
	} {
		if want.value != "" && !slices.Contains(want.allowed, want.value) {
			return cli.Usage("bad_value", "name", want.flag, "value", want.value, "allowed", strings.Join(want.allowed, ", "))
		}
	}
	if o.Status, err = statusWords(o.statusWords); err != nil {
		return err
	}
	if o.Zone, err = time.LoadLocation(o.zone); err != nil {
		return cli.Usage("bad_value", "name", "--tz", "value", o.zone, "allowed", "Asia/Tokyo, UTC, …")
	}
	if o.MapName = o.mapFile; o.mapFile != "" {
		if o.Map, err = os.ReadFile(o.mapFile); err != nil {
			return noFile(err, o.mapFile)
		}
	}
	return nil
}

// statusWords reads `in progress=blocked,ideas=draft`.
func statusWords(text string) (map[string]string, error) {
	words := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		from, to, ok := strings.Cut(pair, "=")
		if to = strings.TrimSpace(to); !ok || !slices.Contains(convert.Means, to) {
			return nil, cli.Usage("bad_value", "name", "--status", "value", pair, "allowed", "WORD="+strings.Join(convert.Means, "|"))
		}
		words[from] = to
	}
	return words, nil
}

// hashesFile keeps what the bodies were when they were imported.
const hashesFile = "import.v1.json"

func importRequests(s *cli.Shell, o importOptions, name string) error {
	if name == "" {
		return cli.Usage("missing_argument", "name", "PATH|-", "command", "aiflow-request import")
	}
	if err := o.complete(); err != nil {
		return err
	}
	p, err := app.Open(s, nil)
	if err != nil {
		return err
	}
	there, err := p.Requests()
	if err != nil {
		return err
	}
	cache := p.Path(filepath.Join(p.Config.Paths.CacheDir, hashesFile))
	hashes := map[string]string{}
	if data, err := os.ReadFile(cache); err == nil {
		_ = json.Unmarshal(data, &hashes)
	}
	o.Store = strings.Join(strings.Fields(o.Store), " ")
	plan, guesses, err := convert.Read(name, s.Stdin, o.Options, there, hashes, o.update, p.Now())
	switch {
	case err != nil:
		return unreadable(err, name)
	case plan == nil:
		if len(guesses) == 0 {
			return cli.Usage("import_nothing", "value", name, "allowed", strings.Join(convert.Sources, ", "))
		}
		return cli.Usage("import_from", "value", name, "allowed", strings.Join(guesses, ", "))
	}
	plan.Report.DryRun = o.dryRun
	if !o.dryRun {
		hashes, err := plan.Write(p.Env.Disk, p.Dir, p.RequestsDir(), p.Suffix())
		if err != nil {
			return err
		}
		// They are kept as well as can be: without them a body is left alone. A project that
		// is only a folder of requests stays one.
		data, err := json.Marshal(hashes)
		if _, missing := os.Stat(filepath.Dir(filepath.Dir(cache))); err == nil && missing == nil && os.MkdirAll(filepath.Dir(cache), 0o777) == nil {
			_ = atomicfile.Write(p.Env.Disk, cache, data, atomicfile.Options{TempSuffix: p.Suffix()})
		}
	}
	return told(s, plan.Report, o)
}

// unreadable is why nothing at all is taken over.
func unreadable(err error, name string) error {
	var unsure *convert.Unsure
	if errors.As(err, &unsure) {
		key := "import_store"
		switch {
		case unsure.List:
			key = "import_list"
		case unsure.Alike:
			key = "import_moved"
		}
		return cli.Usage(key, "value", name, "ids", strings.Join(unsure.IDs, ", "), "other", proc.Quoted(unsure.Other))
	}
	var why *convert.Unreadable
	if errors.As(err, &why) {
		return notTakenOver(nil, why.Path, "cause_key", "request.import_why_"+why.Reason, "value", why.Value)
	}
	if _, ok := fault.As(err); ok {
		return err
	}
	return notTakenOver(err, name)
}

func notTakenOver(err error, path string, more ...any) error {
	return fault.Wrap(err, fault.ImportUnreadable, append(more, "path", path)...)
}

// told prints the report. Its status tells whether something was refused.
func told(s *cli.Shell, r convert.Report, o importOptions) error {
	refused := r.Counts[convert.Refused]
	var end error
	if refused > 0 {
		end = fault.New(fault.ImportIncomplete, "count", refused, "source", r.Source)
	}
	if s.JSON {
		return s.Answer(r, end)
	}
	key := "request.import_source"
	if o.From == "" {
		key = "request.import_guessed"
	}
	s.Printf("%s\n", s.Text(key, "source", r.Source, "store", r.Store))
	key = "request.import_counts"
	if r.DryRun {
		key = "request.import_would"
	}
	s.Printf("%s\n", s.Text(key, "made", r.Counts[convert.Made], "unchanged", r.Counts[convert.Unchanged],
		"updated", r.Counts[convert.Updated], "skipped", r.Counts[convert.Skipped], "refused", refused, "count", r.Input))
	tellItems(s, r, o)
	tellChanges(s, r.Changes, o.all)
	if n := len(r.Drafts); n > 0 && !r.DryRun {
		shown := r.Drafts[:min(n, mostShown)]
		more := ""
		if n > len(shown) {
			more = fmt.Sprint(n - len(shown))
		}
		s.Printf("%s\n", s.Text("request.import_drafts", "count", n, "ids", strings.Join(shown, " "), "more", more))
	}
	return end
}

// mostShown is how many are named without --all.
const mostShown = 20

// mostAlike is how many changes of one kind are told without --all.
const mostAlike = 5

// tellChanges says what is not as it was in the source, kind by kind.
func tellChanges(s *cli.Shell, changes []convert.Change, all bool) {
	for _, of := range app.Grouped(changes, func(c convert.Change) string { return c.Kind }) {
		shown := of
		if !all && len(shown) > mostAlike+1 {
			shown = shown[:mostAlike]
		}
		for _, c := range shown {
			s.Printf("  %s\n", term.Escape(s.Text("request.import_change_"+c.Kind, "count", c.Count, "value", c.Value, "where", c.Where)))
		}
		if rest := of[len(shown):]; len(rest) > 0 {
			count := 0
			for _, c := range rest {
				count += c.Count
			}
			s.Printf("  %s\n", s.Text("request.import_alike", "more", len(rest), "count", count))
		}
	}
}

// tellItems names each item with --all; else those that were skipped and
// refused by their causes, and in a rehearsal what would be made.
func tellItems(s *cli.Shell, r convert.Report, o importOptions) {
	type cause struct {
		result convert.Result
		reason string
		where  string // of what was refused, for the first of them
	}
	var order []cause
	count, first, shown := map[cause]int{}, map[cause]convert.Item{}, 0
	for _, it := range r.Items {
		switch {
		case o.all || r.DryRun && it.Path != "" && it.Result != convert.Unchanged && shown < mostShown:
			shown++
			s.Printf("  %s\n", term.Escape(s.Text("request.import_item", "result", s.Text("request.import_result_"+string(it.Result)), "where", it.Where, "path", it.Path, "reason", why(s, it))))
		case it.Reason != "":
			c := cause{it.Result, it.Reason, ""}
			if it.Result == convert.Refused && len(order) < mostShown {
				c.where = it.Where
			}
			if count[c]++; count[c] == 1 {
				first[c] = it
				order = append(order, c)
			}
		}
	}
	for _, c := range order {
		s.Printf("  %s\n", term.Escape(s.Text("request.import_cause", "result", s.Text("request.import_result_"+string(c.result)), "count", count[c], "where", first[c].Where, "reason", why(s, first[c]))))
	}
}

func why(s *cli.Shell, it convert.Item) string {
	if it.Reason == "" {
		return ""
	}
	key := "request.import_why_" + it.Reason
	if text := s.Text(key, "value", it.Value); !strings.Contains(text, key) {
		return text
	}
	return s.Text("problem."+it.Reason, "key", it.Value, "value", it.Value, "format", it.Value, "char", it.Value, "cause", it.Value, "encoding", it.Value)
}
