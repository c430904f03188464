package cli

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestJSONHidesNothing(t *testing.T) {
	for in, want := range map[string]string{
		"plain <b>&":            `"plain <b>&"`,
		"日本語 é":                 `"日本語 é"`,
		"a\u009bb\x7f":          `"a\u009bb\u007f"`,
		"\u202eevil\u200b":      `"\u202eevil\u200b"`,
		"tag\U000e0041":         `"tag\udb40\udc41"`,
		"\x1b[31m\r\n":          `"\u001b[31m\r\n"`,
		"quote \" back \\u202e": `"quote \" back \\u202e"`,
	} {
		var b bytes.Buffer
		if err := writeJSON(&b, in, ""); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != want+"\n" {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
		var back string
		if err := json.Unmarshal(b.Bytes(), &back); err != nil || back != in {
			t.Errorf("%q came back as %q (%v)", in, back, err)
		}
	}
}
