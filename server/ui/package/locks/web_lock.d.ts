import type { World } from './parts.js';
export interface WebLockListener {
    granted(): void;
    refused(code: 'web-lock-unsupported' | 'acquire-denied' | 'acquire-timeout', cause?: unknown): void;
    stolen(cause: unknown): void;
}
/** One request for the Web Lock, held until `drop`. It asks `ifAvailable`: waiting is done by the caller's backoff. */
export declare class WebLockHold {
    private readonly world;
    private readonly listener;
    private state;
    private letGo;
    private timer;
    constructor(world: World, listener: WebLockListener);
    request(): void;
    drop(): void;
    private answer;
    private refuse;
    private failed;
}
