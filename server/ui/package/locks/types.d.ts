/** How a lease is held: as a Web Lock (with a `.lock` record beside it), or as the record alone. */
export type ProjectLockStrategy = 'web-lock' | 'file-lock';
export type ProjectLockErrorCode = 'web-lock-unsupported' | 'acquire-denied' | 'acquire-timeout' | 'fallback-conflict' | 'lease-stale' | 'renew-failed' | 'release-failed';
export interface AcquireLockOptions {
    readonly signal?: AbortSignal;
    /** Shown to others in the record; a hash of origin and tab when left out. */
    readonly ownerId?: string;
    /** How often to try, 3 when left out. */
    readonly retryLimit?: number;
    /** Waits between tries in milliseconds, [500, 1000, 2000] when left out. */
    readonly backoffMs?: readonly [number, number, number];
    /** A lease that this API already holds: it is taken once more instead of being in its own way. */
    readonly leaseId?: string;
}
export interface RenewLockOptions {
    readonly signal?: AbortSignal;
}
export interface ReleaseLockOptions {
    /** Also remove another record whose time is over. A living record of another lease stays. */
    readonly force?: boolean;
    readonly signal?: AbortSignal;
}
export interface WithLockOptions extends AcquireLockOptions {
    /** false: when `fn` fails the lease stays, and the caller releases it. */
    readonly releaseOnError?: boolean;
}
export interface ProjectLockLease {
    readonly leaseId: string;
    readonly strategy: ProjectLockStrategy;
    /** ISO 8601. */
    readonly acquiredAt: string;
    /** ISO 8601, as of when this object was made; renewals give new objects. */
    readonly expiresAt: string;
}
/** What acquiring really gives: the lease and the guard to ask before each write. */
export interface GuardedProjectLockLease extends ProjectLockLease {
    /** Aborted when the lease is lost or released. */
    readonly signal: AbortSignal;
    /**
     * Throws `lease-stale`, after entering read-only, unless the lease is good now. It is synchronous and asks the
     * clocks, so that a tab that was frozen or suspended learns it here and not from a timer that comes later.
     */
    assertWritable(): void;
}
export interface ProjectLockError extends Error {
    readonly code: ProjectLockErrorCode;
    readonly retryable: boolean;
    readonly cause?: unknown;
    readonly context?: Record<string, unknown>;
}
export interface ProjectLockReadonlyInfo {
    readonly reason: ProjectLockErrorCode;
    readonly lastError?: ProjectLockError;
}
export type ProjectLockOperation = 'acquire' | 'renew' | 'release';
export type ProjectLockEvent = {
    type: 'lock:attempt';
    strategy: ProjectLockStrategy;
    retry: number;
    operation: ProjectLockOperation;
    leaseId?: string;
} | {
    type: 'lock:acquired';
    lease: ProjectLockLease;
} | {
    type: 'lock:renew-scheduled';
    lease: ProjectLockLease;
    nextHeartbeatInMs: number;
} | {
    type: 'lock:renewed';
    lease: ProjectLockLease;
    retry: number;
} | {
    type: 'lock:release-requested';
    lease: ProjectLockLease;
} | {
    type: 'lock:release-failed';
    leaseId: string;
    retry: number;
    force: boolean;
} | {
    type: 'lock:released';
    leaseId: string;
    strategy: ProjectLockStrategy;
    durationMs: number;
} | {
    type: 'lock:readonly-entered';
    info: ProjectLockReadonlyInfo;
    retry: number;
    leaseId?: string;
};
export interface ProjectLockApi {
    acquireProjectLock(opts?: AcquireLockOptions): Promise<GuardedProjectLockLease>;
    renewProjectLock(lease: ProjectLockLease, opts?: RenewLockOptions): Promise<GuardedProjectLockLease>;
    releaseProjectLock(lease: ProjectLockLease, opts?: ReleaseLockOptions): Promise<void>;
    withProjectLock<T>(fn: (lease: GuardedProjectLockLease) => Promise<T>, opts?: WithLockOptions): Promise<T>;
    subscribeLockEvents(listener: (event: ProjectLockEvent) => void): () => void;
}
