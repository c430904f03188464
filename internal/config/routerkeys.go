package config

// starred makes a row whose key contains "*".
func starred(key string, k kind, about string, set func(r *Router, names []string, value any)) row[Router] {
	return row[Router]{key: key, kind: k, about: about, set: set}
}

func routerKeys() []row[Router] {
	jobs := starred("providers.*.jobs", kindInt, "calls of a provider at a time, of all runs of the project", func(r *Router, names []string, v any) { r.Jobs[names[0]] = v.(int) })
	jobs.min, jobs.max = 1, MaxJobs
	return append(append(append(routerGeneralKeys(), routingKeys()...), jobs), commandKeys()...)
}

func routerGeneralKeys() []row[Router] {
	return []row[Router]{
		stringKey("version", "version of this file's shape", func(r *Router) *string { return &r.Version }).must("1.x", isVersion1),
		stringKey("mode", "the same as mode in config.v1.json", func(r *Router) *string { return &r.Mode }).oneOf("no_token", "normal"),
		numberKey("defaults.timeout_sec", "seconds that one call may take; not said: limits.timeout_sec", 1, 7*day, func(r *Router) *int { return &r.Defaults.TimeoutSec }).warnBelow(30),
		numberKey("defaults.max_retries_per_call", "how often the primary is asked again before the fallback; the last of limits.max_role_tries is always the fallback's", 0, 100, func(r *Router) *int { return &r.Defaults.MaxRetriesPerCall }),
		listKey("defaults.fallback_on", "reason codes after which the fallback is asked", func(r *Router) *[]string { return &r.Defaults.FallbackOn }),
		listKey("guards.forbid_commands", "programs that a run must not start", func(r *Router) *[]string { return &r.Guards.ForbidCommands }),
		listKey("guards.forbid_patterns", "expressions that must not occur in what a step adds, runs or answers", func(r *Router) *[]string { return &r.Guards.ForbidPatterns }),
	}
}

func routingKeys() []row[Router] {
	var rows []row[Router]
	for _, role := range []string{RolePlanner, RoleImplementer, RoleQA, "reviewer", "designer"} {
		about := "provider that plays the role"
		if role == "reviewer" || role == "designer" {
			about = "no effect: a run does not ask this role"
		}
		rows = append(rows,
			routeKey(role, "primary", about, func(route *Route) *string { return &route.Primary }),
			routeKey(role, "fallback", "provider that is asked when the primary fails; the same name: none", func(route *Route) *string { return &route.Fallback }),
		)
	}
	return append(rows, starred("models.*.*", kindText, "model of a provider (first name) for a role (second name)", func(r *Router, names []string, v any) {
		if r.Models[names[0]] == nil {
			r.Models[names[0]] = map[string]string{}
		}
		r.Models[names[0]][names[1]] = v.(string)
	}))
}

func routeKey(role, key, about string, field func(*Route) *string) row[Router] {
	return starred("routing."+role+"."+key, kindText, about, func(r *Router, _ []string, v any) {
		route := r.Routing[role]
		*field(&route) = v.(string)
		r.Routing[role] = route
	})
}

func commandKeys() []row[Router] {
	command := func(key string, k kind, about string, put func(c *Command, v any)) row[Router] {
		return starred("commands.*."+key, k, about, func(r *Router, names []string, v any) {
			c := r.Commands[names[0]]
			put(&c, v)
			r.Commands[names[0]] = c
		})
	}
	return []row[Router]{
		command("bin", kindText, "program, on PATH or a path", func(c *Command, v any) { c.Bin = v.(string) }),
		command("args", kindList, "arguments; places {{prompt}} {{model}} {{workdir}} {{workdir_json}} {{model_args}} {{access_args}} {{test_args}} {{budget_args}}; the prompt is on standard input too", func(c *Command, v any) { c.Args = v.([]string) }),
		command("model_args", kindList, "what an argument {{model_args}} becomes when there is a model", func(c *Command, v any) { c.ModelArgs = v.([]string) }),
		command("edit_args", kindList, "what an argument {{access_args}} becomes for an implementer that edits files", func(c *Command, v any) { c.EditArgs = v.([]string) }),
		command("read_args", kindList, "what an argument {{access_args}} becomes for a planner, for qa and for an implementer of mode patch", func(c *Command, v any) { c.ReadArgs = v.([]string) }),
		command("test_args", kindList, "what an argument {{test_args}} becomes for an implementer that edits files, where the step is tested; place {{test_command}}", func(c *Command, v any) { c.TestArgs = v.([]string) }),
		command("budget_args", kindList, "what an argument {{budget_args}} becomes where what the call may cost is limited; place {{budget_usd}}", func(c *Command, v any) { c.BudgetArgs = v.([]string) }),
		command("output", kindText, "how the command says what it does: text for people, or the events of claude (stream-json), codex (--json) or gemini (stream-json)", func(c *Command, v any) { c.Output = v.(string) }).oneOf(OutputText, OutputClaude, OutputCodex, OutputGemini),
		starred("commands.*.env.*", kindText, "variable that the command finds in its environment", func(r *Router, names []string, v any) {
			c := r.Commands[names[0]]
			if c.Env == nil {
				c.Env = map[string]string{}
			}
			c.Env[names[1]] = v.(string)
			r.Commands[names[0]] = c
		}),
		command("mode", kindText, "edit: the command edits files; patch: it answers with a patch", func(c *Command, v any) { c.Mode = v.(string) }).oneOf(ModeEdit, ModePatch),
	}
}
