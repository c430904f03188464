package runs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"aiflow/internal/atomicfile"
)

// SaveStage replaces stage.json whole. seq grows by one with each save. On
// failure the old record stays and the stage is as before.
//
// A record that must outlive a power cut (the first one, the plan, a step, a
// commit, an end) is synced. Those between are not: killing the process cannot
// hurt them, and should a power cut tear one, stage.json.prev is the last
// record that was synced.
func (d *Dir) SaveStage(s *Stage) error {
	if err := d.belongs(s); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	d.nameArtifacts(s)
	s.Seq++
	if err := d.replaceStage(s); err != nil {
		s.Seq--
		return writeFault(err, d.RelPath(stageFile))
	}
	s.FellBack = false
	return nil
}

// nameArtifacts writes into the record where the run's other files are.
func (d *Dir) nameArtifacts(s *Stage) {
	a := &s.Artifacts
	a.ReportMD, a.LogsDir = d.RelPath(reportFile), d.RelPath("logs")
	if len(s.Steps) > 0 {
		a.PlanningJSON = d.RelPath(planFile)
	}
	a.ErrorsJSON = nil
	if s.Error != nil {
		path := d.RelPath(errorsFile)
		a.ErrorsJSON = &path
	}
}

func (d *Dir) belongs(s *Stage) error {
	if s.RequestID == d.RequestID && s.RunID == d.RunID {
		return nil
	}
	return mistake(s, "foreign_record", "path", d.Rel, "cause", "the record of "+s.RequestID+"/"+s.RunID+" does not belong into "+d.Rel)
}

func (d *Dir) replaceStage(s *Stage) error {
	data, err := s.Encode()
	if err != nil {
		return err
	}
	now := markOf(s)
	durable := now != d.synced
	if s.FellBack {
		d.current = stageVolatile
	} else if err := keepPrev(d, durable); err != nil {
		return err
	}
	if d.current, err = d.putStage(data, durable); err == nil {
		d.synced = now
	}
	return err
}

// putStage writes stage.json. A synced one gets its second name at once, so that
// one sync of the directory makes both names safe; but the record that another
// process left stays beside our first one.
func (d *Dir) putStage(data []byte, durable bool) (onDisk, error) {
	o := atomicfile.Options{TempSuffix: d.suffix(), Volatile: !durable}
	if err := atomicfile.Write(noDirSync{d.disk}, d.file(stageFile), data, o); err != nil {
		return d.current, err
	}
	if !durable {
		return stageVolatile, nil
	}
	is := stageSynced
	if d.current != stageUnknown && linkPrev(d) == nil {
		is = stageKept
	}
	return is, d.disk.SyncDir(d.Path)
}

// onDisk is what we know about the stage.json that is there.
type onDisk int

const (
	stageUnknown  onDisk = iota // another process wrote it
	stageVolatile               // absent, torn or not synced: stage.json.prev is the last one that was
	stageSynced
	stageKept // synced, and stage.json.prev is the same
)

// keepPrev gives the present stage.json a second name if it is one that a power
// cut cannot tear. It is a link to a whole file, so it is whole itself; where
// links cannot be made it is a copy. Its name is made safe here unless the save
// to come does it: a torn stage.json must not be left beside an older one.
func keepPrev(d *Dir, durable bool) error {
	switch d.current {
	case stageVolatile, stageKept:
		return nil
	case stageUnknown:
		if err := syncFile(d.file(stageFile)); err != nil {
			return err
		}
	}
	err := linkPrev(d)
	if missing(err) {
		d.current = stageVolatile
		return nil
	}
	if err != nil {
		err = copyPrev(d)
	}
	if err != nil || durable {
		return err
	}
	return d.disk.SyncDir(d.Path)
}

var errNoLinks = errors.New("this disk makes no links")

func linkPrev(d *Dir) error {
	l, ok := d.disk.(Linker)
	if !ok {
		return errNoLinks
	}
	tmp := d.file("." + prevFile + atomicfile.TempMark + d.suffix())
	if err := l.Link(d.file(stageFile), tmp); err != nil {
		return err
	}
	return d.moveTo(tmp, d.file(prevFile))
}

func copyPrev(d *Dir) error {
	old, err := read(d.file(stageFile), maxRecord)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return d.write(noDirSync{d.disk}, prevFile, old)
}

// moveTo renames tmp. Renaming one name of a file to another of the same file
// does nothing at all, so what is left of tmp is removed.
func (d *Dir) moveTo(tmp, to string) error {
	err := d.disk.Rename(tmp, to)
	if _, serr := os.Lstat(tmp); serr == nil {
		_ = d.disk.Remove(tmp)
	}
	return err
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// mark is what must outlive a power cut.
type mark struct {
	set        bool
	ended      State
	steps      int
	settled    int
	commits    int
	replacedBy string
	dropped    bool
	landed     string
}

func markOf(s *Stage) mark {
	m := mark{set: true, steps: len(s.Steps), commits: len(s.Git.Commits), replacedBy: s.ReplacedBy, dropped: s.DroppedAt != nil}
	if s.Landed != nil {
		m.landed = s.Landed.Commit
	}
	if s.State.Ended() {
		m.ended = s.State
	}
	for i := range s.Steps {
		if s.Steps[i].Status.Settled() {
			m.settled++
		}
	}
	return m
}

type noDirSync struct{ atomicfile.Disk }

func (noDirSync) SyncDir(string) error { return nil }

// SavePlan writes planning.json.
func (d *Dir) SavePlan(p *Plan) error { return d.saveJSON(planFile, p) }

// SaveErrors writes errors.json. It must say the same as the stage's error.
func (d *Dir) SaveErrors(e *Errors) error { return d.saveJSON(errorsFile, e) }

// RemoveErrors removes errors.json; a run that goes on or is done has none.
func (d *Dir) RemoveErrors() error {
	err := d.disk.Remove(d.file(errorsFile))
	if missing(err) {
		return nil
	}
	return writeFault(err, d.RelPath(errorsFile))
}

func (d *Dir) saveJSON(name string, v any) error {
	data, err := encode(v)
	if err != nil {
		return writeFault(err, d.RelPath(name))
	}
	return d.write(d.disk, name, data)
}

// SaveReport writes report.md.
func (d *Dir) SaveReport(text string) error {
	return d.write(noDirSync{d.disk}, reportFile, []byte(text))
}

// SavePatch writes patches/<step>.patch, and gives its path relative to the
// project. attempt > 0 is the patch of a failed attempt:
// patches/<step>.attempt<n>.patch. That one is synced; a step's own patch can
// be made again from its commit.
func (d *Dir) SavePatch(stepID string, attempt int, patch []byte) (string, error) {
	name := PatchName(stepID, attempt)
	if err := d.put(name, patch, attempt == 0); err != nil {
		return "", err
	}
	return d.RelPath(name), nil
}
