package main

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"
	"time"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/cli"
	"aiflow/internal/atomicfile"
	"aiflow/internal/config"
	"aiflow/internal/proc"
	"aiflow/locks"
)

func TestLive(t *testing.T) {
	dir := t.TempDir()
	m := &matrix{t: t, dir: dir, env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}}
	m.git("init", "-q", dir)
	manager := locks.Open(locks.Options{
		Dir: filepath.Join(dir, ".aiflow/locks"), TTL: time.Minute, Clock: proc.ClockOf(time.Now, proc.BootClock),
		Self: proc.Self(), Disk: atomicfile.OS{}, Rand: rand.Reader,
	})
	lease, err := manager.Acquire(t.Context(), locks.Request("RQ-1"), locks.Ask{})
	if err != nil {
		t.Fatal(err)
	}
	p := cli.OS("", "")
	p.Args = []string{"x"}
	w := here{top: dir, main: dir, config: config.Default()}
	ask := func() (held, other bool) {
		cli.Main(p, func(s *cli.Shell) *urfave.App {
			return &urfave.App{Name: "x", Action: func(*urfave.Context) error {
				held, other = live(s, w, "RQ-1"), live(s, w, "RQ-2")
				return nil
			}}
		})
		return held, other
	}
	if held, other := ask(); !held || other {
		t.Errorf("held %v, other %v", held, other)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	if held, _ := ask(); held {
		t.Error("held after its release")
	}
}
