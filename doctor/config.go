package doctor

import (
	"context"
	"slices"

	"aiflow/internal/config"
	"aiflow/internal/fault"
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
	r, warnings, err := config.LoadRouter(x.p.Dir, x.p.Config)
	if bad := x.p.MistakenPrompt(); err == nil && bad != nil {
		err = bad
	}
	if err != nil {
		x.fails("router", err)
		return
	}
	tellRouter(x, r, warnings)
	var lines []callLine
	for _, role := range []string{config.RolePlanner, config.RoleImplementer, config.RoleQA} {
		for i, c := range r.Calls(role) {
			lines = append(lines, callLine{Role: role, Provider: c.Provider, Model: c.Model, Command: c.Command.Bin, fallback: i > 0, preset: c.Command.Preset})
		}
	}
	checkCommands(ctx, x, lines)
}

func tellRouter(x *examiner, r config.Router, warnings []config.Warning) {
	seen := Evidence{"routing": r.Routing}
	// The requests still to be done that only an implementer could work on, or do a step
	// of. A run that found nobody left its request blocked.
	var stuck []string
	if len(r.Calls(config.RoleImplementer)) == 0 {
		for _, k := range x.kept() {
			if k.why.ReasonCode == fault.ModelNotConfigured {
				stuck = append(stuck, k.r.ID)
			}
		}
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
		if status := r.Meta.Status; status != reqmeta.Ready && status != reqmeta.Running && status != reqmeta.Blocked || !r.Valid() || s.Folder.Unique(r.ID) != r {
			continue
		}
		if why, ok := s.Kept(r); ok {
			list = append(list, kept{r, why})
		}
	}
	return list
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
		if _, ok := asked[l.Path]; !ok { // the cheapest thing that shows that it runs at all
			status, out, errs := startElsewhere(ctx, x, l.Path, "--version")
			a := callLine{Version: firstLine(out), Stderr: firstLine(errs)}
			if status != 0 {
				a.Problem = "version"
			} else {
				told = true
				checkLogin(ctx, x, *l, a.Version)
			}
			asked[l.Path] = a
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
