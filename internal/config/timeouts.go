package config

import (
	"cmp"
	"strings"
	"time"
)

// Timeout is a time limit, the key that set it and the file to change it in.
type Timeout struct {
	Sec       int
	Key, File string
}

// Facts name the limit for the texts about it.
func (t Timeout) Facts() []any {
	return []any{"seconds", t.Sec, "limit_key", t.Key, "limit_file", t.File}
}

// StepTimeout is what a step's own command may take.
func (c Config) StepTimeout() Timeout {
	return Timeout{c.Limits.TimeoutSec, "limits.timeout_sec", c.fileOf("limits.timeout_sec")}
}

// GitTimeouts are what a git command that writes and a question to git may
// take, with whatever git starts for it.
func (c Config) GitTimeouts() (write, question time.Duration) {
	write = time.Duration(c.Limits.TimeoutSec) * time.Second
	return write, min(write, time.Duration(c.Limits.GitTimeoutSec)*time.Second)
}

// AtMost is a limit of our own for a child, which the configuration's limit for a
// command makes shorter, never longer.
func (c Config) AtMost(limit time.Duration) time.Duration {
	return min(limit, time.Duration(c.Limits.TimeoutSec)*time.Second)
}

// LandTest is what judges a branch before it advances: tests.land, else the unit
// tests; "" where nothing does.
func (c Config) LandTest() (kind string, t Test) {
	for _, test := range []struct {
		kind string
		of   Test
	}{{"land", c.Tests.Land}, {"unit", c.Tests.Unit}} {
		switch {
		case test.of.Enabled:
			return test.kind, test.of
		case c.isSet("tests." + test.kind + ".enabled"):
			return "", Test{}
		}
	}
	return "", Test{}
}

// TestTimeout is what a configured test (unit, e2e, static, land) may take.
func (c Config) TestTimeout(kind string) Timeout {
	key := "tests." + kind + ".timeout_sec"
	t := map[string]Test{"unit": c.Tests.Unit, "e2e": c.Tests.E2E, "static": c.Tests.Static, "land": c.Tests.Land}[kind]
	if (kind == "unit" || kind == "land") && !c.isSet(key) {
		key = "limits.timeout_sec"
	}
	return Timeout{t.TimeoutSec, key, c.fileOf(key)}
}

// CallTimeout is what one call of a role may take.
func (r Router) CallTimeout(c Config) Timeout {
	const key = "defaults.timeout_sec"
	if o := r.Origin(key); o.Kind == "file" {
		return Timeout{r.Defaults.TimeoutSec, key, fileIn(o)}
	}
	return c.StepTimeout()
}

func (c Config) fileOf(key string) string {
	if o := c.Origin(key); o.Kind == "file" {
		return fileIn(o)
	}
	return cmp.Or(c.file, File)
}

func fileIn(o Origin) string { return o.Where[:strings.LastIndexByte(o.Where, ':')] }
