package main

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"aiflow/cmd/internal/cli"
	"aiflow/internal/term"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/runs"
)

type logsOptions struct {
	step         string
	last, follow bool
}

// logs prints what a run's commands said, log after log, the last written one
// last.
func logs(s *cli.Shell, o logsOptions, arg string) error {
	p, err := open(s)
	if err != nil {
		return err
	}
	st, dir, err := pick(p, arg)
	if err != nil {
		return err
	}
	if o.step != "" && st.Step(o.step) == nil {
		var ids []string
		for i := range st.Steps {
			ids = append(ids, st.Steps[i].StepID)
		}
		return cli.Usage("bad_value", "name", "--step", "value", o.step, "allowed", cmp.Or(strings.Join(ids, ", "), "-"))
	}
	f := &follower{s: s, p: p, o: o, dir: dir, at: map[string]int64{}}
	if s.JSON {
		return s.PrintJSON(struct {
			RunID string   `json:"run_id"`
			Logs  []string `json:"logs"`
		}{st.RunID, f.names()})
	}
	if !o.follow {
		return f.round(true)
	}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for ctx := s.Context(); ; {
		over := f.over()
		if err := f.round(over); err != nil {
			return err
		}
		if err := s.Flush(); err != nil || over {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// follower remembers how far each log has been shown.
type follower struct {
	s    *cli.Shell
	p    *project.Project
	o    logsOptions
	dir  *runs.Dir
	at   map[string]int64
	last string
}

const followEvery = 200 * time.Millisecond

// over reports whether nobody writes any more: the run ended, or nobody holds
// its request.
func (f *follower) over() bool {
	st, err := f.dir.LoadStage()
	if err != nil || st.State.Ended() {
		return true
	}
	e, held, err := f.p.Locks().Look(locks.Request(st.RequestID))
	return err != nil || !held || !e.Live
}

// names lists the logs that are asked for. JSON has all files, also what the
// run itself wrote down.
func (f *follower) names() []string {
	names := runs.LogsByTime(f.p.Dir, f.dir.Rel, f.o.step)
	if f.o.last || !f.s.JSON {
		names = slices.DeleteFunc(names, func(name string) bool { return !runs.IsOutput(name) })
	}
	if f.o.last && len(names) > 1 {
		names = names[len(names)-1:]
	}
	return names
}

// round shows what is new. Only once nobody writes any more an empty log is
// known to stay so.
func (f *follower) round(over bool) error {
	for _, name := range f.names() {
		if err := f.show(name, over); err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) show(name string, over bool) error {
	file, err := os.Open(f.p.Path(name))
	if err != nil {
		return nil // removed meanwhile
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if size == 0 && over {
		f.s.Printf("%s %s\n", f.s.Paint(term.Bold, "==> "+path.Base(name)), f.s.Text("work.logs_silent"))
	}
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
			f.s.Printf("%s\n", term.Escape(strings.TrimRight(string(line), "\r\n")))
		}
		switch {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return n, err
		}
	}
}
