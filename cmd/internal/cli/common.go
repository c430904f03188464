package cli

// commonOptionSpec is a flag that every binary has.
type commonOptionSpec struct {
	name, short, value, usage string
	set                       func(w *walked, value string)
	values                    []string // that a shell may offer
}

var commonFlags = [...]commonOptionSpec{
	{"config", "", "FILE", "cli.common_config", func(w *walked, v string) { w.config = v }, nil},
	{"help", "h", "", "cli.common_help", func(w *walked, _ string) { w.help = true }, nil},
	{"json", "", "", "cli.common_json", func(w *walked, _ string) { w.json = true }, nil},
	{"lang", "", "LANG", "cli.common_lang", func(w *walked, v string) { w.lang = v }, []string{"en", "ja"}},
	{"no-color", "", "", "cli.common_no_color", func(w *walked, _ string) { w.noColor = true }, nil},
	{"version", "", "", "cli.common_version", func(w *walked, _ string) { w.version = true }, nil},
}

func commonFlag(name string) *commonOptionSpec {
	for i := range commonFlags {
		if c := &commonFlags[i]; c.name == name || c.short == name && name != "" {
			return c
		}
	}
	return nil
}

func (w *walked) commonOption(c *commonOptionSpec, value string, given bool, rest []string) int {
	switch {
	case c.value == "" && given && value != "true":
		if value != "false" {
			w.fail(Usage("bad_value", "name", "--"+c.name, "value", value, "allowed", "true, false"))
		}
		return 0
	case c.value == "" || given:
		c.set(w, value)
		return 0
	case len(rest) == 0:
		w.open = c.name
		w.fail(Usage("missing_value", "name", "--"+c.name))
		return 0
	}
	c.set(w, rest[0])
	return 1
}
