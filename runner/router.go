package runner

import (
	"regexp"
	"slices"

	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/runs"
)

// cast is the router as one run knows it: who plays what, and what must not
// occur. It is read once; a change of the file counts from the next run on.
type cast struct {
	config.Router
	patterns []*regexp.Regexp
	unread   bool // the file cannot be used: nobody plays anything
}

func (j *job) routes() (*cast, error) {
	if j.cast != nil {
		return j.cast, nil
	}
	router, _, err := config.LoadRouter(j.Project.Dir, j.Project.Config)
	if err != nil && j.asksSomebody() {
		return nil, err
	}
	c := &cast{Router: router}
	if err != nil {
		c.unread = true
		c.Router, _, _ = config.ParseRouter(nil, "", j.Project.Config) // as if there were none
	}
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

// asksSomebody: the request has steps, or the plan has some left, that need more
// than their commands.
func (j *job) asksSomebody() bool {
	if j.plan == nil {
		return project.AsksSomebody(j.req)
	}
	return j.stage.AsksSomebody(j.plan)
}

// noteUnread says of a run that it does without the router.
func (j *job) noteUnread() {
	if j.cast == nil || !j.cast.unread || j.stage.HasEvent(runs.EventWithoutRouter) {
		return
	}
	j.stage.AddEvent(j.Project.Now(), runs.EventWithoutRouter, "", "")
	j.tell(Event{Kind: Warned, What: j.Words.Text("work.without_router", nil)})
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
