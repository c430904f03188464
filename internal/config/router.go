package config

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/near"
)

// Router says which command plays which role.
type Router struct {
	Version  string
	Mode     string
	Defaults RouterDefaults
	Routing  map[string]Route             // by role
	Models   map[string]map[string]string // provider -> role -> model
	Commands map[string]Command           // by provider; presets are filled in
	Jobs     map[string]int               // calls of a provider at a time; not there: any number
	Guards   Guards

	origins map[string]Origin
}

// The roles that a run knows.
const (
	RolePlanner     = "planner"
	RoleImplementer = "implementer"
	RoleQA          = "qa"
)

// Modes of a command: it edits files, or answers with a patch.
const (
	ModeEdit  = "edit"
	ModePatch = "patch"
)

// How a command says what it does.
const (
	OutputText   = "text"
	OutputClaude = "claude-stream"
	OutputCodex  = "codex-jsonl"
	OutputGemini = "gemini-stream"
)

// RouterDefaults hold for every provider.
type RouterDefaults struct {
	TimeoutSec        int // limits.timeout_sec unless the router says otherwise
	MaxRetriesPerCall int
	FallbackOn        []string
}

// Route names the providers of a role.
type Route struct {
	Primary  string
	Fallback string // "" or equal to Primary = none
}

// Command is how a provider is started. The prompt is on its standard input
// too.
type Command struct {
	Bin        string
	Args       []string // places: {{prompt}} {{model}} {{workdir}} {{workdir_json}} {{model_args}} {{access_args}} {{test_args}} {{budget_args}}
	ModelArgs  []string `json:"model_args"`  // what {{model_args}} becomes when there is a model
	EditArgs   []string `json:"edit_args"`   // what {{access_args}} becomes for an implementer that edits files
	ReadArgs   []string `json:"read_args"`   // what it becomes for everybody else
	TestArgs   []string `json:"test_args"`   // what {{test_args}} becomes for an implementer whose step is tested; place {{test_command}}
	BudgetArgs []string `json:"budget_args"` // what {{budget_args}} becomes where the cost of the call is limited; place {{budget_usd}}
	Mode       string   // ModeEdit or ModePatch
	Output     string   // how it says what it does; "" is text
	Env        map[string]string
	Preset     bool `json:"-"` // shipped with the program, not from the file
}

// Guards are what a run must not do.
type Guards struct {
	ForbidCommands []string
	ForbidPatterns []string
}

// Call is one way to play a role, ready to start.
type Call struct {
	Role     string
	Provider string
	Model    string
	Command  Command
	Test     string  // the command that will test what an implementer does; "" is none
	Budget   float64 // dollars that it may cost; 0 is any
	Jobs     int     // calls of the provider at a time; 0 is any number
}

// LoadRouter reads the router of the project at root; cfg is its
// configuration. With no file nothing is routed, but the presets are there.
func LoadRouter(root string, cfg Config) (Router, []Warning, error) {
	data, err := readFile(filepath.Join(root, filepath.FromSlash(RouterFile)), RouterFile, false)
	if err != nil {
		return emptyRouter(cfg), nil, err
	}
	return ParseRouter(data, RouterFile, cfg)
}

func emptyRouter(cfg Config) Router {
	return Router{
		Version: "1.0", Mode: cfg.Mode,
		Defaults: RouterDefaults{
			TimeoutSec: cfg.Limits.TimeoutSec, MaxRetriesPerCall: 1,
			FallbackOn: []string{
				string(fault.JSONParseError), string(fault.JSONSchemaInvalid), string(fault.ProcessCrashed), string(fault.AgentTimeout), string(fault.AgentSilent),
				string(fault.CLINotAvailable), string(fault.CLIAuthRequired), string(fault.CLINotTrusted),
				string(fault.ProviderLimit), string(fault.ProviderOverloaded), string(fault.ProviderUnreachable),
				string(fault.ModelNotFound), string(fault.ContextTooLong),
			},
		},
		Routing: map[string]Route{}, Models: map[string]map[string]string{}, Commands: map[string]Command{}, Jobs: map[string]int{},
		Guards: Guards{ForbidCommands: []string{"gh"}, ForbidPatterns: []string{forbidGH}},
	}
}

// ParseRouter reads a router from the bytes of a file that is called name; nil
// is no file.
func ParseRouter(data []byte, name string, cfg Config) (Router, []Warning, error) {
	r := emptyRouter(cfg)
	a := applier[Router]{target: &r, path: name, data: data, origins: map[string]Origin{}, rows: routerKeys()}
	if data != nil {
		if err := a.file(); err != nil {
			return r, a.warnings, err
		}
	}
	r.origins = a.origins
	r.fill()
	return r, a.warnings, r.check(name, cfg)
}

// forbidGH is a call of gh, not the two letters: D54's `\bgh\b` finds every
// text that forbids it.
const forbidGH = `(^|[\s;&|(` + "`" + `"'])gh (alias|api|auth|browse|codespace|config|extension|gist|issue|label|org|pr|project|release|repo|ruleset|run|search|secret|status|variable|workflow)\b`

//go:embed presets/presets.json
var presets []byte

// Presets are the commands that ship with the program, by provider.
func Presets() map[string]Command {
	all := map[string]Command{}
	if err := json.Unmarshal(presets, &all); err != nil {
		panic(err) // the test of the presets reads the same bytes
	}
	return all
}

// fill adds the presets that the file does not define itself and completes the
// commands that it does.
func (r *Router) fill() {
	for name, c := range Presets() {
		if _, ok := r.Commands[name]; !ok {
			c.Preset = true
			r.Commands[name] = c
		}
	}
	for name, c := range r.Commands {
		c.Mode, c.Output = cmp.Or(c.Mode, ModeEdit), cmp.Or(c.Output, OutputText)
		r.Commands[name] = c
	}
}

// check looks at what the file says as a whole.
func (r *Router) check(path string, cfg Config) error {
	for _, p := range r.Guards.ForbidPatterns {
		if _, err := regexp.Compile(p); err != nil {
			return unusable(err, path, "key", "guards.forbid_patterns", "value", p, "allowed", "a regular expression")
		}
	}
	if r.Mode != cfg.Mode {
		return fault.New(fault.ConfigModeMismatch, "path", path, "key", "mode", "value", r.Mode, "allowed", cfg.Mode)
	}
	for _, name := range sorted(r.Jobs) {
		if _, known := r.Commands[name]; !known {
			return unknownProvider(r, path, "providers", name)
		}
	}
	for _, role := range sorted(r.Routing) {
		for _, call := range r.Calls(role) {
			if err := r.checkCall(path, call); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Router) checkCall(path string, call Call) error {
	key := "commands." + call.Provider
	switch _, known := r.Commands[call.Provider]; {
	case !known:
		return unknownProvider(r, path, "routing."+call.Role, call.Provider)
	case call.Command.Bin == "":
		return fault.New(fault.RouterCommandInvalid, "path", path, "key", key+".bin", "name", call.Provider)
	case call.Model == "" && strings.Contains(strings.Join(call.Command.Args, "\n"), "{{model}}"):
		return fault.New(fault.ModelNotConfigured, "path", path, "key", "models."+call.Provider+"."+call.Role, "name", call.Provider)
	}
	return nil
}

func unknownProvider(r *Router, path, key, name string) error {
	return fault.New(fault.RouterProviderUnknown, "path", path, "key", key,
		"value", name, "name", name, "near", near.Word(name, sorted(r.Commands)), "allowed", strings.Join(sorted(r.Commands), ", "))
}

// Origin says where the value of key came from.
func (r Router) Origin(key string) Origin { return origin(r.origins, key) }

// Calls gives the ways to play role: the primary and, if there is one, the
// fallback. None when the router does not name the role.
func (r Router) Calls(role string) []Call {
	route, ok := r.Routing[role]
	if !ok || route.Primary == "" {
		return nil
	}
	calls := []Call{r.call(role, route.Primary)}
	if route.Fallback != "" && route.Fallback != route.Primary {
		calls = append(calls, r.call(role, route.Fallback))
	}
	return calls
}

func (r Router) call(role, provider string) Call {
	return Call{Role: role, Provider: provider, Model: r.Models[provider][role], Command: r.Commands[provider], Jobs: r.Jobs[provider]}
}

// Argv is the command line with its places filled in.
func (c Call) Argv(prompt, workdir string) []string {
	quoted, _ := json.Marshal(workdir) // a string never fails
	fill := strings.NewReplacer("{{prompt}}", prompt, "{{model}}", c.Model, "{{workdir}}", workdir, "{{workdir_json}}", string(quoted), "{{test_command}}", c.Test,
		"{{budget_usd}}", strconv.FormatFloat(max(c.Budget, 0.0001), 'f', 4, 64))
	argv := []string{c.Command.Bin}
	for _, arg := range c.spread() {
		argv = append(argv, fill.Replace(arg))
	}
	return argv
}

// spread puts lists in the places of those arguments that stand for one.
func (c Call) spread() []string {
	var args []string
	for _, arg := range c.Command.Args {
		switch {
		case arg == "{{model_args}}" && c.Model == "":
		case arg == "{{model_args}}":
			args = append(args, c.Command.ModelArgs...)
		case arg == "{{access_args}}" && c.Edits():
			args = append(args, c.Command.EditArgs...)
		case arg == "{{access_args}}":
			args = append(args, c.Command.ReadArgs...)
		case arg == "{{budget_args}}":
			if c.Budget > 0 {
				args = append(args, c.Command.BudgetArgs...)
			}
		case arg == "{{test_args}}":
			if c.Edits() && c.Test != "" && !strings.ContainsAny(c.Test, "\n()") {
				args = append(args, c.Command.TestArgs...)
			}
		default:
			args = append(args, arg)
		}
	}
	return args
}

// Edits reports whether the call is expected to change files.
func (c Call) Edits() bool { return c.Role == RoleImplementer && c.Command.Mode != ModePatch }
