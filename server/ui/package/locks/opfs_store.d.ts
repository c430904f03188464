import { type ProjectLockRecord, type StoredLock } from './record.js';
import { type Previous, type ProjectLockStore } from './store.js';
export interface OpfsStoreOptions {
    readonly storage?: StorageManager;
    /** Guards reads and writes where files cannot be opened exclusively. */
    readonly locks?: LockManager | null;
    readonly now?: () => number;
}
/**
 * The record in the origin's private file system. Every read-decide-write happens while `project/.lock.guard` is open
 * exclusively, which works in tabs without Web Locks; browsers without exclusive writing use a short Web Lock instead.
 */
export declare function opfsStore(options?: OpfsStoreOptions): ProjectLockStore;
export declare function mayReplace(found: StoredLock | undefined, record: ProjectLockRecord, previous?: Previous): boolean;
