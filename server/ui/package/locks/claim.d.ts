import type { ProjectLockRecord, StoredLock } from './record.js';
import { type Verdict } from './record.js';
import type { ProjectLockStore } from './store.js';
/** Remembers since when the very same record has been there, by a clock that nobody sets. */
export declare class Sightings {
    private text;
    private since;
    seenFor(text: string, monotonic: number): number;
}
export type Claim = {
    ok: true;
} | {
    ok: false;
    context: Record<string, unknown>;
};
export interface Observer {
    readonly leaseId: string;
    readonly now: number;
    readonly monotonic: number;
    readonly sightings: Sightings;
}
/** Looks and writes the record if nobody stands in the way. */
export declare function claim(store: ProjectLockStore, record: ProjectLockRecord, o: Observer, signal: AbortSignal): Promise<Claim>;
export declare function look(found: StoredLock | undefined, o: Observer): Verdict;
