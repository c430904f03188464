package queue

import (
	"crypto/md5"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"aiflow/internal/fault"
)

const (
	maxNamespace = 32
	maxFolder    = 27
)

var namespaceForm = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$`)

// CheckNamespace refuses a name that is empty, longer than 32 characters, not
// made of letters, digits and inner hyphens, or reserved.
func CheckNamespace(name string) error {
	reason := ""
	switch {
	case name == "":
		reason = "empty"
	case len(name) > maxNamespace:
		reason = "too_long"
	case !namespaceForm.MatchString(name):
		reason = "form"
	case slices.Contains([]string{"all", "none", "null", "undefined", "system"}, strings.ToLower(name)):
		reason = "reserved"
	default:
		return nil
	}
	return badValue("namespace", name, reason)
}

func badValue(key, value, reason string) error {
	return fault.New(fault.UsageError, "key", key, "value", value, "reason", reason)
}

// DeriveNamespace makes the namespace of a project folder, so that one folder
// is one queue: its name and four hex digits of the hash of its full path.
func DeriveNamespace(root string) string {
	path := strings.TrimRight(strings.ReplaceAll(root, `\`, "/"), "/")
	sum := md5.Sum([]byte(path))
	folder := path[strings.LastIndexByte(path, '/')+1:]
	return folderPart(folder) + "-" + hex.EncodeToString(sum[:2])
}

func folderPart(folder string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(folder) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case r == '-' || r == '_':
			b.WriteByte('-')
		}
	}
	name := strings.Join(strings.FieldsFunc(b.String(), func(r rune) bool { return r == '-' }), "-")
	if len(name) > maxFolder {
		name = strings.TrimRight(name[:maxFolder], "-")
	}
	if name == "" {
		return "project"
	}
	return name
}
