import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createProjectLockApi, type GuardedProjectLockLease } from '../src/lib/locks.js';
import { Bench, outcome, type OpenTab } from './bench.js';
import { epoch, settle } from './world.js';

const iso = (ms: number) => new Date(epoch + ms).toISOString();

async function acquired(b: Bench, t: OpenTab): Promise<GuardedProjectLockLease> {
  const o = outcome(t.api.acquireProjectLock());
  await b.clock.pass(0);
  assert.equal(o.state, 'fulfilled', String(o.reason));
  return o.value!;
}

/** Acquire takes this long here: the Web Lock's answer, a read and a write, each there and back, 10 ms a way. */
async function slowly(b: Bench): Promise<void> {
  b.locks.latency = () => 10;
  b.store.latency = () => 10;
}

for (const at of [0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 49]) {
  for (const webLocks of [true, false]) {
    test(`abort ${at} ms into acquiring ${webLocks ? 'with' : 'without'} Web Locks: idle, silently`, async () => {
      const b = new Bench();
      await slowly(b);
      const a = b.open({ webLocks });
      const stop = new AbortController();
      const o = outcome(a.api.acquireProjectLock({ signal: stop.signal }));
      if (at > 0) await b.clock.pass(at);
      if (o.state === 'fulfilled') return; // the quicker way was through
      a.told();
      stop.abort(new Error('enough'));
      await b.clock.pass(100);
      assert.deepEqual([o.state, o.reason.message], ['rejected', 'enough']);
      assert.deepEqual(a.told(), []);
      assert.equal(b.store.text, undefined);
      assert.equal(b.locks.isHeld, false);
      assert.deepEqual(b.clock.pending, []);
      const next = outcome(a.api.acquireProjectLock());
      await b.clock.pass(100);
      assert.equal(next.state, 'fulfilled');
    });
  }
}

test('abort before, while waiting for the next try, and after the grant', async () => {
  const b = new Bench();
  const a = b.open();
  await assert.rejects(a.api.acquireProjectLock({ signal: AbortSignal.abort(new Error('never')) }), { message: 'never' });
  assert.deepEqual(a.told(), []);

  const stop = new AbortController();
  const lease = await (async () => {
    const p = outcome(a.api.acquireProjectLock({ signal: stop.signal }));
    await b.clock.pass(0);
    return p.value!;
  })();
  stop.abort();
  lease.assertWritable();

  const other = b.open();
  const late = new AbortController();
  const o = outcome(other.api.acquireProjectLock({ signal: late.signal }));
  await b.clock.pass(600);
  other.told();
  late.abort(new Error('enough'));
  await b.clock.pass(5_000);
  assert.equal(o.reason.message, 'enough');
  assert.deepEqual(other.told(), []);
  assert.equal(b.store.record?.leaseId, lease.leaseId);
});

test('abort of a renewal leaves the lease, abort of a release goes to idle', async () => {
  const b = new Bench();
  const a = b.open();
  const lease = await acquired(b, a);
  a.told();
  await slowly(b);
  const stop = new AbortController();
  const renewing = outcome(a.api.renewProjectLock(lease, { signal: stop.signal }));
  await b.clock.pass(5);
  stop.abort(new Error('enough'));
  await b.clock.pass(100);
  assert.equal(renewing.reason.message, 'enough');
  lease.assertWritable();
  assert.deepEqual(a.told(), ['attempt renew web-lock 0', 'renewed 0', 'renew-scheduled 19980']);

  b.store.fault = (c) => (c === 'remove' ? 'lost-request' : undefined);
  const stop2 = new AbortController();
  const releasing = outcome(a.api.releaseProjectLock(lease, { signal: stop2.signal }));
  await b.clock.pass(100);
  b.store.fault = () => undefined;
  a.told();
  stop2.abort(new Error('enough'));
  await b.clock.pass(100);
  assert.equal(releasing.reason.message, 'enough');
  assert.deepEqual(a.told(), []);
  assert.equal(b.store.text, undefined);
  assert.equal(b.locks.isHeld, false);
});

test('withProjectLock: result, failure, releaseOnError', async () => {
  const b = new Bench();
  const a = b.open();
  const ok = outcome(a.api.withProjectLock(async (l) => (l.assertWritable(), 7)));
  await b.clock.pass(0);
  assert.deepEqual([ok.value, b.store.text], [7, undefined]);

  const bad = outcome(a.api.withProjectLock(async () => Promise.reject(new Error('mine'))));
  await b.clock.pass(0);
  assert.deepEqual([bad.reason.message, b.store.text], ['mine', undefined]);

  let kept: GuardedProjectLockLease | undefined;
  const keep = outcome(
    a.api.withProjectLock(
      async (l) => {
        kept = l;
        throw new Error('mine');
      },
      { releaseOnError: false },
    ),
  );
  await b.clock.pass(0);
  assert.equal(keep.state, 'rejected');
  kept!.assertWritable();
  void a.api.releaseProjectLock(kept!);
  await b.clock.pass(0);
  assert.equal(b.store.text, undefined);
});

test('withProjectLock renews by itself and ends when the lease is lost', async () => {
  const b = new Bench();
  const a = b.open();
  let heard: unknown;
  const o = outcome(
    a.api.withProjectLock(async (l) => {
      l.signal.addEventListener('abort', () => (heard = l.signal.reason));
      await new Promise(() => undefined);
    }),
  );
  await b.clock.pass(60_000);
  assert.equal(o.state, 'pending');
  b.locks.steal();
  await b.clock.pass(0);
  assert.equal(o.reason.code, 'lease-stale');
  assert.equal(heard, o.reason);
  assert.notEqual(b.store.text, undefined, 'a write under way may end before others are let in');
  await b.clock.pass(1_000);
  assert.equal(b.store.text, undefined, 'our record is tidied away');
});

test('withProjectLock: acquire and release errors pass through, abort frees the lock', async () => {
  const b = new Bench();
  const a = b.open();
  const stop = new AbortController();
  const o = outcome(a.api.withProjectLock(() => new Promise(() => undefined), { signal: stop.signal }));
  await b.clock.pass(0);
  const refused = outcome(b.open().api.withProjectLock(async () => 1));
  await b.clock.pass(1_500);
  assert.equal(refused.reason.code, 'fallback-conflict');
  a.told();
  stop.abort(new Error('enough'));
  await b.clock.pass(0);
  assert.equal(o.reason.message, 'enough');
  assert.deepEqual(a.told(), ['release-requested', 'attempt release web-lock 0', 'released 1500']);

  b.store.fault = (c) => (c === 'remove' ? 'lost-request' : undefined);
  const r = outcome(a.api.withProjectLock(async () => 1));
  await b.clock.pass(1_500);
  assert.equal(r.reason.code, 'release-failed');
});

test('re-entrant by lease id: as many releases as acquires', async () => {
  const b = new Bench();
  const a = b.open();
  const lease = await acquired(b, a);
  a.told();
  const again = await a.api.acquireProjectLock({ leaseId: lease.leaseId });
  assert.equal(again.leaseId, lease.leaseId);
  assert.deepEqual(a.told(), []);
  await a.api.withProjectLock(async (l) => assert.equal(l.leaseId, lease.leaseId), { leaseId: lease.leaseId });
  await a.api.releaseProjectLock(again);
  lease.assertWritable();
  void a.api.releaseProjectLock(lease);
  await b.clock.pass(0);
  assert.equal(b.store.text, undefined);
});

test('an id of another tab is no way in', async () => {
  const b = new Bench();
  const lease = await acquired(b, b.open());
  const o = outcome(b.open().api.acquireProjectLock({ leaseId: lease.leaseId }));
  await b.clock.pass(1_500);
  assert.equal(o.reason.code, 'fallback-conflict');
});

test('an answer that was lost: the record is recognised as ours', async () => {
  for (const webLocks of [true, false]) {
    const b = new Bench();
    const a = b.open({ webLocks });
    let left = 1;
    b.store.fault = (c) => (c === 'put' && left-- > 0 ? 'lost-answer' : undefined);
    const o = outcome(a.api.acquireProjectLock());
    await b.clock.pass(500);
    assert.equal(o.state, 'fulfilled');
    assert.equal(b.store.record?.leaseId, o.value?.leaseId);
    assert.equal(b.store.record?.beat, 2);
  }
});

test('a store that never answers: acquire-timeout, and what arrives late holds nothing', async () => {
  const b = new Bench();
  b.store.latency = () => 60_000;
  const a = b.open();
  const o = outcome(a.api.acquireProjectLock());
  await b.clock.pass(16_499);
  assert.equal(o.state, 'pending');
  await b.clock.pass(1);
  assert.deepEqual([o.reason.code, o.reason.retryable], ['acquire-timeout', false]);
  assert.equal(a.told().at(-1), 'readonly-entered acquire-timeout 3');
  await b.clock.pass(300_000);
  assert.equal(b.store.text, undefined);
  assert.equal(b.locks.isHeld, false);
});

test('a Web Lock manager that never answers: the file, and the late lock is let go', async () => {
  const b = new Bench();
  b.locks.latency = () => 60_000;
  const a = b.open();
  const o = outcome(a.api.acquireProjectLock());
  await b.clock.pass(5_000);
  assert.equal(o.value?.strategy, 'file-lock');
  await b.clock.pass(60_000);
  assert.equal(b.locks.isHeld, false);
  o.value?.assertWritable();
});

test('Web Locks forbidden or broken: the file', async () => {
  for (const name of ['SecurityError', 'NotSupportedError', 'InvalidStateError']) {
    for (const how of ['throw', 'reject'] as const) {
      const b = new Bench();
      const t = b.open();
      const error = new DOMException('no', name);
      const request = () => {
        if (how === 'throw') throw error;
        return Promise.reject(error);
      };
      const api = createProjectLockApi({
        lockManager: { request } as unknown as LockManager,
        store: b.store.of(t.tab),
        now: t.tab.now,
        monotonic: t.tab.monotonic,
        setTimeout: t.tab.setTimeout,
        clearTimeout: t.tab.clearTimeout,
        uuid: () => 'x',
        page: null,
      });
      const o = outcome(api.acquireProjectLock());
      await b.clock.pass(0);
      assert.equal(o.value?.strategy, 'file-lock', name);
    }
  }
});

test('storage full: no lock, read-only, the cause is told', async () => {
  const b = new Bench();
  const t = b.open();
  const full = new DOMException('full', 'QuotaExceededError');
  const store = { ...b.store.of(t.tab), put: () => Promise.reject(full) };
  const api = createProjectLockApi({
    lockManager: b.locks.of(t.tab),
    store,
    now: t.tab.now,
    setTimeout: t.tab.setTimeout,
    clearTimeout: t.tab.clearTimeout,
    uuid: () => 'x',
    page: null,
  });
  const o = outcome(api.acquireProjectLock());
  await b.clock.pass(1_500);
  assert.equal(o.reason.code, 'acquire-timeout');
  assert.equal(o.reason.cause, full);
  assert.equal(b.locks.isHeld, false);
});

test('frozen past the lease: the guard refuses the first write, before any timer', async () => {
  const b = new Bench();
  const a = b.open();
  const lease = await acquired(b, a);
  a.told();
  a.tab.frozen = true;
  await b.clock.pass(26_000);
  const other = b.open();
  const taken = await acquired(b, other);
  assert.equal(taken.strategy, 'file-lock', 'the frozen tab still has the Web Lock');
  assert.throws(() => lease.assertWritable(), { code: 'lease-stale', retryable: false });
  assert.deepEqual(a.told(), ['readonly-entered lease-stale 0']);
  a.tab.thaw();
  await b.clock.pass(1_000);
  assert.deepEqual(a.told(), []);
  assert.equal(b.store.record?.leaseId, taken.leaseId, 'the waker removes only what is its own');
  assert.equal(b.locks.isHeld, false);
  taken.assertWritable();
});

test('frozen and woken in time goes on', async () => {
  const b = new Bench();
  const a = b.open();
  const lease = await acquired(b, a);
  a.tab.frozen = true;
  await b.clock.pass(23_000);
  a.tab.thaw();
  a.happen('resume');
  await b.clock.pass(0);
  lease.assertWritable();
  assert.equal(a.told().at(-1), 'renew-scheduled 20000');
});

for (const type of ['resume', 'visibilitychange', 'focus', 'pageshow']) {
  test(`waking by ${type} enters read-only at once`, async () => {
    const b = new Bench();
    const a = b.open();
    await acquired(b, a);
    a.told();
    a.tab.frozen = true;
    await b.clock.pass(24_000);
    a.happen(type);
    assert.deepEqual(a.told(), ['readonly-entered lease-stale 0']);
  });
}

test('pagehide lets go of everything; back from the cache it is read-only', async () => {
  const b = new Bench();
  const a = b.open();
  const lease = await acquired(b, a);
  a.told();
  a.happen('pagehide', true);
  assert.throws(() => lease.assertWritable());
  await b.clock.pass(0);
  assert.deepEqual(a.told(), ['release-requested', 'released 0']);
  assert.deepEqual([b.store.text, b.locks.isHeld], [undefined, false]);
  a.happen('pageshow', true);
  assert.deepEqual(a.told(), ['readonly-entered lease-stale 0']);
  await acquired(b, a);
});

test('pagehide while acquiring', async () => {
  const b = new Bench();
  await slowly(b);
  const a = b.open();
  const o = outcome(a.api.acquireProjectLock());
  await b.clock.pass(45);
  a.told();
  a.happen('pagehide');
  await b.clock.pass(100);
  assert.equal(o.reason.name, 'AbortError');
  assert.deepEqual([a.told(), b.store.text, b.locks.isHeld], [[], undefined, false]);
});

test('a stolen Web Lock ends the lease at once', async () => {
  const b = new Bench();
  const a = b.open();
  const lease = await acquired(b, a);
  a.told();
  b.locks.steal();
  await settle();
  assert.throws(() => lease.assertWritable(), { code: 'lease-stale' });
  assert.deepEqual(a.told(), ['readonly-entered lease-stale 0']);
});

test('the wall clock set forward or back never makes two writers, nor an endless lock', async () => {
  const b = new Bench();
  const a = b.open();
  const lease = await acquired(b, a);
  a.tab.skew = -7_200_000;
  await b.clock.pass(19_000);
  lease.assertWritable();
  a.tab.frozen = true;
  await b.clock.pass(6_000);
  assert.throws(() => lease.assertWritable(), { code: 'lease-stale' }, 'the clock that nobody sets');

  const c = b.open();
  const ahead = await acquired(b, c);
  c.tab.skew = 7_200_000;
  assert.throws(() => ahead.assertWritable(), { code: 'lease-stale' });
});

test('a record from a clock two hours ahead is stale when nobody has renewed it', async () => {
  const b = new Bench();
  b.store.write(JSON.stringify({ version: 1, leaseId: 'x', expiresAt: iso(7_230_000), mtime: iso(7_200_000), ttlSeconds: 30 }));
  const a = b.open();
  const o = outcome(a.api.acquireProjectLock());
  await b.clock.pass(1_500);
  assert.equal(o.reason.code, 'fallback-conflict');
  await b.clock.pass(33_500);
  await acquired(b, a);
});

test('a record with an age in the future is watched instead', async () => {
  const b = new Bench();
  b.store.write(JSON.stringify({ leaseId: 'x', expiresAt: iso(7_230_000), ttlSeconds: 30 }));
  b.store.writtenAt += 7_200_000;
  const a = b.open();
  const o = outcome(a.api.acquireProjectLock({ retryLimit: 1 }));
  await b.clock.pass(34_999);
  assert.equal(o.state, 'rejected');
  const early = outcome(a.api.acquireProjectLock({ retryLimit: 1 }));
  await b.clock.pass(1);
  assert.equal(early.state, 'rejected');
  await acquired(b, a);
});

test('records that are no records of ours', async () => {
  const stand = async (text: string, after: number) => {
    const b = new Bench();
    b.store.write(text);
    await b.clock.pass(after);
    const o = outcome(b.open().api.acquireProjectLock({ retryLimit: 1 }));
    await b.clock.pass(0);
    return o.state === 'fulfilled' ? 'taken' : o.reason.context.verdict;
  };
  for (const text of ['', '{', 'null', '[]', '{}', '"x"', '{"leaseId":7}', '{"leaseId":"x","mtime":"yesterday"}']) {
    assert.equal(await stand(text, 0), 'unreadable', text);
    assert.equal(await stand(text, 34_999), 'unreadable', text);
    assert.equal(await stand(text, 35_000), 'taken', text);
  }
  const newer = JSON.stringify({ version: 2, leaseId: 'x', expiresAt: iso(0) });
  assert.equal(await stand(newer, 3_600_000), 'newer');
  const seed = JSON.stringify({ leaseId: 'x', mtime: iso(0), ttlSeconds: 30 });
  assert.equal(await stand(seed, 29_999), 'held');
  assert.equal(await stand(seed, 31_000), 'taken');
  assert.equal(await stand(JSON.stringify({ leaseId: 'x', expiresAt: epoch + 30_000, ttlSeconds: 30 }), 30_000), 'taken');
});

test('a listener that throws disturbs nobody, unsubscribing twice is fine', async () => {
  const b = new Bench();
  const a = b.open();
  const heard: string[] = [];
  const off = a.api.subscribeLockEvents(() => {
    throw new Error('bad listener');
  });
  a.api.subscribeLockEvents((e) => heard.push(e.type));
  const lease = await acquired(b, a);
  off();
  off();
  void a.api.releaseProjectLock(lease);
  await b.clock.pass(0);
  assert.deepEqual(heard, ['lock:attempt', 'lock:acquired', 'lock:renew-scheduled', 'lock:release-requested', 'lock:attempt', 'lock:released']);
});

test('a late renewal cannot undo a newer one', async () => {
  const b = new Bench();
  const a = b.open();
  await acquired(b, a);
  const old = b.store.text!;
  await b.clock.pass(20_000);
  const store = b.store.of(a.tab);
  const late = outcome(store.put(JSON.parse(old), { etag: '"lease-2"' }));
  await b.clock.pass(0);
  assert.equal(late.value, false);
  assert.equal(b.store.record?.expiresAt, iso(45_000));
});
