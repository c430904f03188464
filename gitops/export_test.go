package gitops

import "testing"

// OddRepo is one of the odd repositories for tests outside this package.
type OddRepo struct {
	Name string
	Root string
	Env  []string
	Sh   func(dir string, args ...string) string
}

// EachOdd makes every odd repository in turn.
func EachOdd(t *testing.T, test func(t *testing.T, o OddRepo)) {
	for _, o := range oddRepos() {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			test(t, OddRepo{Name: o.name, Root: o.make(b), Env: b.env, Sh: b.sh})
		})
	}
}
