package doctor

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
)

// originLine is one value of the configuration and where it comes from.
type originLine struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"` // default, file, env, flag
	Where  string `json:"where,omitempty"`
}

func checkConfig(x *examiner, err error) {
	if err != nil {
		x.fails("config", err)
		return
	}
	var lines []originLine
	set := 0
	for _, v := range x.p.Config.Values() {
		lines = append(lines, originLine{v.Key, v.Text, v.Origin.Kind, v.Origin.Where})
		if v.Origin.Kind != "default" {
			set++
		}
	}
	seen := Evidence{"values": lines}
	if warnings := x.p.Warnings; len(warnings) > 0 {
		seen["warnings"] = warningLines(warnings)
		odd(x, "config", seen, warnings)
		return
	}
	x.pass("config", "ok", seen, "count", set)
}

// odd says of each key why it is odd.
func odd(x *examiner, id string, seen Evidence, warnings []config.Warning) {
	x.add(Check{
		ID: id, Status: Warn, Severity: weight(id), Kind: "odd", Evidence: seen,
		Facts: facts([]any{"count", len(warnings)}), Odd: warnings,
	})
}

type warningLine struct {
	Kind  string      `json:"kind"`
	Facts fault.Facts `json:"facts"`
}

func warningLines(warnings []config.Warning) []warningLine {
	var lines []warningLine
	for _, w := range warnings {
		lines = append(lines, warningLine{w.Kind, w.Facts})
	}
	return lines
}

// callLine is one command that plays a role.
type callLine struct {
	Role     string `json:"role"`
	Provider string `json:"provider"`
	Model    string `json:"model,omitempty"`
	Command  string `json:"command"`
	Path     string `json:"path,omitempty"`    // where it was found
	Version  string `json:"version,omitempty"` // full, presets: what --version printed first
	Stderr   string `json:"stderr,omitempty"`
	Problem  string `json:"problem,omitempty"` // missing, version
	fallback bool
	preset   bool
}

// checkRoles looks at the router and for the commands that it names.
func checkRoles(ctx context.Context, x *examiner) {
	if r, warnings, ok := loadRouter(x); ok {
		tellRouter(x, r, warnings)
		checkCommands(ctx, x, calls(r))
	}
}

func loadRouter(x *examiner) (config.Router, []config.Warning, bool) {
	r, warnings, err := config.LoadRouter(x.p.Dir, x.p.Config)
	if bad := x.p.MistakenPrompt(); err == nil && bad != nil {
		err = bad
	}
	if err != nil {
		x.fails("router", err)
	}
	return r, warnings, err == nil
}

func tellRouter(x *examiner, r config.Router, warnings []config.Warning) {
	seen := Evidence{"routing": r.Routing}
	var stuck []string
	if len(r.Calls(config.RoleImplementer)) == 0 {
		stuck = stepless(x)
	}
	if len(stuck) > 0 {
		seen["requests"] = first(stuck, maxEvidence)
	}
	switch {
	case len(warnings) > 0:
		seen["warnings"] = warningLines(warnings)
		odd(x, "router", seen, warnings)
	case len(stuck) > 0:
		x.warn("router", "stepless", seen, "count", len(stuck), "names", some(stuck))
	case len(r.Routing) == 0:
		x.pass("router", "none", seen)
	default:
		x.pass("router", "ok", seen, "count", len(r.Routing))
	}
}

// stepless are the requests still to be done that only an implementer could
// work on, or do a step of. A run that found nobody left its request blocked.
func stepless(x *examiner) []string {
	var ids []string
	for _, k := range x.kept() {
		if k.why.ReasonCode == fault.ModelNotConfigured {
			ids = append(ids, k.r.ID)
		}
	}
	return ids
}

// kept is a request that is to be done, and why it cannot be run.
type kept struct {
	r   *reqmeta.Request
	why choose.Exclusion
}

func allKept(x *examiner) []kept {
	s, err := x.look()
	if err != nil {
		return nil // requests_dir says so
	}
	var list []kept
	for _, r := range s.Folder.Requests {
		if !toBeDone(r.Meta.Status) || !r.Valid() || s.Folder.Unique(r.ID) != r {
			continue
		}
		if why, ok := s.Kept(r); ok {
			list = append(list, kept{r, why})
		}
	}
	return list
}

func toBeDone(status string) bool {
	return status == reqmeta.Ready || status == reqmeta.Running || status == reqmeta.Blocked
}

func calls(r config.Router) []callLine {
	var lines []callLine
	for _, role := range []string{config.RolePlanner, config.RoleImplementer, config.RoleQA} {
		for i, c := range r.Calls(role) {
			lines = append(lines, callLine{Role: role, Provider: c.Provider, Model: c.Model, Command: c.Command.Bin, fallback: i > 0, preset: c.Command.Preset})
		}
	}
	return lines
}

func checkCommands(ctx context.Context, x *examiner, lines []callLine) {
	if len(lines) == 0 {
		x.pass("role_commands", "none", nil)
	}
	told := false
	asked := map[string]callLine{}
	for i := range lines {
		l := &lines[i]
		if l.Path = x.p.Program(l.Command); l.Path == "" {
			l.Problem = "missing"
			continue
		}
		if !x.full() || !l.preset {
			continue // a command of the project's own may do anything, whatever its arguments
		}
		if _, ok := asked[l.Path]; !ok {
			asked[l.Path] = askVersion(ctx, x, l.Path)
			if asked[l.Path].Problem == "" {
				told = true
				checkLogin(ctx, x, *l, asked[l.Path].Version)
			}
		}
		l.Version, l.Stderr, l.Problem = asked[l.Path].Version, asked[l.Path].Stderr, asked[l.Path].Problem
	}
	if x.full() && !told {
		x.pass("ai_commands", "none", nil)
	}
	if len(lines) > 0 {
		tellCommands(x, lines)
	}
}

func tellCommands(x *examiner, lines []callLine) {
	seen := Evidence{"commands": lines, "path": x.Env.Getenv("PATH")}
	named := func(want func(callLine) bool) []string {
		var names []string
		for _, l := range lines {
			if name := l.Command + " (" + l.Role + ")"; want(l) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return names
	}
	missing := named(func(l callLine) bool { return l.Problem == "missing" && !l.fallback })
	fallback := named(func(l callLine) bool { return l.Problem == "missing" && l.fallback })
	mute := named(func(l callLine) bool { return l.Problem == "version" })
	switch {
	case len(missing) > 0:
		x.fail("role_commands", "missing", seen, "names", some(missing))
	case len(fallback) > 0:
		x.warn("role_commands", "fallback", seen, "names", some(fallback))
	case len(mute) > 0:
		x.warn("role_commands", "version", seen, "names", some(mute))
	default:
		x.pass("role_commands", "ok", seen, "count", len(lines))
	}
}

const (
	versionTime = 30 * time.Second // gemini takes seconds to start
	maxSaid     = 64 << 10         // help is long
)

// askVersion really starts a preset's command, the cheapest thing that shows
// that it runs at all. It does so in an empty folder, because nobody knows what
// stands in PATH under that name. It gets no mark: git, started beside it
// without one, would be taken for a stray of the command's.
func askVersion(ctx context.Context, x *examiner, path string) callLine {
	status, out, errs := startElsewhere(ctx, x, path, "--version")
	l := callLine{Version: firstLine(out), Stderr: firstLine(errs)}
	if status != 0 {
		l.Problem = "version"
	}
	return l
}

// startElsewhere gives a command's exit status, -1 where it did not come to one.
func startElsewhere(ctx context.Context, x *examiner, argv ...string) (status int, stdout, stderr string) {
	dir, err := os.MkdirTemp("", "aiflow-doctor-")
	if err != nil {
		return 0, "", "" // not the command's fault
	}
	defer os.RemoveAll(dir)
	out, errs := &bounded{}, &bounded{}
	exit, err := proc.Run(ctx, proc.Command{
		Argv: argv, Dir: dir, Env: elsewhere(x.Env.Environ, dir),
		Stdout: out, Stderr: errs, Timeout: x.p.Config.AtMost(versionTime), Grace: time.Second,
	})
	switch {
	case err != nil:
		return -1, out.String(), err.Error()
	case exit.TimedOut:
		return -1, out.String(), errs.String()
	}
	return exit.Status, out.String(), errs.String()
}

// logins are how presets are asked whether they are logged in (exit status 0 is
// yes, 1 is no), and what a person types to log in.
var logins = map[string]struct {
	status      []string
	typed, then string
}{
	"claude": {[]string{"auth", "status"}, "claude", "/login"},
	"codex":  {[]string{"login", "status"}, "codex login", ""},
}

// checkLogin tells of one AI command its version and whether it is logged in. What
// it says besides is about the person's account, and is kept nowhere.
func checkLogin(ctx context.Context, x *examiner, l callLine, version string) {
	facts := []any{"name", l.Provider, "version", version}
	if unknown := unknownOptions(ctx, x, l); len(unknown) > 0 {
		x.warn("ai_commands", "options", Evidence{"path": l.Path, "options": unknown}, append(facts, "names", some(unknown))...)
		return
	}
	login, ok := logins[l.Provider]
	if !ok {
		x.pass("ai_commands", "untold", Evidence{"path": l.Path}, facts...)
		return
	}
	status, _, _ := startElsewhere(ctx, x, append([]string{l.Path}, login.status...)...)
	command := strings.Join(append([]string{l.Command}, login.status...), " ")
	seen := Evidence{"path": l.Path, "command": command, "exit_status": status}
	switch status {
	case 0:
		x.pass("ai_commands", "ok", seen, facts...)
	case 1:
		x.warn("ai_commands", "login", seen, append(facts, "command", login.typed, "then", login.then)...)
	default:
		x.warn("ai_commands", "mute", seen, append(facts, "command", command)...)
	}
}

// unknownOptions are those of the preset that the program's own help does not
// name: another version of it would not start with them. One whose help cannot be
// had is not judged.
func unknownOptions(ctx context.Context, x *examiner, l callLine) (unknown []string) {
	c := config.Presets()[l.Provider]
	argv := []string{l.Path}
	for _, arg := range c.Args { // codex exec --help
		if strings.HasPrefix(arg, "-") || strings.HasPrefix(arg, "{") {
			break
		}
		argv = append(argv, arg)
	}
	status, help, _ := startElsewhere(ctx, x, append(argv, "--help")...)
	words := strings.FieldsFunc(help, func(r rune) bool { return strings.ContainsRune(" \t\r\n,=[]<>|()", r) })
	if status != 0 || !slices.Contains(words, "--help") {
		return nil
	}
	for _, arg := range slices.Concat(c.Args, c.EditArgs, c.ReadArgs, c.TestArgs, c.BudgetArgs, c.ModelArgs) {
		if len(arg) > 1 && arg[0] == '-' && !slices.Contains(words, arg) && !slices.Contains(unknown, arg) {
			unknown = append(unknown, arg)
		}
	}
	return unknown
}

// elsewhere is the environment without what leads back to the checkout.
func elsewhere(environ []string, dir string) []string {
	env := []string{"PWD=" + dir}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if name != "PWD" && name != "OLDPWD" && !strings.HasPrefix(name, "GIT_") {
			env = append(env, entry)
		}
	}
	return env
}

// bounded keeps the first bytes of what is written.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if room := maxSaid - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
