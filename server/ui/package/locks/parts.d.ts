import type { ProjectLockStore } from './store.js';
/** The page's own life: it can go away, come back from the back/forward cache, or wake up. */
export interface PageEvents {
    addEventListener(type: string, listener: (event: {
        persisted?: boolean;
    }) => void): void;
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
export declare function worldOf(p: ProjectLockParts): World;
