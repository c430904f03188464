package gitops

import (
	"context"
	"strings"
	"sync"
	"unicode"

	"aiflow/internal/gitcmd"
)

// settings are those parts of git's configuration, as git itself reads it,
// that would otherwise take a question each.
type settings struct {
	once sync.Once
	read bool
	all  map[string][]string // by key, in git's order
	urls bool                // addresses are rewritten
}

func (r *reader) settings(ctx context.Context) *settings {
	s := r.config
	s.once.Do(func() {
		out, err := r.git.Ask(ctx, "config", "-z", "--get-regexp",
			`^((user|author)\.(name|email)|user\.signingkey|core\.(hookspath|excludesfile|attributesfile)|remote\.origin\..*|url\..*)$`)
		s.read = err == nil || gitcmd.Exit(err) == 1 // 1: there is none of them
		s.all = map[string][]string{}
		for _, record := range fields(out) {
			key, value, valued := strings.Cut(record, "\n")
			s.read = s.read && valued // without one, git may refuse it
			s.all[key] = append(s.all[key], value)
			s.urls = s.urls || strings.HasPrefix(key, "url.")
		}
	})
	return s
}

// last is the value that counts, or "".
func (s *settings) last(key string) string {
	if v := s.all[key]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// author is who commits are by, when that is plain; git knows more ways.
func (s *settings) author(env []string) (name, email string, plain bool) {
	if !s.read {
		return "", "", false
	}
	of := func(variable, what string) string {
		for i := len(env) - 1; i >= 0; i-- {
			if v, ok := strings.CutPrefix(env[i], variable+"="); ok {
				return v
			}
		}
		if v := s.last("author." + what); v != "" {
			return v
		}
		return s.last("user." + what)
	}
	name, email = of("GIT_AUTHOR_NAME", "name"), of("GIT_AUTHOR_EMAIL", "email")
	return name, email, isPlain(name) && isPlain(email)
}

// isPlain: git takes it as it is, and leaves something of it.
func isPlain(s string) bool {
	some := false
	for _, c := range s {
		some = some || unicode.IsLetter(c) || unicode.IsDigit(c)
		if c < ' ' || c == '<' || c == '>' {
			return false
		}
	}
	return some && strings.Trim(s, " .,:;\"\\'") == s
}

// hasOrigin: the configuration has a section for it, or cannot be read.
func (s *settings) hasOrigin() bool {
	for key := range s.all {
		if strings.HasPrefix(key, "remote.") {
			return true
		}
	}
	return !s.read
}

// origin is where origin is, when git would not write the address anew.
func (s *settings) origin() (url string, plain bool) {
	v := s.all["remote.origin.url"]
	return s.last("remote.origin.url"), s.read && !s.urls && len(v) == 1 && v[0] != ""
}
