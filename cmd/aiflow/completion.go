package main

import (
	_ "embed"
	"strings"

	"aiflow/cmd/internal/cli"
)

//go:embed files/completion.bash
var completionBash string

//go:embed files/completion.zsh
var completionZsh string

//go:embed files/completion.fish
var completionFish string

// completion prints the script for a shell. The scripts ask the binaries
// themselves (--complete), so they never fall behind.
func completion(s *cli.Shell, shell string) error {
	scripts := map[string]string{"bash": completionBash, "zsh": completionZsh, "fish": completionFish}
	text, ok := scripts[shell]
	if !ok {
		return cli.Usage("bad_value", "name", "SHELL", "value", shell, "allowed", "bash, fish, zsh")
	}
	s.Printf("%s\n", strings.TrimRight(text, "\n"))
	return nil
}
