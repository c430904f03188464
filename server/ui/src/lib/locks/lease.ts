import type { GuardedProjectLockLease, ProjectLockLease, ProjectLockStrategy } from './types.js';

interface Holder {
  readonly signal: AbortSignal;
  assertWritable(): void;
}

/** Four plain fields, and a guard that always asks the living session, so that an older object is as good as a newer. */
export class Lease implements GuardedProjectLockLease {
  readonly leaseId: string;
  readonly strategy: ProjectLockStrategy;
  readonly acquiredAt: string;
  readonly expiresAt: string;
  readonly #holder: Holder;

  constructor(holder: Holder, lease: ProjectLockLease) {
    this.#holder = holder;
    this.leaseId = lease.leaseId;
    this.strategy = lease.strategy;
    this.acquiredAt = lease.acquiredAt;
    this.expiresAt = lease.expiresAt;
    Object.freeze(this);
  }

  get signal(): AbortSignal {
    return this.#holder.signal;
  }

  assertWritable(): void {
    this.#holder.assertWritable();
  }
}
