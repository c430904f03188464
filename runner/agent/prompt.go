package agent

import (
	"path/filepath"
	"strconv"
	"strings"

	"aiflow/internal/config"
	"aiflow/internal/prompts"
)

// How names the text about the way in which work is handed over.
func How(call config.Call) string {
	if call.Edits() {
		return prompts.HowEdit
	}
	return prompts.HowPatch
}

// PromptText is the project's own text of that name, or the shipped one.
func PromptText(dir, lang, name string) string {
	if own, err := ReadSmall(filepath.Join(dir, prompts.FileName(name))); err == nil && len(own) > 0 {
		return string(own)
	}
	return prompts.Default(lang, name)
}

// CutMiddle keeps head and tail of a long text, whole lines.
func CutMiddle(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head, rest := s[:limit/2], s[len(s)-limit/2:]
	head = head[:strings.LastIndexByte(head, '\n')+1]
	rest = rest[strings.IndexByte(rest, '\n')+1:]
	return strings.ToValidUTF8(head+"[... "+strconv.Itoa(len(s)-len(head)-len(rest))+" bytes left out ...]\n"+rest, "\uFFFD")
}
