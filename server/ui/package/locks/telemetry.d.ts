import type { ProjectLockEvent } from './types.js';
/** One line of `project/autosave/*.jsonl`. */
export interface ProjectLockTelemetry {
    readonly ts: string;
    readonly type: `autosave.lock.${string}`;
    readonly feature: 'autosave';
    readonly [field: string]: unknown;
}
/** The line for an event, or undefined for events that have none in the table (scheduled, release requested). */
export declare function toTelemetry(event: ProjectLockEvent, at: number): ProjectLockTelemetry | undefined;
