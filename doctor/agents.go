package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aiflow/internal/atomicfile"
	"aiflow/internal/config"
	"aiflow/internal/proc"
)

const (
	versionTime = 30 * time.Second // gemini takes seconds to start
	maxSaid     = 64 << 10         // help is long
)

// startElsewhere gives a command's exit status, -1 where it did not come to one. It is
// started in an empty folder, because nobody knows what stands in PATH under that name,
// and gets no mark: git, started beside it without one, would be taken for a stray of the
// command's.
func startElsewhere(ctx context.Context, x *examiner, argv ...string) (status int, stdout, stderr string) {
	dir, err := os.MkdirTemp("", "aiflow-doctor-")
	if err != nil {
		return 0, "", "" // not the command's fault
	}
	defer os.RemoveAll(dir)
	env := []string{"PWD=" + dir} // without what leads back to the checkout
	for _, entry := range x.Env.Environ {
		name, _, _ := strings.Cut(entry, "=")
		if name != "PWD" && name != "OLDPWD" && !strings.HasPrefix(name, "GIT_") {
			env = append(env, entry)
		}
	}
	out, errs := &bounded{}, &bounded{}
	exit, err := proc.Run(ctx, proc.Command{
		Argv: argv, Dir: dir, Env: env,
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
	if unknown := unknownOptions(ctx, x, l, version); len(unknown) > 0 {
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

// helped is what the help of a version of a program said about a preset's options.
type helped struct {
	Version string   `json:"version"`
	Options []string `json:"options"`
	Unknown []string `json:"unknown"`
}

// unknownOptions are those of the preset that the program's own help does not
// name: another version of it would not start with them. One whose help cannot be
// had is not judged. A version is asked once, since some take seconds to print it.
func unknownOptions(ctx context.Context, x *examiner, l callLine, version string) (unknown []string) {
	c := config.Presets()[l.Provider]
	var options []string
	for _, arg := range slices.Concat(c.Args, c.EditArgs, c.ReadArgs, c.TestArgs, c.BudgetArgs, c.ModelArgs) {
		if len(arg) > 1 && arg[0] == '-' && !slices.Contains(options, arg) {
			options = append(options, arg)
		}
	}
	file := x.p.Path(x.p.Config.Paths.CacheDir + "/ai-options.json")
	known := map[string]helped{}
	_ = json.Unmarshal(read(file), &known) // none yet, or torn: the program is asked
	if k, ok := known[l.Path]; ok && version != "" && k.Version == version && slices.Equal(k.Options, options) {
		return k.Unknown
	}
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
	for _, o := range options {
		if !slices.Contains(words, o) {
			unknown = append(unknown, o)
		}
	}
	known[l.Path] = helped{version, options, unknown}
	if data, err := json.Marshal(known); err == nil && os.MkdirAll(filepath.Dir(file), 0o777) == nil {
		// Where it cannot be kept the program is asked again.
		_ = atomicfile.Write(x.Env.Disk, file, data, atomicfile.Options{TempSuffix: x.p.Suffix()})
	}
	return unknown
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
