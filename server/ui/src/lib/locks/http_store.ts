import type { ProjectLockRecord, StoredLock } from './record.js';
import { readRecord } from './record.js';
import { etagOf, type ProjectLockStore } from './store.js';

export interface HttpStoreOptions {
  readonly fetch?: typeof fetch;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * The record on a server: GET gives it or 404; PUT and DELETE carry `If-Match: "<leaseId>"` or `If-None-Match: *` and
 * are answered 412 when that is not so. Requests are sent keepalive, so that the last one survives its page.
 */
export function httpStore(url: string, options: HttpStoreOptions = {}): ProjectLockStore {
  const call = (method: string, headers: Record<string, string>, signal?: AbortSignal, body?: string) =>
    (options.fetch ?? globalThis.fetch)(url, {
      method,
      headers: { ...options.headers, ...headers },
      credentials: 'same-origin',
      cache: 'no-store',
      keepalive: true,
      ...(signal ? { signal } : {}),
      ...(body === undefined ? {} : { body }),
    });

  return {
    async read(signal) {
      const answer = await call('GET', {}, signal);
      if (answer.status === 404) return undefined;
      return stored(expect(answer, 200), await answer.text());
    },
    async put(record: ProjectLockRecord, previous, signal) {
      const condition = previous === undefined ? { 'If-None-Match': '*' } : { 'If-Match': previous.etag };
      const headers = { 'Content-Type': 'application/json', ...condition };
      const answer = await call('PUT', headers, signal, JSON.stringify(record));
      return answer.status !== 412 && expect(answer, 200, 201, 204) !== undefined;
    },
    async remove(etag, signal) {
      const answer = await call('DELETE', { 'If-Match': etag }, signal);
      return answer.status !== 412 && expect(answer, 200, 204, 404) !== undefined;
    },
  };
}

function expect(answer: Response, ...good: number[]): Response {
  if (!good.includes(answer.status)) throw new Error(`project lock store answered ${answer.status}`);
  return answer;
}

function stored(answer: Response, text: string): StoredLock {
  const reading = readRecord(text);
  const etag = answer.headers.get('ETag') ?? (reading.kind === 'record' ? etagOf(reading.leaseId) : '"unreadable"');
  const ageMs = age(answer.headers);
  return ageMs === undefined ? { text, etag } : { text, etag, ageMs };
}

/** By the server's own clock, from our header or to the second from the standard ones. */
function age(h: Headers): number | undefined {
  const own = h.get('X-Lock-Age-Ms');
  if (own !== null) return Number(own);
  const ms = Date.parse(h.get('Date') ?? '') - Date.parse(h.get('Last-Modified') ?? '');
  return Number.isNaN(ms) ? undefined : Math.max(0, ms - 1_000);
}
