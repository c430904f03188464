import { ApiError, get } from './api.js';

/** What happens in the project. `reset`: anything may have changed. */
export interface LiveEvent {
  readonly kind: 'stage' | 'request' | 'queue' | 'lock' | 'autorun' | 'log' | 'reset';
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Connection {
  readonly state: 'connecting' | 'open' | 'lost' | 'locked-out';
  readonly since: number;
}

type Message =
  | { readonly t: 'event'; readonly id: string; readonly e: LiveEvent }
  | { readonly t: 'status'; readonly c: Connection; readonly id: string }
  | { readonly t: 'hello' };

const kinds = ['stage', 'request', 'queue', 'lock', 'autorun', 'log', 'reset'] as const;
const CHANNEL = 'aiflow.events';

/**
 * One stream for all tabs of a browser: the tab that has the Web Lock reads it and tells the others. When that tab
 * goes, the next one has the lock and asks for what came after the last id that it heard of.
 */
export class Live {
  private readonly listeners = new Set<(e: LiveEvent) => void>();
  private readonly watchers = new Set<(c: Connection) => void>();
  private readonly channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel(CHANNEL) : undefined;
  private connection: Connection = { state: 'connecting', since: Date.now() };
  /** The last event before this page was sent: what its views read is not older. */
  private lastID = document.querySelector<HTMLMetaElement>('meta[name="last-event"]')?.content ?? '';
  private leads = false;
  private source: EventSource | undefined;
  private wait = 1_000;
  private timer = 0;
  private seen = Date.now();

  start(): void {
    this.channel?.addEventListener('message', (m: MessageEvent<Message>) => this.hear(m.data));
    this.channel?.postMessage({ t: 'hello' } satisfies Message);
    const lead = () => {
      this.leads = true;
      this.open();
    };
    if (this.channel && navigator.locks) {
      void navigator.locks.request(CHANNEL, () => new Promise<never>(lead)).catch(lead);
    } else lead();
    window.addEventListener('online', () => this.again());
    document.addEventListener('visibilitychange', () => document.hidden || this.woke());
    window.setInterval(() => this.woke(), 5_000);
  }

  on(listener: (e: LiveEvent) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  watch(watcher: (c: Connection) => void): () => void {
    this.watchers.add(watcher);
    watcher(this.connection);
    return () => void this.watchers.delete(watcher);
  }

  get isLeader(): boolean {
    return this.leads;
  }

  /** Asks anew at once; what a person does who does not want to wait. */
  again(): void {
    if (!this.leads || this.connection.state === 'open') return;
    this.wait = 1_000;
    this.open();
  }

  /** A machine that slept has a connection that only looks alive. */
  private woke(): void {
    const slept = Date.now() - this.seen > 45_000;
    this.seen = Date.now();
    if (slept && this.leads) this.open();
  }

  private open(): void {
    clearTimeout(this.timer);
    this.source?.close();
    const first = this.lastID === '';
    const source = new EventSource('/api/events' + (first ? '' : '?last_event_id=' + encodeURIComponent(this.lastID)));
    this.source = source;
    source.onopen = () => {
      this.wait = 1_000;
      this.status('open');
      // Without an id nobody can say what was missed since the page was read.
      if (first) this.tell('', { kind: 'reset', data: {} });
    };
    source.onerror = () => {
      if (this.source !== source) return;
      source.close();
      void this.failed();
    };
    for (const kind of kinds) {
      source.addEventListener(kind, (e: MessageEvent<string>) => this.tell(e.lastEventId, { kind, data: parsed(e.data) }));
    }
  }

  private async failed(): Promise<void> {
    this.status('lost');
    try {
      await get('/health');
    } catch (e) {
      if (e instanceof ApiError && e.status === 401) this.status('locked-out');
    }
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(10_000, this.wait * 1.6);
  }

  private status(state: Connection['state']): void {
    const since = state === this.connection.state ? this.connection.since : Date.now();
    this.show({ state, since });
    this.channel?.postMessage({ t: 'status', c: this.connection, id: this.lastID } satisfies Message);
  }

  private show(c: Connection): void {
    this.connection = c;
    for (const w of [...this.watchers]) w(c);
  }

  private tell(id: string, e: LiveEvent): void {
    if (id !== '') this.lastID = id;
    this.channel?.postMessage({ t: 'event', id, e } satisfies Message);
    this.give(e);
  }

  private give(e: LiveEvent): void {
    for (const l of [...this.listeners]) l(e);
  }

  private hear(m: Message): void {
    if (m.t === 'hello') {
      if (this.leads) this.status(this.connection.state);
    } else if (this.leads) {
      return;
    } else if (m.t === 'status') {
      if (Number(m.id) > Number(this.lastID)) {
        this.lastID = m.id;
        this.give({ kind: 'reset', data: {} }); // told before this tab listened
      }
      this.show(m.c);
    } else {
      if (m.id !== '') this.lastID = m.id;
      this.give(m.e);
    }
  }
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const v: unknown = JSON.parse(text);
    return typeof v === 'object' && v !== null ? (v as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** What is asked for soon, or now; either way never twice at once, so that no older answer comes after a newer one. */
export interface Coalesced {
  (): void;
  now(): Promise<void>;
}

/** A failure that another try may get over: no answer, or one that says it is the server's. */
const isPassing = (e: unknown): boolean => !(e instanceof ApiError) || e.isOffline || e.status >= 500;

const FIRST_RETRY = 1_000;
const LAST_RETRY = 30_000;

/** Runs after a moment, once more when asked meanwhile, and again when it failed: what was told is not lost. */
export function coalesced(run: () => Promise<void>, delay: number): Coalesced {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let busy: Promise<void> | undefined;
  let again = false;
  let pause = FIRST_RETRY;
  let isRetry = false;
  const forget = () => {
    clearTimeout(timer);
    timer = undefined;
    isRetry = false;
  };
  const go = (): Promise<void> => {
    forget();
    busy = run().finally(() => {
      busy = undefined;
      if (again) ask();
      again = false;
    });
    return busy;
  };
  const later = (ms: number) => {
    timer ??= setTimeout(() => void go().then(fine, failed), ms);
  };
  const fine = () => {
    pause = FIRST_RETRY;
  };
  const failed = (e: unknown) => {
    if (!isPassing(e) || busy || timer !== undefined) return;
    isRetry = true;
    later(pause);
    pause = Math.min(LAST_RETRY, 2 * pause);
  };
  const ask = () => {
    if (isRetry) forget();
    if (busy) again = true;
    else later(delay);
  };
  const now = (): Promise<void> => (busy ? busy.catch(() => undefined).then(now) : go());
  return Object.assign(ask, { now });
}
