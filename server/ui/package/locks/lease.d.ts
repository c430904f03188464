import type { GuardedProjectLockLease, ProjectLockLease, ProjectLockStrategy } from './types.js';
interface Holder {
    readonly signal: AbortSignal;
    assertWritable(): void;
}
/** Four plain fields, and a guard that always asks the living session, so that an older object is as good as a newer. */
export declare class Lease implements GuardedProjectLockLease {
    #private;
    readonly leaseId: string;
    readonly strategy: ProjectLockStrategy;
    readonly acquiredAt: string;
    readonly expiresAt: string;
    constructor(holder: Holder, lease: ProjectLockLease);
    get signal(): AbortSignal;
    assertWritable(): void;
}
export {};
