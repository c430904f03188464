package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// imports times taking 10,000 issues over, and says how much memory that takes.
func (b *bench) imports([]int) error {
	request := b.bin("aiflow-request")
	if request == "" {
		head("aiflow-request is not built")
		return nil
	}
	file, dir := filepath.Join(b.work, "issues.json"), filepath.Join(b.work, "import")
	if err := os.WriteFile(file, issues(b.seed, 10_000), 0o666); err != nil {
		return err
	}
	empty := func(int) error {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		return os.MkdirAll(filepath.Join(dir, "requests"), 0o777)
	}
	argv := []string{request, "import", "--from", "github", "--only", "all", file}
	some := *b
	some.runs = min(b.runs, 5)
	if err := some.show("Import of 10,000 issues", []job{
		{name: "aiflow-request import", argv: argv, dir: dir, against: -1, before: empty, promise: "5 s"},
		{name: "the same again: all unchanged", argv: append([]string{argv[0], argv[1], "--dry-run"}, argv[2:]...), dir: dir, against: -1},
	}); err != nil {
		return err
	}
	if err := empty(0); err != nil {
		return err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	if err := cmd.Run(); err != nil {
		return err
	}
	if use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		row("its memory, in MiB", fmt.Sprint(use.Maxrss>>10), "", "", "200 MiB")
	}
	return nil
}

// issues are as gh prints them.
func issues(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 7))
	list := make([]map[string]any, n)
	for i := range list {
		words := make([]string, 40+r.IntN(200))
		for k := range words {
			words[k] = fmt.Sprintf("word%d", r.IntN(5000))
		}
		list[i] = map[string]any{
			"number": i + 1, "title": strings.Join(words[:6], " "), "body": strings.Join(words, " ") + "\r\n\r\n- [ ] one\r\n", "state": []string{"OPEN", "CLOSED"}[r.IntN(2)],
			"labels": []map[string]any{{"name": "bug"}, {"name": fmt.Sprintf("P%d", r.IntN(4))}}, "createdAt": fmt.Sprintf("2025-%02d-01T00:00:00Z", 1+r.IntN(12)),
			"url": fmt.Sprintf("https://github.com/o/r/issues/%d", i+1), "blockedBy": []map[string]any{{"number": 1 + r.IntN(i+1)}},
		}
	}
	data, _ := json.Marshal(list)
	return data
}
