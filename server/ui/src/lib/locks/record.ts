import { CLOCK_TOLERANCE, FILE_LOCK_TTL } from './limits.js';
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
export type Reading =
  | { readonly kind: 'unreadable' }
  | { readonly kind: 'newer' }
  | { readonly kind: 'record'; leaseId: string; ownerId: string; beat: number; expiresAt: number; ttl: number };

const longestTtl = 300_000;

/** Reads records of ours and of others with the seed's fields only. */
export function readRecord(text: string): Reading {
  let v: unknown;
  try {
    v = JSON.parse(text);
  } catch {
    return { kind: 'unreadable' };
  }
  if (typeof v !== 'object' || v === null || Array.isArray(v)) return { kind: 'unreadable' };
  return readObject(v as Record<string, unknown>);
}

function readObject(o: Record<string, unknown>): Reading {
  if (isNewer(o['version'])) return { kind: 'newer' };
  if (o['version'] !== undefined && typeof o['version'] !== 'number') return { kind: 'unreadable' };
  const ttl = timeToLive(o['ttlSeconds']);
  const mtime = instant(o['mtime']);
  const expiresAt = o['expiresAt'] === undefined && mtime !== undefined ? mtime + ttl : instant(o['expiresAt']);
  if (typeof o['leaseId'] !== 'string' || o['leaseId'] === '' || expiresAt === undefined || !(ttl > 0)) {
    return { kind: 'unreadable' };
  }
  return {
    kind: 'record',
    leaseId: o['leaseId'],
    ownerId: typeof o['ownerId'] === 'string' ? o['ownerId'] : '',
    beat: typeof o['beat'] === 'number' ? o['beat'] : 0,
    expiresAt,
    ttl: Math.min(ttl, longestTtl),
  };
}

/** Whether a version is none that is known. One that is no number is not: its record is left to who wrote it. */
function isNewer(version: unknown): boolean {
  if (version === undefined || version === null || version === '') return false;
  const n = /^\s*v?(\d+)(?:\.(\d+))?(?:\.|\s*$)/.exec(String(version));
  return n === null || Number(n[1]) > 1 || (Number(n[1]) === 1 && Number(n[2] ?? 0) > 0);
}

/** 0 for what is no time to live. */
function timeToLive(v: unknown): number {
  if (v === undefined) return FILE_LOCK_TTL;
  return typeof v === 'number' ? v * 1_000 : 0;
}

/** ISO 8601 with a zone, or milliseconds since 1970. */
function instant(v: unknown): number | undefined {
  if (typeof v === 'number' && Number.isFinite(v)) return v;
  if (typeof v !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(v)) return undefined;
  const t = Date.parse(v);
  return Number.isNaN(t) ? undefined : t;
}

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
export function judge(text: string | undefined, s: Sight): Verdict {
  if (text === undefined) return 'free';
  const r = readRecord(text);
  if (r.kind === 'newer') return 'newer';
  if (r.kind === 'record' && r.leaseId === s.leaseId) return 'mine';
  const unchanged = Math.max(s.ageMs ?? 0, s.seenMs);
  const ttl = r.kind === 'record' ? r.ttl : FILE_LOCK_TTL;
  if (unchanged >= ttl + CLOCK_TOLERANCE) return 'stale';
  if (r.kind === 'unreadable') return 'unreadable';
  return s.now >= r.expiresAt && !isFresh(s.ageMs, ttl) ? 'stale' : 'held';
}

/** The store says that the record was written less than its time to live ago, whatever our clock makes of it. */
function isFresh(ageMs: number | undefined, ttl: number): boolean {
  return ageMs !== undefined && ageMs >= 0 && ageMs < ttl;
}
