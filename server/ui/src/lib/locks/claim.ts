import type { ProjectLockRecord, StoredLock } from './record.js';
import { judge, readRecord, type Verdict } from './record.js';
import type { ProjectLockStore } from './store.js';

/** Remembers since when the very same record has been there, by a clock that nobody sets. */
export class Sightings {
  private text: string | undefined;
  private since = 0;

  seenFor(text: string, monotonic: number): number {
    if (this.text !== text) {
      this.text = text;
      this.since = monotonic;
    }
    return monotonic - this.since;
  }
}

export type Claim = { ok: true } | { ok: false; context: Record<string, unknown> };

export interface Observer {
  readonly leaseId: string;
  readonly now: number;
  readonly monotonic: number;
  readonly sightings: Sightings;
}

/** Looks and writes the record if nobody stands in the way. */
export async function claim(
  store: ProjectLockStore,
  record: ProjectLockRecord,
  o: Observer,
  signal: AbortSignal,
): Promise<Claim> {
  const found = await store.read(signal);
  const verdict = look(found, o);
  if (verdict !== 'free' && verdict !== 'mine' && verdict !== 'stale') {
    return { ok: false, context: holder(found, verdict, o.now) };
  }
  if (await store.put(record, found, signal)) return { ok: true };
  return { ok: false, context: { verdict: 'outrun' } };
}

export function look(found: StoredLock | undefined, o: Observer): Verdict {
  const seenMs = found === undefined ? 0 : o.sightings.seenFor(found.text, o.monotonic);
  const age = found?.ageMs === undefined ? {} : { ageMs: found.ageMs };
  return judge(found?.text, { now: o.now, leaseId: o.leaseId, seenMs, ...age });
}

function holder(found: StoredLock | undefined, verdict: Verdict, now: number): Record<string, unknown> {
  const r = readRecord(found?.text ?? '');
  if (r.kind !== 'record') return { verdict };
  return {
    verdict,
    ownerId: r.ownerId,
    expiresAt: new Date(r.expiresAt).toISOString(),
    retryAfterMs: Math.max(0, r.expiresAt - now),
  };
}
