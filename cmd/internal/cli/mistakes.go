package cli

import (
	"regexp"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"aiflow/internal/fault"
	"aiflow/internal/near"
)

// mistake turns what the library says of a command line into one of our
// faults. It says it in these words alone.
func (l *line) mistake(err error, common []urfave.Flag) error {
	text := err.Error()
	for _, m := range []struct {
		pattern string
		fault   func(name, value string) error
	}{
		{`^flag provided but not defined: -(?P<name>\S+)$`, func(name, _ string) error { return l.strange(name, common) }},
		{`^flag needs an argument: -(?P<name>\S+)$`, func(name, _ string) error { return Usage("missing_value", "name", dashed(name)) }},
		{`^invalid boolean value "(?P<value>.*)" for -(?P<name>\S+): `, func(name, value string) error {
			return Usage("bad_value", "name", dashed(name), "value", value, "allowed", "true, false")
		}},
		{`^invalid value "(?P<value>.*)" for flag -(?P<name>\S+): `, func(name, value string) error {
			kind := "bad_number"
			switch named(l.command.flags(), name).(type) {
			case *urfave.DurationFlag:
				kind = "bad_duration"
			case *urfave.Float64Flag:
				kind = "bad_amount"
			}
			if value == "" {
				return Usage("missing_value", "name", dashed(name))
			}
			return Usage(kind, "name", dashed(name), "value", value)
		}},
	} {
		re := regexp.MustCompile(`(?s)` + m.pattern)
		if found := re.FindStringSubmatch(text); found != nil {
			value := ""
			if i := re.SubexpIndex("value"); i > 0 {
				value = found[i]
			}
			return m.fault(found[re.SubexpIndex("name")], value)
		}
	}
	return Usage("bad_flag", "reason", text)
}

// strange is the mistake of a flag that the command does not have.
func (l *line) strange(name string, common []urfave.Flag) error {
	for at := l.parent; at != nil; at = at.parent {
		if named(at.Flags, name) != nil {
			return Usage("foreign_flag", "name", dashed(name), "command", l.path, "owner", at.path)
		}
	}
	similar := l.nearFlag(name, common)
	if similar == "" && strings.Contains(l.ArgsUsage, "KEY=VALUE") {
		return Usage("key_as_flag", "name", dashed(name), "key", strings.ReplaceAll(name, "-", "_"), "command", l.path)
	}
	return Usage("unknown_flag", "name", dashed(name), "near", similar, "command", l.path)
}

// check compares the number of arguments with what ArgsUsage promises, and
// refuses a time that goes backwards.
func (l *line) check(c *urfave.Context) error {
	least, most, names := arity(l.ArgsUsage)
	if len(l.args) < least {
		return Usage("missing_argument", "name", names[len(l.args)], "command", l.path)
	}
	if most >= 0 && len(l.args) > most {
		return Usage("extra_argument", "value", l.args[most], "command", l.path)
	}
	for _, name := range c.LocalFlagNames() {
		if d, ok := c.Value(name).(time.Duration); ok && d < 0 {
			return Usage("bad_duration", "name", dashed(name), "value", d)
		}
	}
	return nil
}

// missingFlag is the required flag that err, an error of the library, names.
func missingFlag(err error) (name string, ok bool) {
	if err == nil {
		return "", false
	}
	name, ok = strings.CutPrefix(err.Error(), `Required flag "`)
	return strings.TrimSuffix(name, `" not set`), ok
}

// meant adds to "no such request" the command or flag that was meant, when the
// name looks like one's.
func (l *line) meant(err error, common []urfave.Flag) error {
	f, ok := fault.As(err)
	if !ok || f.Code != fault.RequestNotFound || len(l.args) == 0 || f.Facts["id"] != l.args[0] {
		return err
	}
	word := near.Word(l.args[0], l.names())
	if word == "" {
		word = l.nearFlag(l.args[0], common)
	}
	if word != "" {
		f.Facts["near"] = word
	}
	return err
}
