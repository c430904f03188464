package agent

import (
	"regexp"
	"slices"

	"aiflow/internal/config"
	"aiflow/internal/fault"
)

// Router is the router as one run knows it: who plays what, and what must not
// occur. It is read once; a change of the file counts from the next run on.
type Router struct {
	config.Router
	patterns []*regexp.Regexp
}

// NewRouter compiles the patterns of a router.
func NewRouter(router config.Router) (*Router, error) {
	c := &Router{Router: router}
	for _, p := range router.Guards.ForbidPatterns {
		re, err := regexp.Compile(p)
		if err != nil {
			return nil, fault.Wrap(err, fault.ConfigInvalid, "path", config.RouterFile, "key", "guards.forbid_patterns", "value", p)
		}
		c.patterns = append(c.patterns, re)
	}
	return c, nil
}

// Turn is whom try asks: the primary, again as often as
// defaults.max_retries_per_call says, and the fallback at the latest in the
// last try.
func (c *Router) Turn(calls []config.Call, try, tries int) config.Call {
	if try > 0 && (try == tries-1 || try > c.Defaults.MaxRetriesPerCall) {
		return calls[len(calls)-1]
	}
	return calls[0]
}

// FallsBackOn reports whether another try may mend err.
func (c *Router) FallsBackOn(err error) bool {
	return slices.Contains(c.Defaults.FallbackOn, string(fault.CodeOf(err)))
}

// Forbidden gives the first line of text in which a forbidden pattern occurs.
func (c *Router) Forbidden(lines func(func(string) bool)) (line, pattern string) {
	if len(c.patterns) == 0 {
		return "", ""
	}
	for l := range lines {
		for _, re := range c.patterns {
			if re.MatchString(l) {
				return l, re.String()
			}
		}
	}
	return "", ""
}
