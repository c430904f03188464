package locks

import (
	"testing"
	"time"

	"aiflow/internal/flock"
	"aiflow/internal/proc"
)

var (
	noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	here = proc.Identity{PID: 100, PIDStart: 7000, BootID: "boot-1", Machine: "m-1", PIDNS: "ns-1", Hostname: "box"}
)

const half = 30 * time.Minute

// ours is a record of another process of this machine, made at noon.
func ours(change ...func(*Record)) Record {
	r := Record{
		Version: "1.0", LockType: TypeRequest, RequestID: "RQ-1", PID: 200, Host: localHost,
		CreatedAt: noon, ExpiresAt: noon.Add(half), Token: "t", PIDStart: 9000, BootID: "boot-1",
		Machine: "m-1", PIDNS: "ns-1", Hostname: "box", TTLSec: 1800,
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

// seedOnly is a record with D39's fields and nothing else.
func seedOnly(change ...func(*Record)) Record {
	r := Record{
		Version: "1.0", LockType: TypeRequest, RequestID: "RQ-1", PID: 200, Host: localHost,
		CreatedAt: noon, ExpiresAt: noon.Add(half),
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

func numbered(r *Record)     { r.PIDInode = 5 }
func otherMachine(r *Record) { r.Machine = "m-2" }
func otherHost(r *Record)    { r.Machine, r.Hostname, r.BootID = "m-2", "far", "boot-9" }
func otherName(r *Record)    { r.Hostname = "renamed" }
func otherNS(r *Record)      { r.PIDNS = "ns-2" }

// unasked and unbegun are for those who judge by start times alone.
func unasked(int, uint64) proc.Liveness { return proc.Unknown }
func unbegun(int) (time.Time, bool)     { return time.Time{}, false }

func otherBoot(r *Record)  { r.BootID = "boot-0" }
func noMachine(r *Record)  { r.Machine = "" }
func noBoot(r *Record)     { r.BootID = "" }
func noNS(r *Record)       { r.PIDNS = "" }
func noStart(r *Record)    { r.PIDStart = 0 }
func noCreation(r *Record) { r.CreatedAt = time.Time{} }
func fromTomorrow(r *Record) {
	r.CreatedAt, r.ExpiresAt = noon.Add(24*time.Hour), noon.Add(24*time.Hour+half)
}
func tillNextYear(r *Record) { r.ExpiresAt = noon.AddDate(1, 0, 0) }
func group(r *Record)        { r.Command, r.CommandStart, r.CommandGroup = 300, 9100, true }

func TestVerdictTable(t *testing.T) {
	const (
		alive   = proc.Living
		dead    = proc.Dead
		unknown = proc.Unknown
	)
	const never = -1 * time.Hour // age cannot be told
	for _, tc := range []struct {
		name   string
		rec    Record
		flaw   flock.Flaw
		mine   bool
		life   proc.Liveness
		began  time.Time     // of the process that has the pid now; zero: unknown
		as     proc.Liveness // by the record's number in pidfs, if it has one
		group  proc.Liveness
		at     time.Duration // now, after noon
		age    time.Duration
		shared bool
		want   Verdict
		live   bool
	}{
		{name: "my token", rec: ours(), mine: true, life: dead, want: Mine, live: true},
		{name: "my token, expired long ago", rec: ours(), mine: true, life: dead, at: 5 * time.Hour, want: Mine, live: true},
		{name: "my token, host renamed meanwhile", rec: ours(otherName), mine: true, life: dead, at: 5 * time.Hour, want: Mine, live: true},
		{name: "my token, other clock", rec: ours(fromTomorrow), mine: true, life: alive, want: Mine, live: true},

		{name: "same everything, dead", rec: ours(), life: dead, want: Dead},
		{name: "dead and expired", rec: ours(), life: dead, at: 5 * time.Hour, want: Dead},
		{name: "dead, times in the future", rec: ours(fromTomorrow), life: dead, want: Dead},
		{name: "dead, its command alive", rec: ours(group), life: dead, group: alive, want: Held, live: true},
		{name: "dead, its command cannot be asked", rec: ours(group), life: dead, group: unknown, want: Held, live: true},
		{name: "dead, its command too", rec: ours(group), life: dead, group: dead, want: Dead},
		{name: "dead, its command without a group too", rec: ours(group, func(r *Record) { r.CommandGroup = false }), life: dead, group: alive, want: Dead},
		{name: "alive", rec: ours(), life: alive, want: Held, live: true},
		{name: "alive, last second", rec: ours(), life: alive, at: half, want: Held, live: true},
		{name: "alive, expired", rec: ours(), life: alive, at: half + 1, want: Overdue, live: true},
		{name: "alive, expired for days", rec: ours(), life: alive, at: 99 * time.Hour, age: 99 * time.Hour, want: Overdue, live: true},
		{name: "alive, created in the future", rec: ours(fromTomorrow), life: alive, want: ClockFault, live: true},
		{name: "alive, expires in the future", rec: ours(tillNextYear), life: alive, want: ClockFault, live: true},
		{name: "number in pidfs says living", rec: ours(numbered), life: dead, as: alive, want: Held, live: true},
		{name: "number in pidfs says dead", rec: ours(numbered), life: alive, as: dead, want: Dead},
		{name: "number in pidfs cannot be asked", rec: ours(numbered), life: dead, as: unknown, want: Dead},
		{name: "number in pidfs cannot be asked, living", rec: ours(numbered), life: alive, as: unknown, want: Held, live: true},
		{name: "no number in pidfs", rec: ours(), life: alive, as: dead, want: Held, live: true},
		{name: "number in pidfs, other boot", rec: ours(numbered, otherBoot), life: alive, as: alive, want: Dead},
		{name: "number in pidfs, other namespace", rec: ours(numbered, otherNS), life: dead, as: dead, want: Held, live: true},
		{name: "my number, no start time, not my token", rec: ours(func(r *Record) { r.PID, r.PIDStart = 100, 0 }), life: alive, want: Dead},
		{name: "this very process, another manager", rec: ours(func(r *Record) { r.PID, r.PIDStart = 100, 7000 }), life: alive, want: Held, live: true},
		{name: "pid cannot be asked", rec: ours(), life: unknown, at: half + Grace, want: Held, live: true},
		{name: "pid cannot be asked, time over", rec: ours(), life: unknown, at: half + Grace + 1, want: Expired},

		{name: "other boot", rec: ours(otherBoot), life: alive, want: Dead},
		{name: "other boot on a shared disk", rec: ours(otherBoot), life: dead, shared: true, at: half + Grace, want: Held, live: true},
		{name: "other boot on a shared disk, time over", rec: ours(otherBoot), life: alive, shared: true, at: half + Grace + 1, want: Expired},
		{name: "other boot, other namespace", rec: ours(otherBoot, otherNS), life: alive, want: Dead},

		{name: "other namespace", rec: ours(otherNS), life: dead, want: Held, live: true},
		{name: "other namespace, within grace", rec: ours(otherNS), life: dead, at: half + Grace, want: Held, live: true},
		{name: "other namespace, time over", rec: ours(otherNS), life: alive, at: half + Grace + 1, want: Expired},
		{name: "other host", rec: ours(otherHost), life: dead, at: half + Grace, want: Held, live: true},
		{name: "other host, time over", rec: ours(otherHost), life: alive, at: half + Grace + 1, want: Expired},
		{name: "equal host name, other machine", rec: ours(otherMachine), life: dead, at: half + Grace, want: Held, live: true},
		{name: "equal host name, other machine, other boot", rec: ours(otherMachine, otherBoot), life: dead, want: Held, live: true},
		{name: "equal host name, other machine, time over", rec: ours(otherMachine), life: alive, at: half + Grace + 1, want: Expired},
		{name: "other host name, equal machine", rec: ours(otherName), life: dead, want: Held, live: true},
		{name: "machine unknown", rec: ours(noMachine), life: dead, want: Held, live: true},
		{name: "boot unknown", rec: ours(noBoot), life: dead, want: Held, live: true},
		{name: "namespace unknown", rec: ours(noNS), life: dead, want: Held, live: true},
		{name: "namespace unknown, time over", rec: ours(noNS), life: alive, at: half + Grace + 1, want: Expired},

		{name: "other host, created within grace", rec: ours(otherHost, func(r *Record) { r.CreatedAt, r.ExpiresAt = noon.Add(Grace), noon.Add(Grace+half) }), want: Held, live: true},
		{name: "other host, from the future, young file", rec: ours(otherHost, fromTomorrow), age: half + Grace, want: ClockFault, live: true},
		{name: "other host, from the future, old file", rec: ours(otherHost, fromTomorrow), age: half + Grace + 1, want: Expired},
		{name: "other host, from the future, no age", rec: ours(otherHost, fromTomorrow), age: never, want: ClockFault, live: true},
		{name: "other host, for ever, old file", rec: ours(otherHost, tillNextYear), age: half + Grace + 1, want: Expired},
		{name: "other host, for ever, file from the future", rec: ours(otherHost, tillNextYear), age: -24 * time.Hour, want: ClockFault, live: true},
		{name: "other host, longer TTL than ours", rec: ours(otherHost, func(r *Record) { r.TTLSec = 7200; r.ExpiresAt = noon.Add(2 * time.Hour) }), want: Held, live: true},
		{name: "other host, absurd TTL", rec: ours(otherHost, tillNextYear, func(r *Record) { r.TTLSec = 1 << 40 }), age: 24*time.Hour + Grace + 1, want: Expired},

		{name: "newer", rec: Record{Version: "2.0"}, flaw: flawNewer, age: 999 * time.Hour, want: Newer, live: true},
		{name: "symlink", flaw: flock.Symlink, age: 999 * time.Hour, want: UnknownRec, live: true},
		{name: "directory", flaw: flock.NotFile, age: 999 * time.Hour, want: UnknownRec, live: true},
		{name: "unreadable for us", flaw: flock.NoAccess, age: 999 * time.Hour, want: UnknownRec, live: true},
		{name: "empty", flaw: flawEmpty, age: half + Grace, want: UnknownRec, live: true},
		{name: "empty and old", flaw: flawEmpty, age: half + Grace + 1, want: Expired},
		{name: "empty, age unknown", flaw: flawEmpty, age: never, want: UnknownRec, live: true},
		{name: "not JSON", flaw: flawNotJSON, age: half, want: UnknownRec, live: true},
		{name: "not JSON and old", flaw: flawNotJSON, age: half + Grace + 1, want: Expired},
		{name: "too big and old", flaw: flock.TooBig, age: half + Grace + 1, want: Expired},
		{name: "no lock's fields", flaw: flawNoLock, want: UnknownRec, live: true},
		{name: "duplicate keys", flaw: flawDuplicate, want: UnknownRec, live: true},

		{name: "seed fields only", rec: seedOnly(), life: dead, want: Held, live: true},
		{name: "seed fields only, last moment", rec: seedOnly(), life: dead, at: half, want: Held, live: true},
		{name: "seed fields only, over", rec: seedOnly(), life: dead, at: half + 1, want: Expired},
		{name: "seed fields only, over, pid lives", rec: seedOnly(), life: alive, at: half + 1, want: Overdue, live: true},
		{name: "seed fields only, over, pid is of a younger process", rec: seedOnly(), life: alive, at: half + 1, began: noon.Add(Grace + 1), want: Expired},
		{name: "seed fields only, over, process within clock faults", rec: seedOnly(), life: alive, at: half + 1, began: noon.Add(Grace), want: Overdue, live: true},
		{name: "seed fields only, over, older process", rec: seedOnly(), life: alive, at: half + 1, began: noon.Add(-time.Hour), want: Overdue, live: true},
		{name: "seed fields only, not over, younger process", rec: seedOnly(), life: alive, at: half, began: noon.Add(Grace + 1), want: Held, live: true},
		{name: "seed fields only, no creation, process after its end", rec: seedOnly(noCreation), life: alive, at: time.Hour, began: noon.Add(half + Grace + 1), want: Expired},
		{name: "seed fields only, no creation, process before its end", rec: seedOnly(noCreation), life: alive, at: time.Hour, began: noon.Add(half), want: Overdue, live: true},
		{name: "seed fields only, of another host by hostname", rec: seedOnly(func(r *Record) { r.Hostname = "far" }), life: dead, at: half + Grace, want: Held, live: true},
		{name: "start unknown, younger process", rec: ours(noStart), life: alive, began: noon.Add(Grace + 1), want: Dead},
		{name: "start unknown, older process", rec: ours(noStart), life: alive, began: noon.Add(-time.Hour), want: Held, live: true},
		{name: "start known, clock set", rec: ours(), life: alive, began: noon.Add(time.Hour), want: Held, live: true},
		{name: "seed fields only, over, no pid", rec: seedOnly(func(r *Record) { r.PID = 0 }), life: alive, at: half + 1, want: Expired},
		{name: "seed fields only, of this host by name", rec: seedOnly(func(r *Record) { r.Host = "BOX" }), life: alive, at: half + 1, want: Overdue, live: true},
		{name: "seed fields only, of another host", rec: seedOnly(func(r *Record) { r.Host = "far" }), life: alive, at: half + Grace, want: Held, live: true},
		{name: "seed fields only, of another host, over", rec: seedOnly(func(r *Record) { r.Host = "far" }), life: alive, at: half + Grace + 1, want: Expired},
		{name: "seed fields only, from the future", rec: seedOnly(fromTomorrow), life: dead, want: ClockFault, live: true},
		{name: "seed fields only, from the future, old file", rec: seedOnly(fromTomorrow), life: dead, age: half + Grace + 1, want: Expired},
		{name: "seed fields only, from the future, old file, pid lives", rec: seedOnly(fromTomorrow), life: alive, age: half + Grace + 1, want: Overdue, live: true},
		{name: "seed fields only, two hours", rec: seedOnly(func(r *Record) { r.ExpiresAt = noon.Add(2 * time.Hour) }), life: dead, at: time.Hour, want: Held, live: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := judge(evidence{
				rec: tc.rec, flaw: tc.flaw, self: here, now: noon.Add(tc.at), ttl: half, mine: tc.mine,
				processes: processes{
					alive:     func(int, uint64) proc.Liveness { return tc.life },
					aliveAs:   func(int, uint64) proc.Liveness { return tc.as },
					startedAt: func(int) (time.Time, bool) { return tc.began, !tc.began.IsZero() },
				},
				group:  func(int, uint64) proc.Liveness { return tc.group },
				age:    func() (time.Duration, bool) { return tc.age, tc.age != never },
				shared: func() bool { return tc.shared },
			})
			if got.verdict != tc.want || got.live != tc.live {
				t.Errorf("%s (live %v), want %s (live %v)", got.verdict, got.live, tc.want, tc.live)
			}
		})
	}
}

// Whatever the record says, it is free at the latest when its file is older
// than the longest lease, unless a living process or a newer aiflow wrote it.
func TestNoRecordOfTheDeadHoldsForEver(t *testing.T) {
	later := 2 * maxTTL
	for name, rec := range map[string]Record{
		"ours": ours(), "other host": ours(otherHost), "future": ours(otherHost, fromTomorrow),
		"for ever": ours(otherHost, tillNextYear), "seed": seedOnly(), "seed, for ever": seedOnly(tillNextYear),
		"seed, far, for ever": seedOnly(tillNextYear, func(r *Record) { r.Host = "far" }), "nothing": {},
	} {
		got := judge(evidence{
			rec: rec, self: here, now: noon.Add(later), ttl: half,
			processes: processes{alive: func(int, uint64) proc.Liveness { return proc.Dead }, startedAt: unbegun},
			age:       func() (time.Duration, bool) { return later, true },
			shared:    func() bool { return true },
		})
		if got.live {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
