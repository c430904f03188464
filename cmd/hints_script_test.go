package cmd

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
)

// Each hint that a program of ours gives in a script is followed there and then,
// in a copy of the script's world: a remedy is not refused and changes
// something, a look ends well. Each kind of hint (what it was given for, and the
// form of its command) is followed once: in the script that testdata/hints.txt
// names, a new one in the first that meets it. The table is made by
//
//	go test ./cmd -run 'TestScripts$' -update

// withHints writes the scripts of dir to a folder where "exec" is "exechints", which
// looks for hints in what the command says.
func withHints(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		script, rest, more := strings.Cut(string(data), "\n-- ")
		script = execRE.ReplaceAllStringFunc(script, func(line string) string {
			if behindRE.MatchString(line) {
				return line
			}
			return execRE.ReplaceAllString(line, "${1}exechints $2")
		})
		if more {
			script += "\n-- " + rest
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), []byte(script), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

var (
	execRE   = regexp.MustCompile(`(?m)^((?:\[[^\]\n]*\] *)*(?:! )?)exec (.*)$`)
	behindRE = regexp.MustCompile(`&\w*&?$`) // testscript's own exec runs it
)

// cmdExecHints is exec, and follows what the command says to do.
func cmdExecHints(ts *testscript.TestScript, neg bool, args []string) {
	w := sceneOf(ts)
	w.followHints(ts, "wait")
	switch err := ts.Exec(args[0], args[1:]...); {
	case err != nil && !neg:
		ts.Fatalf("unexpected command failure: %v", err)
	case err == nil && neg:
		ts.Fatalf("unexpected command success")
	}
	w.followHints(ts, args...)
}

// scene is where a script runs.
type scene struct {
	dir   string
	vars  []string
	heard string // what was listened to last
	errs  func(args ...any)
}

// sceneOf is nil for a script whose hints nobody follows.
func sceneOf(ts *testscript.TestScript) *scene {
	w, _ := ts.Value("scene").(*scene)
	return w
}

var varRE = regexp.MustCompile(`(?m)^(?:\[[^\]\n]*\] *)*(?:setenv|env) (\w+)`)

// newScene is called when a script begins.
func newScene(e *testscript.Env, dir string) {
	w := &scene{dir: e.WorkDir, errs: e.T().(recorder).Error}
	followed.Lock()
	followed.ran[strings.TrimPrefix(filepath.Base(e.WorkDir), "script-")] = true
	followed.Unlock()
	for _, kv := range e.Vars {
		name, _, _ := strings.Cut(kv, "=")
		w.vars = append(w.vars, name)
	}
	if text, err := os.ReadFile(filepath.Join(dir, strings.TrimPrefix(filepath.Base(e.WorkDir), "script-")+".txtar")); err == nil {
		for _, m := range varRE.FindAllSubmatch(text, -1) {
			w.vars = append(w.vars, string(m[1]))
		}
	}
	e.Values["scene"] = w
}

// hint is a command that somebody is told to type.
type hint struct {
	code    fault.Code // what it was given for
	line    string
	refused fault.Code // what it is refused with now; advice says so
	then    bool       // the sentence says what is to be done first
	said    string     // all that was said with it: what is in the way is mended first
}

// followHints follows the hints in what the last command said.
func (w *scene) followHints(ts *testscript.TestScript, args ...string) {
	if w == nil {
		return
	}
	out, said := ts.ReadFile("stdout"), ts.ReadFile("stderr")
	before := w.heard
	if w.heard = out + "\x00" + said; w.heard == before || !speaks(args) {
		return
	}
	for _, h := range hintsIn(out, said) {
		h.said = out + said
		if kind := kindOf(h, args); w.news(kind) && !w.follow(ts, h, args) {
			followed.Lock()
			followed.wrong[kind] = true
			followed.Unlock()
		}
	}
}

// speaks reports whether what a command prints may tell somebody what to do:
// programs of ours, and what calls them. Help, manuals and schemas tell of all that there is.
func speaks(args []string) bool {
	switch name := filepath.Base(args[0]); {
	case len(args) == 1 && name != "aiflow-next" && name != "aiflow-doctor": // help
		return false
	case slices.ContainsFunc(args, func(a string) bool {
		return a == "--help" || a == "-h" || a == "help" || a == "schema" || a == "snippet" || a == "completion" || a == "--man" || a == "man"
	}):
		return false
	case strings.HasPrefix(name, "aiflow"):
		return true
	case name == "sh" || name == "bash": // also what shows a report
		return slices.ContainsFunc(args, func(a string) bool { return ourRE.MatchString(a) || strings.Contains(a, "report.md") })
	default:
		return slices.Contains([]string{"git", "make", "wait"}, name)
	}
}

var (
	ourRE    = regexp.MustCompile(`^[^|]*\baiflow(-[a-z]+)? [^|]*$`)
	tickedRE = regexp.MustCompile("`(aiflow[ -][^`]*)`")
	linedRE  = regexp.MustCompile(`(?:^|:|→|->) +(aiflow[ -](?:doctor|hook|init|lock|next|queue|request|run|serve)\b[^#` + "`" + `]*?)(?:  #.*)?$`)
	thenRE   = regexp.MustCompile(`\bthen\b|[たて](から|ら|、)`)
	saidRE   = regexp.MustCompile(`^aiflow[a-z-]*: ([A-Z][A-Z0-9_]+): `)
)

// hintsIn are the hints in the output of a command, each with the code of the
// error that it belongs to.
func hintsIn(stdout, stderr string) (list []hint) {
	code := fault.Code("")
	for _, line := range strings.Split(stderr+"\n"+plainOrJSON(stdout, &list), "\n") {
		if m := saidRE.FindStringSubmatch(line); m != nil {
			code = fault.Code(m[1])
			continue
		}
		list = append(list, spokenIn(code, line)...)
	}
	return list
}

func spokenIn(code fault.Code, line string) (list []hint) {
	for _, m := range tickedRE.FindAllStringSubmatchIndex(line, -1) {
		list = append(list, hint{code: code, line: line[m[2]:m[3]], then: thenRE.MatchString(line[:m[0]])})
	}
	for _, m := range linedRE.FindAllStringSubmatch(strings.TrimRight(line, " \n"), -1) {
		if proseRE.MatchString(strings.Replace(m[1], "aiflow-hook", "aiflow", 1)) {
			continue
		}
		list = append(list, hint{code: code, line: m[1]})
	}
	return list
}

// plainOrJSON gives a text as it is; the hints in JSON are added to list.
func plainOrJSON(text string, list *[]hint) string {
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	n := 0
	for ; d.Decode(&v) == nil; n++ {
		hintsInJSON(v, "", list)
	}
	if n > 0 {
		return ""
	}
	return text
}

// hintsInJSON looks through a value: commands of advice, and texts.
func hintsInJSON(v any, code fault.Code, list *[]hint) {
	switch v := v.(type) {
	case map[string]any:
		if c, ok := v["reason_code"].(string); ok {
			code = fault.Code(c)
		}
		if command, ok := v["command"].(string); ok && v["verb"] != nil {
			why, _ := v["why_not"].(string)
			*list = append(*list, hint{code: code, line: command, refused: fault.Code(why)})
		}
		for name, e := range v {
			if name != "message" { // what happened
				hintsInJSON(e, code, list)
			}
		}
	case []any:
		for _, e := range v {
			hintsInJSON(e, code, list)
		}
	case string:
		for line := range strings.Lines(v) {
			*list = append(*list, spokenIn(code, line)...)
		}
	}
}

// followed says in which script each kind of hint was followed, and whether it
// held there.
var followed = struct {
	sync.Mutex
	kinds map[string]string
	wrong map[string]bool
	ran   map[string]bool // scripts
	took  time.Duration
}{kinds: map[string]string{}, wrong: map[string]bool{}, ran: map[string]bool{}}

const hintTable = "../testdata/hints.txt"

// hintScripts reads which script follows which kind.
var hintScripts = sync.OnceValue(func() map[string]string {
	table := map[string]string{}
	data, _ := os.ReadFile(hintTable)
	for line := range strings.Lines(string(data)) {
		if script, kind, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
			table[kind] = script
		}
	}
	return table
})

// writeHintScripts writes the table of what held; what it says of scripts that did not run stays.
func writeHintScripts(t *testing.T) {
	var lines []string
	for kind, script := range hintScripts() {
		there, _ := filepath.Glob(scripts + "/" + script + ".txtar")
		below, _ := filepath.Glob(scripts + "/*/" + script + ".txtar")
		if len(there)+len(below) > 0 && !followed.ran[script] && followed.kinds[kind] == "" {
			lines = append(lines, script+"\t"+kind+"\n")
		}
	}
	for kind, script := range followed.kinds {
		if !followed.wrong[kind] {
			lines = append(lines, script+"\t"+kind+"\n")
		}
	}
	slices.Sort(lines)
	if err := os.WriteFile(hintTable, []byte(strings.Join(lines, "")), 0o666); err != nil {
		t.Error(err)
	}
}

var nameRE = regexp.MustCompile(`"[^"]*"|'[^']*'|\S*[0-9/]\S*`)

// kindOf is what a hint was given for, and the form of its command.
func kindOf(h hint, args []string) string {
	kind := string(h.code+" "+h.refused+" ") + nameRE.ReplaceAllString(h.line, "_")
	if h.code == "" {
		kind = strings.Join(args[:min(2, len(args))], " ") + ": " + kind
	}
	return kind
}

// news reports whether a kind of hint is to be followed here.
func (w *scene) news(kind string) bool {
	script := strings.TrimPrefix(filepath.Base(w.dir), "script-")
	if named, ok := hintScripts()[kind]; ok && named != script {
		return false
	}
	followed.Lock()
	defer followed.Unlock()
	if followed.kinds[kind] != "" {
		return false
	}
	followed.kinds[kind] = script
	return true
}

// follow types a hint in a copy of the world, and reports whether it held.
func (w *scene) follow(ts *testscript.TestScript, h hint, args []string) bool {
	began := time.Now()
	defer func() {
		followed.Lock()
		followed.took += time.Since(began)
		followed.Unlock()
	}()
	c := w.copy(ts)
	defer c.gone()
	if live := c.live(); live && !lookRE.MatchString(h.line) && !judgeRE.MatchString(h.line) {
		return true // whoever works here would be reached out of the copy
	}
	err := c.try(h)
	if err != nil {
		w.errs(fmt.Sprintf("%s, after %q said so (%s): %v", h.line, args, h.code, err))
	}
	return err == nil
}

// worldCopy is a copy of a script's folder, in which a hint is tried.
type worldCopy struct {
	dir, cwd string
	env      []string
}

func (w *scene) copy(ts *testscript.TestScript) *worldCopy {
	top, err := os.MkdirTemp("", "world-copy")
	ts.Check(err)
	c := &worldCopy{dir: filepath.Join(top, "world")}
	_ = exec.Command("cp", "-a", w.dir, c.dir).Run() // what comes and goes meanwhile is missed
	here := func(s string) string { return strings.ReplaceAll(s, w.dir, c.dir) }
	c.cwd = here(ts.MkAbs("."))
	for _, name := range w.vars {
		c.env = append(c.env, name+"="+here(ts.Getenv(name)))
	}
	c.env = append(c.env, "PATH="+ts.Getenv("AIFLOW_BIN_DIR")+":"+here(ts.Getenv("PATH")), "EDITOR=sh -c 'echo more >> \"$1\"' x", "VISUAL=", "AIFLOW_EDITOR=")
	ts.Check(filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		inGit := strings.Contains(path, "/.git/") || strings.HasPrefix(path, c.dir+"/.home/") || d.Name() == ".git"
		switch {
		case d.IsDir() && d.Name() == "objects" && inGit:
			return fs.SkipDir
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			there := filepath.Join(filepath.Dir(w.dir+strings.TrimPrefix(path, c.dir)), to)
			switch {
			case err == nil && strings.HasPrefix(to, w.dir):
				return errors.Join(os.Remove(path), os.Symlink(here(to), path))
			case err == nil && !filepath.IsAbs(to) && !strings.HasPrefix(there, w.dir): // out of the world
				return errors.Join(os.Remove(path), os.Symlink(there, path))
			}
		case d.Type().IsRegular() && inGit && d.Name() != "index":
			data, err := os.ReadFile(path)
			if info, gone := d.Info(); err == nil && gone == nil && bytes.Contains(data, []byte(w.dir)) {
				return errors.Join(os.Remove(path), os.WriteFile(path, []byte(here(string(data))), info.Mode()))
			}
		}
		return nil
	}))
	return c
}

// live reports whether a process of the script itself holds a lock.
func (c *worldCopy) live() bool {
	found := false
	_ = filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.HasSuffix(path, ".lock.json") { // a script may make a FIFO there
			return nil
		}
		var rec struct{ PID, Command int }
		if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &rec) == nil {
			found = found || rec.PID > 0 && !gone(rec.PID) || rec.Command > 0 && proc.GroupAlive(rec.Command, 0) == proc.Living
		}
		return nil
	})
	return found
}

func (c *worldCopy) gone() {
	killAll(c.dir)
	_ = exec.Command("chmod", "-R", "u+rwX", c.dir).Run()
	_ = os.RemoveAll(filepath.Dir(c.dir))
}

const goesOn = -2

// typed runs a line in the copy, to its end or, after a while, until done says
// that this is enough: what it began may go on for ever.
func (c *worldCopy) typed(line string, done func() bool) (out string, status int, err error) {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.cwd, c.env, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return "", 0, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	tick, limit := time.NewTicker(time.Second), time.After(2*time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return said.String(), cmd.ProcessState.ExitCode(), nil
		case <-tick.C:
			if !done() {
				continue
			}
		case <-limit:
			err = errors.New("it does not end")
		}
		killAll(c.dir)
		<-ended
		return said.String(), goesOn, err
	}
}

var (
	refusedRE = regexp.MustCompile(`(?m)` + saidRE.String())
	lookRE    = regexp.MustCompile(`^aiflow[ -](run (show|logs|diff|list|status)\b|next\b|land --dry-run\b|request (list|show|graph|edit --read-only)\b|lock list\b|queue (list|show|runners|namespaces)\b|hook (status|snippet)\b|help\b|version\b)`)
	judgeRE   = regexp.MustCompile(`^aiflow[ -](doctor|request check|hook status)\b`) // they end with what they find
	followRE  = regexp.MustCompile(` (-f|--wait)\b`)                                  // they go on as long as somebody else does
	boundsRE  = regexp.MustCompile(`^(aiflow run auto) .*`)                           // of a session
	serveRE   = regexp.MustCompile(`^aiflow[ -]serve\b`)
)

// blanks are what somebody fills in.
var blanks = strings.NewReplacer("<number>", "0", "<番号>", "0", "COMMAND", "true")

// try follows a hint.
func (c *worldCopy) try(h hint) error {
	line := blanks.Replace(h.line)
	if serveRE.MatchString(line) && !strings.Contains(line, "--port") { // the usual port may be taken
		line += " --port 0"
	}
	if strings.Contains(line, "edit --read-only") {
		line = "EDITOR=true " + line
	}
	before, records := c.state(""), c.state("stage.json")
	out, status, err := c.typed(line, func() bool { return followRE.MatchString(line) || c.state("") != before })
	code := fault.Code("")
	if m := refusedRE.FindStringSubmatch(out); m != nil {
		code = fault.Code(m[1])
	}
	switch {
	case err != nil, status == goesOn:
	case code == fault.ConfigInvalid && strings.Contains(h.said, "FAIL  configuration"):
	case code != "" && code != h.code && strings.Contains(h.said, string(code)):
	case code == fault.GitNotAvailable, code == fault.GitRepoRefused: // next answers without git
	case h.then && status != 0 && code != fault.UsageError:
	case status != 0 && code.Info().Retryable: // it may succeed later
	case h.refused != "":
		if code != h.refused {
			err = fmt.Errorf("not refused with %s", h.refused)
		}
	case judgeRE.MatchString(line) && !strings.Contains(line, "--fix"):
		if status > 3 || code == fault.UsageError {
			err = errors.New("a look that fails")
		}
	case lookRE.MatchString(h.line):
		if status != 0 {
			err = errors.New("a look that fails")
		}
	case elsewhere[boundsRE.ReplaceAllString(line, "$1")] != "":
		if status != 0 {
			err = errors.New("refused")
		}
	case c.state("") == before:
		err = errors.New("changed nothing")
	case status != 0 && c.state("stage.json") == records: // no run that began and stopped
		err = errors.New("refused")
	}
	if err != nil {
		err = fmt.Errorf("%w: exit status %d\n%s", err, status, out)
	}
	return err
}

// elsewhere are remedies that may change nothing in the folder, and what they change.
var elsewhere = map[string]string{
	"aiflow-queue init":                  "tables in DynamoDB",
	"aiflow-queue init --namespace shop": "tables in DynamoDB",
	"aiflow run clean --merged":          "what is merged, where there is any",
	"aiflow run auto":                    "what is runnable, where there is any",
}

// state is a sum of all files of the copy that matter, or of those of one name.
func (c *worldCopy) state(name string) string {
	sum := sha256.New()
	_ = filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		switch {
		case d.IsDir() && d.Name() == "objects":
			return fs.SkipDir
		case strings.Contains(path, "/.aiflow/cache/") && d.Name() != "serve.json": // whoever looks may write it
		case name != "" && d.Name() != name && !d.IsDir():
		case d.Name() == "index" || d.Name() == ".guard":
		case d.Type()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			fmt.Fprintln(sum, path, to)
		case d.Type().IsRegular():
			info, err := d.Info()
			if err != nil { // gone since the folder was read
				return nil
			}
			fmt.Fprintln(sum, path, info.Mode())
			if f, err := os.Open(path); err == nil {
				_, _ = io.Copy(sum, f)
				f.Close()
			}
		}
		return nil
	})
	return string(sum.Sum(nil))
}
