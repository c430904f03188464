package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiflow/internal/config"
	"aiflow/internal/fault"
)

// trace is one place that names a forbidden command.
type trace struct {
	Where string `json:"where"`
	Text  string `json:"text"`
	hard  bool   // a command that a run would start
}

// checkGH looks for commands that the router forbids (gh, unless it says
// otherwise) in everything that a run would start or say to a model.
func checkGH(_ context.Context, x *examiner) {
	r, _, err := config.LoadRouter(x.p.Dir, x.p.Config)
	if err != nil {
		r.Guards = config.Guards{ForbidPatterns: []string{`\bgh\b`}}
	}
	patterns := r.Guards.Forbidden()
	var found, all []trace
	for _, l := range config.CommandLines(x.p.Config, r) {
		all = append(all, trace{l.Key, l.Text, true})
	}
	var hard, soft []string
	for _, t := range append(all, softLines(x)...) {
		if !slices.ContainsFunc(patterns, func(re *regexp.Regexp) bool { return re.MatchString(t.Text) }) {
			continue
		}
		if t.hard {
			hard = append(hard, t.Where)
		} else {
			soft = append(soft, t.Where)
		}
		if len(t.Text) > 200 {
			t.Text = t.Text[:200] + "…"
		}
		t.Text = strings.ToValidUTF8(t.Text, "?")
		found = append(found, t)
	}
	seen := Evidence{"traces": first(found, maxEvidence), "count": len(found)}
	switch {
	case len(hard) > 0:
		x.fail("gh", "command", seen, "names", some(hard))
	case len(soft) > 0:
		x.warn("gh", "text", seen, "names", some(soft))
	default:
		x.pass("gh", "ok", nil)
	}
}

// softLines are steps of requests that are still to be done, and prompts.
func softLines(x *examiner) []trace {
	var all []trace
	if f, err := x.p.Requests(); err == nil {
		for _, r := range f.Requests {
			if r.SaysOver() {
				continue
			}
			for _, s := range r.Meta.Steps {
				all = append(all, trace{Where: r.Path, Text: s.Run + "\n" + s.Test})
			}
		}
	}
	dir := x.p.Path(x.p.Config.Paths.PromptsDir)
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return skip(d)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		if data, err := os.ReadFile(path); err == nil {
			for i, line := range bytes.Split(first(data, 1<<20), []byte("\n")) {
				all = append(all, trace{Where: rel(x, path) + ":" + strconv.Itoa(i+1), Text: string(line)})
			}
		}
		return nil
	})
	return all
}

const (
	clockSlack = 5 * time.Minute
	firstYear  = 2024 // no clock that is right shows less
)

// checkClock compares the clock with the file system's and with what was
// written before.
func checkClock(ctx context.Context, x *examiner) {
	now := x.Env.Clock.Now()
	seen := Evidence{"now": now.Format(time.RFC3339)}
	if now.Year() < firstYear {
		x.fail("clock", "past", seen, "value", now.Format(time.RFC3339))
		return
	}
	if disk, ok := diskTime(x); ok {
		seen["file_system"] = disk.Format(time.RFC3339)
		if apart := now.Sub(disk).Abs(); apart > clockSlack {
			x.warn("clock", "disk", seen, "value", apart.Round(time.Second))
			return
		}
	}
	if at, what := newest(ctx, x); at.After(now.Add(clockSlack)) {
		seen["newest"] = at.Format(time.RFC3339)
		x.warn("clock", "future", seen, "name", what, "value", at.Format(time.RFC3339))
		return
	}
	x.pass("clock", "ok", seen)
}

// diskTime is the time that a new file gets.
func diskTime(x *examiner) (time.Time, bool) {
	dir := x.p.Path(x.p.Config.Paths.CacheDir)
	if _, present := stat(dir); !present {
		return time.Time{}, false
	}
	path := filepath.Join(dir, ".clock.tmp-"+x.p.Suffix())
	f, err := x.Env.Disk.Create(path, 0o600)
	if err != nil {
		return time.Time{}, false
	}
	_ = f.Close()
	info, present := stat(path)
	_ = x.Env.Disk.Remove(path)
	if !present {
		return time.Time{}, false
	}
	return info.ModTime(), true
}

// newest is the latest time that something of ours, or HEAD, bears.
func newest(ctx context.Context, x *examiner) (at time.Time, what string) {
	note := func(t time.Time, name string) {
		if t.After(at) {
			at, what = t, name
		}
	}
	if x.repo != nil {
		if out, err := x.p.Git().Ask(ctx, "log", "-1", "--format=%ct", "HEAD", "--"); err == nil {
			if sec, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64); err == nil {
				note(time.Unix(sec, 0), "HEAD")
			}
		}
	}
	entries, _ := os.ReadDir(x.p.Path(x.p.RequestsDir()))
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			note(info.ModTime(), x.p.RequestsDir()+"/"+e.Name())
		}
	}
	return at, what
}

// checkCache looks at what may be deleted at any time but is believed while it
// is there. requests.idx is not among it: it proves itself each time it is read,
// and what is wrong with it counts as no cache.
func checkCache(_ context.Context, x *examiner) {
	dir := binOf(x)
	if _, present := stat(filepath.Join(dir, "aiflow")); dir != "" && !present {
		x.warn("cache", "bin", Evidence{"dir": dir}, "path", x.p.Config.Paths.CacheDir+"/bin.mk", "dir", dir)
		return
	}
	serve := x.p.Config.Paths.CacheDir + "/serve.json"
	info, present := stat(x.p.Path(serve))
	switch {
	case present && info.Mode().Perm()&0o077 != 0:
		x.warn("cache", "open", Evidence{"path": serve, "mode": info.Mode().Perm().String()}, "path", serve)
	case present && !json.Valid(read(x.p.Path(serve))):
		x.warn("cache", "torn", Evidence{"path": serve}, "path", serve)
	default:
		x.pass("cache", "ok", nil)
	}
}

// binOf is the folder that bin.mk names.
func binOf(x *examiner) string {
	text := string(read(x.p.Path(x.p.Config.Paths.CacheDir + "/bin.mk")))
	_, dir, ok := strings.Cut(strings.TrimSpace(text), "AIFLOW_BIN ?= ")
	if !ok {
		return ""
	}
	return strings.NewReplacer("$$", "$", `\#`, "#").Replace(dir)
}

// fixCache takes the page's token away from others; nothing else in the cache
// is worth a repair.
func fixCache(x *examiner) {
	path := x.p.Config.Paths.CacheDir + "/serve.json"
	info, present := stat(x.p.Path(path))
	if !present || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 == 0 {
		return
	}
	if err := os.Chmod(x.p.Path(path), 0o600); err != nil {
		x.cannot("cache", "token", fault.NotWritable(err, path), "path", path)
		return
	}
	x.did("cache", "token", "path", path)
}

func stat(path string) (fs.FileInfo, bool) {
	info, err := os.Lstat(path)
	return info, err == nil
}

func read(path string) []byte {
	data, _ := os.ReadFile(path)
	return data
}
