package runs

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// part is a part of a report on disk: what the tool wrote, and what a person
// wrote after it.
type part struct {
	found        bool
	ours, theirs string
}

func writePart(b *strings.Builder, n int, ours, theirs string) {
	fmt.Fprintf(b, "<!-- aiflow:%d -->\n%s<!-- /aiflow:%d -->\n\n", n, ours, n)
	if theirs = strings.Trim(theirs, "\n"); theirs != "" {
		b.WriteString(theirs + "\n\n")
	}
}

var markRE = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^<!-- (/?)aiflow:([0-9]{1,2}) -->\s*$`) })

// parseReport finds the parts of a report. Marks count only in their order, so
// that a report pasted into the test log stays text of the person. Whatever is
// not between the marks is a person's, also when a mark was deleted.
func parseReport(old string) [numberOfParts]part {
	var parts [numberOfParts]part
	at, inside := 0, false
	for line := range strings.Lines(old) {
		n, closing, isMark := parseMark(line)
		switch {
		case isMark && !closing && !inside && !parts[n].found && n >= at:
			at, inside = n, true
			parts[n].found = true
		case isMark && closing && inside && n == at:
			inside = false
		case inside:
			parts[at].ours += line
		default:
			parts[at].theirs += line
		}
	}
	if inside { // the closing mark is gone: lose nothing
		parts[at].theirs, parts[at].ours = parts[at].ours+parts[at].theirs, ""
	}
	for n := range parts {
		parts[n].theirs = trimBlank(parts[n].theirs)
	}
	return parts
}

// Findings is what a person wrote into a report's review findings: why it was
// sent back, and how to mend it. The lines of the empty form are left out.
func Findings(report, form string) string {
	empty := map[string]bool{"": true}
	for line := range strings.Lines(form) {
		empty[strings.TrimSpace(line)] = true
	}
	var kept strings.Builder
	for line := range strings.Lines(parseReport(report)[partFindings].theirs) {
		if !empty[strings.TrimSpace(line)] {
			kept.WriteString(line)
		}
	}
	return strings.TrimSpace(kept.String())
}

// WithFinding adds to what a person wrote into a report's review findings.
func WithFinding(report, text string) string {
	parts := parseReport(report)
	theirs := &parts[partFindings].theirs
	if *theirs != "" && !strings.HasSuffix(*theirs, "\n") {
		*theirs += "\n"
	}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		if _, _, mark := parseMark(line); mark { // it would end the part
			line = " " + line
		}
		*theirs += line
	}
	*theirs += "\n"
	parts[partFindings].found = true
	return whole(parts)
}

// WithHead is a report with what stands above its sections as the run stands now.
func WithHead(report string, s *Stage, text Text) string {
	parts := parseReport(report)
	w := &reporter{s: s, text: text}
	parts[partHead].ours, parts[partHead].found = w.part(partHead), true
	return whole(parts)
}

func whole(parts [numberOfParts]part) string {
	var b strings.Builder
	for n := range parts {
		if parts[n].found || parts[n].theirs != "" {
			writePart(&b, n, parts[n].ours, parts[n].theirs)
		}
	}
	return b.String()
}

func parseMark(line string) (n int, closing, ok bool) {
	m := markRE().FindStringSubmatch(strings.TrimRight(line, "\r\n"))
	if m == nil {
		return 0, false, false
	}
	n, err := strconv.Atoi(m[2])
	return n, m[1] == "/", err == nil && n < numberOfParts
}

// trimBlank removes the blank lines around a person's text; they are ours.
func trimBlank(s string) string {
	lines := strings.SplitAfter(s, "\n")
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return strings.Join(lines, "")
}

var tickRE = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*[-*] \[([ xX])\] (.*)$`) })

// tickOf finds the line of a criterion in old: whether a person has ticked it,
// and what the person wrote behind it.
func tickOf(old, criterion string) (ticked bool, behind string) {
	for line := range strings.Lines(old) {
		m := tickRE().FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil {
			continue
		}
		rest, ok := strings.CutPrefix(m[2], criterion)
		if ok && (rest == "" || rest[0] == ' ') {
			return m[1] != " ", strings.TrimRight(rest, " ")
		}
	}
	return false, ""
}

// linesBetween are the lines that a person put between the criteria: those of old
// that are not ours.
func linesBetween(old string, ours ...string) string {
	known := map[string]bool{"": true}
	for line := range strings.Lines(strings.Join(ours, "\n")) {
		known[withoutCheckbox(line)] = true
	}
	kept := ""
	for line := range strings.Lines(old) {
		if s := withoutCheckbox(line); !known[s] && !strings.HasPrefix(s, "## "+strconv.Itoa(partCriteria)+".") {
			kept += line
		}
	}
	return kept
}

// withoutCheckbox is a line without its check box.
func withoutCheckbox(line string) string {
	line = strings.TrimSpace(line)
	if m := tickRE().FindStringSubmatch(line); m != nil {
		return strings.TrimSpace(m[2])
	}
	return line
}
