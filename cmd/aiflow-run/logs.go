package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"time"

	"github.com/urfave/cli/v2"

	"aiflow/cmd/internal/desk"
	"aiflow/cmd/internal/door"
	"aiflow/internal/term"
	"aiflow/project"
	"aiflow/runs"
)

func logsCommand(s *door.Shell) *cli.Command {
	var follow bool
	return &cli.Command{
		Name: "logs", Usage: "work.logs_usage", ArgsUsage: "[RUN]",
		UsageText: "aiflow-run logs\naiflow-run logs -f",
		Flags:     []cli.Flag{&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "work.logs_follow", Destination: &follow}},
		Action:    func(c *cli.Context) error { return logs(s, c.Args().First(), follow) },
	}
}

// logs prints what a run's commands said, log after log in the order in which
// they were begun.
func logs(s *door.Shell, arg string, follow bool) error {
	p, err := desk.Open(s, nil)
	if err != nil {
		return err
	}
	st, dir, err := pick(p, arg)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.PrintJSON(struct {
			RunID string   `json:"run_id"`
			Logs  []string `json:"logs"`
		}{st.RunID, runs.Logs(p.Dir, dir.Rel)})
	}
	f := &follower{s: s, p: p, dir: dir, at: map[string]int64{}}
	if !follow {
		return f.round()
	}
	return f.follow(s.Context())
}

// follower remembers how far each log has been shown.
type follower struct {
	s    *door.Shell
	p    *project.Project
	dir  *runs.Dir
	at   map[string]int64
	last string
}

const followEvery = 200 * time.Millisecond

// follow shows what is added until the run is over.
func (f *follower) follow(ctx context.Context) error {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		over := f.over()
		if err := f.round(); err != nil {
			return err
		}
		if err := f.s.Flush(); err != nil || over {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// over reports whether nobody writes any more: the run ended, or nobody holds
// its request.
func (f *follower) over() bool {
	st, err := f.dir.LoadStage()
	if err != nil || st.State.Ended() {
		return true
	}
	m, err := f.p.Locks()
	if err != nil {
		return true
	}
	e, held, err := m.LookRequest(st.RequestID)
	return err != nil || !held || !e.Live
}

func (f *follower) round() error {
	for _, name := range runs.Logs(f.p.Dir, f.dir.Rel) {
		if name == f.dir.RelPath(runs.LogName(runs.LogRunner, "", 0)) {
			continue // what the run did, not what its commands said
		}
		if err := f.show(name); err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) show(name string) error {
	file, err := os.Open(f.p.Path(name))
	if err != nil {
		return nil // removed meanwhile
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil || size <= f.at[name] {
		return err
	}
	if f.last != name {
		f.s.Printf("%s\n", f.s.Paint(term.Bold, "==> "+path.Base(name)))
		f.last = name
	}
	n, err := f.copy(io.NewSectionReader(file, f.at[name], size-f.at[name]))
	f.at[name] += n
	return err
}

// copy prints lines with their control characters shown, and gives how much it
// read.
func (f *follower) copy(r io.Reader) (int64, error) {
	b, n := bufio.NewReaderSize(r, 64<<10), int64(0)
	for {
		line, err := b.ReadSlice('\n')
		n += int64(len(line))
		if len(line) > 0 {
			f.s.Printf("%s\n", term.Escape(trimEOL(string(line))))
		}
		switch {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return n, err
		}
	}
}

func trimEOL(s string) string {
	for len(s) > 0 && (s[len(s)-1] == '\n' || s[len(s)-1] == '\r') {
		s = s[:len(s)-1]
	}
	return s
}
