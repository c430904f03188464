import type { ProjectLockRecord, StoredLock } from './record.js';
/** The record that a write replaces: by name, and to the letter when another lease takes over what it judged stale. */
export interface Previous {
    readonly etag: string;
    readonly text?: string;
}
/**
 * Where the `.lock` record lives. A store holds each condition against the record and writes or removes it as one act;
 * it replaces another lease's record only while that is still the one that was judged, and never a newer beat of a
 * lease by an older one. It throws when it cannot tell what happened.
 */
export interface ProjectLockStore {
    read(signal?: AbortSignal): Promise<StoredLock | undefined>;
    /** false: the record is not `previous` (undefined: none) any more. */
    put(record: ProjectLockRecord, previous: Previous | undefined, signal?: AbortSignal): Promise<boolean>;
    /** false: another record is there. None is true. */
    remove(etag: string, signal?: AbortSignal): Promise<boolean>;
}
export declare const etagOf: (leaseId: string) => string;
