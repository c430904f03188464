package config

// Router says which command plays which role.
type Router struct {
	Version  string
	Mode     string
	Defaults RouterDefaults
	Routing  map[string]Route             // by role
	Models   map[string]map[string]string // provider -> role -> model
	Commands map[string]Command           // by provider; presets are filled in
	Guards   Guards

	origins map[string]Origin
}

// The roles that a run knows.
const (
	RolePlanner     = "planner"
	RoleImplementer = "implementer"
	RoleQA          = "qa"
)

// RouterDefaults hold for every provider.
type RouterDefaults struct {
	TimeoutSec        int // 0 = limits.timeout_sec
	MaxRetriesPerCall int
	FallbackOn        []string
}

// Route names the providers of a role.
type Route struct {
	Primary  string
	Fallback string // "" or equal to Primary = none
}

// Command is how a provider is started.
type Command struct {
	Bin    string
	Args   []string // places: {{prompt}} {{model}} {{workdir}}
	Mode   string   // "edit" or "patch"
	Preset bool     // shipped with the program, not from the file
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
}

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
	return Call{Role: role, Provider: provider, Model: r.Models[provider][role], Command: r.Commands[provider]}
}
