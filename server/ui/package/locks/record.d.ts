import type { ProjectLockStrategy } from './types.js';
/** The content of `project/.lock`. */
export interface ProjectLockRecord {
    readonly version: 1;
    readonly leaseId: string;
    readonly ownerId: string;
    readonly strategy: ProjectLockStrategy;
    readonly acquiredAt: string;
    readonly expiresAt: string;
    /** Time of the last renewal. */
    readonly mtime: string;
    readonly ttlSeconds: number;
    /** Grows with every renewal, so that a late write of the same lease is told from a newer one. */
    readonly beat: number;
}
/** What a store found: the text, how to name it in a condition, and its age by the store's own clock. */
export interface StoredLock {
    readonly text: string;
    readonly etag: string;
    readonly ageMs?: number;
}
/** What a record means to us, times in milliseconds. */
export type Reading = {
    readonly kind: 'unreadable';
} | {
    readonly kind: 'newer';
} | {
    readonly kind: 'record';
    leaseId: string;
    ownerId: string;
    beat: number;
    expiresAt: number;
    ttl: number;
};
/** Reads records of ours and of others with the seed's fields only. */
export declare function readRecord(text: string): Reading;
export type Verdict = 'free' | 'mine' | 'held' | 'stale' | 'unreadable' | 'newer';
export interface Sight {
    readonly now: number;
    readonly leaseId: string;
    /** Since the record's last write, by the store's clock; undefined when it does not tell. */
    readonly ageMs?: number;
    /** How long we ourselves have seen the very same record. */
    readonly seenMs: number;
}
/**
 * The one place where it is decided whether a record stands in the way. A record is stale when its time is over and
 * nothing contradicts it, or, whatever it says, when it has not changed for its time to live and more: a living holder
 * would have renewed it.
 */
export declare function judge(text: string | undefined, s: Sight): Verdict;
