/** A world without real time: one clock, tabs that freeze and crash, a browser's lock manager, a store with bad days. */
import { mayReplace } from '../src/lib/locks/opfs_store.js';
import { readRecord, type ProjectLockRecord, type StoredLock } from '../src/lib/locks/record.js';
import { etagOf, type Previous, type ProjectLockStore } from '../src/lib/locks/store.js';

export const epoch = Date.parse('2026-01-01T00:00:00.000Z');

interface Task {
  at: number;
  seq: number;
  run: () => void;
  off: boolean;
  /** It starts nothing that a promise would have to settle. */
  plain: boolean;
}

/** Waits until every promise that can settle without time passing has settled. */
export const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

export class Clock {
  now = epoch;
  private seq = 0;
  private tasks: Task[] = [];

  at(ms: number, run: () => void, plain = false): Task {
    const task = { at: this.now + Math.max(0, ms), seq: this.seq++, run, off: false, plain };
    this.tasks.push(task);
    return task;
  }

  get pending(): number[] {
    return this.tasks.filter((t) => !t.off).map((t) => t.at - this.now).sort((a, b) => a - b);
  }

  /** Lets time pass, task by task. */
  async pass(ms: number): Promise<void> {
    const end = this.now + ms;
    await settle();
    for (let next = this.next(end); next; next = this.next(end)) {
      this.now = next.at;
      next.run();
      if (!next.plain) await settle();
    }
    this.now = end;
  }

  private next(end: number): Task | undefined {
    let best: Task | undefined;
    let kept = 0;
    for (const t of this.tasks) {
      if (t.off) continue;
      this.tasks[kept++] = t;
      if (t.at <= end && (!best || t.at < best.at || (t.at === best.at && t.seq < best.seq))) best = t;
    }
    this.tasks.length = kept;
    if (best) best.off = true;
    return best;
  }
}

/** What a tab sees of the world. Frozen, nothing reaches it; crashed, nothing ever will. */
export class Tab {
  frozen = false;
  crashed = false;
  /** Its wall clock differs from the world's. */
  skew = 0;
  private waiting: (() => void)[] = [];

  constructor(readonly clock: Clock) {}

  now = () => this.clock.now + this.skew;
  monotonic = () => this.clock.now;

  /** Runs in the tab, as soon as it can. */
  deliver(run: () => void): void {
    if (this.crashed) return;
    if (this.frozen) this.waiting.push(run);
    else run();
  }

  setTimeout = (run: () => void, ms: number): unknown => {
    const task = this.clock.at(ms, () => this.deliver(() => cleared.has(task) || run()));
    return task;
  };

  clearTimeout = (timer: unknown): void => {
    if (timer === undefined) return;
    (timer as Task).off = true;
    cleared.add(timer as Task);
  };

  thaw(): void {
    this.frozen = false;
    for (const run of this.waiting.splice(0)) run();
  }
}

const cleared = new WeakSet<Task>();

type Callback = (lock: Lock | null) => unknown;

/** The browser's lock manager as one tab sees it. */
export interface TabLocks {
  request(name: string, options: LockOptions, callback: Callback): Promise<unknown>;
  request(name: string, callback: Callback): Promise<unknown>;
}

interface Held {
  tab: Tab;
  free(): void;
  steal(): void;
}

export class Locks {
  private held: Held | undefined;
  latency = () => 0;

  constructor(private readonly clock: Clock) {}

  get isHeld(): boolean {
    return this.held !== undefined;
  }

  of(tab: Tab): Pick<LockManager, 'request'> {
    const request = (name: string, a: LockOptions | Callback, b?: Callback) =>
      typeof a === 'function' ? this.ask(tab, name, {}, a) : this.ask(tab, name, a, b as Callback);
    return { request } as unknown as Pick<LockManager, 'request'>;
  }

  crash(tab: Tab): void {
    tab.crashed = true;
    if (this.held?.tab === tab) this.held = undefined;
  }

  steal(): void {
    const held = this.held;
    this.held = undefined;
    held?.steal();
  }

  private ask(tab: Tab, name: string, o: LockOptions, callback: Callback): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.clock.at(this.latency(), () => {
        if (tab.crashed) return;
        if (this.held) return tab.deliver(() => void Promise.resolve(callback(null)).then(resolve, reject));
        const free = () => {
          if (this.held === held) this.held = undefined;
        };
        const stolen = () => tab.deliver(() => reject(new DOMException('stolen', 'AbortError')));
        const held: Held = { tab, free, steal: stolen };
        this.held = held;
        tab.deliver(() => {
          const done = Promise.resolve(callback({ name, mode: o.mode ?? 'exclusive' }));
          done.finally(free).then(resolve, reject);
        });
      });
    });
  }
}

export type Fault = 'lost-request' | 'lost-answer' | undefined;

/** The record that all tabs share. It answers after its latency; faults say what goes wrong with a call. */
export class Store {
  text: string | undefined;
  writtenAt = 0;
  writes = 0;
  removes = 0;
  latency: () => number = () => 0;
  fault: (call: 'read' | 'put' | 'remove') => Fault = () => undefined;
  /** false: a store that takes every write, to show that the tests would notice. */
  careful = true;

  constructor(readonly clock: Clock) {}

  get record(): ProjectLockRecord | undefined {
    return this.text === undefined ? undefined : (JSON.parse(this.text) as ProjectLockRecord);
  }

  write(text: string): void {
    this.text = text;
    this.writtenAt = this.clock.now;
  }

  of(tab: Tab): ProjectLockStore {
    return {
      read: () => this.call(tab, 'read', () => this.stored()),
      put: (record, previous) => this.call(tab, 'put', () => this.put(record, previous)),
      remove: (etag) => this.call(tab, 'remove', () => this.remove(etag)),
    };
  }

  private call<T>(tab: Tab, name: 'read' | 'put' | 'remove', act: () => T): Promise<T> {
    const fault = this.fault(name);
    return new Promise((resolve, reject) => {
      const fail = () => reject(new Error(`${name}: ${fault}`));
      this.clock.at(this.latency(), () => {
        if (fault === 'lost-request') return tab.deliver(fail);
        const result = act();
        this.clock.at(this.latency(), () => tab.deliver(() => (fault ? fail() : resolve(result))));
      });
    });
  }

  private stored(): StoredLock | undefined {
    if (this.text === undefined) return undefined;
    const r = readRecord(this.text);
    const etag = r.kind === 'record' ? etagOf(r.leaseId) : '"unreadable"';
    return { text: this.text, etag, ageMs: this.clock.now - this.writtenAt };
  }

  private put(record: ProjectLockRecord, previous: Previous | undefined): boolean {
    if (this.careful && !mayReplace(this.stored(), record, previous)) return false;
    this.writes++;
    this.write(JSON.stringify(record));
    return true;
  }

  private remove(etag: string): boolean {
    const found = this.stored();
    if (found === undefined) return true;
    if (this.careful && found.etag !== etag) return false;
    this.removes++;
    this.text = undefined;
    return true;
  }
}
