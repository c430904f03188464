/** Random lives of three tabs. Whatever happens to them, never do two of them write at one time. */
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { createProjectLockApi, type GuardedProjectLockLease, type PageEvents, type ProjectLockApi, type ProjectLockStore } from '../src/lib/locks.js';
import { Clock, Locks, Store, Tab } from './world.js';

const schedules = Number(process.env['SCHEDULES'] ?? 2_000);
const life = 75_000;
/** A write takes at most this long; clocks of one machine differ by at most that. Both fit into the margin. */
const longestWrite = 300;
const drift = 150;

interface Variant {
  store?(store: ProjectLockStore): ProjectLockStore;
  careless?: boolean;
  unguarded?: boolean;
}

function random(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

class Writer {
  tab: Tab;
  api!: ProjectLockApi;
  lease: GuardedProjectLockLease | undefined;
  private stop: AbortController | undefined;
  private page!: Map<string, (e: { persisted?: boolean }) => void>;
  private asking = false;
  /** Who wants to release finishes writing first. */
  private closing = false;

  constructor(private readonly w: World, readonly number: number) {
    this.tab = this.open();
  }

  open(): Tab {
    const { w } = this;
    const tab = new Tab(w.clock);
    const far = w.chance(0.1) ? 7_200_000 * w.sign() : 0;
    tab.skew = Math.round((w.random() * 2 - 1) * drift) + far;
    const page = new Map<string, (e: { persisted?: boolean }) => void>();
    const events: PageEvents = { addEventListener: (type, listener) => void page.set(type, listener) };
    const store = w.store.of(tab);
    this.page = page;
    this.lease = undefined;
    this.asking = false;
    this.closing = false;
    this.tab = tab;
    this.api = createProjectLockApi({
      lockManager: w.chance(0.6) ? w.locks.of(tab) : null,
      store: w.variant.store?.(store) ?? store,
      now: tab.now,
      monotonic: tab.monotonic,
      setTimeout: tab.setTimeout,
      clearTimeout: tab.clearTimeout,
      uuid: () => `${this.number}-${w.ids++}`,
      page: events,
    });
    return tab;
  }

  acquire(): void {
    if (this.asking || (this.lease && !this.lease.signal.aborted)) return;
    this.asking = true;
    this.closing = false;
    this.stop = new AbortController();
    const { tab } = this;
    const retryLimit = 1 + Math.floor(this.w.random() * 4);
    this.api.acquireProjectLock({ retryLimit, signal: this.stop.signal }).then(
      (lease) => this.tab === tab && ((this.lease = lease), (this.asking = false)),
      () => this.tab === tab && (this.asking = false),
    );
  }

  /** One synchronous act: ask the guard, begin to write. */
  write(): void {
    if (this.tab.frozen || !this.lease || this.closing) return;
    if (this.w.variant.unguarded) {
      if (!this.lease.signal.aborted) this.w.wrote(this.number);
      return;
    }
    try {
      this.lease.assertWritable();
    } catch {
      return;
    }
    this.w.wrote(this.number);
  }

  act(): void {
    const { w } = this;
    const dice = w.random();
    if (dice < 0.5) this.acquire();
    else if (dice < 0.62) this.release(w.chance(0.3));
    else if (dice < 0.68) this.renew();
    else if (dice < 0.72) this.stop?.abort();
    else if (dice < 0.84) this.freeze(w.random() * 40_000);
    else if (dice < 0.9) this.crash();
    else if (dice < 0.93) w.locks.steal();
    else if (dice < 0.97) this.leave();
    else this.happen('visibilitychange');
  }

  private release(force: boolean): void {
    const { api, lease, tab } = this;
    if (!lease || this.closing) return;
    this.closing = true;
    this.w.clock.at(longestWrite, () => tab.deliver(() => void api.releaseProjectLock(lease, { force }).catch(() => undefined)));
  }

  private renew(): void {
    if (this.lease) this.api.renewProjectLock(this.lease).catch(() => undefined);
  }

  private freeze(ms: number): void {
    const { tab } = this;
    if (tab.frozen) return;
    tab.frozen = true;
    this.w.clock.at(ms, () => this.wake(tab));
  }

  /** What runs first in a tab that wakes up, its own code or what the browser kept for it, is anybody's guess. */
  private wake(tab: Tab): void {
    if (tab.crashed) return;
    tab.frozen = false;
    if (this.tab === tab) this.write();
    tab.thaw();
  }

  private crash(): void {
    this.w.cutOff(this.number);
    this.w.locks.crash(this.tab);
    this.open();
  }

  /** A browser cuts off the requests of a page that it puts away. */
  private leave(): void {
    if (this.tab.frozen) return;
    this.w.cutOff(this.number);
    this.happen('pagehide', true);
    this.w.clock.at(this.w.random() * 5_000, () => this.happen('pageshow', true));
  }

  private happen(type: string, persisted = false): void {
    const { tab, page } = this;
    tab.deliver(() => page.get(type)?.({ persisted }));
  }
}

class World {
  readonly clock = new Clock();
  readonly locks = new Locks(this.clock);
  readonly store = new Store(this.clock);
  readonly random: () => number;
  ids = 0;
  /** Who wrote at the same time as somebody else. */
  clash: string | undefined;
  writes = 0;
  private writer = -1;
  private until = -1;

  constructor(
    seed: number,
    readonly variant: Variant,
  ) {
    this.random = random(seed);
    this.store.careful = !variant.careless;
    this.locks.latency = () => this.random() * 20;
    this.store.latency = () => (this.chance(0.03) ? this.random() * 4_000 : this.random() * 60);
    this.store.fault = () => {
      const dice = this.random();
      return dice < 0.04 ? 'lost-request' : dice < 0.08 ? 'lost-answer' : undefined;
    };
  }

  chance = (p: number) => this.random() < p;
  sign = () => (this.chance(0.5) ? 1 : -1);

  wrote(writer: number): void {
    const { now } = this.clock;
    if (this.writer !== writer && now < this.until) this.clash ??= `${this.writer} and ${writer} at ${now}`;
    this.writes++;
    this.writer = writer;
    this.until = Math.max(this.until, now + this.random() * longestWrite);
  }

  cutOff(writer: number): void {
    if (this.writer === writer) this.until = -1;
  }

  async live(): Promise<void> {
    const writers = [0, 1, 2].map((n) => new Writer(this, n));
    for (const w of writers) {
      for (let at = this.random() * 3_000; at < life; at += this.random() * 12_000) this.clock.at(at, () => w.act());
      for (let at = this.random() * 500; at < life; at += 20 + this.random() * 600) this.clock.at(at, () => w.write(), true);
    }
    await this.clock.pass(life);
    for (const w of writers) this.locks.crash(w.tab);
  }

  /** When all are gone, the next one is not kept out for ever. */
  async nextCanAcquire(): Promise<boolean> {
    this.store.fault = () => undefined;
    this.store.latency = () => 0;
    await this.clock.pass(60_000);
    const next = new Writer(this, 3);
    const free = next.api.acquireProjectLock({ retryLimit: 1 }).then(() => true, () => false);
    await this.clock.pass(36_000);
    if (await free) return true;
    const again = next.api.acquireProjectLock().then(() => true, () => false);
    await this.clock.pass(2_000);
    return again;
  }
}

interface Job {
  readonly from: number;
  readonly to: number;
  /** Which of `caught`; undefined: the real thing. */
  readonly variant?: string;
}

interface Result {
  clash?: string;
  writes: number;
}

const caught: [string, Variant][] = [
  [
    'a Web Lock holder that does not publish its record',
    {
      store: (s) => ({
        ...s,
        put: (r, p, signal) => (r.strategy === 'web-lock' ? Promise.resolve(true) : s.put(r, p, signal)),
      }),
    },
  ],
  ['a store that takes every write', { careless: true }],
  ['a tab that does not ask the guard', { unguarded: true }],
];

async function live(job: Job): Promise<Result> {
  const variant = caught.find(([name]) => name === job.variant)?.[1];
  let writes = 0;
  for (let seed = job.from; seed < job.to; seed++) {
    const w = new World(seed, variant ?? {});
    await w.live();
    writes += w.writes;
    if (w.clash) return { clash: `seed ${seed}: ${w.clash}`, writes };
    if (!variant && seed % 100 === 0 && !(await w.nextCanAcquire())) return { clash: `seed ${seed}: locked for ever`, writes };
  }
  return { writes };
}

/** In a thread of its own: the test runner's hooks on every promise make it four times slower. */
function inThread(job: Job): Promise<Result> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(fileURLToPath(import.meta.url), { workerData: job });
    thread.once('message', resolve);
    thread.once('error', reject);
  });
}

if (isMainThread) {
  const { test } = await import('node:test');

  test(`${schedules} random schedules of three tabs: never two writers`, async (t) => {
    const half = Math.ceil(schedules / 2);
    const halves = [{ from: 1, to: half + 1 }, { from: half + 1, to: schedules + 1 }];
    const results = await Promise.all(halves.map(inThread));
    assert.deepEqual(results.map((r) => r.clash), [undefined, undefined]);
    const writes = results.reduce((sum, r) => sum + r.writes, 0);
    t.diagnostic(`${writes} writes`);
    assert.ok(writes > schedules * 20, `only ${writes} writes: the schedules show nothing`);
  });

  for (const [variant] of caught) {
    test(`the schedules would notice ${variant}`, async (t) => {
      const { clash } = await inThread({ from: 1, to: 2_000, variant });
      t.diagnostic(clash ?? 'nothing');
      assert.notEqual(clash, undefined);
    });
  }
} else {
  Error.stackTraceLimit = 0;
  parentPort?.postMessage(await live(workerData as Job));
}
