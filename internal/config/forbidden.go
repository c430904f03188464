package config

import (
	"regexp"
	"slices"
	"strings"
)

// CommandLine is what a run starts because configuration or router say so.
type CommandLine struct {
	Key  string // of the configuration, or "commands.<provider>" of the router
	Text string
}

// CommandLines are all of them.
func CommandLines(c Config, r Router) []CommandLine {
	var all []CommandLine
	add := func(key string, lines ...string) {
		for _, line := range lines {
			all = append(all, CommandLine{key, line})
		}
	}
	add("tests.unit.command", c.Tests.Unit.Command)
	add("tests.e2e.command", c.Tests.E2E.Command)
	add("tests.static.command", c.Tests.Static.Command)
	add("tests.land.command", c.Tests.Land.Command)
	add("workspace.setup", c.Workspace.Setup...)
	for _, role := range []string{RolePlanner, RoleImplementer, RoleQA} {
		for _, call := range r.Calls(role) {
			add("commands."+call.Provider, strings.Join(append([]string{call.Command.Bin}, call.Command.Args...), " "))
		}
	}
	return all
}

// Forbidden are the patterns of what nobody may start or be told to start.
func (g Guards) Forbidden() []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, command := range g.ForbidCommands {
		all = append(all, regexp.MustCompile(`(^|[\s;&|(/])`+regexp.QuoteMeta(command)+`($|[\s;&|)])`))
	}
	for _, pattern := range g.ForbidPatterns {
		if re, err := regexp.Compile(pattern); err == nil {
			all = append(all, re)
		}
	}
	return all
}

// forbiddenPaths are the default of limits.forbidden_paths: what is git's and
// ours, and files that are commands, because an agent or git reads them and
// starts what they name.
func forbiddenPaths(runsDir, requestsDir string) []string {
	return slices.Concat(ours, []string{runsDir + "/**", requestsDir + "/**"}, commandFiles)
}

var (
	commandFiles = []string{
		"**/.claude", "**/.claude/settings*.json", "**/.claude/hooks/**", "**/.claude/agents/**", "**/.claude/skills/**", "**/.claude/commands/**", "**/.mcp.json", "**/.codex/**", "**/.gemini/**", "**/.qwen/**",
		"**/.cursor/**", "**/.opencode/**", "**/opencode.json", ".github/copilot*", "**/.vscode/**",
		".husky/**", ".githooks/**", "lefthook.yml", ".lefthook.yml", ".pre-commit-config.yaml",
	}
	ours = []string{".git/**", ".aiflow/**"}
)

// IsCommandFile reports whether a default glob stands for files that somebody starts
// things from.
func IsCommandFile(glob string) bool {
	return slices.Contains(ours, glob) || slices.Contains(commandFiles, glob)
}
