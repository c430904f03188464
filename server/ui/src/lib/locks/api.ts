import { Sightings } from './claim.js';
import { lockError } from './errors.js';
import { worldOf, type PageEvents, type ProjectLockParts, type World } from './parts.js';
import { Session } from './session.js';
import type {
  AcquireLockOptions,
  GuardedProjectLockLease,
  ProjectLockApi,
  ProjectLockEvent,
  ProjectLockLease,
  ReleaseLockOptions,
  RenewLockOptions,
  WithLockOptions,
} from './types.js';

/** A project lock of its own. Parts that are left out are the browser's. */
export function createProjectLockApi(parts: ProjectLockParts = {}): ProjectLockApi {
  return new Api(worldOf(parts));
}

class Api implements ProjectLockApi {
  private readonly sessions = new Map<string, Session>();
  private readonly listeners = new Set<{ hear(event: ProjectLockEvent): void }>();
  private readonly sightings = new Sightings();
  private readonly owner: string;

  constructor(private readonly world: World) {
    this.owner = ownerOf(world);
    if (world.page) this.watch(world.page);
  }

  acquireProjectLock = async (opts: AcquireLockOptions = {}): Promise<GuardedProjectLockLease> => {
    opts.signal?.throwIfAborted();
    const held = this.sessions.get(opts.leaseId ?? '');
    if (held?.isHeld) return this.again(held);
    const session = new Session(this.world, opts.ownerId ?? this.owner, this.sightings, (e) => this.publish(e));
    this.sessions.set(session.leaseId, session);
    try {
      return await session.acquire(opts);
    } catch (e) {
      this.sessions.delete(session.leaseId);
      throw e;
    }
  };

  renewProjectLock = async (lease: ProjectLockLease, opts: RenewLockOptions = {}): Promise<GuardedProjectLockLease> => {
    opts.signal?.throwIfAborted();
    const session = this.sessions.get(lease.leaseId);
    if (!session) throw lockError('lease-stale', false);
    session.check();
    return session.renew(opts.signal);
  };

  /** Idempotent: a lease that is held no more is released already. */
  releaseProjectLock = async (lease: ProjectLockLease, opts: ReleaseLockOptions = {}): Promise<void> => {
    opts.signal?.throwIfAborted();
    const session = this.sessions.get(lease.leaseId);
    if (!session) return;
    if (session.isHeld && --session.depth > 0) return;
    await session.release(opts.force ?? false, opts.signal).finally(() => this.forget(session));
  };

  withProjectLock = async <T>(
    fn: (lease: GuardedProjectLockLease) => Promise<T>,
    opts: WithLockOptions = {},
  ): Promise<T> => {
    const lease = await this.acquireProjectLock(opts);
    let result: T;
    try {
      result = await whileHeld(lease, opts.signal, () => fn(lease));
    } catch (e) {
      if (opts.releaseOnError ?? true) await this.releaseProjectLock(lease).catch(() => undefined);
      throw e;
    }
    await this.releaseProjectLock(lease);
    return result;
  };

  subscribeLockEvents = (listener: (event: ProjectLockEvent) => void): (() => void) => {
    const entry = { hear: listener };
    this.listeners.add(entry);
    return () => void this.listeners.delete(entry);
  };

  private again(session: Session): GuardedProjectLockLease {
    session.assertWritable();
    session.depth++;
    return session.lease();
  }

  private forget(session: Session): void {
    if (session.isOver) this.sessions.delete(session.leaseId);
  }

  /** One listener that throws keeps the event from no other, and the lock from nothing. */
  private publish(event: ProjectLockEvent): void {
    for (const l of [...this.listeners]) {
      try {
        l.hear(event);
      } catch (e) {
        globalThis.reportError?.(e);
      }
    }
  }

  private watch(page: PageEvents): void {
    const all = (type: 'hide' | 'show') => {
      for (const s of [...this.sessions.values()]) s.feed({ type });
    };
    const check = () => {
      for (const s of [...this.sessions.values()]) s.check();
    };
    page.addEventListener('pagehide', () => all('hide'));
    page.addEventListener('pageshow', (e) => (e.persisted ? all('show') : check()));
    for (const type of ['resume', 'visibilitychange', 'focus', 'online']) page.addEventListener(type, check);
  }
}

/** Rejects as soon as the lease is lost or the caller gives up; `fn` hears of it by its lease's signal. */
async function whileHeld<T>(
  lease: GuardedProjectLockLease,
  signal: AbortSignal | undefined,
  fn: () => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const over = new Promise<never>((_, reject) => {
    for (const s of [lease.signal, signal]) {
      s?.addEventListener('abort', () => reject(s.reason), { signal: stop.signal });
    }
  });
  try {
    return await Promise.race([fn(), over]);
  } finally {
    stop.abort();
  }
}

/** A hash of origin and tab: it tells owners apart and gives nothing away. */
function ownerOf(world: World): string {
  const text = `${globalThis.location?.origin ?? ''} ${world.uuid()}`;
  let h = 0xcbf29ce484222325n;
  for (const c of text) h = BigInt.asUintN(64, (h ^ BigInt(c.codePointAt(0) ?? 0)) * 0x100000001b3n);
  return h.toString(16).padStart(16, '0');
}
