import { createProjectLockApi, toTelemetry, type PageEvents, type ProjectLockApi, type ProjectLockEvent } from '../src/lib/locks.js';
import { Clock, Locks, Store, Tab, epoch } from './world.js';

/** One or more tabs on one clock, one lock manager, one store. */
export class Bench {
  readonly clock = new Clock();
  readonly locks = new Locks(this.clock);
  readonly store = new Store(this.clock);
  private ids = 0;

  open(o: { webLocks?: boolean } = {}): OpenTab {
    return new OpenTab(this, o.webLocks ?? true, () => `lease-${++this.ids}`);
  }

  /** Milliseconds since the beginning. */
  get t(): number {
    return this.clock.now - epoch;
  }
}

export class OpenTab {
  readonly tab: Tab;
  readonly api: ProjectLockApi;
  readonly events: ProjectLockEvent[] = [];
  readonly lines: string[] = [];
  private readonly page = new Map<string, ((e: { persisted?: boolean }) => void)[]>();

  constructor(bench: Bench, webLocks: boolean, uuid: () => string) {
    this.tab = new Tab(bench.clock);
    const page: PageEvents = {
      addEventListener: (type, listener) => void this.page.set(type, [...(this.page.get(type) ?? []), listener]),
    };
    this.api = createProjectLockApi({
      lockManager: webLocks ? bench.locks.of(this.tab) : null,
      store: bench.store.of(this.tab),
      now: this.tab.now,
      monotonic: this.tab.monotonic,
      setTimeout: this.tab.setTimeout,
      clearTimeout: this.tab.clearTimeout,
      uuid,
      page,
    });
    this.api.subscribeLockEvents((e) => {
      this.events.push(e);
      const line = toTelemetry(e, this.tab.now());
      if (line) this.lines.push(JSON.stringify(line));
    });
  }

  happen(type: string, persisted = false): void {
    for (const listener of this.page.get(type) ?? []) listener({ persisted });
  }

  /** The events since the last call, as short words. */
  told(): string[] {
    return this.events.splice(0).map(short);
  }
}

function short(e: ProjectLockEvent): string {
  const name = e.type.slice('lock:'.length);
  switch (e.type) {
    case 'lock:attempt':
      return `${name} ${e.operation} ${e.strategy} ${e.retry}`;
    case 'lock:acquired':
      return `${name} ${e.lease.strategy}`;
    case 'lock:renew-scheduled':
      return `${name} ${e.nextHeartbeatInMs}`;
    case 'lock:renewed':
      return `${name} ${e.retry}`;
    case 'lock:readonly-entered':
      return `${name} ${e.info.reason} ${e.retry}`;
    case 'lock:release-failed':
      return `${name} ${e.retry}${e.force ? ' force' : ''}`;
    case 'lock:released':
      return `${name} ${e.durationMs}`;
    default:
      return name;
  }
}

/** What a promise came to, without waiting for it. */
export function outcome<T>(p: Promise<T>): { state: 'pending' | 'fulfilled' | 'rejected'; value?: T; reason?: any } {
  const o: { state: 'pending' | 'fulfilled' | 'rejected'; value?: T; reason?: any } = { state: 'pending' };
  p.then(
    (value) => Object.assign(o, { state: 'fulfilled', value }),
    (reason: unknown) => Object.assign(o, { state: 'rejected', reason }),
  );
  return o;
}
