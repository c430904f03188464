package gitcmd

import (
	"cmp"
	"strings"
)

// kept are the GIT_* variables that say how git reaches the world or who the
// user is. Every other GIT_* names a repository, an index or a moment of
// another git process and is dropped.
func kept(k string) bool {
	switch k {
	case "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL",
		"GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
		"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
		"GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM",
		"GIT_EXEC_PATH", "GIT_TEMPLATE_DIR",
		"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS",
		"GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_CERT", "GIT_SSL_KEY",
		"GIT_SSL_NO_VERIFY", "GIT_PROXY_COMMAND", "GIT_PROXY_SSL_CAINFO",
		"GIT_ALLOW_PROTOCOL", "GIT_PROTOCOL_FROM_USER", "GIT_HTTP_USER_AGENT",
		"GIT_DEFAULT_HASH":
		return true
	}
	return false
}

// ofThisCommit are the variables that name the commit being made; a staged
// question keeps them.
func ofThisCommit(k string) bool {
	switch k {
	case "GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_COMMON_DIR",
		"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
		"GIT_CONFIG_PARAMETERS", "GIT_PREFIX", "GIT_QUARANTINE_PATH",
		"GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE":
		return true
	}
	return false
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
	// Hooks read and write files in the user's character set, and must not be put into ASCII.
	return append(env, "LC_CTYPE="+cmp.Or(value(base, "LC_ALL"), value(base, "LC_CTYPE"), value(base, "LANG"), "C"), "LC_MESSAGES=C")
}

func dropped(k string, m Mode) bool {
	switch k {
	case "GPG_TTY", "LANGUAGE", "LC_MESSAGES", "SSH_ASKPASS_REQUIRE":
		return true
	case "LC_ALL", "LC_CTYPE":
		return m == Write
	}
	// The variables that hand git single settings are the usual way to make a mounted
	// folder a safe.directory in a container.
	perhapsConfig := k == "GIT_CONFIG_COUNT" || strings.HasPrefix(k, "GIT_CONFIG_KEY_") || strings.HasPrefix(k, "GIT_CONFIG_VALUE_")
	if !strings.HasPrefix(k, "GIT_") || kept(k) || perhapsConfig {
		return false
	}
	return m != Staged || !ofThisCommit(k)
}
