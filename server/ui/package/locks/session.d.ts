import { type Sightings } from './claim.js';
import * as machine from './machine.js';
import type { World } from './parts.js';
import type { AcquireLockOptions, GuardedProjectLockLease, ProjectLockEvent } from './types.js';
/** One lease from its first try to its end: runs the machine's commands and feeds it what comes of them. */
export declare class Session {
    private readonly world;
    private readonly ownerId;
    private readonly sightings;
    private readonly emit;
    readonly leaseId: string;
    /** How often it was acquired by its id; each needs a release. */
    depth: number;
    private state;
    private readonly over;
    private readonly waiters;
    private webLock;
    private timer;
    private operation;
    private inFlight;
    private beat;
    /** On the clock that nobody sets: from here on the lease is not trusted. */
    private trustedUntil;
    private lastError;
    private lostTo;
    constructor(world: World, ownerId: string, sightings: Sightings, emit: (event: ProjectLockEvent) => void);
    get signal(): AbortSignal;
    get isHeld(): boolean;
    get isOver(): boolean;
    acquire(o: AcquireLockOptions): Promise<GuardedProjectLockLease>;
    renew(signal?: AbortSignal): Promise<GuardedProjectLockLease>;
    release(force: boolean, signal?: AbortSignal): Promise<void>;
    lease(): GuardedProjectLockLease;
    assertWritable(): void;
    /** Both clocks must trust the lease: the wall clock stands for the others, the other one cannot be set back. */
    check(): void;
    feed(input: machine.Input): void;
    /** Whoever asks waits for the machine to say that it succeeded, failed or quit. An aborted renewal goes on alone. */
    private ask;
    private run;
    private settle;
    private stopTimer;
    private end;
    private error;
    private withError;
    private requestWebLock;
    private publish;
    private refused;
    private renewRecord;
    private removeRecord;
    private removeOwn;
    /** Ours, or what nobody can be holding any more. */
    private removeDead;
    private tidyRecord;
    /** Runs a store operation within its time. What comes after its time, or after the next one began, counts no more. */
    private operate;
    private observer;
    private record;
    private trust;
}
