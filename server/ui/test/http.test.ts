import assert from 'node:assert/strict';
import { test } from 'node:test';
import { httpStore, httpTelemetry, type ProjectLockRecord } from '../src/lib/locks.js';

interface Call {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string | undefined;
}

function server(...answers: [status: number, headers?: Record<string, string>, body?: string][]) {
  const calls: Call[] = [];
  const fetch = async (url: unknown, init?: RequestInit) => {
    calls.push({
      url: String(url),
      method: init?.method ?? '',
      headers: init?.headers as Record<string, string>,
      body: init?.body as string | undefined,
    });
    const [status, headers, body] = answers.shift() ?? [500];
    return new Response(status === 204 ? null : (body ?? ''), { status, headers: headers ?? {} });
  };
  return { calls, fetch: fetch as typeof globalThis.fetch };
}

const record = { version: 1, leaseId: 'a', mtime: '2026-01-01T00:00:00.000Z', ttlSeconds: 30 } as unknown as ProjectLockRecord;
const text = JSON.stringify(record);

test('read: 404 is none, age from our header or to the second from the standard ones', async () => {
  const s = server(
    [404],
    [200, { ETag: '"a"', 'X-Lock-Age-Ms': '1500' }, text],
    [200, { Date: 'Thu, 01 Jan 2026 00:00:10 GMT', 'Last-Modified': 'Thu, 01 Jan 2026 00:00:00 GMT' }, text],
    [200, {}, '{'],
    [503],
  );
  const store = httpStore('/lock', { fetch: s.fetch });
  assert.equal(await store.read(), undefined);
  assert.deepEqual(await store.read(), { text, etag: '"a"', ageMs: 1500 });
  assert.deepEqual(await store.read(), { text, etag: '"a"', ageMs: 9_000 });
  assert.deepEqual(await store.read(), { text: '{', etag: '"unreadable"' });
  await assert.rejects(store.read());
});

test('write and remove carry their condition; 412 is false, anything else odd is an error', async () => {
  const s = server([204], [201], [412], [500], [204], [404], [412], [401]);
  const store = httpStore('/lock', { fetch: s.fetch, headers: { 'X-Token': 't' } });
  assert.equal(await store.put(record, undefined), true);
  assert.equal(await store.put(record, { etag: '"a"' }), true);
  assert.equal(await store.put(record, { etag: '"a"' }), false);
  await assert.rejects(store.put(record, { etag: '"a"' }));
  assert.equal(await store.remove('"a"'), true);
  assert.equal(await store.remove('"a"'), true);
  assert.equal(await store.remove('"a"'), false);
  await assert.rejects(store.remove('"a"'));
  const json = { 'X-Token': 't', 'Content-Type': 'application/json' };
  assert.deepEqual(s.calls[0], { url: '/lock', method: 'PUT', headers: { ...json, 'If-None-Match': '*' }, body: text });
  assert.deepEqual(s.calls[1], { url: '/lock', method: 'PUT', headers: { ...json, 'If-Match': '"a"' }, body: text });
  assert.deepEqual(s.calls[4], { url: '/lock', method: 'DELETE', headers: { 'X-Token': 't', 'If-Match': '"a"' }, body: undefined });
});

test('telemetry is collected for a second and sent when the page goes away', async () => {
  const s = server([204], [204]);
  const timers: (() => void)[] = [];
  let hide = () => undefined as void;
  const hear = httpTelemetry('/events', {
    fetch: s.fetch,
    now: () => 0,
    setTimeout: (run) => timers.push(run),
    page: { addEventListener: (_, listener) => (hide = () => listener({})) },
  });
  const lease = { leaseId: 'a', strategy: 'web-lock', acquiredAt: '', expiresAt: '' } as const;
  hear({ type: 'lock:release-requested', lease });
  assert.equal(timers.length, 0, 'no line, no request');
  hear({ type: 'lock:released', leaseId: 'a', strategy: 'web-lock', durationMs: 1 });
  hear({ type: 'lock:released', leaseId: 'b', strategy: 'web-lock', durationMs: 2 });
  assert.equal(timers.length, 1);
  timers[0]?.();
  assert.equal(JSON.parse(s.calls[0]?.body ?? '').length, 2);
  hear({ type: 'lock:released', leaseId: 'c', strategy: 'web-lock', durationMs: 3 });
  hide();
  await Promise.resolve();
  assert.deepEqual(JSON.parse(s.calls[1]?.body ?? '').map((l: { leaseId: string }) => l.leaseId), ['c']);
  timers[1]?.();
  assert.equal(s.calls.length, 2);
});
