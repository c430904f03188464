package gitcmd

import "strings"

// kept are the GIT_* variables that say how git reaches the world or who the
// user is. Every other GIT_* names a repository, an index or a moment of
// another git process and is dropped.
var kept = map[string]bool{
	"GIT_AUTHOR_NAME": true, "GIT_AUTHOR_EMAIL": true,
	"GIT_COMMITTER_NAME": true, "GIT_COMMITTER_EMAIL": true,
	"GIT_CONFIG_GLOBAL": true, "GIT_CONFIG_SYSTEM": true, "GIT_CONFIG_NOSYSTEM": true,
	"GIT_CEILING_DIRECTORIES": true, "GIT_DISCOVERY_ACROSS_FILESYSTEM": true,
	"GIT_EXEC_PATH": true, "GIT_TEMPLATE_DIR": true,
	"GIT_SSH": true, "GIT_SSH_COMMAND": true, "GIT_SSH_VARIANT": true, "GIT_ASKPASS": true,
	"GIT_SSL_CAINFO": true, "GIT_SSL_CAPATH": true, "GIT_SSL_CERT": true, "GIT_SSL_KEY": true,
	"GIT_SSL_NO_VERIFY": true, "GIT_PROXY_COMMAND": true, "GIT_PROXY_SSL_CAINFO": true,
	"GIT_ALLOW_PROTOCOL": true, "GIT_PROTOCOL_FROM_USER": true, "GIT_HTTP_USER_AGENT": true,
	"GIT_DEFAULT_HASH": true,
}

// ofThisCommit are the variables that name the commit being made; a staged
// question keeps them.
var ofThisCommit = map[string]bool{
	"GIT_DIR": true, "GIT_INDEX_FILE": true, "GIT_WORK_TREE": true, "GIT_COMMON_DIR": true,
	"GIT_OBJECT_DIRECTORY": true, "GIT_ALTERNATE_OBJECT_DIRECTORIES": true,
	"GIT_CONFIG_PARAMETERS": true, "GIT_PREFIX": true, "GIT_QUARANTINE_PATH": true,
	"GIT_NO_REPLACE_OBJECTS": true, "GIT_REPLACE_REF_BASE": true, "GIT_SHALLOW_FILE": true,
}

// environment makes what git gets. Nothing in it can make git wait for a
// person, and its messages are in English so that they can be recognised.
func environment(base []string, m Mode) []string {
	env := make([]string, 0, len(base)+8)
	for _, kv := range base {
		if k, _, ok := strings.Cut(kv, "="); ok && !dropped(k, m) {
			env = append(env, kv)
		}
	}
	env = append(env, "GIT_TERMINAL_PROMPT=0", "SSH_ASKPASS_REQUIRE=never", "GIT_PAGER=cat", "GIT_EDITOR=false")
	if m != Write {
		return append(env, "LC_ALL=C")
	}
	return append(env, "LC_CTYPE="+charset(base), "LC_MESSAGES=C")
}

func dropped(k string, m Mode) bool {
	switch k {
	case "GPG_TTY", "LANGUAGE", "LC_MESSAGES", "SSH_ASKPASS_REQUIRE":
		return true
	case "LC_ALL", "LC_CTYPE":
		return m == Write
	}
	if !strings.HasPrefix(k, "GIT_") || kept[k] || perhapsConfig(k) {
		return false
	}
	return m != Staged || !ofThisCommit[k]
}

// perhapsConfig is true of the variables that hand git single settings, the
// usual way to make a mounted folder a safe.directory in a container.
func perhapsConfig(k string) bool {
	return k == "GIT_CONFIG_COUNT" || strings.HasPrefix(k, "GIT_CONFIG_KEY_") || strings.HasPrefix(k, "GIT_CONFIG_VALUE_")
}

// charset is the character set of the user's locale: hooks read and write
// files, and must not be put into ASCII.
func charset(base []string) string {
	for _, k := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := value(base, k); v != "" {
			return v
		}
	}
	return "C"
}
