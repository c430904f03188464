package runner

import (
	"regexp"
	"slices"

	"aiflow/internal/config"
	"aiflow/internal/fault"
)

// cast is the router as one run knows it: who plays what, and what must not
// occur. It is read once; a change of the file counts from the next run on.
type cast struct {
	config.Router
	patterns []*regexp.Regexp
}

func (j *job) routes() (*cast, error) {
	if j.cast != nil {
		return j.cast, nil
	}
	router, _, err := config.LoadRouter(j.Project.Dir, j.Project.Config)
	if err != nil {
		return nil, err
	}
	c := &cast{Router: router}
	for _, p := range router.Guards.ForbidPatterns {
		re, err := regexp.Compile(p)
		if err != nil {
			return nil, fault.Wrap(err, fault.ConfigInvalid, "path", config.RouterFile, "key", "guards.forbid_patterns", "value", p)
		}
		c.patterns = append(c.patterns, re)
	}
	j.cast = c
	return c, nil
}

// plays reports whether somebody plays the role.
func (j *job) plays(role string) bool {
	c, err := j.routes()
	return err == nil && len(c.Calls(role)) > 0
}

// fallsBackOn reports whether another try may mend err.
func (c *cast) fallsBackOn(err error) bool {
	return slices.Contains(c.Defaults.FallbackOn, string(fault.CodeOf(err)))
}

// forbidden gives the first line of text in which a forbidden pattern occurs.
func (c *cast) forbidden(lines func(func(string) bool)) (line, pattern string) {
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
