package folder

import (
	"testing"
)

func TestMeant(t *testing.T) {
	f := made(
		"RQ-20260101-001-setup done", "RQ-20260101-002-login ready", "RQ-20260101-003-logout ready",
		"RQ-20260102-001-login ready", "Q-7 ready", "q-70 ready", "broken weird", "twice ready", "twice draft",
	)
	for _, c := range []struct{ id, by, want string }{
		{"RQ-20260101-002", "", "RQ-20260101-002-login"}, // cut short
		{"002", "", "RQ-20260101-002-login"},             // a part
		{"setup", "", "RQ-20260101-001-setup"},
		{"001", "", ""}, // a part of two
		{"01", "", ""},
		{"login", "", ""},
		{"login", "RQ-20260102-001-login", "RQ-20260101-002-login"}, // of two, one asks
		{"RQ-20260102", "RQ-20260102-001-login", ""},                // nobody means himself
		{"rq-20260101-003-LOGOUT", "", "RQ-20260101-003-logout"},
		{"q-7", "", "Q-7"},                                       // and not q-70, which begins so
		{"RQ-20260101-003-lgoout", "", "RQ-20260101-003-logout"}, // slips
		{"RQ-20260101-03-logout", "", "RQ-20260101-003-logout"},
		{"Q-8", "", ""}, // another number is no slip
		{"q-07", "", "Q-7"},
		{"RQ-20260101-004", "", ""}, // as near to each of three
		{"brken", "", "broken"},
		{"twic", "", "twice"}, // one id, though two files have it
		{"RQ-20250909-payment", "", ""},
		{"", "", ""},
	} {
		if got := f.Meant(c.id, c.by); got != c.want {
			t.Errorf("%s, wanted by %s: %q, want %q", c.id, c.by, got, c.want)
		}
	}
	if got := made().Meant("a", "b"); got != "" {
		t.Errorf("nothing there: %q", got)
	}
}
