package locks

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"aiflow/internal/flock"
)

// variant is a way of doing it wrong that the checker must find.
type variant int

const (
	sound        variant = iota
	noGuard              // judge and rename, but excluding nobody
	removeCreate         // remove a dead record, then create exclusively
	blindRenew           // renew without comparing the token
	blindRelease         // release without comparing the token
	noFence              // write without asking whether the lease is ours
	deadAtExpiry         // expired means dead, living or not
	trustForTTL          // check the clock only, never the token
	emptyIsFree          // create exclusively; unreadable means free
	variants
)

func (v variant) String() string {
	return [...]string{
		"sound", "no guard", "remove, then create", "blind renew", "blind release",
		"no fence", "expired is dead", "clock only", "empty is free",
	}[v]
}

// live is what a process does with its life.
func (p *simProc) live() {
	ctx := context.Background()
	for range 1 + p.s.rng.IntN(4) {
		if p.s.chance(10) {
			_, _ = p.m.Sweep(ctx)
		}
		k := simKeys[p.s.rng.IntN(len(simKeys))]
		if p.s.kind == anything && p.s.chance(5) {
			_, _, _ = p.m.Break(ctx, k, p.s.chance(30))
		}
		for range p.s.rng.IntN(4) {
			p.look(simKeys[p.s.rng.IntN(len(simKeys))])
		}
		l := p.acquire(ctx, k)
		if l == nil {
			p.think(simTTL / 4)
			continue
		}
		p.s.stats.acquired++
		if l.recovered != nil {
			p.s.stats.takeovers++
		}
		p.work(l)
		if p.s.chance(80) {
			p.release(l)
		}
	}
}

// simKeys are the locks that are asked for, one more often than the other.
var simKeys = []Key{Request("RQ"), Request("RQ"), Request("RQ"), Request("RQ-2")}

// believed is a record as the file of a lock has it.
type believed struct{ lock, record string }

// believe notes what a lock's file says.
func (s *sim) believe(name string) (r Record, ok bool) {
	f := s.files[name]
	if strings.HasPrefix(name, ".") || f == nil || json.Unmarshal(f.data, &r) != nil || r.Token == "" {
		return r, false
	}
	text, err := json.Marshal(r)
	s.believed[believed{name, string(text)}] = true
	return r, err == nil
}

// look reads a lock without the guard. What it believes must be a record that
// was published for this very lock.
func (p *simProc) look(k Key) {
	e, found, err := p.m.Look(k)
	if err != nil || !found {
		return
	}
	p.s.stats.looks++
	if e.Problem != nil {
		p.s.stats.torn++
		return
	}
	if text, err := json.Marshal(e.Record); err != nil || !p.s.believed[believed{k.file(), string(text)}] {
		p.s.misled = fmt.Errorf("event %d: pid %d reads of %s: %+v", len(p.s.history), p.pid, k.file(), e.Record)
	}
}

func (p *simProc) acquire(ctx context.Context, k Key) *Lease {
	if p.s.variant == removeCreate || p.s.variant == emptyIsFree {
		return p.naiveAcquire(ctx, k)
	}
	if p.s.variant == deadAtExpiry {
		p.dropByMistake(k)
	}
	a := Ask{RunID: "RUN", TakeOverdue: p.s.kind == anything && p.s.chance(20)}
	l, err := p.m.Acquire(ctx, k, a)
	if err != nil {
		return nil
	}
	return l
}

// naiveAcquire is the usual recipe.
func (p *simProc) naiveAcquire(ctx context.Context, k Key) *Lease {
	e, found, err := p.m.look(k, false)
	mistaken := p.s.variant == emptyIsFree && e.Problem != nil
	if err != nil || found && e.Live && !mistaken {
		return nil
	}
	if found {
		_ = p.m.disk.Remove(e.Path)
	}
	began := p.m.readClocks()
	rec := p.m.newRecord(k, "RUN", began.wall)
	rec.Token, _ = p.m.newToken()
	raw, err := p.m.publish(k, rec, true)
	if err != nil {
		return nil
	}
	return p.m.newLease(ctx, k, rec, raw, began)
}

// dropByMistake removes, under the guard, a record that the variant takes for
// free.
func (p *simProc) dropByMistake(k Key) {
	unlock, _, err := p.m.guard.Lock(context.Background(), false, flock.Patience)
	if err != nil {
		return
	}
	defer unlock()
	e, found, err := p.m.look(k, false)
	if err == nil && found && e.Problem == nil && p.Now().After(e.ExpiresAt) {
		_ = p.m.disk.Remove(e.Path)
	}
}

// work renews, writes, sleeps, in any order.
func (p *simProc) work(l *Lease) {
	for range 1 + p.s.rng.IntN(8) {
		switch p.s.rng.IntN(6) {
		case 0:
			p.renew(l)
		case 1:
			_ = l.SetRun("RUN-2")
		case 2:
			p.think(simTTL / 3)
			l.renewIfDue()
		default:
			p.write(l)
		}
		if l.ctx.Err() != nil {
			p.s.stats.lost++
			p.s.note("lost", p, l.key.file(), l.token)
			if p.s.variant == sound {
				return
			}
		}
	}
}

func (p *simProc) renew(l *Lease) {
	if p.s.variant != blindRenew {
		_ = l.Renew()
		return
	}
	unlock, _, err := p.m.guard.Lock(context.Background(), false, flock.Patience)
	if err != nil {
		return
	}
	defer unlock()
	l.last = p.m.readClocks()
	l.rec.Beat++
	l.rec.ExpiresAt = stamp(l.last.wall.Add(simTTL))
	_, _ = p.m.publish(l.key, l.rec, false)
}

func (p *simProc) release(l *Lease) {
	if p.s.variant == blindRelease {
		_ = p.m.disk.Remove(l.Path())
		return
	}
	_ = l.Release()
}

// write does what a holder may do to shared files: at once under the guard, or
// after a check and within the time that this world allows.
func (p *simProc) write(l *Lease) {
	switch {
	case p.s.variant == noFence:
		p.think(simTTL)
		p.accept(l)
	case p.s.variant == trustForTTL && l.isTrusted():
		p.accept(l)
	case p.s.kind == anything || p.s.chance(30):
		_ = l.Do(func() error {
			p.step()
			p.accept(l)
			return nil
		})
	default:
		if l.Check() == nil {
			p.gap(l)
		}
	}
}

// gap is the time between a check and its write. Between machines it must end
// within the margin, whatever the scheduler does.
func (p *simProc) gap(l *Lease) {
	checked := p.s.now
	p.think(simTTL)
	if p.s.kind == severalMachines && p.s.now-checked >= p.m.margin() {
		return
	}
	p.accept(l)
}

// accept is the write itself.
func (p *simProc) accept(l *Lease) {
	if !p.dead {
		p.s.stats.writes++
		p.s.note("write", p, l.key.file(), l.token)
	}
}

// think gives way, perhaps for long.
func (p *simProc) think(most time.Duration) {
	if p.s.chance(40) {
		p.until = p.s.now + p.s.between(0, most)
	}
	p.step()
}

// published notes who owns a lock from the moment that its record is there.
func (p *simProc) published(name string) {
	if r, ok := p.s.believe(name); ok && r.Beat == 0 {
		p.s.note("publish", p, name, r.Token)
	}
}

// replaces notes when a record goes (to another, or altogether) that is the
// lease of a living process and has not run out.
func (p *simProc) replaces(name string, next []byte) {
	var old, now Record
	if strings.HasPrefix(name, ".") || p.s.files[name] == nil || json.Unmarshal(p.s.files[name].data, &old) != nil || old.Token == "" {
		return
	}
	if _ = json.Unmarshal(next, &now); now.Token == old.Token || p.s.kind == anything || p.s.robbed != nil {
		return
	}
	q := p.s.ownerOf(old)
	if q == nil || q.dead || q == p {
		return
	}
	over := old.ExpiresAt.Sub(simEpoch) - q.machine.skew
	if p.s.kind == oneMachine || p.s.now < over {
		p.s.robbed = fmt.Errorf("event %d: pid %d loses %.8s to pid %d", len(p.s.history), q.pid, old.Token, p.pid)
	}
}

func (s *sim) ownerOf(r Record) *simProc {
	for _, p := range s.procs {
		if p.pid == r.PID && p.start == r.PIDStart && p.m.self.BootID == r.BootID && p.ns == r.PIDNS {
			return p
		}
	}
	return nil
}
