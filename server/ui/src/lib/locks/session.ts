import { claim, look, type Observer, type Sightings } from './claim.js';
import { lockError } from './errors.js';
import { ACQUIRE_TIMEOUT, RENEW_TIMEOUT, WRITE_MARGIN, ttlOf } from './limits.js';
import { Lease } from './lease.js';
import * as machine from './machine.js';
import type { World } from './parts.js';
import type { ProjectLockRecord } from './record.js';
import { etagOf } from './store.js';
import type {
  AcquireLockOptions,
  GuardedProjectLockLease,
  ProjectLockError,
  ProjectLockErrorCode,
  ProjectLockEvent,
} from './types.js';
import { WebLockHold } from './web_lock.js';

interface Waiter {
  readonly asked: machine.Input['type'];
  resolve(lease: GuardedProjectLockLease): void;
  reject(reason: unknown): void;
}

/** One lease from its first try to its end: runs the machine's commands and feeds it what comes of them. */
export class Session {
  readonly leaseId: string;
  /** How often it was acquired by its id; each needs a release. */
  depth = 1;

  private state = machine.idle;
  private readonly over = new AbortController();
  private readonly waiters = new Set<Waiter>();
  private webLock: WebLockHold | undefined;
  private timer: unknown;
  private operation = 0;
  private inFlight: Promise<void> | undefined;
  private beat = 0;
  /** On the clock that nobody sets: from here on the lease is not trusted. */
  private trustedUntil = 0;
  private lastError: { cause?: unknown; context?: Record<string, unknown> } = {};
  private lostTo: ProjectLockError | undefined;

  constructor(
    private readonly world: World,
    private readonly ownerId: string,
    private readonly sightings: Sightings,
    private readonly emit: (event: ProjectLockEvent) => void,
  ) {
    this.leaseId = world.uuid();
  }

  get signal(): AbortSignal {
    return this.over.signal;
  }

  get isHeld(): boolean {
    return machine.isHeld(this.state);
  }

  get isOver(): boolean {
    return this.state.name === 'idle' && !this.state.hidden;
  }

  acquire(o: AcquireLockOptions): Promise<GuardedProjectLockLease> {
    return this.ask(
      {
        type: 'acquire',
        leaseId: this.leaseId,
        web: true,
        ...(o.retryLimit === undefined ? {} : { retryLimit: o.retryLimit }),
        ...(o.backoffMs === undefined ? {} : { backoffMs: o.backoffMs }),
      },
      o.signal,
    );
  }

  async renew(signal?: AbortSignal): Promise<GuardedProjectLockLease> {
    if (!this.isHeld) throw this.lostTo ?? lockError('lease-stale', false);
    return this.ask({ type: 'renew' }, signal);
  }

  async release(force: boolean, signal?: AbortSignal): Promise<void> {
    this.settle((w) => w.asked === 'renew' && w.reject(lockError('lease-stale', false)));
    await this.ask({ type: 'release', force }, signal);
  }

  lease(): GuardedProjectLockLease {
    return new Lease(this, machine.leaseOf(this.state));
  }

  assertWritable(): void {
    this.check();
    if (!machine.writable(this.state, this.world.now())) throw this.lostTo ?? lockError('lease-stale', false);
  }

  /** Both clocks must trust the lease: the wall clock stands for the others, the other one cannot be set back. */
  check(): void {
    if (this.isHeld && this.world.monotonic() >= this.trustedUntil) this.feed({ type: 'lost' });
    this.feed({ type: 'check' });
  }

  feed(input: machine.Input): void {
    const before = this.state;
    const { state, emitted, commands } = machine.step(before, input, this.world.now());
    this.state = state;
    if (state.name !== before.name) this.stopTimer();
    if (machine.isHeld(before) && !machine.isHeld(state)) this.end(commands);
    for (const event of emitted) this.emit(this.withError(event, commands));
    for (const command of commands) this.run(command);
  }

  /** Whoever asks waits for the machine to say that it succeeded, failed or quit. An aborted renewal goes on alone. */
  private ask(input: machine.Input, signal?: AbortSignal): Promise<GuardedProjectLockLease> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const forget = () => {
        this.waiters.delete(waiter);
        signal?.removeEventListener('abort', abort);
      };
      const waiter: Waiter = {
        asked: input.type,
        resolve: (lease) => (forget(), resolve(lease)),
        reject: (reason) => (forget(), reject(reason)),
      };
      const abort = () => {
        waiter.reject(signal?.reason);
        if (input.type !== 'renew') this.feed({ type: 'abort' });
      };
      this.waiters.add(waiter);
      signal?.addEventListener('abort', abort);
      this.feed(input);
    });
  }

  private run(c: machine.Command): void {
    switch (c.do) {
      case 'request-web-lock':
        return this.requestWebLock();
      case 'publish-record':
        return void this.publish();
      case 'renew-record':
        return void this.renewRecord();
      case 'remove-record':
        return void this.removeRecord();
      case 'tidy-record':
        return c.ms > 0 ? void this.world.setTimeout(() => void this.tidyRecord(), c.ms) : void this.tidyRecord();
      case 'drop-web-lock':
        this.webLock?.drop();
        return;
      case 'wait':
      case 'heartbeat':
        this.timer = this.world.setTimeout(() => this.feed({ type: 'due' }), c.ms);
        return;
      case 'succeed':
        return this.settle((w) => w.resolve(this.lease()));
      case 'fail':
        return this.settle((w) => w.reject(this.error(c.code, c.retryable)));
      case 'quit':
        return this.settle((w) => w.reject(new DOMException('the page went away', 'AbortError')));
    }
  }

  private settle(how: (w: Waiter) => unknown): void {
    for (const w of [...this.waiters]) how(w);
  }

  private stopTimer(): void {
    this.world.clearTimeout(this.timer);
    this.timer = undefined;
  }

  private end(commands: readonly machine.Command[]): void {
    const failed = commands.find((c) => c.do === 'fail');
    if (failed?.do === 'fail') this.lostTo = this.error(failed.code, failed.retryable);
    this.over.abort(this.lostTo ?? new DOMException('the project lock was released', 'AbortError'));
  }

  private error(code: ProjectLockErrorCode, retryable: boolean): ProjectLockError {
    if (this.lostTo?.code === code) return this.lostTo;
    return lockError(code, retryable, this.lastError.cause, this.lastError.context);
  }

  private withError(event: ProjectLockEvent, commands: readonly machine.Command[]): ProjectLockEvent {
    const failed = commands.find((c) => c.do === 'fail');
    if (event.type !== 'lock:readonly-entered' || failed?.do !== 'fail') return event;
    return { ...event, info: { ...event.info, lastError: this.error(failed.code, failed.retryable) } };
  }

  private requestWebLock(): void {
    const mine: WebLockHold = new WebLockHold(this.world, {
      granted: () => this.feed({ type: 'web-lock-granted' }),
      refused: (code, cause) => {
        this.lastError = { cause };
        this.feed({ type: 'web-lock-refused', code });
      },
      stolen: (cause) => {
        if (this.webLock !== mine) return;
        this.lastError = { cause };
        this.feed({ type: 'lost' });
      },
    });
    this.webLock = mine;
    mine.request();
  }

  private async publish(): Promise<void> {
    const startedAt = this.world.now();
    const monotonic = this.world.monotonic();
    const record = this.record(startedAt, startedAt);
    const observer = this.observer();
    await this.operate(ACQUIRE_TIMEOUT, (signal) => claim(this.world.store, record, observer, signal), {
      done: (c) => {
        if (!c.ok) return this.refused('fallback-conflict', c.context);
        this.trust(monotonic);
        this.feed({ type: 'published', startedAt });
      },
      failed: (cause) => this.refused('acquire-timeout', undefined, cause),
    });
  }

  private refused(code: 'fallback-conflict' | 'acquire-timeout', context?: Record<string, unknown>, cause?: unknown): void {
    this.lastError = { cause, ...(context ? { context } : {}) };
    this.feed({ type: 'publish-failed', code });
  }

  private async renewRecord(): Promise<void> {
    const startedAt = this.world.now();
    const monotonic = this.world.monotonic();
    const record = this.record(this.state.acquiredAt, startedAt);
    const previous = { etag: etagOf(this.leaseId) };
    await this.operate(RENEW_TIMEOUT, (signal) => this.world.store.put(record, previous, signal), {
      done: (still) => {
        if (!still) return this.feed({ type: 'lost' });
        this.trust(monotonic);
        this.feed({ type: 'renewed', startedAt });
      },
      failed: (cause) => {
        this.lastError = { cause };
        this.feed({ type: 'renew-failed' });
      },
    });
  }

  private async removeRecord(): Promise<void> {
    const force = this.state.force;
    await this.operate(RENEW_TIMEOUT, (signal) => (force ? this.removeDead(signal) : this.removeOwn(signal)), {
      done: (gone) => this.feed({ type: gone ? 'removed' : 'remove-refused' }),
      failed: (cause) => {
        this.lastError = { cause };
        this.feed({ type: 'remove-failed' });
      },
    });
  }

  private removeOwn(signal?: AbortSignal): Promise<boolean> {
    return this.world.store.remove(etagOf(this.leaseId), signal);
  }

  /** Ours, or what nobody can be holding any more. */
  private async removeDead(signal: AbortSignal): Promise<boolean> {
    const found = await this.world.store.read(signal);
    if (found === undefined) return true;
    const verdict = look(found, this.observer());
    return verdict === 'mine' || verdict === 'stale' ? this.world.store.remove(found.etag, signal) : false;
  }

  private async tidyRecord(): Promise<void> {
    try {
      if (this.inFlight) await this.inFlight; // else a write under way would outlive the removal
      await this.removeOwn();
    } catch {
      // It ends by itself.
    }
  }

  /** Runs a store operation within its time. What comes after its time, or after the next one began, counts no more. */
  private async operate<T>(
    ms: number,
    act: (signal: AbortSignal) => Promise<T>,
    then: { done(result: T): void; failed(cause: unknown): void },
  ): Promise<void> {
    const id = ++this.operation;
    const clock = new Deadline(this.world, ms);
    const current = () => id === this.operation;
    try {
      const work = act(clock.signal);
      this.inFlight = work.then(nothing, nothing);
      const result = await Promise.race([work, clock.over]);
      if (current()) then.done(result);
    } catch (cause) {
      if (current()) then.failed(cause);
    } finally {
      clock.stop();
      if (current()) this.inFlight = undefined;
    }
  }

  private observer(): Observer {
    const { leaseId, sightings, world } = this;
    return { leaseId, sightings, now: world.now(), monotonic: world.monotonic() };
  }

  private record(acquiredAt: number, now: number): ProjectLockRecord {
    const { strategy } = this.state;
    const iso = (t: number) => new Date(t).toISOString();
    return {
      version: 1,
      leaseId: this.leaseId,
      ownerId: this.ownerId,
      strategy,
      acquiredAt: iso(acquiredAt),
      expiresAt: iso(now + ttlOf(strategy)),
      mtime: iso(now),
      ttlSeconds: ttlOf(strategy) / 1_000,
      beat: ++this.beat,
    };
  }

  private trust(monotonic: number): void {
    this.trustedUntil = monotonic + ttlOf(this.state.strategy) - WRITE_MARGIN;
  }
}

const nothing = () => undefined;

class Deadline {
  readonly signal: AbortSignal;
  readonly over: Promise<never>;
  private readonly timer: unknown;

  constructor(
    private readonly world: World,
    ms: number,
  ) {
    const abort = new AbortController();
    this.signal = abort.signal;
    let end: (reason: unknown) => void = nothing;
    this.over = new Promise((_, reject) => (end = reject));
    this.timer = world.setTimeout(() => {
      const late = new DOMException('the project lock store did not answer in time', 'TimeoutError');
      abort.abort(late);
      end(late);
    }, ms);
  }

  stop(): void {
    this.world.clearTimeout(this.timer);
  }
}
