package locks

import (
	"time"

	"aiflow/internal/flock"
	"aiflow/internal/proc"
)

// Verdict is what can be said about a lock's holder.
type Verdict string

// The verdicts. Dead and Expired may be taken at once, Overdue only when asked
// for by name, the others not at all.
const (
	Mine       Verdict = "mine"        // this manager's own lease
	Held       Verdict = "held"        // holder lives, or must be taken to
	Overdue    Verdict = "overdue"     // holder lives but let the lease run out
	Dead       Verdict = "dead"        // holder's process is gone
	Expired    Verdict = "expired"     // holder cannot be asked and its time is over
	UnknownRec Verdict = "unknown"     // unreadable
	Newer      Verdict = "newer"       // written by a newer aiflow
	ClockFault Verdict = "clock_fault" // its times lie in the future
)

// Grace is what clocks of different machines may differ by.
const Grace = 5 * time.Minute

// maxTTL bounds what a record may claim for itself.
const maxTTL = 24 * time.Hour

// evidence is everything that a verdict depends on.
type evidence struct {
	rec  Record
	flaw flock.Flaw
	self proc.Identity
	now  time.Time
	ttl  time.Duration // ours, for records that do not tell theirs
	mine bool          // the token is one of this manager's
	processes
	group func(pid int, start uint64) proc.Liveness // of the group that it leads
	// age of the file by the file system's own clock; false when unknown.
	age func() (time.Duration, bool)
	// shared: the directory may be another machine's too.
	shared func() bool
}

// processes asks about a process in our namespace.
type processes struct {
	alive     func(pid int, start uint64) proc.Liveness
	aliveAs   func(pid int, inode uint64) proc.Liveness // Unknown: ask alive
	startedAt func(pid int) (time.Time, bool)           // false: it cannot be told
}

type judgement struct {
	verdict  Verdict
	live     bool // nobody may take it now
	orphaned bool // the holder is dead, a command that it ran is not
}

// judge is the one place where it is decided whether a lock is free. Design
// 3.3 and docs/lock-files.md have it as a table.
func judge(s evidence) judgement {
	switch {
	case s.flaw == flawNewer:
		return judgement{verdict: Newer, live: true}
	case isIrregular(s.flaw):
		return judgement{verdict: UnknownRec, live: true}
	case s.flaw != "":
		return s.byAge(UnknownRec)
	case s.mine:
		return judgement{verdict: Mine, live: true}
	case s.rec.hasSeedFieldsOnly():
		return s.judgeSeedRecord()
	case !s.rec.isOnMachine(s.self) || s.rec.BootID == "" || s.self.BootID == "":
		return s.byTime()
	case s.rec.BootID != s.self.BootID && s.shared():
		return s.byTime() // "same machine" might be a clone of it
	case s.rec.BootID != s.self.BootID:
		return judgement{verdict: Dead} // every process of an earlier boot is gone
	case s.rec.PIDNS == "" || s.rec.PIDNS != s.self.PIDNS:
		return s.byTime()
	}
	return s.byProcess()
}

// byProcess: same host, boot and pid namespace, so the pid can be asked.
func (s evidence) byProcess() judgement {
	life := s.holderLife()
	if s.rec.PID == s.self.PID && s.rec.PIDStart == 0 {
		life = proc.Dead // our number, not our token: an earlier process had it
	}
	switch {
	case life == proc.Dead && s.commandLives():
		return judgement{verdict: Held, live: true, orphaned: true}
	case life == proc.Dead:
		return judgement{verdict: Dead}
	case life == proc.Unknown:
		return s.byTime()
	case s.isInFuture():
		return judgement{verdict: ClockFault, live: true}
	case s.now.After(s.rec.ExpiresAt):
		return judgement{verdict: Overdue, live: true}
	}
	return judgement{verdict: Held, live: true}
}

func (s evidence) holderLife() proc.Liveness {
	if s.rec.PIDInode != 0 {
		if life := s.aliveAs(s.rec.PID, s.rec.PIDInode); life != proc.Unknown {
			return life
		}
	}
	if s.rec.PIDStart == 0 && s.startedAfterRecord() {
		return proc.Dead
	}
	return s.alive(s.rec.PID, s.rec.PIDStart)
}

// startedAfterRecord: the process that has the record's pid began after the
// record was written, so it is another that got the number. Where the record
// does not say when it was written, it was before its end. Clocks may have been
// set by up to Grace meanwhile.
func (s evidence) startedAfterRecord() bool {
	written := s.rec.CreatedAt
	if written.IsZero() {
		written = s.rec.ExpiresAt
	}
	began, ok := s.startedAt(s.rec.PID)
	return ok && began.After(written.Add(Grace))
}

// commandLives: the command that a dead holder ran may not be dead.
func (s evidence) commandLives() bool {
	life := s.alive
	if s.rec.CommandGroup {
		life = s.group
	}
	return s.rec.Command > 0 && life(s.rec.Command, s.rec.CommandStart) != proc.Dead
}

// byTime: nothing but the record's times can be asked.
func (s evidence) byTime() judgement {
	switch {
	case s.isInFuture():
		return s.byAge(ClockFault)
	case s.now.After(s.rec.ExpiresAt.Add(Grace)):
		return judgement{verdict: Expired}
	}
	return judgement{verdict: Held, live: true}
}

// judgeSeedRecord judges a record with the seed's fields only: it is held until it says;
// then only a living pid keeps it, if that process can have written it.
func (s evidence) judgeSeedRecord() judgement {
	if s.rec.isOfOtherHost(s.self) {
		return s.byTime()
	}
	over := s.now.After(s.rec.ExpiresAt)
	if s.isInFuture() {
		over = !s.byAge(ClockFault).live
	}
	switch {
	case !over && s.isInFuture():
		return judgement{verdict: ClockFault, live: true}
	case !over:
		return judgement{verdict: Held, live: true}
	case s.rec.PID > 0 && !s.startedAfterRecord() && s.alive(s.rec.PID, 0) == proc.Living:
		return judgement{verdict: Overdue, live: true}
	}
	return judgement{verdict: Expired}
}

// byAge: the record's times are no use, the file's age must do.
func (s evidence) byAge(v Verdict) judgement {
	if age, ok := s.age(); ok && age > s.leaseLength()+Grace {
		return judgement{verdict: Expired}
	}
	return judgement{verdict: v, live: true}
}

// isInFuture: nobody wrote this with a clock near ours.
func (s evidence) isInFuture() bool {
	return s.rec.CreatedAt.After(s.now.Add(Grace)) || s.rec.ExpiresAt.After(s.now.Add(s.leaseLength()+Grace))
}

// leaseLength is the lease length that the record's writer used, within bounds.
func (s evidence) leaseLength() time.Duration {
	span := time.Duration(min(s.rec.TTLSec, int64(maxTTL/time.Second))) * time.Second
	if span <= 0 && !s.rec.CreatedAt.IsZero() {
		span = min(s.rec.ExpiresAt.Sub(s.rec.CreatedAt), maxTTL)
	}
	return max(span, s.ttl)
}
