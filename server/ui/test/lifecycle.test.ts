import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GuardedProjectLockLease } from '../src/lib/locks.js';
import { Bench, outcome, type OpenTab } from './bench.js';
import { epoch } from './world.js';

const iso = (ms: number) => new Date(epoch + ms).toISOString();

async function acquired(b: Bench, t: OpenTab): Promise<GuardedProjectLockLease> {
  const o = outcome(t.api.acquireProjectLock());
  await b.clock.pass(0);
  assert.equal(o.state, 'fulfilled', String(o.reason));
  return o.value!;
}

test('seed 1: acquired, renewed, released, each one line of JSON', async () => {
  const b = new Bench();
  const a = b.open();
  const lease = await acquired(b, a);
  assert.deepEqual({ ...lease }, { leaseId: 'lease-2', strategy: 'web-lock', acquiredAt: iso(0), expiresAt: iso(25_000) });
  assert.deepEqual(a.told(), ['attempt acquire web-lock 0', 'acquired web-lock', 'renew-scheduled 20000']);
  await b.clock.pass(20_000);
  assert.deepEqual(a.told(), ['attempt renew web-lock 0', 'renewed 0', 'renew-scheduled 20000']);
  await b.clock.pass(10_000);
  const released = outcome(a.api.releaseProjectLock(lease));
  await b.clock.pass(0);
  assert.equal(released.state, 'fulfilled');
  assert.deepEqual(a.told(), ['release-requested', 'attempt release web-lock 0', 'released 30000']);
  assert.equal(b.store.text, undefined);
  assert.equal(b.locks.isHeld, false);
  assert.deepEqual(b.clock.pending, []);
  const ts = (ms: number) => ({ ts: iso(ms), feature: 'autosave', leaseId: 'lease-2' });
  assert.deepEqual(a.lines.map((l) => JSON.parse(l)), [
    { ...ts(0), type: 'autosave.lock.attempt', operation: 'acquire', strategy: 'web-lock', retry: 0 },
    { ...ts(0), type: 'autosave.lock.acquired', strategy: 'web-lock', expiresAt: iso(25_000) },
    { ...ts(20_000), type: 'autosave.lock.attempt', operation: 'renew', strategy: 'web-lock', retry: 0 },
    { ...ts(20_000), type: 'autosave.lock.renewed', strategy: 'web-lock', retry: 0 },
    { ...ts(30_000), type: 'autosave.lock.attempt', operation: 'release', strategy: 'web-lock', retry: 0 },
    { ...ts(30_000), type: 'autosave.lock.released', strategy: 'web-lock', durationMs: 30_000 },
  ]);
  assert.ok(a.lines.every((l) => !l.includes('\n')));
});

test('without Web Locks the file is taken, for 30 s', async () => {
  const b = new Bench();
  const a = b.open({ webLocks: false });
  const lease = await acquired(b, a);
  assert.equal(lease.strategy, 'file-lock');
  assert.equal(lease.expiresAt, iso(30_000));
  assert.deepEqual(a.told(), [
    'attempt acquire web-lock 0',
    'attempt acquire file-lock 0',
    'acquired file-lock',
    'renew-scheduled 25000',
  ]);
  assert.deepEqual({ ...b.store.record, ownerId: '' }, {
    version: 1,
    leaseId: 'lease-2',
    ownerId: '',
    strategy: 'file-lock',
    acquiredAt: iso(0),
    expiresAt: iso(30_000),
    mtime: iso(0),
    ttlSeconds: 30,
    beat: 1,
  });
});

test('a Web Lock holder publishes the record with the same lease id', async () => {
  const b = new Bench();
  const lease = await acquired(b, b.open());
  assert.equal(b.store.record?.leaseId, lease.leaseId);
  assert.equal(b.store.record?.ttlSeconds, 25);
});

for (const [first, second] of [[true, false], [false, true], [true, true], [false, false]] as const) {
  test(`seed 2: tab ${first ? 'with' : 'without'} excludes tab ${second ? 'with' : 'without'} Web Locks`, async () => {
    const b = new Bench();
    await acquired(b, b.open({ webLocks: first }));
    const other = b.open({ webLocks: second });
    const o = outcome(other.api.acquireProjectLock());
    await b.clock.pass(1_499);
    assert.equal(o.state, 'pending');
    await b.clock.pass(1);
    assert.equal(o.state, 'rejected');
    assert.equal(o.reason.code, 'fallback-conflict');
    assert.equal(o.reason.retryable, false);
    assert.equal(o.reason.context.retryAfterMs, (first ? 25_000 : 30_000) - 1_500);
    assert.equal(other.told().at(-1), 'readonly-entered fallback-conflict 3');
    assert.equal(b.store.record?.leaseId, 'lease-2');
  });
}

test('tries and waits: 500, 1000, and 2000 before a fourth', async () => {
  const b = new Bench();
  await acquired(b, b.open());
  const other = b.open({ webLocks: false });
  const o = outcome(other.api.acquireProjectLock({ retryLimit: 4 }));
  await b.clock.pass(3_499);
  assert.deepEqual(other.told(), [
    'attempt acquire web-lock 0',
    'attempt acquire file-lock 0',
    'attempt acquire file-lock 1',
    'attempt acquire file-lock 2',
  ]);
  await b.clock.pass(1);
  assert.deepEqual(other.told(), ['attempt acquire file-lock 3', 'readonly-entered fallback-conflict 4']);
  assert.equal(o.state, 'rejected');
});

test('backoffMs and retryLimit are the caller’s', async () => {
  const b = new Bench();
  await acquired(b, b.open());
  const o = outcome(b.open().api.acquireProjectLock({ retryLimit: 2, backoffMs: [10, 20, 30] }));
  await b.clock.pass(10);
  assert.equal(o.state, 'rejected');
});

test('a conflict that ends in time is waited out', async () => {
  const b = new Bench();
  const a = b.open();
  const lease = await acquired(b, a);
  const other = b.open();
  const o = outcome(other.api.acquireProjectLock());
  await b.clock.pass(600);
  void a.api.releaseProjectLock(lease);
  await b.clock.pass(900);
  assert.equal(o.state, 'fulfilled');
  assert.equal(o.value?.strategy, 'web-lock');
});

test('a crashed tab is succeeded when its lease is over, not before', async () => {
  const b = new Bench();
  const a = b.open();
  await acquired(b, a);
  a.tab.crashed = true;
  b.locks.crash(a.tab);
  const other = b.open();
  const early = outcome(other.api.acquireProjectLock({ retryLimit: 1 }));
  await b.clock.pass(24_999);
  assert.equal(early.state, 'rejected');
  const o = outcome(other.api.acquireProjectLock());
  await b.clock.pass(501);
  assert.equal(o.state, 'fulfilled');
  assert.equal(b.store.record?.leaseId, o.value?.leaseId);
});

test('seed 3: two failed tries, the third renews and tells retry 2', async () => {
  const b = new Bench();
  const a = b.open();
  const lease = await acquired(b, a);
  a.told();
  let left = 2;
  b.store.fault = (call) => (call === 'put' && left-- > 0 ? 'lost-request' : undefined);
  await b.clock.pass(21_500);
  assert.deepEqual(a.told(), [
    'attempt renew web-lock 0',
    'attempt renew web-lock 1',
    'attempt renew web-lock 2',
    'renewed 2',
    'renew-scheduled 20000',
  ]);
  lease.assertWritable();
  assert.match(a.lines.at(-1)!, /"type":"autosave.lock.renewed".*"retry":2/);
  await b.clock.pass(20_000);
  assert.deepEqual(a.told().slice(0, 2), ['attempt renew web-lock 0', 'renewed 0'], 'a success resets the count');
});

test('two failed renewals in a row: read-only with renew-failed, before others may take over', async () => {
  const b = new Bench();
  const a = b.open();
  const lease = await acquired(b, a);
  b.store.fault = (call) => (call === 'put' ? 'lost-request' : undefined);
  a.told();
  await b.clock.pass(24_999);
  assert.deepEqual(a.told(), [
    'attempt renew web-lock 0',
    'attempt renew web-lock 1',
    'attempt renew web-lock 2',
    'attempt renew web-lock 3',
    'readonly-entered renew-failed 4',
  ]);
  assert.throws(() => lease.assertWritable(), { code: 'renew-failed' });
  assert.equal(lease.signal.aborted, true);
  assert.equal(b.locks.isHeld, false);
});

test('renewing by hand: retryable after one failed renewal, not after two', async () => {
  const b = new Bench();
  const a = b.open();
  const lease = await acquired(b, a);
  b.store.fault = (call) => (call === 'put' ? 'lost-request' : undefined);
  const first = outcome(a.api.renewProjectLock(lease));
  await b.clock.pass(1_500);
  assert.deepEqual([first.state, first.reason.code, first.reason.retryable], ['rejected', 'renew-failed', true]);
  lease.assertWritable();
  const second = outcome(a.api.renewProjectLock(lease));
  await b.clock.pass(3_500);
  assert.deepEqual([second.state, second.reason.code, second.reason.retryable], ['rejected', 'renew-failed', false]);
  assert.throws(() => lease.assertWritable());
});

test('renewing by hand gives a new lease with a later end', async () => {
  const b = new Bench();
  const a = b.open();
  const lease = await acquired(b, a);
  await b.clock.pass(5_000);
  const o = outcome(a.api.renewProjectLock(lease));
  await b.clock.pass(0);
  assert.equal(o.value?.expiresAt, iso(30_000));
  assert.equal(o.value?.acquiredAt, lease.acquiredAt);
  assert.equal(lease.expiresAt, iso(25_000), 'the old object says what was true');
});

test('a record that is gone or somebody else’s at renewal: lease-stale, not retryable', async () => {
  for (const text of [undefined, JSON.stringify({ leaseId: 'x', mtime: iso(0), ttlSeconds: 30 })]) {
    const b = new Bench();
    const a = b.open();
    const lease = await acquired(b, a);
    b.store.text = text;
    const o = outcome(a.api.renewProjectLock(lease));
    await b.clock.pass(0);
    assert.deepEqual([o.reason.code, o.reason.retryable], ['lease-stale', false]);
    assert.equal(a.told().at(-1), 'readonly-entered lease-stale 0');
    assert.equal(b.store.text, text, 'another’s record stays');
    assert.equal(b.locks.isHeld, false);
  }
});

test('seed 4: a failed release is tried again and ends in released', async () => {
  const b = new Bench();
  const a = b.open();
  const lease = await acquired(b, a);
  a.told();
  let left = 2;
  b.store.fault = (call) => (call === 'remove' && left-- > 0 ? 'lost-request' : undefined);
  const o = outcome(a.api.releaseProjectLock(lease));
  await b.clock.pass(1_500);
  assert.equal(o.state, 'fulfilled');
  assert.deepEqual(a.told(), [
    'release-requested',
    'attempt release web-lock 0',
    'release-failed 0',
    'attempt release web-lock 1',
    'release-failed 1',
    'attempt release web-lock 2',
    'released 1500',
  ]);
});

for (const force of [false, true]) {
  test(`three failed removals${force ? ' by force' : ''}: read-only, retryable ${!force}`, async () => {
    const b = new Bench();
    const a = b.open();
    const lease = await acquired(b, a);
    b.store.fault = (call) => (call === 'put' ? undefined : 'lost-request');
    const o = outcome(a.api.releaseProjectLock(lease, { force }));
    await b.clock.pass(1_500);
    assert.deepEqual([o.reason.code, o.reason.retryable], ['release-failed', !force]);
    assert.deepEqual(a.told().slice(-2), [`release-failed 2${force ? ' force' : ''}`, 'readonly-entered release-failed 3']);
    assert.equal(b.locks.isHeld, false);
    b.store.fault = () => undefined;
    const again = outcome(a.api.releaseProjectLock(lease, { force }));
    await b.clock.pass(0);
    assert.equal(again.state, 'fulfilled', 'a release that succeeds leaves read-only');
    assert.equal(b.store.text, undefined);
  });
}

test('nobody writes once release was asked for', async () => {
  const b = new Bench();
  const a = b.open();
  const lease = await acquired(b, a);
  const done = outcome(a.api.releaseProjectLock(lease));
  assert.equal(lease.signal.aborted, true);
  assert.throws(() => lease.assertWritable(), { code: 'lease-stale' });
  await b.clock.pass(0);
  assert.equal(done.state, 'fulfilled');
  assert.equal(a.told().at(-1), 'released 0', 'asking the guard afterwards is no event');
});

test('releasing twice, and a lease of nobody', async () => {
  const b = new Bench();
  const a = b.open();
  const lease = await acquired(b, a);
  const both = outcome(Promise.all([a.api.releaseProjectLock(lease), a.api.releaseProjectLock(lease)]));
  await b.clock.pass(0);
  assert.equal(both.state, 'fulfilled');
  a.told();
  await a.api.releaseProjectLock(lease);
  await a.api.releaseProjectLock({ ...lease, leaseId: 'unknown' });
  assert.deepEqual(a.told(), []);
});

test('taken over unnoticed: release tells', async () => {
  const b = new Bench();
  const a = b.open();
  const lease = await acquired(b, a);
  b.store.write(JSON.stringify({ leaseId: 'x', mtime: iso(0), ttlSeconds: 30 }));
  const o = outcome(a.api.releaseProjectLock(lease));
  await b.clock.pass(0);
  assert.equal(o.reason.code, 'lease-stale');
  assert.notEqual(b.store.text, undefined);
});

test('force removes what is over, never a living record of another', async () => {
  const b = new Bench();
  const a = b.open();
  const lease = await acquired(b, a);
  b.store.write(JSON.stringify({ leaseId: 'x', mtime: iso(0), ttlSeconds: 30 }));
  const o = outcome(a.api.releaseProjectLock(lease, { force: true }));
  await b.clock.pass(0);
  assert.equal(o.state, 'fulfilled');
  assert.equal(b.store.record?.leaseId, 'x');
});

test('seed 5: after the end the lines still count, filtered by feature', async () => {
  const b = new Bench();
  const a = b.open();
  const lease = await acquired(b, a);
  void a.api.releaseProjectLock(lease);
  await b.clock.pass(0);
  const count = new Map<string, number>();
  for (const line of [...a.lines, '{"type":"other","feature":"merge"}']) {
    const o = JSON.parse(line);
    if (o.feature === 'autosave') count.set(o.type, (count.get(o.type) ?? 0) + 1);
  }
  assert.deepEqual(Object.fromEntries(count), {
    'autosave.lock.attempt': 2,
    'autosave.lock.acquired': 1,
    'autosave.lock.released': 1,
  });
});
