/**
 * The project lock as a pure function: state and input give the next state, the events that everybody hears and the
 * commands for whoever runs it. It knows no clock, no promise and no storage; testdata/locks drives it, and its twin in Go.
 */
import {
  BACKOFF,
  HEARTBEAT_LEAD,
  MAX_FAILED_RENEWALS,
  MAX_LOCK_RETRIES,
  WRITE_MARGIN,
  ttlOf,
} from './limits.js';
import type {
  ProjectLockErrorCode,
  ProjectLockEvent,
  ProjectLockLease,
  ProjectLockOperation,
  ProjectLockStrategy,
} from './types.js';

export type StateName =
  | 'idle'
  | 'acquire-web-lock'
  | 'acquire-file-lock'
  | 'acquire-waiting'
  | 'active-web-lock' // with its heartbeat queued
  | 'active-file-lock'
  | 'renewing'
  | 'renew-waiting'
  | 'releasing'
  | 'release-waiting'
  | 'readonly';

export interface State {
  readonly name: StateName;
  readonly leaseId: string;
  readonly strategy: ProjectLockStrategy;
  /** Web Locks may be tried (again). */
  readonly web: boolean;
  readonly limit: number;
  readonly backoff: readonly number[];
  /** Failed tries of the acquire, renewal or release under way. */
  readonly tries: number;
  /** Failed tries since the last renewal that succeeded. */
  readonly missed: number;
  /** Failed renewals in a row. */
  readonly failures: number;
  readonly acquiredAt: number;
  readonly expiresAt: number;
  readonly force: boolean;
  /** A lease was given up because the page was hidden. */
  readonly hidden: boolean;
  /** Why read-only was entered. */
  readonly reason: ProjectLockErrorCode | '';
}

export const idle: State = {
  name: 'idle',
  leaseId: '',
  strategy: 'web-lock',
  web: false,
  limit: MAX_LOCK_RETRIES,
  backoff: BACKOFF,
  tries: 0,
  missed: 0,
  failures: 0,
  acquiredAt: 0,
  expiresAt: 0,
  force: false,
  hidden: false,
  reason: '',
};

type RefusalCode = 'fallback-conflict' | 'acquire-timeout';
type WebLockCode = 'web-lock-unsupported' | 'acquire-denied' | 'acquire-timeout';

export type Input =
  | { type: 'acquire'; leaseId: string; web: boolean; retryLimit?: number; backoffMs?: readonly number[] }
  | { type: 'web-lock-granted' }
  | { type: 'web-lock-refused'; code: WebLockCode }
  | { type: 'published'; startedAt: number }
  | { type: 'publish-failed'; code: RefusalCode }
  | { type: 'due' } // a wait or the heartbeat's timer is over
  | { type: 'renew' } // asked for by hand
  | { type: 'renewed'; startedAt: number }
  | { type: 'renew-failed' }
  | { type: 'lost' } // somebody else's record, none, or the Web Lock was stolen
  | { type: 'check' } // the page woke up, or is about to write
  | { type: 'release'; force?: boolean }
  | { type: 'removed' }
  | { type: 'remove-failed' }
  | { type: 'remove-refused' } // it is somebody else's now
  | { type: 'abort' }
  | { type: 'hide' }
  | { type: 'show' }
  | { type: 'reset' };

export type Command =
  | { do: 'request-web-lock' }
  | { do: 'publish-record' }
  | { do: 'renew-record' }
  | { do: 'remove-record' }
  | { do: 'tidy-record'; ms: number } // remove our record if it is there, after a while; the outcome does not matter
  | { do: 'drop-web-lock' }
  | { do: 'wait'; ms: number }
  | { do: 'heartbeat'; ms: number }
  | { do: 'succeed' } // whoever asked gets the lease
  | { do: 'fail'; code: ProjectLockErrorCode; retryable: boolean }
  | { do: 'quit' }; // whoever asked gets the signal's reason

export interface Step {
  readonly state: State;
  readonly emitted: readonly ProjectLockEvent[];
  readonly commands: readonly Command[];
}

const dropWebLock: Command = { do: 'drop-web-lock' };
const tidyRecord: Command = { do: 'tidy-record', ms: 0 };
/** A write that was begun in good faith ends before others are let in. */
const tidyLater: Command = { do: 'tidy-record', ms: WRITE_MARGIN };

/** One may write: the lease is held and will be for longer than a write takes. */
export function writable(s: State, at: number): boolean {
  return isHeld(s) && at < s.expiresAt - WRITE_MARGIN;
}

export function isHeld(s: State): boolean {
  return isActive(s) || s.name === 'renewing' || s.name === 'renew-waiting';
}

export function isAcquiring(s: State): boolean {
  return s.name === 'acquire-web-lock' || s.name === 'acquire-file-lock' || s.name === 'acquire-waiting';
}

const isActive = (s: State) => s.name === 'active-web-lock' || s.name === 'active-file-lock';
const isReleasing = (s: State) => s.name === 'releasing' || s.name === 'release-waiting';
const stay = (state: State, ...commands: Command[]): Step => ({ state, emitted: [], commands });

/** Inputs that do not fit the state are answers that came too late: they change nothing. */
export function step(s: State, input: Input, at: number): Step {
  switch (input.type) {
    case 'acquire':
      return s.name === 'idle' || s.name === 'readonly' ? start(input) : stay(s);
    case 'web-lock-granted':
      return s.name === 'acquire-web-lock' ? stay(s, { do: 'publish-record' }) : stay(s, dropWebLock);
    case 'web-lock-refused':
      return s.name === 'acquire-web-lock' ? fallBack(s, input.code) : stay(s);
    case 'published':
      return isTrying(s) ? published(s, input.startedAt, at) : stay(s);
    case 'publish-failed':
      return isTrying(s) ? tryAgain(s, input.code) : stay(s);
    case 'due':
      return due(s, at);
    case 'renew':
      return isActive(s) ? renew({ ...s, tries: 0 }, at) : stay(s);
    case 'renewed':
      return s.name === 'renewing' ? renewed(s, input.startedAt, at) : stay(s);
    case 'renew-failed':
      return s.name === 'renewing' ? renewFailed(s, at) : stay(s);
    case 'lost':
      return isHeld(s) ? lose(s, 'lease-stale') : stay(s);
    case 'check':
      return isHeld(s) && !writable(s, at) ? lose(s, 'lease-stale') : stay(s);
    case 'release':
      return release(s, input.force ?? false);
    case 'removed':
      return s.name === 'releasing' ? released(s, at) : stay(s);
    case 'remove-failed':
      return s.name === 'releasing' ? removeFailed(s) : stay(s);
    case 'remove-refused':
      return s.name === 'releasing' ? removeRefused(s, at) : stay(s);
    case 'abort':
      return abort(s);
    case 'hide':
      return hide(s, at);
    case 'show':
      return s.hidden ? readonly({ ...s, hidden: false }, 'lease-stale', 0) : stay(s);
    case 'reset':
      return s.name === 'readonly' ? stay({ ...idle, leaseId: s.leaseId }) : stay(s);
  }
}

const isTrying = (s: State) => s.name === 'acquire-web-lock' || s.name === 'acquire-file-lock';

// Acquire

function start(input: Extract<Input, { type: 'acquire' }>): Step {
  return attempt({
    ...idle,
    leaseId: input.leaseId,
    web: input.web,
    limit: Math.max(1, Math.floor(input.retryLimit ?? MAX_LOCK_RETRIES)),
    backoff: input.backoffMs ?? BACKOFF,
  });
}

function attempt(s: State): Step {
  if (!s.web) return attemptFile(s);
  const state: State = { ...s, name: 'acquire-web-lock', strategy: 'web-lock' };
  return { state, emitted: [attempted(state, 'acquire')], commands: [{ do: 'request-web-lock' }] };
}

function attemptFile(s: State): Step {
  const state: State = { ...s, name: 'acquire-file-lock', strategy: 'file-lock' };
  return { state, emitted: [attempted(state, 'acquire')], commands: [{ do: 'publish-record' }] };
}

function attempted(s: State, operation: ProjectLockOperation): ProjectLockEvent {
  const retry = operation === 'renew' ? s.missed : s.tries;
  return { type: 'lock:attempt', strategy: s.strategy, retry, operation, leaseId: s.leaseId };
}

/** The browser has no Web Locks: never ask again. It refused: ask again with the next try. */
function fallBack(s: State, code: WebLockCode): Step {
  return attemptFile({ ...s, web: code !== 'web-lock-unsupported' });
}

function published(s: State, startedAt: number, at: number): Step {
  const state: State = {
    ...s,
    name: activeName(s),
    tries: 0,
    acquiredAt: startedAt,
    expiresAt: startedAt + ttlOf(s.strategy),
  };
  if (at >= state.expiresAt - HEARTBEAT_LEAD) return tryAgain(s, 'acquire-timeout');
  return {
    state,
    emitted: [{ type: 'lock:acquired', lease: leaseOf(state) }, scheduled(state, at)],
    commands: [heartbeat(state, at), { do: 'succeed' }],
  };
}

const activeName = (s: State): StateName => (s.strategy === 'web-lock' ? 'active-web-lock' : 'active-file-lock');
const heartbeatIn = (s: State, at: number) => Math.max(0, s.expiresAt - HEARTBEAT_LEAD - at);
const heartbeat = (s: State, at: number): Command => ({ do: 'heartbeat', ms: heartbeatIn(s, at) });

function scheduled(s: State, at: number): ProjectLockEvent {
  return { type: 'lock:renew-scheduled', lease: leaseOf(s), nextHeartbeatInMs: heartbeatIn(s, at) };
}

export function leaseOf(s: State): ProjectLockLease {
  return {
    leaseId: s.leaseId,
    strategy: s.strategy,
    acquiredAt: new Date(s.acquiredAt).toISOString(),
    expiresAt: new Date(s.expiresAt).toISOString(),
  };
}

function tryAgain(s: State, code: RefusalCode): Step {
  const drop = s.strategy === 'web-lock' ? [dropWebLock] : [];
  const tries = s.tries + 1;
  if (tries >= s.limit) {
    const end = readonly({ ...s, tries }, code, tries);
    return { ...end, commands: [...drop, tidyRecord, ...end.commands] };
  }
  return stay({ ...s, name: 'acquire-waiting', tries }, ...drop, { do: 'wait', ms: backoff(s, tries) });
}

const backoff = (s: State, tries: number): number => s.backoff[Math.min(tries, s.backoff.length) - 1] ?? 0;

function readonly(s: State, reason: ProjectLockErrorCode, retry: number): Step {
  return {
    state: { ...s, name: 'readonly', reason },
    emitted: [{ type: 'lock:readonly-entered', info: { reason }, retry, leaseId: s.leaseId }],
    commands: [{ do: 'fail', code: reason, retryable: false }],
  };
}

function due(s: State, at: number): Step {
  switch (s.name) {
    case 'acquire-waiting':
      return attempt(s);
    case 'active-web-lock':
    case 'active-file-lock':
      return renew({ ...s, tries: 0 }, at);
    case 'renew-waiting':
      return renew(s, at);
    case 'release-waiting':
      return remove(s);
    default:
      return stay(s);
  }
}

// Renew

function renew(s: State, at: number): Step {
  if (!writable(s, at)) return lose(s, 'lease-stale');
  const state: State = { ...s, name: 'renewing' };
  return { state, emitted: [attempted(state, 'renew')], commands: [{ do: 'renew-record' }] };
}

function renewed(s: State, startedAt: number, at: number): Step {
  const expiresAt = startedAt + ttlOf(s.strategy);
  const state: State = { ...s, name: activeName(s), expiresAt, tries: 0, missed: 0, failures: 0 };
  if (!writable(state, at)) return lose(s, 'lease-stale');
  return {
    state,
    emitted: [{ type: 'lock:renewed', lease: leaseOf(state), retry: s.missed }, scheduled(state, at)],
    commands: [heartbeat(state, at), { do: 'succeed' }],
  };
}

/** A renewal is up to three tries; two failed renewals in a row, or no time left for another try, end the lease. */
function renewFailed(s: State, at: number): Step {
  const tries = s.tries + 1;
  const over = tries >= MAX_LOCK_RETRIES;
  const state: State = { ...s, tries, missed: s.missed + 1, failures: s.failures + (over ? 1 : 0) };
  const ms = BACKOFF[tries - 1] ?? 0;
  if (state.failures >= MAX_FAILED_RENEWALS || !writable(s, at + ms)) return lose(state, 'renew-failed');
  const waiting: State = { ...state, name: 'renew-waiting', tries: over ? 0 : tries };
  const wait: Command = { do: 'wait', ms };
  return over ? stay(waiting, wait, { do: 'fail', code: 'renew-failed', retryable: true }) : stay(waiting, wait);
}

function lose(s: State, reason: 'lease-stale' | 'renew-failed'): Step {
  const end = readonly(s, reason, s.missed);
  return { ...end, commands: [dropWebLock, tidyLater, ...end.commands] };
}

// Release

function release(s: State, force: boolean): Step {
  if (isReleasing(s)) return stay({ ...s, force: s.force || force });
  if (s.name === 'readonly' && !isWorthRemoving(s, force)) {
    return stay({ ...idle, leaseId: s.leaseId }, { do: 'succeed' });
  }
  if (!isHeld(s) && s.name !== 'readonly') return stay(s, { do: 'succeed' });
  const asked: ProjectLockEvent = { type: 'lock:release-requested', lease: leaseOf(s) };
  const next = remove({ ...s, tries: 0, force });
  return { ...next, emitted: [asked, ...next.emitted] };
}

/** A lost lease's record is tidied away already; one whose removal failed is tried again, and force tries always. */
function isWorthRemoving(s: State, force: boolean): boolean {
  return s.acquiredAt > 0 && (force || s.reason === 'release-failed');
}

function remove(s: State): Step {
  const state: State = { ...s, name: 'releasing' };
  return { state, emitted: [attempted(state, 'release')], commands: [{ do: 'remove-record' }] };
}

function released(s: State, at: number): Step {
  return {
    state: { ...idle, leaseId: s.leaseId },
    emitted: [releasedEvent(s, at)],
    commands: [dropWebLock, { do: 'succeed' }],
  };
}

function releasedEvent(s: State, at: number): ProjectLockEvent {
  const durationMs = Math.max(0, at - s.acquiredAt);
  return { type: 'lock:released', leaseId: s.leaseId, strategy: s.strategy, durationMs };
}

function removeFailed(s: State): Step {
  const failed: ProjectLockEvent = {
    type: 'lock:release-failed',
    leaseId: s.leaseId,
    retry: s.tries,
    force: s.force,
  };
  const tries = s.tries + 1;
  if (tries < MAX_LOCK_RETRIES) {
    const state: State = { ...s, name: 'release-waiting', tries };
    return { state, emitted: [failed], commands: [{ do: 'wait', ms: BACKOFF[tries - 1] ?? 0 }] };
  }
  const end = readonly({ ...s, tries }, 'release-failed', tries);
  const fail: Command = { do: 'fail', code: 'release-failed', retryable: !s.force };
  return { ...end, emitted: [failed, ...end.emitted], commands: [dropWebLock, fail] };
}

/** Somebody took over without our noticing: what was written meanwhile was not protected. */
function removeRefused(s: State, at: number): Step {
  if (s.force) return released(s, at);
  const end = readonly(s, 'lease-stale', s.tries);
  return { ...end, commands: [dropWebLock, ...end.commands] };
}

// Abort and page

/** Back to idle from wherever an acquire or a release is, silently. A renewal goes on without whoever asked. */
function abort(s: State): Step {
  if (isAcquiring(s) || isReleasing(s)) {
    return stay({ ...idle, leaseId: s.leaseId }, dropWebLock, tidyRecord, { do: 'quit' });
  }
  return stay(s, { do: 'quit' });
}

/** A page that goes away or into the back/forward cache keeps nothing. There is no time to wait for an answer. */
function hide(s: State, at: number): Step {
  if (isAcquiring(s)) return abort(s);
  if (!isHeld(s)) return stay(s);
  return {
    state: { ...s, name: 'idle', hidden: true },
    emitted: [{ type: 'lock:release-requested', lease: leaseOf(s) }, releasedEvent(s, at)],
    commands: [tidyRecord, dropWebLock, { do: 'fail', code: 'lease-stale', retryable: false }],
  };
}
