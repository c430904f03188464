import type { ProjectLockErrorCode, ProjectLockEvent, ProjectLockLease, ProjectLockStrategy } from './types.js';
export type StateName = 'idle' | 'acquire-web-lock' | 'acquire-file-lock' | 'acquire-waiting' | 'active-web-lock' | 'active-file-lock' | 'renewing' | 'renew-waiting' | 'releasing' | 'release-waiting' | 'readonly';
export interface State {
    readonly name: StateName;
    readonly leaseId: string;
    readonly strategy: ProjectLockStrategy;
    /** Web Locks may be tried (again). */
    readonly web: boolean;
    readonly limit: number;
    readonly backoff: readonly number[];
    /** Failed tries of the acquire, renewal or release under way. */
    readonly tries: number;
    /** Failed tries since the last renewal that succeeded. */
    readonly missed: number;
    /** Failed renewals in a row. */
    readonly failures: number;
    readonly acquiredAt: number;
    readonly expiresAt: number;
    readonly force: boolean;
    /** A lease was given up because the page was hidden. */
    readonly hidden: boolean;
    /** Why read-only was entered. */
    readonly reason: ProjectLockErrorCode | '';
}
export declare const idle: State;
type RefusalCode = 'fallback-conflict' | 'acquire-timeout';
type WebLockCode = 'web-lock-unsupported' | 'acquire-denied' | 'acquire-timeout';
export type Input = {
    type: 'acquire';
    leaseId: string;
    web: boolean;
    retryLimit?: number;
    backoffMs?: readonly number[];
} | {
    type: 'web-lock-granted';
} | {
    type: 'web-lock-refused';
    code: WebLockCode;
} | {
    type: 'published';
    startedAt: number;
} | {
    type: 'publish-failed';
    code: RefusalCode;
} | {
    type: 'due';
} | {
    type: 'renew';
} | {
    type: 'renewed';
    startedAt: number;
} | {
    type: 'renew-failed';
} | {
    type: 'lost';
} | {
    type: 'check';
} | {
    type: 'release';
    force?: boolean;
} | {
    type: 'removed';
} | {
    type: 'remove-failed';
} | {
    type: 'remove-refused';
} | {
    type: 'abort';
} | {
    type: 'hide';
} | {
    type: 'show';
} | {
    type: 'reset';
};
export type Command = {
    do: 'request-web-lock';
} | {
    do: 'publish-record';
} | {
    do: 'renew-record';
} | {
    do: 'remove-record';
} | {
    do: 'tidy-record';
    ms: number;
} | {
    do: 'drop-web-lock';
} | {
    do: 'wait';
    ms: number;
} | {
    do: 'heartbeat';
    ms: number;
} | {
    do: 'succeed';
} | {
    do: 'fail';
    code: ProjectLockErrorCode;
    retryable: boolean;
} | {
    do: 'quit';
};
export interface Step {
    readonly state: State;
    readonly emitted: readonly ProjectLockEvent[];
    readonly commands: readonly Command[];
}
/** One may write: the lease is held and will be for longer than a write takes. */
export declare function writable(s: State, at: number): boolean;
export declare function isHeld(s: State): boolean;
export declare function isAcquiring(s: State): boolean;
/** Inputs that do not fit the state are answers that came too late: they change nothing. */
export declare function step(s: State, input: Input, at: number): Step;
export declare function leaseOf(s: State): ProjectLockLease;
export {};
