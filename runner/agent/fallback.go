package agent

import (
	"aiflow/internal/config"
	"aiflow/internal/fault"
)

// GoesElsewhere reports whether the provider itself could not do it: asking it
// again at once would come to the same.
func GoesElsewhere(err error) bool {
	code := fault.CodeOf(err)
	return code.OfProvider() || code == fault.AgentTimeout || code == fault.AgentSilent
}

// Unusable: there was an answer, and something is wrong with it that its author can mend.
func Unusable(err error) bool {
	code := fault.CodeOf(err)
	return code == fault.JSONParseError || code == fault.JSONSchemaInvalid || code == fault.PatchApplyFailed
}

// Lost: nobody can be asked by this provider until a person did something.
func Lost(code fault.Code) bool {
	return code == fault.CLINotAvailable || code == fault.CLIAuthRequired || code == fault.CLINotTrusted
}

// Soonest is the failure that a person waits for least.
func Soonest(a, b error) error {
	f, ok := fault.As(a)
	g, _ := fault.As(b)
	if ok && f.Code.Waits() && (!g.Code.Waits() || g.Facts["until"] == "" || f.Facts["until"] != "" && f.Facts["until"] < g.Facts["until"]) {
		return a
	}
	return b
}

// InsteadOf names the failure that a stand-in was to mend which cannot be asked
// itself: that is what a person wants to know. Where one of them only has to be
// waited for, that is what the run does.
func InsteadOf(err, before error) error {
	f, ok := fault.As(err)
	first, failed := fault.As(before)
	if !ok || !failed || !f.Code.OfProvider() {
		return err
	}
	if first.Code.Waits() {
		return Soonest(before, err)
	}
	f.Facts["before"], f.Facts["before_name"] = string(first.Code), first.Facts["name"]
	said := first.Facts["said"]
	if said == "" {
		said = ShortLine(LastLine(first.Facts["output"]))
	}
	if key := first.Facts["key"]; key != "" {
		said = ShortLine(key + " " + first.Facts["cause"])
	}
	for name, value := range map[string]string{"before_said": said, "output": first.Facts["output"], "path": first.Facts["path"]} {
		if value != "" {
			f.Facts[name] = value
		}
	}
	return err
}

// TriesUsedUp is D34's section 8: what a role failed with every time. A limit
// of one try was no limit that anybody hit.
func TriesUsedUp(role string, tries int, last error) error {
	if tries < 2 {
		return last
	}
	e := fault.Wrap(last, fault.RetryLimitExceeded, "name", role, "allowed", tries, "reason", fault.CodeOf(last))
	if f, ok := fault.As(last); ok {
		for _, k := range []string{"said", "cause", "cause_key", "key", "flaws", "path", "command", fault.WholeCommandFact, "output", "exit_status"} {
			if v := f.Facts[k]; v != "" {
				e.Facts[k] = v
			}
		}
	}
	if role == config.RoleQA { // no plan changes how qa answers
		e.Facts["no_plan"] = "true"
	}
	return e
}
