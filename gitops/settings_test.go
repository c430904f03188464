package gitops

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSettingsAreGits: who commits and where origin is, read together, is what
// git says to each question alone, however the configuration is written.
func TestSettingsAreGits(t *testing.T) {
	for name, text := range map[string]string{
		"plain":             "[user]\n name = A B\n email = a@b.invalid\n[remote \"origin\"]\n url = https://h/o/r\n",
		"the last counts":   "[user]\n name = A\n name = B\n email = a@b.invalid\n",
		"author of its own": "[user]\n name = A\n email = a@b.invalid\n[author]\n name = C\n",
		"crud at the ends":  "[user]\n name = \"Robert Jr.\"\n email = \"<a@b.invalid>\"\n",
		"nothing is left":   "[user]\n name = \"...\"\n email = a@b.invalid\n",
		"no value":          "[user]\n name\n email = a@b.invalid\n",
		"no value, later":   "[user]\n name = A\n email = a@b.invalid\n[author]\n name\n",
		"another language":  "[user]\n name = 山田\n email = a@b.invalid\n",
		"two addresses":     "[remote \"origin\"]\n url = https://h/1\n url = https://h/2\n",
		"only for pushing":  "[remote \"origin\"]\n pushurl = https://h/p\n",
		"written anew":      "[remote \"origin\"]\n url = x:o/r\n[url \"https://h/\"]\n insteadOf = x:\n",
		"another remote":    "[remote \"Origin\"]\n url = https://h/o/r\n",
		"an odd remote":     "[remote \"origin\"]\n url =\n",
		"included":          "[include]\n path = more\n",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			root := b.repo("r")
			at := filepath.Join(root, ".git", "config")
			before, err := os.ReadFile(at)
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(root, ".git", "more"), "[user]\n name = I\n email = i@b.invalid\n[remote \"origin\"]\n url = https://h/i\n")
			r := b.open(root) // a configuration that is broken is told of elsewhere
			writeFile(t, at, string(before)+text)
			wantName, wantMail, wantErr := r.askIdentity(t.Context())
			gotName, gotMail, err := r.Identity(t.Context())
			if gotName != wantName || gotMail != wantMail || (err == nil) != (wantErr == nil) {
				t.Errorf("%q %q %v, git says %q %q %v", gotName, gotMail, err, wantName, wantMail, wantErr)
			}
			out, wantErr := r.git.Ask(t.Context(), "remote", "get-url", "origin")
			got, err := r.originURL(t.Context())
			if got != line(out) || (err == nil) != (wantErr == nil) {
				t.Errorf("origin %q %v, git says %q %v", got, err, out, wantErr)
			}
		})
	}
}
