package doctor

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"aiflow/internal/proc"
	"aiflow/project"
	"aiflow/reqmeta/reqgen"
)

// BenchmarkQuick looks at a clean repository with a thousand requests.
func BenchmarkQuick(b *testing.B) {
	r := newRepo(b)
	if err := reqgen.Write(filepath.Join(r.dir, "requests"), 1, 1000); err != nil {
		b.Fatal(err)
	}
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "requests")
	for b.Loop() {
		if rep := Run(b.Context(), Options{Env: r.project()}); rep.Summary.FailCount > 0 {
			b.Fatalf("%+v", rep)
		}
	}
}

func (r *repo) project() project.Env {
	return project.SystemEnv(r.dir, r.env, proc.ClockOf(time.Now, proc.BootClock), os.Getpid())
}
