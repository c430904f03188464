package hooks

import (
	"bytes"
	"path/filepath"

	"aiflow/internal/fault"
)

// State says what stands at a hook's place.
type State string

// The states of a hook.
const (
	Installed State = "installed" // ours, and git gets to it as far as files can tell
	Other     State = "other"     // somebody else's
	Missing   State = "missing"
	Unreached State = "unreached" // ours is there and git does not get to it; Reason says why
)

// Reasons for Unreached, beside those of actions.
const (
	ReasonElsewhere     = "elsewhere"      // core.hooksPath points to another folder
	ReasonNotExecutable = "not_executable" // git passes it by
	ReasonDisplaced     = "displaced"      // a hook manager moved ours aside and does not run it
	ReasonSwitchedOff   = "switched_off"   // hook.<event>.enabled is false
)

// Found is the state of one hook.
type Found struct {
	Name    string      `json:"name"`
	Path    string      `json:"path"`
	State   State       `json:"state"`
	How     string      `json:"how,omitempty"` // new, added, chained, called, legacy
	Manager string      `json:"manager,omitempty"`
	Version int         `json:"version,omitempty"`
	Bin     string      `json:"bin,omitempty"`
	Current bool        `json:"current"` // installing again would change nothing
	Reason  string      `json:"reason,omitempty"`
	Facts   fault.Facts `json:"facts,omitempty"`
	Reached *bool       `json:"reached,omitempty"` // the self-test's answer; absent: not tried
}

// Status is what Inspect sees.
type Status struct {
	Dir       string       `json:"dir"`
	HooksPath *Setting     `json:"hooks_path,omitempty"`
	Shared    bool         `json:"shared"`
	Hooks     []Found      `json:"hooks"`
	Lacking   []string     `json:"worktrees_without_hooks,omitempty"`
	Configs   []ConfigHook `json:"config_hooks,omitempty"`
}

// OK reports whether every hook is installed, reached as far as is known, and
// no worktree lacks it.
func (s Status) OK() bool {
	for _, h := range s.Hooks {
		if h.State != Installed || h.Reached != nil && !*h.Reached {
			return false
		}
	}
	return len(s.Lacking) == 0
}

// Inspect says for each hook what is there and whether git gets to it. It
// reads what f holds and starts nothing.
func Inspect(f Folder, o Options) Status {
	s := Status{Dir: f.Dir, HooksPath: f.Setting, Shared: f.Shared, Configs: f.Configs}
	for _, hook := range Names() {
		found := f.inspect(hook, o)
		found.Name = hook
		s.Hooks = append(s.Hooks, found)
	}
	s.Lacking = f.lacking()
	return s
}

func (f Folder) inspect(hook string, o Options) Found {
	file := f.Hooks[hook]
	if path := f.caller(hook); path != "" {
		return f.checked(file, hook, Found{Path: path, State: Installed, How: "called", Manager: f.manager(file), Current: true})
	}
	b, err := parse(file.Data)
	if err == nil && b != nil && b.hook == hook {
		return f.ours(b, file, o)
	}
	if found, ok := f.moved(hook, o); ok {
		return found
	}
	found := Found{Path: file.Path, State: Missing}
	if file.Exists {
		found.State, found.Manager = Other, f.manager(file)
	}
	if err != nil {
		found.Reason = ReasonBroken
	}
	return found
}

func (f Folder) manager(file File) string {
	if f.Husky {
		return "husky"
	}
	return manager(file.Data)
}

func (f Folder) ours(b *block, file File, o Options) Found {
	a := upgrade(f, o, b, file)
	found := Found{
		Path: file.Path, State: Installed, How: string(b.place), Manager: manager(b.without(file.Data)),
		Version: b.version, Bin: b.bin, Current: a.Kind == Keep,
	}
	if a.Kind == Refuse {
		found.Reason, found.Facts = a.Reason, a.Facts
	}
	found = f.checked(file, b.hook, found)
	if b.crlf && found.State == Installed {
		found.State, found.Reason = Unreached, ReasonCRLF
	}
	return found
}

// checked looks at what keeps git from running a hook file that is there.
func (f Folder) checked(file File, hook string, found Found) Found {
	line, _, _ := bytes.Cut(file.Data, []byte("\n"))
	switch {
	case file.Mode&0o111 == 0 && file.Link == "":
		found.State, found.Reason = Unreached, ReasonNotExecutable
	case bytes.HasSuffix(line, []byte("\r")):
		found.State, found.Reason = Unreached, ReasonCRLF
	case f.Switched[hook]:
		found.State, found.Reason = Unreached, ReasonSwitchedOff
		found.Facts = fault.Facts{"key": "hook." + hook + ".enabled", "value": "false"}
	}
	return found
}

// moved looks for ours in the places to which it can have been moved, or where
// it was before git was told to look elsewhere.
func (f Folder) moved(hook string, o Options) (Found, bool) {
	if found, ok := ourFile(f, f.Legacy[hook], hook, o); ok && f.manager(f.Hooks[hook]) == "pre-commit" {
		found.How, found.Manager = "legacy", "pre-commit"
		return found, true
	}
	if found, ok := ourFile(f, f.Old[hook], hook, o); ok {
		found.State, found.Reason, found.Facts = Unreached, ReasonDisplaced, fault.Facts{"path": f.Hooks[hook].Path}
		return found, true
	}
	if f.Default == nil {
		return Found{}, false
	}
	found, ok := ourFile(*f.Default, f.Default.Hooks[hook], hook, o)
	found.State, found.Reason, found.Facts = Unreached, ReasonElsewhere, f.settingFacts()
	if f.Husky {
		found.Reason = ReasonHusky
	}
	return found, ok
}

func ourFile(f Folder, file File, hook string, o Options) (Found, bool) {
	b, err := parse(file.Data)
	if err != nil || b == nil || b.hook != hook {
		return Found{}, false
	}
	return f.ours(b, file, o), true
}

// lacking lists the worktrees in which a relative core.hooksPath leads to a
// folder without our hooks.
func (f Folder) lacking() []string {
	if !f.InTree || f.Setting == nil || filepath.IsAbs(f.Setting.Value) {
		return nil
	}
	rel, err := filepath.Rel(real(f.Top), real(f.Dir))
	if err != nil {
		return nil
	}
	var roots []string
	isOurs := func(file File) bool {
		b, err := parse(file.Data)
		return err == nil && b != nil
	}
	for _, root := range f.Worktrees {
		if real(root) == real(f.Top) {
			continue
		}
		for hook, there := range readAll(filepath.Join(root, rel), "") {
			if isOurs(f.Hooks[hook]) && (!isOurs(there) || there.Mode&0o111 == 0) {
				roots = append(roots, root)
				break
			}
		}
	}
	return roots
}
