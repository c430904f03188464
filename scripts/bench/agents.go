package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"aiflow/internal/config"
	"aiflow/runner/agent"
)

// agents times the readers of what AI commands say, on 200 MB of the recorded
// events of each, against a mere look whether each line is JSON; and how long it
// takes until a person sees an event in the log.
func (b *bench) agents([]int) error {
	head("Events of AI commands, 200 MB each: processor time a megabyte")
	for _, s := range []struct{ name, kind string }{{"claude", config.OutputClaude}, {"codex", config.OutputCodex}, {"gemini", config.OutputGemini}} {
		if err := b.events(s.name, s.kind); err != nil {
			return err
		}
	}
	return b.seen()
}

const megabytes = 200

func (b *bench) events(name, kind string) error {
	data, err := os.ReadFile(filepath.Join(b.repo, "runner", "agent", "testdata", name+"-edit.jsonl"))
	if err != nil {
		return err
	}
	data = bytes.Repeat(data, 1<<20/len(data)+1)
	r := agent.New(agent.Options{Kind: kind, Log: nowhere{}, Now: time.Now})
	var bare, ours []time.Duration
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before, most := m.HeapInuse, uint64(0)
	for range megabytes {
		if bare, err = burned(bare, func() {
			for line := range bytes.Lines(data) {
				json.Valid(line)
			}
		}); err != nil {
			return err
		}
		if ours, err = burned(ours, func() {
			for part := range slices.Chunk(data, 32<<10) { // as much as a pipe gives at once
				_, _ = r.Write(part)
			}
		}); err != nil {
			return err
		}
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapInuse)
	}
	slices.Sort(bare)
	slices.Sort(ours)
	per := float64(len(data)) / (1 << 20)
	ms := func(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/1e6/per) }
	row(name+": a look whether it is JSON", ms(bare[len(bare)/2]), ms(bare[0]), "1.00", "")
	row(fmt.Sprintf("%s: read, in %d MiB", name, (int64(most)-int64(before))>>20), ms(ours[len(ours)/2]), ms(ours[0]),
		fmt.Sprintf("%.2f", float64(ours[len(ours)/2])/float64(bare[len(bare)/2])), "100 ms, in 32 MiB")
	return nil
}

// burned adds the processor time that f takes.
func burned(list []time.Duration, f func()) ([]time.Duration, error) {
	var before, after syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	f()
	if err == nil {
		err = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	}
	spent := func(u syscall.Rusage) int64 { return u.Utime.Nano() + u.Stime.Nano() }
	return append(list, time.Duration(spent(after)-spent(before))), err
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// seen lets a played AI command say something and look when it stands in the log.
func (b *bench) seen() error {
	run := b.bin("aiflow-run")
	if run == "" {
		return nil
	}
	repo, took := filepath.Join(b.work, "seen"), filepath.Join(b.work, "took")
	script := `cat >/dev/null
exec 3>"$TOOK"
for n in $(seq 20); do
	printf '{"type":"assistant","message":{"content":[{"type":"text","text":"word %s."}]}}\n' $n
	from=$(date +%s%N)
	until grep -q "^word $n\.$" "$AIFLOW_ROOT"/runs/RQ-1/*/logs/implementer.S01.attempt1.log; do :; done
	echo $(($(date +%s%N) - from)) >&3
done
echo x > x.txt
echo '{"type":"result","subtype":"success","result":"Done."}'
`
	router := `{"version": "1.0", "routing": {"implementer": {"primary": "played"}}, "commands": {"played": {"bin": "sh", "args": ["` + filepath.Join(b.work, "played") + `"], "output": "claude-stream"}}}`
	for path, text := range map[string]string{
		filepath.Join(b.work, "played"):                  script,
		filepath.Join(repo, "requests", "RQ-1.md"):       "---\ntitle: Say\nstatus: ready\n---\nSay it.\n",
		filepath.Join(repo, ".aiflow", "router.v1.json"): router,
		filepath.Join(repo, ".gitignore"):                "runs/\n.aiflow/locks/\n.aiflow/cache/\n.aiflow/worktrees/\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			return err
		}
	}
	cmd := exec.Command("sh", "-c", `git init -q . && git add -A && git -c user.name=b -c user.email=b@example.invalid commit -qm begin && exec "$0" RQ-1`, run)
	cmd.Dir = repo
	cmd.Env = append(os.Environ(), "TOOK="+took, "GIT_AUTHOR_NAME=b", "GIT_AUTHOR_EMAIL=b@example.invalid", "GIT_COMMITTER_NAME=b", "GIT_COMMITTER_EMAIL=b@example.invalid")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	data, err := os.ReadFile(took)
	if err != nil {
		return err
	}
	var times []int
	for _, word := range strings.Fields(string(data)) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return err
		}
		times = append(times, n)
	}
	slices.Sort(times)
	ms := func(n int) string { return fmt.Sprintf("%.1f", float64(n)/1e6) }
	row("from an event to its line in the log", ms(times[len(times)/2]), ms(times[0]), "", "200 ms")
	return nil
}
