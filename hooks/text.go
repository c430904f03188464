package hooks

import (
	"fmt"
	"strings"

	"aiflow/internal/proc"
)

// place says how our block came into its file.
type place string

const (
	placeNew     place = "new"     // the file is ours alone
	placeAdded   place = "added"   // the block stands in a stranger's sh hook
	placeChained place = "chained" // the file is ours and calls the stranger's, moved aside
)

// IfMissing says what a hook does when our binary cannot be found.
type IfMissing string

// What a missing binary means for hooks that gate; the others always pass.
const (
	Block IfMissing = "block"
	Pass  IfMissing = "pass"
)

// params is everything that differs between two blocks of one version.
type params struct {
	hook  string
	place place
	bin   string // absolute path of aiflow-hook
	miss  IfMissing
}

const (
	shebang   = "#!/bin/sh\n"
	openMark  = "# >>> aiflow hook "
	closeMark = "# <<< aiflow hook <<<\n"
)

// renderer makes the block of one version.
type renderer func(params) string

// renderers knows every version that was ever shipped.
func renderers() map[int]renderer {
	return map[int]renderer{1: render1}
}

func render(p params) string { return renderers()[Version](p) }

// wholeFile is the text of a hook that is ours alone.
func wholeFile(p params) string { return shebang + render(p) }

func render1(p params) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s1 (%s, %s) >>> lines down to <<< belong to aiflow-hook, which can \"uninstall\" them\n", openMark, p.hook, p.place)
	if p.place == placeChained {
		b.WriteString(callAside1(p))
	}
	b.WriteString(callOurs1(p))
	b.WriteString("[ -z \"${AIFLOW_HOOK_PROBE-}\" ] || exit 0\n")
	if p.place == placeChained && !Gates(p.hook) {
		b.WriteString("exit \"$aiflow_status\"\n")
	}
	b.WriteString(closeMark)
	return b.String()
}

// callAside1 runs the stranger's hook first. A gate ends with its failure; the
// other hooks remember its status and give it to git at the end.
func callAside1(p params) string {
	then := "\t\t\"$aiflow_dir/%[1]s\" \"$@\" || exit $?\n"
	if !Gates(p.hook) {
		then = "\t\t\"$aiflow_dir/%[1]s\" \"$@\" || aiflow_status=$?\n"
	}
	return fmt.Sprintf("aiflow_status=0\n"+
		"if [ -z \"${AIFLOW_HOOK_PROBE-}\" ]; then\n"+
		"\tcase $0 in */*) aiflow_dir=${0%%/*} ;; *) aiflow_dir=. ;; esac\n"+
		"\tif [ -x \"$aiflow_dir/%[1]s\" ]; then\n"+
		then+
		"\tfi\n"+
		"fi\n", p.hook+AsideSuffix)
}

// callOurs1 finds the binary: where it was at install time, in PATH, behind
// aiflow.
func callOurs1(p params) string {
	tail, run := tail1(p), ""
	if Gates(p.hook) && p.place == placeNew {
		run = "exec "
	}
	bin := proc.Quoted(p.bin)
	var b strings.Builder
	b.WriteString("if [ -n \"${AIFLOW_HOOK-}\" ]; then :\n")
	fmt.Fprintf(&b, "elif [ -f %[1]s ] && [ -x %[1]s ]; then %[2]s%[1]s %[3]s %[4]s\n", bin, run, p.hook, tail)
	fmt.Fprintf(&b, "elif command -v aiflow-hook >/dev/null 2>&1; then aiflow-hook %s %s\n", p.hook, tail)
	fmt.Fprintf(&b, "elif command -v aiflow >/dev/null 2>&1; then aiflow hook %s %s\n", p.hook, tail)
	text := "aiflow: aiflow-hook is neither at " + p.bin + " nor in PATH, so "
	end := ""
	if Gates(p.hook) && p.miss == Block {
		text += "this commit was not checked and is refused; install it again, or use: git commit --no-verify"
		end = "\texit 1\n"
	} else {
		text += p.hook + " did nothing; install it again, or remove the aiflow lines of this hook"
	}
	fmt.Fprintf(&b, "else\n\tprintf '%%s\\n' %s >&2\n%sfi\n", proc.Quoted(text), end)
	return b.String()
}

// tail1 ends a call of ours: what it may read and what its failure means.
func tail1(p params) string {
	tail := `"$@"`
	if p.place != placeNew {
		tail += " </dev/null" // what git sends belongs to the stranger's hook
	}
	if Gates(p.hook) {
		return tail + " || exit $?"
	}
	return tail + " || :"
}
