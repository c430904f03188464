package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"aiflow/reqmeta"
	"aiflow/reqmeta/folder"
)

// peer is another tool that answers "what is next?". fill gives it the same
// requests; it may be slow and is not timed.
type peer struct {
	name string // on PATH
	ask  []string
	env  func(dir string) []string
	fill func(dir string, env []string, requests []*reqmeta.Request) error
}

func peers() []peer {
	return []peer{
		{"task", []string{"task", "rc.verbose=nothing", "rc.confirmation=off", "next", "limit:1"}, taskEnv, fillTask},
		{"dstask", []string{"dstask", "next"}, dstaskEnv, fillDstask},
		{"backlog", []string{"backlog", "task", "list", "--ready", "--sort", "priority", "--limit", "1", "--plain"}, noEnv, fillBacklog},
		{"task-master", []string{"task-master", "next"}, noEnv, fillTaskMaster},
		{"bd", []string{"bd", "ready", "-n", "1"}, noEnv, fillBeads},
	}
}

func noEnv(string) []string { return nil }

// peersNext asks the peers that are there the same question as aiflow-next.
func (b *bench) peersNext(ns []int) error {
	for _, n := range ns {
		project, err := b.project(n, "")
		if err != nil {
			return err
		}
		folder, err := folder.Cache{}.Load(project, "requests")
		if err != nil {
			return err
		}
		var jobs []job
		if next := b.bin("aiflow-next"); next != "" {
			jobs = append(jobs, job{name: "aiflow-next", argv: []string{next}, dir: project, against: -1})
		}
		for _, p := range peers() {
			jobs = b.peer(jobs, p, n, folder.Requests)
		}
		if err := b.show(fmt.Sprintf("Peers on PATH, %d requests", n), jobs); err != nil {
			return err
		}
	}
	return nil
}

// peer adds a peer that is on PATH and could be filled. beads takes minutes to
// import ten thousand, so it is asked only below that.
func (b *bench) peer(jobs []job, p peer, n int, requests []*reqmeta.Request) []job {
	if _, err := exec.LookPath(p.name); err != nil || p.name == "bd" && n > 1000 {
		return jobs
	}
	dir := filepath.Join(b.work, fmt.Sprintf("%s-%d", p.name, n))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return jobs
	}
	env := p.env(dir)
	if err := p.fill(dir, env, requests); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %s left out: %v\n", p.name, err)
		return jobs
	}
	against := 0
	if len(jobs) == 0 {
		against = -1
	}
	return append(jobs, job{name: p.name, argv: p.ask, dir: dir, env: env, against: against})
}

func command(dir string, env []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %.300s", name, args[0], err, out)
	}
	return nil
}

// uuid is a fixed one for each id.
func uuid(id string) string {
	h := fmt.Sprintf("%x", sha256.Sum256([]byte(id)))
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:32]
}

func done(r *reqmeta.Request) bool { return r.Meta.Status == "done" || r.Meta.Status == "archived" }

func taskEnv(dir string) []string {
	return []string{"TASKRC=" + filepath.Join(dir, "rc"), "TASKDATA=" + filepath.Join(dir, "data"), "HOME=" + dir}
}

func fillTask(dir string, env []string, requests []*reqmeta.Request) error {
	type item struct {
		UUID        string   `json:"uuid"`
		Description string   `json:"description"`
		Status      string   `json:"status"`
		Entry       string   `json:"entry"`
		End         string   `json:"end,omitempty"`
		Priority    string   `json:"priority,omitempty"`
		Depends     []string `json:"depends,omitempty"`
	}
	items := make([]item, 0, len(requests))
	for _, r := range requests {
		entry := r.Meta.CreatedAt.Time.Format("20060102T150405Z")
		it := item{UUID: uuid(r.ID), Description: r.Title(), Status: "pending", Entry: entry}
		it.Priority = map[string]string{"P0": "H", "P1": "H", "P2": "M", "P3": "L"}[r.Meta.Priority]
		if done(r) {
			it.Status, it.End = "completed", entry
		}
		for _, d := range r.Meta.DependsOn {
			it.Depends = append(it.Depends, uuid(d))
		}
		items = append(items, it)
	}
	data, err := json.Marshal(items)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "rc"), nil, 0o666); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "in.json"), data, 0o666); err != nil {
		return err
	}
	return command(dir, env, "task", "rc.confirmation=off", "rc.verbose=nothing", "import", "in.json")
}

func dstaskEnv(dir string) []string { return []string{"DSTASK_GIT_REPO=" + dir, "HOME=" + dir} }

func fillDstask(dir string, env []string, requests []*reqmeta.Request) error {
	for _, status := range []string{"pending", "resolved"} {
		if err := os.MkdirAll(filepath.Join(dir, status), 0o777); err != nil {
			return err
		}
	}
	for _, r := range requests {
		status := "pending"
		if done(r) {
			status = "resolved"
		}
		text := fmt.Sprintf("summary: %q\nnotes: \"\"\ntags: []\nproject: \"\"\npriority: %s\ndelegatedto: \"\"\nsubtasks: []\ndependencies: []\ncreated: %s\nresolved: 0001-01-01T00:00:00Z\ndue: 0001-01-01T00:00:00Z\n",
			r.Title(), r.Meta.Priority, r.Meta.CreatedAt.Time.Format(time.RFC3339))
		if err := os.WriteFile(filepath.Join(dir, status, uuid(r.ID)+".yml"), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return command(dir, env, "git", "init", "-q")
}

func fillBacklog(dir string, env []string, requests []*reqmeta.Request) error {
	tasks := filepath.Join(dir, "backlog", "tasks")
	if err := os.MkdirAll(tasks, 0o777); err != nil {
		return err
	}
	config := "project_name: bench\ndefault_status: To Do\nstatuses: [\"To Do\", \"In Progress\", \"Done\"]\nremote_operations: false\ncheck_active_branches: false\n"
	if err := os.WriteFile(filepath.Join(dir, "backlog", "config.yml"), []byte(config), 0o666); err != nil {
		return err
	}
	number := map[string]int{}
	for i, r := range requests {
		number[r.ID] = i + 1
	}
	for i, r := range requests {
		status := "To Do"
		if done(r) {
			status = "Done"
		}
		var needs []string
		for _, d := range r.Meta.DependsOn {
			needs = append(needs, fmt.Sprintf("task-%d", number[d]))
		}
		priority := map[string]string{"P0": "high", "P1": "high", "P2": "medium", "P3": "low"}[r.Meta.Priority]
		text := fmt.Sprintf("---\nid: task-%d\ntitle: %q\nstatus: %s\nassignee: []\ncreated_date: '%s'\nlabels: []\ndependencies: [%s]\npriority: %s\n---\n\n## Description\n\nx\n",
			i+1, r.Title(), status, r.Meta.CreatedAt.Time.Format("2006-01-02"), strings.Join(needs, ", "), priority)
		if err := os.WriteFile(filepath.Join(tasks, fmt.Sprintf("task-%d - x.md", i+1)), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return command(dir, env, "git", "init", "-q")
}

func fillTaskMaster(dir string, _ []string, requests []*reqmeta.Request) error {
	type item struct {
		ID           int    `json:"id"`
		Title        string `json:"title"`
		Description  string `json:"description"`
		Status       string `json:"status"`
		Dependencies []int  `json:"dependencies"`
		Priority     string `json:"priority"`
		Subtasks     []any  `json:"subtasks"`
	}
	number := map[string]int{}
	for i, r := range requests {
		number[r.ID] = i + 1
	}
	items := make([]item, 0, len(requests))
	for i, r := range requests {
		it := item{ID: i + 1, Title: r.Title(), Description: "x", Status: "pending", Dependencies: []int{}, Subtasks: []any{}}
		it.Priority = map[string]string{"P0": "high", "P1": "high", "P2": "medium", "P3": "low"}[r.Meta.Priority]
		if done(r) {
			it.Status = "done"
		}
		for _, d := range r.Meta.DependsOn {
			it.Dependencies = append(it.Dependencies, number[d])
		}
		items = append(items, it)
	}
	data, err := json.Marshal(map[string]any{"master": map[string]any{"tasks": items, "metadata": map[string]any{}}})
	if err != nil {
		return err
	}
	folder := filepath.Join(dir, ".taskmaster", "tasks")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "tasks.json"), data, 0o666)
}

func fillBeads(dir string, env []string, requests []*reqmeta.Request) error {
	var b strings.Builder
	for _, r := range requests {
		status := "open"
		if done(r) {
			status = "closed"
		}
		needs := []map[string]string{}
		for _, d := range r.Meta.DependsOn {
			needs = append(needs, map[string]string{"issue_id": "b-" + r.ID, "depends_on_id": "b-" + d, "type": "blocks"})
		}
		line, err := json.Marshal(map[string]any{
			"id": "b-" + r.ID, "title": r.Title(), "status": status, "priority": strings.TrimPrefix(r.Meta.Priority, "P"),
			"issue_type": "task", "created_at": r.Meta.CreatedAt.Time.Format(time.RFC3339), "updated_at": r.Meta.UpdatedAt.Time.Format(time.RFC3339),
			"dependencies": needs,
		})
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	if err := os.WriteFile(filepath.Join(dir, "in.jsonl"), []byte(b.String()), 0o666); err != nil {
		return err
	}
	for _, args := range [][]string{{"git", "init", "-q"}, {"bd", "init", "--quiet"}, {"bd", "import", "in.jsonl"}} {
		if err := command(dir, env, args[0], args[1:]...); err != nil {
			return err
		}
	}
	return nil
}
