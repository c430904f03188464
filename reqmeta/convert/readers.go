package convert

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"aiflow/reqmeta"
)

// readFolder reads a folder of markdown, each file one task.
func readFolder(c *conv, in input) error {
	return c.files(in.dir, in.path, func(rel, where string, data []byte) {
		r, bad := c.head(where, data)
		switch {
		case bad == nil:
		case bad.reason == "no_frontmatter":
			c.add(where, "").leave(Skipped, "no_task", "")
			return
		default:
			c.refuseHead(where, bad)
			return
		}
		if c.From == "ticket" {
			ticket(r, rel)
		}
		t := c.take(r)
		if dir, _, ok := strings.Cut(rel, "/"); t != nil && ok && c.From == "folder" {
			t.label("folder:" + dir)
		}
	})
}

// ticket brings the heads of ticket tools into one form: those without a
// status tell it by times.
func ticket(r *record, rel string) {
	if dir := filepath.Dir(rel); strings.EqualFold(filepath.Base(rel), "ticket.md") && dir != "." {
		r.stem = filepath.Base(dir)
	}
	if _, told := r.texts["closedat"]; r.one("status") == "" && told {
		if r.one("closed_at") != "" {
			r.put("status", "closed")
		} else {
			r.put("status", "open")
		}
		if p := r.one("priority"); p != "" { // these tools count from 1
			r.set("priority", map[string]string{"1": "P0", "2": "P1", "3": "P2", "4": "P3"}[p])
		}
	}
}

func readCSV(c *conv, in input) error {
	return c.eachRow(in, func(where string, names, row []string) {
		r := newRecord(where)
		for i, cell := range row {
			if isOneOf(c.m.Labels, names[i]) {
				r.put(names[i], unlisted(cell)...)
			} else {
				r.put(names[i], cell)
			}
		}
		jiraStatus(c, r)
		if t := c.take(r); t != nil { // Jira's column Parent holds these
			t.also = append(t.also, r.texts["issueid"]...)
		}
	})
}

// jiraStatus reads a status that each board of Jira may call as it likes by the
// category that it is of; what was closed without being done was cancelled.
func jiraStatus(c *conv, r *record) {
	word := r.one(c.m.Status.From...)
	says := meant(word, c.Status, c.m.Status.Values)
	if category := r.one("Status Category"); says == "" && category != "" && reqmeta.MeantStatus(word) == "" {
		word = category
	}
	resolution := strings.ReplaceAll(squeeze(r.one("Resolution")), "'", "")
	if says == "" && isOver(word) && slices.Contains([]string{"wontdo", "wontfix", "duplicate", "cannotreproduce", "declined"}, resolution) {
		word = reqmeta.Archived
	}
	if word != r.one(c.m.Status.From...) {
		r.drop(c.m.Status.From...)
		r.put(c.m.Status.From[0], word)
	}
}

var separator = regexp.MustCompile(`^sep=([,;\t|])\r?$`)

// eachRow gives the rows of a CSV below the first, which names the columns. What
// export guards from spreadsheets is as it was.
func (c *conv) eachRow(in input, do func(where string, names, row []string)) error {
	data, err := in.all(false)
	if err != nil {
		return err
	}
	d := csv.NewReader(bytes.NewReader(data))
	d.FieldsPerRecord = -1
	line, _, _ := bytes.Cut(data, []byte("\n"))
	said := separator.FindSubmatch(line)
	if said != nil { // spreadsheets write it above the names
		d.Comma = rune(said[1][0])
	}
	for _, sign := range ";\t" {
		if said == nil && bytes.Count(line, []byte(string(sign))) > bytes.Count(line, []byte(string(d.Comma))) {
			d.Comma = sign
		}
	}
	var names []string
	for first := said != nil; ; first = false {
		// A mark in a quoted cell is text; where a row begins it is one of a merge.
		rest := bytes.TrimLeft(data[d.InputOffset():], "\r\n")
		if marks.Match(rest[:min(len(rest), 8)]) {
			return &Unreadable{in.path, "merge_marks", strconv.Itoa(lineAt(data, len(data)-len(rest)))}
		}
		row, err := d.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			line := 1
			if at := (*csv.ParseError)(nil); errors.As(err, &at) {
				line = at.StartLine
			}
			return &Unreadable{fmt.Sprintf("%s:%d", in.path, line), "csv", ""}
		}
		line, _ := d.FieldPos(0)
		where := fmt.Sprintf("%s:%d", in.path, line)
		switch {
		case first:
			continue
		case names == nil:
			names = row
			if c.From == "csv" && !slices.ContainsFunc(c.m.ID, func(key string) bool { return isOneOf(names, key) }) {
				return &Unreadable{where, "csv_no_id", clean(strings.Join(names, ", "))}
			}
			continue
		case len(row) > len(names):
			c.refuse(where, "csv_cells", fmt.Sprintf("%d > %d", len(row), len(names)))
			continue
		}
		for i, cell := range row {
			if strings.HasPrefix(cell, "'") && reckoned(cell) {
				row[i] = cell[1:]
			}
		}
		do(where, names, row)
	}
}

// readTaskwarrior reads what "task export" prints: an array, or an object a line.
func readTaskwarrior(c *conv, in input) error {
	n := 0
	return in.eachObject(func(m map[string]any) {
		n++
		r := object(fmt.Sprintf("%s[%d]", in.path, n), m)
		r.drop("annotations")
		var notes []string
		for _, one := range list(m["annotations"]) {
			said, _ := one.(map[string]any)
			notes = append(notes, "- "+clean(text(said["description"])))
		}
		r.put("notes", strings.Join(notes, "\n"))
		if t := c.take(r); t != nil {
			t.short = c.Prefix + strings.SplitN(t.key, "-", 2)[0]
		}
	})
}

func readGitHub(c *conv, in input) error {
	n := 0
	return in.eachObject(func(m map[string]any) {
		n++
		r := object("#"+text(m["number"]), m)
		number := text(m["number"])
		switch {
		case number == "":
			c.refuse(fmt.Sprintf("%s[%d]", in.path, n), "no_id", "")
			return
		case m["pull_request"] != nil:
			it := c.add(r.where, number)
			it.over = isOver(text(m["state"]))
			it.leave(Skipped, "pull_request", "")
			return
		}
		reason := squeeze(text(m["stateReason"]) + text(m["state_reason"]))
		state := strings.ToLower(text(m["state"]))
		if reason == "notplanned" || reason == "duplicate" {
			state = "cancelled"
		}
		for _, label := range texts(m["labels"]) {
			word := strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(label), "priority"), "type"))
			if p := reqmeta.MeantPriority(strings.Trim(word, ":/ ")); p != "" && (strings.HasPrefix(strings.ToLower(label), "priority") || len(label) == 2) {
				r.put("priority", p)
			}
			if strings.EqualFold(label, "blocked") && state == "open" {
				state = "blocked"
			}
		}
		r.set("state", state)
		r.drop("blockedBy", "parent", "subIssues", "comments")
		for _, one := range list(m["comments"]) {
			said, _ := one.(map[string]any)
			r.put("comments", text(said["body"]))
		}
		repo := repoOf(text(m["url"]))
		for _, one := range list(m["blockedBy"]) {
			r.put("blockedBy", issueIn(one, repo)...)
		}
		r.put("parent", issueIn(m["parent"], repo)...)
		for _, one := range list(m["subIssues"]) {
			r.put("children", issueIn(one, repo)...)
		}
		body := text(m["body"])
		if c.TextDeps {
			for _, found := range textDeps.FindAllStringSubmatch(body, -1) {
				r.put("blockedBy", found[1])
			}
		} else if found := textDeps.FindStringSubmatch(body); found != nil {
			c.count("text_deps", "", r.where)
		}
		r.body = body
		t := c.take(r)
		if t == nil {
			return
		}
		for _, found := range taskList.FindAllStringSubmatch(body, -1) {
			r.put("children", found[1])
		}
		t.also = append(t.also, "#"+t.key)
		for _, child := range r.texts["children"] {
			c.parents = append(c.parents, [2]string{child, t.key})
		}
	})
}

var (
	textDeps = regexp.MustCompile(`(?mi)^[ \t]*(?:[-*+] )?(?:blocked by|depends on):? #(\d+)\b`)
	taskList = regexp.MustCompile(`(?m)^[ \t]*[-*+] \[[ xX]\] #(\d+)\b`)
	atSign   = regexp.MustCompile(`(?m)^([ \t]*(?:-|[A-Za-z_]+:) +)(@[^\s'"]+)[ \t]*$`)
)

func repoOf(url string) string {
	parts := strings.Split(strings.TrimPrefix(url, "https://"), "/")
	if len(parts) > 3 {
		return strings.Join(parts[1:3], "/")
	}
	return ""
}

// issueIn is the number of an issue, with its repository when that is another.
func issueIn(v any, repo string) []string {
	m, ok := v.(map[string]any)
	number := text(m["number"])
	if !ok {
		return texts(v)
	}
	if number == "" {
		return nil
	}
	other := repoOf(text(m["url"]))
	if in, ok := m["repository"].(map[string]any); ok {
		other = text(in["nameWithOwner"])
	}
	if other != "" && repo != "" && !strings.EqualFold(other, repo) {
		return []string{other + "#" + number}
	}
	return []string{number}
}

func text(v any) string {
	if list := texts(v); len(list) > 0 {
		return list[0]
	}
	return ""
}

func list(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case map[string]any: // of a query: {"nodes": […]}
		nodes, _ := v["nodes"].([]any)
		return nodes
	}
	return nil
}

func isOver(word string) bool {
	means := reqmeta.MeantStatus(word)
	return means == reqmeta.Done || means == reqmeta.Archived
}

func readBeads(c *conv, in input) error {
	one := func(where string, m map[string]any) {
		r := object(where, m)
		r.drop("dependencies", "comments")
		for _, v := range list(m["dependencies"]) {
			d, ok := v.(map[string]any)
			if !ok {
				d = map[string]any{"id": v}
			}
			to := cmp.Or(text(d["depends_on_id"]), text(d["id"]))
			switch text(d["type"]) {
			case "", "blocks", "conditional-blocks", "waits-for":
				r.put("needs", to)
			case "parent-child":
				r.put("parent", to)
			default:
				r.put("related", to)
			}
		}
		for _, v := range list(m["comments"]) {
			d, _ := v.(map[string]any)
			r.put("comments", text(d["text"]))
		}
		if category := text(m["status_category"]); category != "" && reqmeta.MeantStatus(text(m["status"])) == "" {
			r.set("status", category)
		}
		switch kind := text(m["issue_type"]); kind {
		case "message", "event", "gate", "molecule", "decision", "milestone":
			it := c.add(where, text(m["id"]))
			it.over = isOver(text(m["status"]))
			it.leave(Skipped, "kind", kind)
			return
		}
		if text(m["status"]) == "tombstone" || text(m["deleted_at"]) != "" {
			it := c.add(where, text(m["id"]))
			it.over = true
			it.leave(Skipped, "deleted", "")
			return
		}
		if text(m["priority"]) == "4" {
			r.put("labels", "backlog")
		}
		c.take(r)
	}
	if bytes.HasPrefix(bytes.TrimSpace(in.begin), []byte("[")) {
		n := 0
		return in.eachObject(func(m map[string]any) {
			n++
			one(fmt.Sprintf("%s[%d]", in.path, n), m)
		})
	}
	return c.eachLine(in, one)
}

// readTaskmaster reads both shapes of a tasks.json. A number among the
// dependencies of a subtask is a sibling where there is one.
func readTaskmaster(c *conv, in input) error {
	return in.eachObject(func(top map[string]any) {
		if _, old := top["tasks"].([]any); old {
			top = map[string]any{"master": top}
		}
		for _, tag := range slices.Sorted(maps.Keys(top)) {
			of, _ := top[tag].(map[string]any)
			tasks, listed := of["tasks"].([]any)
			some, _ := top[tag].([]any)
			switch {
			case listed:
			case of["tasks"] != nil || len(some) > 0 || tag == "tasks":
				c.refuse(tag, "json", "tasks")
			default: // no tag, but what is said about them
				c.count("field_dropped", clean(tag), in.path)
			}
			if c.Tag != "" && c.Tag != tag {
				for i, v := range tasks {
					m, _ := v.(map[string]any)
					for range 1 + len(list(m["subtasks"])) {
						c.add(fmt.Sprintf("%s[%d]", tag, i+1), text(m["id"])).leave(Skipped, "other_tag", tag)
					}
				}
				continue
			}
			scope := ""
			if tag != "master" {
				scope = tag + "."
			}
			for i, v := range tasks {
				m, _ := v.(map[string]any)
				c.taskmaster(fmt.Sprintf("%s[%d]", tag, i+1), scope, m, "", nil, "")
			}
		}
	})
}

func (c *conv) taskmaster(where, scope string, m map[string]any, parent string, siblings map[string]bool, priority string) {
	id := text(m["id"])
	if id == "" {
		c.refuse(where, "no_id", "")
		return
	}
	prefix := scope
	if parent != "" {
		prefix = parent + "."
	}
	r := object(where, m)
	r.drop("dependencies", "subtasks", "acceptanceCriteria")
	r.set("id", prefix+id)
	for _, dep := range refs(texts(m["dependencies"])) {
		if siblings[dep] {
			r.put("needs", prefix+dep)
		} else {
			r.put("needs", scope+dep)
		}
	}
	r.put("parentKey", parent)
	if r.one("priority") == "" {
		r.set("priority", priority)
	}
	r.put("criteria", checkboxes(texts(m["acceptanceCriteria"])))
	subtasks, listed := m["subtasks"].([]any)
	if of, _ := m["subtasks"].(map[string]any); !listed && (len(of) > 0 || text(m["subtasks"]) != "") {
		c.refuse(where+".subtasks", "json", "subtasks")
	}
	known := map[string]bool{}
	for _, v := range subtasks {
		sub, _ := v.(map[string]any)
		known[text(sub["id"])] = true
	}
	c.take(r)
	for i, v := range subtasks {
		sub, _ := v.(map[string]any)
		c.taskmaster(fmt.Sprintf("%s.subtasks[%d]", where, i+1), scope, sub, prefix+id, known, r.one("priority"))
	}
}

// checkboxes makes one of each line.
func checkboxes(lines []string) string {
	var out []string
	for line := range strings.SplitSeq(strings.Join(lines, "\n"), "\n") {
		if line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "-*+")); line == "" {
			continue
		} else if checkbox.MatchString("- " + line) {
			out = append(out, "- "+line)
		} else {
			out = append(out, "- [ ] "+line)
		}
	}
	return strings.Join(out, "\n")
}

// readExport reads what `aiflow request export` wrote, JSON lines or CSV.
func readExport(c *conv, in input) error {
	seen := map[string]bool{}
	one := func(where, id, title, body string, meta map[string]any) {
		if !isID(id) || seen[strings.ToLower(id)] {
			c.refuse(where, "no_id", id)
			return
		}
		seen[strings.ToLower(id)] = true
		r := object(where, meta)
		r.drop("unknown", "steps", "base", "touches")
		r.set("id", id)
		r.set("title", title)
		r.body = body
		if t := c.take(r); t != nil {
			t.raw, t.base, t.touches = body, text(meta["base"]), texts(meta["touches"])
			for _, v := range list(meta["steps"]) {
				step, _ := v.(map[string]any)
				t.steps = append(t.steps, reqmeta.Step{Title: text(step["title"]), Run: text(step["run"]), Test: text(step["test"])})
			}
			unknown, _ := meta["unknown"].(map[string]any)
			for _, key := range slices.Sorted(maps.Keys(unknown)) {
				t.extra = append(t.extra, [2]string{key, text(unknown[key])})
			}
		}
	}
	if !bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(in.begin, []byte("\ufeff"))), []byte("{")) {
		return c.eachRow(in, func(where string, names, row []string) {
			meta, unknown := map[string]any{}, map[string]any{}
			for i, cell := range row {
				switch name := names[i]; {
				case cell == "" || name == "path":
				case name == "labels" || name == "depends_on":
					var items []any
					for _, item := range unlisted(cell) {
						items = append(items, item)
					}
					meta[name] = items
				case strings.HasPrefix(name, "source"):
					unknown[name] = cell
				default:
					meta[name] = cell
				}
			}
			meta["unknown"] = unknown
			id, title, body := text(meta["id"]), text(meta["title"]), text(meta["body"])
			delete(meta, "body")
			if body != "" { // export takes the blank lines around it off
				body = "\n" + body + "\n"
			}
			one(where, id, title, body, meta)
		})
	}
	return c.eachLine(in, func(where string, m map[string]any) {
		meta, _ := m["meta"].(map[string]any)
		one(where, text(m["id"]), text(m["title"]), text(m["body"]), meta)
	})
}
