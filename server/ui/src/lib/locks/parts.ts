import { WEB_LOCK_NAME } from './limits.js';
import { opfsStore } from './opfs_store.js';
import type { ProjectLockStore } from './store.js';

/** The page's own life: it can go away, come back from the back/forward cache, or wake up. */
export interface PageEvents {
  addEventListener(type: string, listener: (event: { persisted?: boolean }) => void): void;
}

/** Everything that the lock needs from the world. */
export interface ProjectLockParts {
  /** null: work without Web Locks. Left out: the browser's. */
  readonly lockManager?: Pick<LockManager, 'request'> | null;
  readonly store?: ProjectLockStore;
  readonly lockName?: string;
  /** Wall clock in milliseconds. */
  readonly now?: () => number;
  /** A clock that nobody sets, in milliseconds. */
  readonly monotonic?: () => number;
  readonly setTimeout?: (run: () => void, ms: number) => unknown;
  readonly clearTimeout?: (timer: unknown) => void;
  readonly uuid?: () => string;
  readonly page?: PageEvents | null;
}

export interface World {
  readonly lockManager: Pick<LockManager, 'request'> | undefined;
  readonly store: ProjectLockStore;
  readonly lockName: string;
  now(): number;
  monotonic(): number;
  setTimeout(run: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
  uuid(): string;
  readonly page: PageEvents | undefined;
}

export function worldOf(p: ProjectLockParts): World {
  const manager = p.lockManager === undefined ? globalThis.navigator?.locks : p.lockManager;
  const page = p.page === undefined ? defaultPage() : p.page;
  return {
    lockManager: manager ?? undefined,
    store: p.store ?? opfsStore(),
    lockName: p.lockName ?? WEB_LOCK_NAME,
    now: p.now ?? (() => Date.now()),
    monotonic: p.monotonic ?? (() => performance.now()),
    setTimeout: p.setTimeout ?? ((run, ms) => globalThis.setTimeout(run, ms)),
    clearTimeout: p.clearTimeout ?? ((timer) => globalThis.clearTimeout(timer as number)),
    uuid: p.uuid ?? (() => crypto.randomUUID()),
    page: page ?? undefined,
  };
}

/** Pages and workers have events of their own; elsewhere there is no page to lose. */
function defaultPage(): PageEvents | undefined {
  return typeof globalThis.addEventListener === 'function' ? globalThis : undefined;
}
