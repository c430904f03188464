package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/editlock"
	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/internal/term"
	"aiflow/reqmeta"
	"aiflow/reqmeta/edit"
)

// editing is one request in an editor. The editor has a copy; the request file
// is replaced at the end, if it and the lock are what they were.
type editing struct {
	*view
	r      *reqmeta.Request
	editor string
	before []byte // what the editor was given
	copy   string
	lease  *editlock.Lease
}

func editRequest(s *cli.Shell, name string, readOnly bool) error {
	v, err := open(s)
	if err != nil {
		return err
	}
	e := &editing{view: v, editor: editorOf(s)}
	if e.r, err = app.Find(v.p, v.survey.Folder, name); err != nil {
		return err
	}
	if e.editor == "" { // vi, where there is one and a terminal to show it on
		if _, err := exec.LookPath("vi"); err != nil || !s.Terminal() || !term.IsTerminal(s.Stdin) {
			return e.unsaved("request.edit_no_editor")
		}
		e.editor = "vi"
	}
	if readOnly {
		return e.readOnly()
	}
	if err := edit.OneName(e.r); err != nil {
		return err
	}
	if err := v.refuseRunning(e.r.ID); err != nil {
		return err
	}
	// Under the project lock; others are told who edits.
	dir := e.projectDir()
	host, _ := os.Hostname()
	p := editlock.Open(editlock.Options{
		Dir: dir, Clock: e.p.Env.Clock, Disk: e.p.Env.Disk, Rand: e.p.Env.Rand,
		OwnerID: fmt.Sprintf("aiflow-request edit %s (%d@%s)", e.r.ID, e.p.Env.PID, host),
		Hear:    editlock.OpenJournal(filepath.Join(dir, "autosave"), e.p.Now).Record(),
	})
	if e.lease, err = p.Acquire(context.Background()); err != nil {
		return e.refused(err)
	}
	defer e.release()
	return e.change()
}

func (e *editing) projectDir() string { return e.p.Path(e.p.Config.Paths.AiflowDir + "/project") }

// refused says who edits, since when and until when.
func (e *editing) refused(err error) error {
	f, ok := fault.As(err)
	if !ok || f.Code != fault.LockHeld {
		return err
	}
	pairs := []any{"id", e.r.ID}
	for _, name := range []string{"name", "since", "until", "verdict"} {
		if f.Facts[name] != "" {
			pairs = append(pairs, name, f.Facts[name])
		}
	}
	switch editlock.Verdict(f.Facts["verdict"]) {
	case editlock.Unreadable, editlock.Newer: // whoever it is of, no time in it frees it
		pairs = append(pairs, "odd", e.shown(f.Facts["path"]))
	}
	return fault.New(fault.EditInProgress, pairs...)
}

func (e *editing) release() {
	lost := e.lease.Check() != nil
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := e.lease.Release(ctx); err != nil && !lost {
		e.Warn("projectlock.release_failed", nil)
	}
}

func (e *editing) change() error {
	// Earlier edits of this request may have left what they could not save.
	left, _ := filepath.Glob(filepath.Join(escapeGlob(e.projectDir()), "edits", "*", escapeGlob(filepath.Base(e.r.Path))))
	for _, path := range left {
		e.Warn("request.edit_left", fault.Facts{"id": e.r.ID, "path": e.shown(path)})
	}
	after, err := e.edited(0o600)
	if err != nil {
		return err
	}
	after = edit.KeepLineEnds(e.before, after)
	if bytes.Equal(after, e.before) {
		e.discard()
		return e.tellEdited(false)
	}
	if err := e.save(after); err != nil {
		return err
	}
	e.discard()
	return e.tellEdited(true)
}

// edited lets the person edit a copy and gives its bytes.
func (e *editing) edited(mode os.FileMode) ([]byte, error) {
	if err := e.makeCopy(mode); err != nil {
		return nil, err
	}
	if err := e.Flush(); err != nil {
		return nil, err
	}
	signal, failed := attend(editorCommand(e.Shell, e.editor, e.copy))
	after, err := os.ReadFile(e.copy)
	switch {
	case signal != nil:
		if kept := e.keep(after); kept != "" {
			e.Tell(e.Text("projectlock.saved", "path", kept))
		}
		return nil, cli.Exit(128 + int(signal.(syscall.Signal)))
	case failed != nil:
		return nil, e.unsaved("request.edit_editor_failed", "command", e.editor, "exit_status", exitStatus(failed), "path", e.keep(after))
	case err != nil || len(bytes.TrimSpace(after)) == 0 && len(e.before) > 0:
		e.discard()
		return nil, e.unsaved("request.edit_empty", "command", e.editor)
	}
	return after, nil
}

// makeCopy copies the file, as it is now, to where nobody else looks.
func (e *editing) makeCopy(mode os.FileMode) (err error) {
	if e.before, err = e.survey.Folder.Read(e.r); err != nil {
		return err
	}
	dir := filepath.Join(e.projectDir(), "edits", e.p.Suffix())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.NotWritable(err, dir)
	}
	e.copy = filepath.Join(dir, filepath.Base(e.r.Path))
	o := atomicfile.Options{Perm: mode, TempSuffix: e.p.Suffix()}
	if err := atomicfile.Write(e.p.Env.Disk, e.copy, e.before, o); err != nil {
		return fault.NotWritable(err, e.copy)
	}
	return nil
}

// keep says where the copy stays, or "" when there is nothing in it to keep.
func (e *editing) keep(after []byte) string {
	if len(after) == 0 || bytes.Equal(after, e.before) {
		e.discard()
		return ""
	}
	return e.shown(e.copy)
}

func (e *editing) discard() { _ = os.RemoveAll(filepath.Dir(e.copy)) }

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// shown is path as it is seen from where the command was started.
func (e *editing) shown(path string) string {
	if rel, err := filepath.Rel(e.p.Env.Dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// unsaved is EDIT_NOT_SAVED for the reason that the message key tells.
func (e *editing) unsaved(key string, pairs ...any) error {
	f := fault.New(fault.EditNotSaved, append(pairs, "cause_key", key, "reason", strings.TrimPrefix(key, "request."), "id", e.r.ID)...)
	if f.Facts["path"] == "" {
		delete(f.Facts, "path")
	} else {
		f.Facts["file"] = e.shown(e.p.Path(e.r.Path))
	}
	return f
}

// readOnly shows a copy and saves nothing.
func (e *editing) readOnly() error {
	after, err := e.edited(0o400)
	if err != nil {
		return err
	}
	if kept := e.keep(after); kept != "" {
		return e.unsaved("request.edit_read_only", "path", kept)
	}
	return nil
}
