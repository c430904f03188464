import type { ProjectLockEvent } from './types.js';

/** One line of `project/autosave/*.jsonl`. */
export interface ProjectLockTelemetry {
  readonly ts: string;
  readonly type: `autosave.lock.${string}`;
  readonly feature: 'autosave';
  readonly [field: string]: unknown;
}

/** The line for an event, or undefined for events that have none in the table (scheduled, release requested). */
export function toTelemetry(event: ProjectLockEvent, at: number): ProjectLockTelemetry | undefined {
  const fields = fieldsOf(event);
  if (fields === undefined) return undefined;
  const type = `autosave.lock.${event.type.slice('lock:'.length)}` as const;
  return { ts: new Date(at).toISOString(), type, feature: 'autosave', ...fields };
}

function fieldsOf(e: ProjectLockEvent): Record<string, unknown> | undefined {
  switch (e.type) {
    case 'lock:attempt':
      return { operation: e.operation, strategy: e.strategy, retry: e.retry, leaseId: e.leaseId };
    case 'lock:acquired':
      return { leaseId: e.lease.leaseId, strategy: e.lease.strategy, expiresAt: e.lease.expiresAt };
    case 'lock:renewed':
      return { leaseId: e.lease.leaseId, strategy: e.lease.strategy, retry: e.retry };
    case 'lock:readonly-entered':
      return { reason: e.info.reason, retry: e.retry, leaseId: e.leaseId };
    case 'lock:release-failed':
      return { leaseId: e.leaseId, retry: e.retry, force: e.force };
    case 'lock:released':
      return { leaseId: e.leaseId, strategy: e.strategy, durationMs: e.durationMs };
    default:
      return undefined;
  }
}
