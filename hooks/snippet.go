package hooks

import "strings"

// Snippets lists the tools for which there is a snippet.
func Snippets() []string { return []string{"husky", "lefthook", "pre-commit", "sh"} }

// Snippet is what a user of a hook manager puts into that tool's own file to
// have our hooks called. ok is false for a tool that is not known.
func Snippet(tool string) (file, text string, ok bool) {
	switch tool {
	case "lefthook":
		args := map[string]string{PostMerge: " {1}", PostRewrite: " {1}", PostCheckout: " {1} {2} {3}"}
		for _, hook := range Names() {
			text += hook + ":\n  commands:\n    aiflow:\n      run: aiflow-hook " + hook + args[hook] + "\n"
		}
		return "lefthook.yml", text, true
	case "pre-commit":
		return ".pre-commit-config.yaml", preCommit(), true
	case "husky":
		return ".husky/<hook>", perFile(), true
	case "sh":
		return "<hook>", perFile(), true
	}
	return "", "", false
}

// preCommit names no stage for the gate: the stages of a commit are called
// otherwise before pre-commit 3.2 than since. In other stages nothing is
// staged, and the gate has nothing to say.
func preCommit() string {
	var b strings.Builder
	b.WriteString("# then: pre-commit install")
	for _, hook := range Names() {
		b.WriteString(" -t " + hook)
	}
	b.WriteString("\nrepos:\n  - repo: local\n    hooks:\n")
	for _, hook := range Names() {
		if hook == PreMergeCommit {
			continue // the gate's entry is for both
		}
		b.WriteString("      - id: aiflow-" + hook + "\n        name: aiflow " + hook + "\n        entry: aiflow-hook " + hook + "\n" +
			"        language: system\n        always_run: true\n        pass_filenames: false\n")
		if hook != PreCommit {
			b.WriteString("        stages: [" + hook + "]\n        verbose: true\n")
		}
	}
	return b.String()
}

func perFile() string {
	var b strings.Builder
	for _, hook := range Names() {
		tail := "|| :"
		if Gates(hook) {
			tail = "|| exit $?"
		}
		b.WriteString("# " + hook + "\naiflow-hook " + hook + " \"$@\" " + tail + "\n")
	}
	return b.String()
}
