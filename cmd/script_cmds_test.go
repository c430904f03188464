package cmd

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"aiflow/internal/proc"
)

type command = func(ts *testscript.TestScript, neg bool, args []string)

// commands are what our scripts can say beyond testscript's own words:
//
//	json FILE PATH [WANT]   the value at PATH (a.b[0].c, a.# for a length) is WANT, or is there
//	sameas FILE1 FILE2      same bytes (a missing file differs)
//	tree FILE DIR [NAME…]   list DIR with modes and hashes into FILE, .git and NAMEs left out
//	kill9 PIDFILE           SIGKILL to the process named in PIDFILE; waits for its end
//	waitfile FILE           until FILE exists and is not empty; a FIFO: until somebody writes to it
//	mkfifo FILE
//	settime FILE TIME       modification time, RFC 3339
//	lines FILE N            FILE has N lines
//	status N CMD…           CMD ends with exit status N
//	setenv NAME FILE        the variable NAME is FILE's first line
//	http STATUS METHOD PATH [BODY]   a call of the server that .aiflow/cache/serve.json names, with its token; ! is without
func commands() map[string]command {
	return map[string]command{
		"json":      cmdJSON,
		"sameas":    cmdSameAs,
		"tree":      cmdTree,
		"kill9":     cmdKill9,
		"waitfile":  cmdWaitFile,
		"mkfifo":    cmdMkfifo,
		"settime":   cmdSetTime,
		"lines":     cmdLines,
		"status":    cmdStatus,
		"setenv":    cmdSetenv,
		"http":      cmdHTTP,
		"exechints": cmdExecHints,
	}
}

func usage(ts *testscript.TestScript, ok bool, text string) {
	if !ok {
		ts.Fatalf("usage: %s", text)
	}
}

func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 2 || len(args) == 3, "json FILE PATH [WANT]")
	var v any
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		ts.Fatalf("%s: %v", args[0], err)
	}
	got, found := lookup(v, args[1])
	same := found && (len(args) == 2 || plain(got) == args[2])
	if same == neg {
		ts.Fatalf("%s %s is %s", args[0], args[1], plain(got))
	}
}

// lookup follows a path such as items[0].id; "." is the whole, ".#" the length
// of a list.
func lookup(v any, path string) (any, bool) {
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		switch x := v.(type) {
		case map[string]any:
			next, ok := x[part]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			if part == "#" {
				return json.Number(strconv.Itoa(len(x))), true
			}
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(x) || i < 0 {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func plain(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, _ := json.Marshal(v)
	return string(b)
}

func cmdSameAs(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 2, "sameas FILE1 FILE2")
	a, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	b, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	if bytes.Equal(a, b) == neg {
		ts.Fatalf("%s and %s: the same is %v", args[0], args[1], neg)
	}
}

func cmdTree(ts *testscript.TestScript, _ bool, args []string) {
	usage(ts, len(args) >= 2, "tree FILE DIR [NAME…]")
	root := ts.MkAbs(args[1])
	skip := map[string]bool{".git": true}
	for _, name := range args[2:] {
		skip[name] = true
	}
	var b bytes.Buffer
	ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if skip[filepath.ToSlash(rel)] {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s %s\n", fi.Mode(), rel, digest(path, fi))
		return nil
	}))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o644))
}

func digest(path string, fi fs.FileInfo) string {
	switch {
	case fi.Mode()&fs.ModeSymlink != 0:
		to, _ := os.Readlink(path)
		return "-> " + to
	case fi.Mode().IsRegular():
		data, _ := os.ReadFile(path)
		return fmt.Sprintf("%x", sha256.Sum256(data))
	}
	return ""
}

func cmdKill9(ts *testscript.TestScript, _ bool, args []string) {
	usage(ts, len(args) == 1, "kill9 PIDFILE")
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	ts.Check(syscall.Kill(pid, syscall.SIGKILL))
	until(ts, "process "+strconv.Itoa(pid)+" to end", func() bool { return gone(pid) })
}

// gone: nothing of it is left but what its parent has to reap. A zombie whose
// threads still end is not gone yet, nor are its files and locks.
func gone(pid int) bool { return proc.Alive(pid, 0) == proc.Dead }

// until asks again and again, for at most two minutes: the machine may be busy.
func until(ts *testscript.TestScript, what string, ok func() bool) {
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			ts.Fatalf("waited too long for %s", what)
		}
	}
}

func cmdWaitFile(ts *testscript.TestScript, _ bool, args []string) {
	usage(ts, len(args) == 1, "waitfile FILE")
	path := ts.MkAbs(args[0])
	if fi, err := os.Stat(path); err == nil && fi.Mode()&fs.ModeNamedPipe != 0 {
		waitFIFO(ts, path)
		return
	}
	until(ts, args[0], func() bool {
		fi, err := os.Stat(path)
		return err == nil && fi.Size() > 0
	})
}

func waitFIFO(ts *testscript.TestScript, path string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0) // does not block; a deadline works
	ts.Check(err)
	defer f.Close()
	ts.Check(f.SetReadDeadline(time.Now().Add(2 * time.Minute)))
	_, err = f.Read(make([]byte, 1))
	ts.Check(err)
}

func cmdMkfifo(ts *testscript.TestScript, _ bool, args []string) {
	usage(ts, len(args) == 1, "mkfifo FILE")
	ts.Check(syscall.Mkfifo(ts.MkAbs(args[0]), 0o600))
}

func cmdSetTime(ts *testscript.TestScript, _ bool, args []string) {
	usage(ts, len(args) == 2, "settime FILE TIME")
	at, err := time.Parse(time.RFC3339Nano, args[1])
	ts.Check(err)
	ts.Check(os.Chtimes(ts.MkAbs(args[0]), at, at))
}

func cmdLines(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 2, "lines FILE N")
	n := strings.Count(ts.ReadFile(args[0]), "\n")
	if (strconv.Itoa(n) == args[1]) == neg {
		ts.Fatalf("%s has %d lines", args[0], n)
	}
}

func cmdSetenv(ts *testscript.TestScript, _ bool, args []string) {
	usage(ts, len(args) == 2, "setenv NAME FILE")
	line, _, _ := strings.Cut(ts.ReadFile(args[1]), "\n")
	ts.Setenv(args[0], line)
}

func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) >= 2 && !neg, "status N CMD…")
	w := sceneOf(ts)
	w.followHints(ts, "wait")
	err := ts.Exec(args[1], args[2:]...)
	w.followHints(ts, args[1:]...)
	status := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(status) != args[0] {
		ts.Fatalf("exit status %d", status)
	}
}
