// Built by `go generate ./server/ui` from server/ui/src. Change it there.
// src/lib/locks/limits.ts
var WEB_LOCK_TTL = 25e3;
var FILE_LOCK_TTL = 3e4;
var HEARTBEAT_LEAD = 5e3;
var WRITE_MARGIN = 1e3;
var MAX_LOCK_RETRIES = 3;
var MAX_FAILED_RENEWALS = 2;
var BACKOFF = [500, 1e3, 2e3];
var ACQUIRE_TIMEOUT = 5e3;
var RENEW_TIMEOUT = 1500;
var CLOCK_TOLERANCE = 5e3;
var WEB_LOCK_NAME = "imgponic:project";
var ttlOf = (strategy) => strategy === "web-lock" ? WEB_LOCK_TTL : FILE_LOCK_TTL;

// src/lib/locks/record.ts
var longestTtl = 3e5;
function readRecord(text) {
  let v;
  try {
    v = JSON.parse(text);
  } catch {
    return { kind: "unreadable" };
  }
  if (typeof v !== "object" || v === null || Array.isArray(v)) return { kind: "unreadable" };
  return readObject(v);
}
function readObject(o) {
  if (isNewer(o["version"])) return { kind: "newer" };
  if (o["version"] !== void 0 && typeof o["version"] !== "number") return { kind: "unreadable" };
  const ttl = timeToLive(o["ttlSeconds"]);
  const mtime = instant(o["mtime"]);
  const expiresAt = o["expiresAt"] === void 0 && mtime !== void 0 ? mtime + ttl : instant(o["expiresAt"]);
  if (typeof o["leaseId"] !== "string" || o["leaseId"] === "" || expiresAt === void 0 || !(ttl > 0)) {
    return { kind: "unreadable" };
  }
  return {
    kind: "record",
    leaseId: o["leaseId"],
    ownerId: typeof o["ownerId"] === "string" ? o["ownerId"] : "",
    beat: typeof o["beat"] === "number" ? o["beat"] : 0,
    expiresAt,
    ttl: Math.min(ttl, longestTtl)
  };
}
function isNewer(version) {
  if (version === void 0 || version === null || version === "") return false;
  const n = /^\s*v?(\d+)(?:\.(\d+))?(?:\.|\s*$)/.exec(String(version));
  return n === null || Number(n[1]) > 1 || Number(n[1]) === 1 && Number(n[2] ?? 0) > 0;
}
function timeToLive(v) {
  if (v === void 0) return FILE_LOCK_TTL;
  return typeof v === "number" ? v * 1e3 : 0;
}
function instant(v) {
  if (typeof v === "number" && Number.isFinite(v)) return v;
  if (typeof v !== "string" || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(v)) return void 0;
  const t = Date.parse(v);
  return Number.isNaN(t) ? void 0 : t;
}
function judge(text, s) {
  if (text === void 0) return "free";
  const r = readRecord(text);
  if (r.kind === "newer") return "newer";
  if (r.kind === "record" && r.leaseId === s.leaseId) return "mine";
  const unchanged = Math.max(s.ageMs ?? 0, s.seenMs);
  const ttl = r.kind === "record" ? r.ttl : FILE_LOCK_TTL;
  if (unchanged >= ttl + CLOCK_TOLERANCE) return "stale";
  if (r.kind === "unreadable") return "unreadable";
  return s.now >= r.expiresAt && !isFresh(s.ageMs, ttl) ? "stale" : "held";
}
function isFresh(ageMs, ttl) {
  return ageMs !== void 0 && ageMs >= 0 && ageMs < ttl;
}

// src/lib/locks/claim.ts
var Sightings = class {
  text;
  since = 0;
  seenFor(text, monotonic) {
    if (this.text !== text) {
      this.text = text;
      this.since = monotonic;
    }
    return monotonic - this.since;
  }
};
async function claim(store, record, o, signal) {
  const found = await store.read(signal);
  const verdict = look(found, o);
  if (verdict !== "free" && verdict !== "mine" && verdict !== "stale") {
    return { ok: false, context: holder(found, verdict, o.now) };
  }
  if (await store.put(record, found, signal)) return { ok: true };
  return { ok: false, context: { verdict: "outrun" } };
}
function look(found, o) {
  const seenMs = found === void 0 ? 0 : o.sightings.seenFor(found.text, o.monotonic);
  const age2 = found?.ageMs === void 0 ? {} : { ageMs: found.ageMs };
  return judge(found?.text, { now: o.now, leaseId: o.leaseId, seenMs, ...age2 });
}
function holder(found, verdict, now) {
  const r = readRecord(found?.text ?? "");
  if (r.kind !== "record") return { verdict };
  return {
    verdict,
    ownerId: r.ownerId,
    expiresAt: new Date(r.expiresAt).toISOString(),
    retryAfterMs: Math.max(0, r.expiresAt - now)
  };
}

// src/lib/locks/errors.ts
var LockError = class extends Error {
  constructor(code, retryable, cause, context) {
    super(`project lock: ${code}`, cause === void 0 ? {} : { cause });
    this.code = code;
    this.retryable = retryable;
    if (context) this.context = context;
  }
  code;
  retryable;
  name = "ProjectLockError";
};
function lockError(code, retryable, cause, context) {
  return new LockError(code, retryable, cause, context);
}
function isProjectLockError(e) {
  return e instanceof LockError;
}

// src/lib/locks/store.ts
var etagOf = (leaseId) => `"${leaseId}"`;

// src/lib/locks/opfs_store.ts
var folder = "project";
var file = ".lock";
var guardFile = ".lock.guard";
var guardName = "project/.lock.guard";
var guardPatience = 2e3;
var guardPoll = 10;
var readsOfAMovingFile = 20;
function opfsStore(options = {}) {
  const now = options.now ?? Date.now;
  const directory = async () => (await (options.storage ?? navigator.storage).getDirectory()).getDirectoryHandle(folder, { create: true });
  const guarded = async (act) => {
    const dir = await directory();
    return exclusively(dir, options.locks === void 0 ? globalThis.navigator?.locks : options.locks, () => act(dir));
  };
  return {
    async read() {
      return readFile(await directory(), now());
    },
    put: (record, previous) => guarded(async (dir) => {
      const found = await readFile(dir, now());
      if (!mayReplace(found, record, previous)) return false;
      await writeFile(dir, JSON.stringify(record));
      return true;
    }),
    remove: (etag) => guarded(async (dir) => {
      const found = await readFile(dir, now());
      if (found === void 0) return true;
      if (found.etag !== etag || readRecord(found.text).kind === "newer") return false;
      await dir.removeEntry(file);
      return true;
    })
  };
}
function mayReplace(found, record, previous) {
  if (found?.etag !== previous?.etag) return false;
  if (found === void 0 || previous === void 0) return true;
  const old = readRecord(found.text);
  if (old.kind === "record" && old.leaseId === record.leaseId) return record.beat > old.beat;
  return found.text === previous.text;
}
async function readFile(dir, now) {
  for (let again = readsOfAMovingFile; ; again--) {
    try {
      const f = await (await dir.getFileHandle(file)).getFile();
      const text = await f.text();
      const r = readRecord(text);
      const etag = r.kind === "record" ? etagOf(r.leaseId) : `"unreadable-${f.lastModified}-${f.size}"`;
      return { text, etag, ageMs: now - f.lastModified };
    } catch (e) {
      if (nameOf(e) === "NotFoundError") return void 0;
      if (nameOf(e) !== "NotReadableError" || again <= 1) throw e;
    }
  }
}
async function writeFile(dir, text) {
  const handle = await dir.getFileHandle(file, { create: true });
  const w = await handle.createWritable();
  try {
    await w.write(text);
    await w.close();
  } catch (e) {
    await w.abort().catch(() => void 0);
    await removeEmpty(dir);
    throw e;
  }
}
async function removeEmpty(dir) {
  const f = await (await dir.getFileHandle(file)).getFile();
  if (f.size === 0) await dir.removeEntry(file);
}
async function exclusively(dir, locks, act) {
  const guard = await openGuard(dir);
  if (guard === void 0) {
    if (!locks) throw new Error("this browser can guard no file of its own: neither exclusive writing nor Web Locks");
    return await locks.request(guardName, act);
  }
  try {
    return await act();
  } finally {
    await guard.abort();
  }
}
async function openGuard(dir) {
  const handle = await dir.getFileHandle(guardFile, { create: true });
  const end = performance.now() + guardPatience;
  for (; ; ) {
    const asked = { mode: "" };
    const options = { keepExistingData: false, get mode() {
      return asked.mode = "exclusive";
    } };
    try {
      const w = await handle.createWritable(options);
      if (asked.mode !== "") return w;
      await w.abort();
      return void 0;
    } catch (e) {
      if (nameOf(e) !== "NoModificationAllowedError" || performance.now() > end) throw e;
    }
    await new Promise((resolve) => setTimeout(resolve, guardPoll));
  }
}
var nameOf = (e) => e instanceof DOMException ? e.name : "";

// src/lib/locks/parts.ts
function worldOf(p) {
  const manager = p.lockManager === void 0 ? globalThis.navigator?.locks : p.lockManager;
  const page = p.page === void 0 ? defaultPage() : p.page;
  return {
    lockManager: manager ?? void 0,
    store: p.store ?? opfsStore(),
    lockName: p.lockName ?? WEB_LOCK_NAME,
    now: p.now ?? (() => Date.now()),
    monotonic: p.monotonic ?? (() => performance.now()),
    setTimeout: p.setTimeout ?? ((run, ms) => globalThis.setTimeout(run, ms)),
    clearTimeout: p.clearTimeout ?? ((timer) => globalThis.clearTimeout(timer)),
    uuid: p.uuid ?? (() => crypto.randomUUID()),
    page: page ?? void 0
  };
}
function defaultPage() {
  return typeof globalThis.addEventListener === "function" ? globalThis : void 0;
}

// src/lib/locks/lease.ts
var Lease = class {
  leaseId;
  strategy;
  acquiredAt;
  expiresAt;
  #holder;
  constructor(holder2, lease) {
    this.#holder = holder2;
    this.leaseId = lease.leaseId;
    this.strategy = lease.strategy;
    this.acquiredAt = lease.acquiredAt;
    this.expiresAt = lease.expiresAt;
    Object.freeze(this);
  }
  get signal() {
    return this.#holder.signal;
  }
  assertWritable() {
    this.#holder.assertWritable();
  }
};

// src/lib/locks/machine.ts
var idle = {
  name: "idle",
  leaseId: "",
  strategy: "web-lock",
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
  reason: ""
};
var dropWebLock = { do: "drop-web-lock" };
var tidyRecord = { do: "tidy-record", ms: 0 };
var tidyLater = { do: "tidy-record", ms: WRITE_MARGIN };
function writable(s, at) {
  return isHeld(s) && at < s.expiresAt - WRITE_MARGIN;
}
function isHeld(s) {
  return isActive(s) || s.name === "renewing" || s.name === "renew-waiting";
}
function isAcquiring(s) {
  return s.name === "acquire-web-lock" || s.name === "acquire-file-lock" || s.name === "acquire-waiting";
}
var isActive = (s) => s.name === "active-web-lock" || s.name === "active-file-lock";
var isReleasing = (s) => s.name === "releasing" || s.name === "release-waiting";
var stay = (state, ...commands) => ({ state, emitted: [], commands });
function step(s, input, at) {
  switch (input.type) {
    case "acquire":
      return s.name === "idle" || s.name === "readonly" ? start(input) : stay(s);
    case "web-lock-granted":
      return s.name === "acquire-web-lock" ? stay(s, { do: "publish-record" }) : stay(s, dropWebLock);
    case "web-lock-refused":
      return s.name === "acquire-web-lock" ? fallBack(s, input.code) : stay(s);
    case "published":
      return isTrying(s) ? published(s, input.startedAt, at) : stay(s);
    case "publish-failed":
      return isTrying(s) ? tryAgain(s, input.code) : stay(s);
    case "due":
      return due(s, at);
    case "renew":
      return isActive(s) ? renew({ ...s, tries: 0 }, at) : stay(s);
    case "renewed":
      return s.name === "renewing" ? renewed(s, input.startedAt, at) : stay(s);
    case "renew-failed":
      return s.name === "renewing" ? renewFailed(s, at) : stay(s);
    case "lost":
      return isHeld(s) ? lose(s, "lease-stale") : stay(s);
    case "check":
      return isHeld(s) && !writable(s, at) ? lose(s, "lease-stale") : stay(s);
    case "release":
      return release(s, input.force ?? false);
    case "removed":
      return s.name === "releasing" ? released(s, at) : stay(s);
    case "remove-failed":
      return s.name === "releasing" ? removeFailed(s) : stay(s);
    case "remove-refused":
      return s.name === "releasing" ? removeRefused(s, at) : stay(s);
    case "abort":
      return abort(s);
    case "hide":
      return hide(s, at);
    case "show":
      return s.hidden ? readonly({ ...s, hidden: false }, "lease-stale", 0) : stay(s);
    case "reset":
      return s.name === "readonly" ? stay({ ...idle, leaseId: s.leaseId }) : stay(s);
  }
}
var isTrying = (s) => s.name === "acquire-web-lock" || s.name === "acquire-file-lock";
function start(input) {
  return attempt({
    ...idle,
    leaseId: input.leaseId,
    web: input.web,
    limit: Math.max(1, Math.floor(input.retryLimit ?? MAX_LOCK_RETRIES)),
    backoff: input.backoffMs ?? BACKOFF
  });
}
function attempt(s) {
  if (!s.web) return attemptFile(s);
  const state = { ...s, name: "acquire-web-lock", strategy: "web-lock" };
  return { state, emitted: [attempted(state, "acquire")], commands: [{ do: "request-web-lock" }] };
}
function attemptFile(s) {
  const state = { ...s, name: "acquire-file-lock", strategy: "file-lock" };
  return { state, emitted: [attempted(state, "acquire")], commands: [{ do: "publish-record" }] };
}
function attempted(s, operation) {
  const retry = operation === "renew" ? s.missed : s.tries;
  return { type: "lock:attempt", strategy: s.strategy, retry, operation, leaseId: s.leaseId };
}
function fallBack(s, code) {
  return attemptFile({ ...s, web: code !== "web-lock-unsupported" });
}
function published(s, startedAt, at) {
  const state = {
    ...s,
    name: activeName(s),
    tries: 0,
    acquiredAt: startedAt,
    expiresAt: startedAt + ttlOf(s.strategy)
  };
  if (at >= state.expiresAt - HEARTBEAT_LEAD) return tryAgain(s, "acquire-timeout");
  return {
    state,
    emitted: [{ type: "lock:acquired", lease: leaseOf(state) }, scheduled(state, at)],
    commands: [heartbeat(state, at), { do: "succeed" }]
  };
}
var activeName = (s) => s.strategy === "web-lock" ? "active-web-lock" : "active-file-lock";
var heartbeatIn = (s, at) => Math.max(0, s.expiresAt - HEARTBEAT_LEAD - at);
var heartbeat = (s, at) => ({ do: "heartbeat", ms: heartbeatIn(s, at) });
function scheduled(s, at) {
  return { type: "lock:renew-scheduled", lease: leaseOf(s), nextHeartbeatInMs: heartbeatIn(s, at) };
}
function leaseOf(s) {
  return {
    leaseId: s.leaseId,
    strategy: s.strategy,
    acquiredAt: new Date(s.acquiredAt).toISOString(),
    expiresAt: new Date(s.expiresAt).toISOString()
  };
}
function tryAgain(s, code) {
  const drop = s.strategy === "web-lock" ? [dropWebLock] : [];
  const tries = s.tries + 1;
  if (tries >= s.limit) {
    const end = readonly({ ...s, tries }, code, tries);
    return { ...end, commands: [...drop, tidyRecord, ...end.commands] };
  }
  return stay({ ...s, name: "acquire-waiting", tries }, ...drop, { do: "wait", ms: backoff(s, tries) });
}
var backoff = (s, tries) => s.backoff[Math.min(tries, s.backoff.length) - 1] ?? 0;
function readonly(s, reason, retry) {
  return {
    state: { ...s, name: "readonly", reason },
    emitted: [{ type: "lock:readonly-entered", info: { reason }, retry, leaseId: s.leaseId }],
    commands: [{ do: "fail", code: reason, retryable: false }]
  };
}
function due(s, at) {
  switch (s.name) {
    case "acquire-waiting":
      return attempt(s);
    case "active-web-lock":
    case "active-file-lock":
      return renew({ ...s, tries: 0 }, at);
    case "renew-waiting":
      return renew(s, at);
    case "release-waiting":
      return remove(s);
    default:
      return stay(s);
  }
}
function renew(s, at) {
  if (!writable(s, at)) return lose(s, "lease-stale");
  const state = { ...s, name: "renewing" };
  return { state, emitted: [attempted(state, "renew")], commands: [{ do: "renew-record" }] };
}
function renewed(s, startedAt, at) {
  const expiresAt = startedAt + ttlOf(s.strategy);
  const state = { ...s, name: activeName(s), expiresAt, tries: 0, missed: 0, failures: 0 };
  if (!writable(state, at)) return lose(s, "lease-stale");
  return {
    state,
    emitted: [{ type: "lock:renewed", lease: leaseOf(state), retry: s.missed }, scheduled(state, at)],
    commands: [heartbeat(state, at), { do: "succeed" }]
  };
}
function renewFailed(s, at) {
  const tries = s.tries + 1;
  const over = tries >= MAX_LOCK_RETRIES;
  const state = { ...s, tries, missed: s.missed + 1, failures: s.failures + (over ? 1 : 0) };
  const ms = BACKOFF[tries - 1] ?? 0;
  if (state.failures >= MAX_FAILED_RENEWALS || !writable(s, at + ms)) return lose(state, "renew-failed");
  const waiting = { ...state, name: "renew-waiting", tries: over ? 0 : tries };
  const wait = { do: "wait", ms };
  return over ? stay(waiting, wait, { do: "fail", code: "renew-failed", retryable: true }) : stay(waiting, wait);
}
function lose(s, reason) {
  const end = readonly(s, reason, s.missed);
  return { ...end, commands: [dropWebLock, tidyLater, ...end.commands] };
}
function release(s, force) {
  if (isReleasing(s)) return stay({ ...s, force: s.force || force });
  if (s.name === "readonly" && !isWorthRemoving(s, force)) {
    return stay({ ...idle, leaseId: s.leaseId }, { do: "succeed" });
  }
  if (!isHeld(s) && s.name !== "readonly") return stay(s, { do: "succeed" });
  const asked = { type: "lock:release-requested", lease: leaseOf(s) };
  const next = remove({ ...s, tries: 0, force });
  return { ...next, emitted: [asked, ...next.emitted] };
}
function isWorthRemoving(s, force) {
  return s.acquiredAt > 0 && (force || s.reason === "release-failed");
}
function remove(s) {
  const state = { ...s, name: "releasing" };
  return { state, emitted: [attempted(state, "release")], commands: [{ do: "remove-record" }] };
}
function released(s, at) {
  return {
    state: { ...idle, leaseId: s.leaseId },
    emitted: [releasedEvent(s, at)],
    commands: [dropWebLock, { do: "succeed" }]
  };
}
function releasedEvent(s, at) {
  const durationMs = Math.max(0, at - s.acquiredAt);
  return { type: "lock:released", leaseId: s.leaseId, strategy: s.strategy, durationMs };
}
function removeFailed(s) {
  const failed = {
    type: "lock:release-failed",
    leaseId: s.leaseId,
    retry: s.tries,
    force: s.force
  };
  const tries = s.tries + 1;
  if (tries < MAX_LOCK_RETRIES) {
    const state = { ...s, name: "release-waiting", tries };
    return { state, emitted: [failed], commands: [{ do: "wait", ms: BACKOFF[tries - 1] ?? 0 }] };
  }
  const end = readonly({ ...s, tries }, "release-failed", tries);
  const fail = { do: "fail", code: "release-failed", retryable: !s.force };
  return { ...end, emitted: [failed, ...end.emitted], commands: [dropWebLock, fail] };
}
function removeRefused(s, at) {
  if (s.force) return released(s, at);
  const end = readonly(s, "lease-stale", s.tries);
  return { ...end, commands: [dropWebLock, ...end.commands] };
}
function abort(s) {
  if (isAcquiring(s) || isReleasing(s)) {
    return stay({ ...idle, leaseId: s.leaseId }, dropWebLock, tidyRecord, { do: "quit" });
  }
  return stay(s, { do: "quit" });
}
function hide(s, at) {
  if (isAcquiring(s)) return abort(s);
  if (!isHeld(s)) return stay(s);
  return {
    state: { ...s, name: "idle", hidden: true },
    emitted: [{ type: "lock:release-requested", lease: leaseOf(s) }, releasedEvent(s, at)],
    commands: [tidyRecord, dropWebLock, { do: "fail", code: "lease-stale", retryable: false }]
  };
}

// src/lib/locks/web_lock.ts
var WebLockHold = class {
  constructor(world, listener) {
    this.world = world;
    this.listener = listener;
  }
  world;
  listener;
  state = "asked";
  letGo = () => void 0;
  timer;
  request() {
    const manager = this.world.lockManager;
    if (manager === void 0) return this.refuse("web-lock-unsupported");
    this.timer = this.world.setTimeout(() => this.refuse("acquire-timeout"), ACQUIRE_TIMEOUT);
    try {
      const options = { mode: "exclusive", ifAvailable: true };
      manager.request(this.world.lockName, options, (lock) => this.answer(lock)).catch((e) => this.failed(e));
    } catch (e) {
      this.failed(e);
    }
  }
  drop() {
    this.world.clearTimeout(this.timer);
    this.state = "over";
    this.letGo();
  }
  answer(lock) {
    if (this.state !== "asked") return void 0;
    if (lock === null) {
      this.refuse("acquire-denied");
      return void 0;
    }
    this.world.clearTimeout(this.timer);
    this.state = "held";
    return new Promise((resolve) => {
      this.letGo = resolve;
      this.listener.granted();
    });
  }
  refuse(code, cause) {
    if (this.state !== "asked") return;
    this.drop();
    this.listener.refused(code, cause);
  }
  failed(cause) {
    if (this.state === "held") {
      this.drop();
      this.listener.stolen(cause);
      return;
    }
    const unsupported = cause instanceof Error && cause.name === "NotSupportedError";
    this.refuse(unsupported ? "web-lock-unsupported" : "acquire-denied", cause);
  }
};

// src/lib/locks/session.ts
var Session = class {
  constructor(world, ownerId, sightings, emit) {
    this.world = world;
    this.ownerId = ownerId;
    this.sightings = sightings;
    this.emit = emit;
    this.leaseId = world.uuid();
  }
  world;
  ownerId;
  sightings;
  emit;
  leaseId;
  /** How often it was acquired by its id; each needs a release. */
  depth = 1;
  state = idle;
  over = new AbortController();
  waiters = /* @__PURE__ */ new Set();
  webLock;
  timer;
  operation = 0;
  inFlight;
  beat = 0;
  /** On the clock that nobody sets: from here on the lease is not trusted. */
  trustedUntil = 0;
  lastError = {};
  lostTo;
  get signal() {
    return this.over.signal;
  }
  get isHeld() {
    return isHeld(this.state);
  }
  get isOver() {
    return this.state.name === "idle" && !this.state.hidden;
  }
  acquire(o) {
    return this.ask(
      {
        type: "acquire",
        leaseId: this.leaseId,
        web: true,
        ...o.retryLimit === void 0 ? {} : { retryLimit: o.retryLimit },
        ...o.backoffMs === void 0 ? {} : { backoffMs: o.backoffMs }
      },
      o.signal
    );
  }
  async renew(signal) {
    if (!this.isHeld) throw this.lostTo ?? lockError("lease-stale", false);
    return this.ask({ type: "renew" }, signal);
  }
  async release(force, signal) {
    this.settle((w) => w.asked === "renew" && w.reject(lockError("lease-stale", false)));
    await this.ask({ type: "release", force }, signal);
  }
  lease() {
    return new Lease(this, leaseOf(this.state));
  }
  assertWritable() {
    this.check();
    if (!writable(this.state, this.world.now())) throw this.lostTo ?? lockError("lease-stale", false);
  }
  /** Both clocks must trust the lease: the wall clock stands for the others, the other one cannot be set back. */
  check() {
    if (this.isHeld && this.world.monotonic() >= this.trustedUntil) this.feed({ type: "lost" });
    this.feed({ type: "check" });
  }
  feed(input) {
    const before = this.state;
    const { state, emitted, commands } = step(before, input, this.world.now());
    this.state = state;
    if (state.name !== before.name) this.stopTimer();
    if (isHeld(before) && !isHeld(state)) this.end(commands);
    for (const event of emitted) this.emit(this.withError(event, commands));
    for (const command of commands) this.run(command);
  }
  /** Whoever asks waits for the machine to say that it succeeded, failed or quit. An aborted renewal goes on alone. */
  ask(input, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const forget = () => {
        this.waiters.delete(waiter);
        signal?.removeEventListener("abort", abort2);
      };
      const waiter = {
        asked: input.type,
        resolve: (lease) => (forget(), resolve(lease)),
        reject: (reason) => (forget(), reject(reason))
      };
      const abort2 = () => {
        waiter.reject(signal?.reason);
        if (input.type !== "renew") this.feed({ type: "abort" });
      };
      this.waiters.add(waiter);
      signal?.addEventListener("abort", abort2);
      this.feed(input);
    });
  }
  run(c) {
    switch (c.do) {
      case "request-web-lock":
        return this.requestWebLock();
      case "publish-record":
        return void this.publish();
      case "renew-record":
        return void this.renewRecord();
      case "remove-record":
        return void this.removeRecord();
      case "tidy-record":
        return c.ms > 0 ? void this.world.setTimeout(() => void this.tidyRecord(), c.ms) : void this.tidyRecord();
      case "drop-web-lock":
        this.webLock?.drop();
        return;
      case "wait":
      case "heartbeat":
        this.timer = this.world.setTimeout(() => this.feed({ type: "due" }), c.ms);
        return;
      case "succeed":
        return this.settle((w) => w.resolve(this.lease()));
      case "fail":
        return this.settle((w) => w.reject(this.error(c.code, c.retryable)));
      case "quit":
        return this.settle((w) => w.reject(new DOMException("the page went away", "AbortError")));
    }
  }
  settle(how) {
    for (const w of [...this.waiters]) how(w);
  }
  stopTimer() {
    this.world.clearTimeout(this.timer);
    this.timer = void 0;
  }
  end(commands) {
    const failed = commands.find((c) => c.do === "fail");
    if (failed?.do === "fail") this.lostTo = this.error(failed.code, failed.retryable);
    this.over.abort(this.lostTo ?? new DOMException("the project lock was released", "AbortError"));
  }
  error(code, retryable) {
    if (this.lostTo?.code === code) return this.lostTo;
    return lockError(code, retryable, this.lastError.cause, this.lastError.context);
  }
  withError(event, commands) {
    const failed = commands.find((c) => c.do === "fail");
    if (event.type !== "lock:readonly-entered" || failed?.do !== "fail") return event;
    return { ...event, info: { ...event.info, lastError: this.error(failed.code, failed.retryable) } };
  }
  requestWebLock() {
    const mine = new WebLockHold(this.world, {
      granted: () => this.feed({ type: "web-lock-granted" }),
      refused: (code, cause) => {
        this.lastError = { cause };
        this.feed({ type: "web-lock-refused", code });
      },
      stolen: (cause) => {
        if (this.webLock !== mine) return;
        this.lastError = { cause };
        this.feed({ type: "lost" });
      }
    });
    this.webLock = mine;
    mine.request();
  }
  async publish() {
    const startedAt = this.world.now();
    const monotonic = this.world.monotonic();
    const record = this.record(startedAt, startedAt);
    const observer = this.observer();
    await this.operate(ACQUIRE_TIMEOUT, (signal) => claim(this.world.store, record, observer, signal), {
      done: (c) => {
        if (!c.ok) return this.refused("fallback-conflict", c.context);
        this.trust(monotonic);
        this.feed({ type: "published", startedAt });
      },
      failed: (cause) => this.refused("acquire-timeout", void 0, cause)
    });
  }
  refused(code, context, cause) {
    this.lastError = { cause, ...context ? { context } : {} };
    this.feed({ type: "publish-failed", code });
  }
  async renewRecord() {
    const startedAt = this.world.now();
    const monotonic = this.world.monotonic();
    const record = this.record(this.state.acquiredAt, startedAt);
    const previous = { etag: etagOf(this.leaseId) };
    await this.operate(RENEW_TIMEOUT, (signal) => this.world.store.put(record, previous, signal), {
      done: (still) => {
        if (!still) return this.feed({ type: "lost" });
        this.trust(monotonic);
        this.feed({ type: "renewed", startedAt });
      },
      failed: (cause) => {
        this.lastError = { cause };
        this.feed({ type: "renew-failed" });
      }
    });
  }
  async removeRecord() {
    const force = this.state.force;
    await this.operate(RENEW_TIMEOUT, (signal) => force ? this.removeDead(signal) : this.removeOwn(signal), {
      done: (gone) => this.feed({ type: gone ? "removed" : "remove-refused" }),
      failed: (cause) => {
        this.lastError = { cause };
        this.feed({ type: "remove-failed" });
      }
    });
  }
  removeOwn(signal) {
    return this.world.store.remove(etagOf(this.leaseId), signal);
  }
  /** Ours, or what nobody can be holding any more. */
  async removeDead(signal) {
    const found = await this.world.store.read(signal);
    if (found === void 0) return true;
    const verdict = look(found, this.observer());
    return verdict === "mine" || verdict === "stale" ? this.world.store.remove(found.etag, signal) : false;
  }
  async tidyRecord() {
    try {
      if (this.inFlight) await this.inFlight;
      await this.removeOwn();
    } catch {
    }
  }
  /** Runs a store operation within its time. What comes after its time, or after the next one began, counts no more. */
  async operate(ms, act, then) {
    const id = ++this.operation;
    const clock = new Deadline(this.world, ms);
    const current = () => id === this.operation;
    try {
      const work = act(clock.signal);
      this.inFlight = work.then(nothing, nothing);
      const result = await Promise.race([work, clock.over]);
      if (current()) then.done(result);
    } catch (cause) {
      if (current()) then.failed(cause);
    } finally {
      clock.stop();
      if (current()) this.inFlight = void 0;
    }
  }
  observer() {
    const { leaseId, sightings, world } = this;
    return { leaseId, sightings, now: world.now(), monotonic: world.monotonic() };
  }
  record(acquiredAt, now) {
    const { strategy } = this.state;
    const iso = (t) => new Date(t).toISOString();
    return {
      version: 1,
      leaseId: this.leaseId,
      ownerId: this.ownerId,
      strategy,
      acquiredAt: iso(acquiredAt),
      expiresAt: iso(now + ttlOf(strategy)),
      mtime: iso(now),
      ttlSeconds: ttlOf(strategy) / 1e3,
      beat: ++this.beat
    };
  }
  trust(monotonic) {
    this.trustedUntil = monotonic + ttlOf(this.state.strategy) - WRITE_MARGIN;
  }
};
var nothing = () => void 0;
var Deadline = class {
  constructor(world, ms) {
    this.world = world;
    const abort2 = new AbortController();
    this.signal = abort2.signal;
    let end = nothing;
    this.over = new Promise((_, reject) => end = reject);
    this.timer = world.setTimeout(() => {
      const late = new DOMException("the project lock store did not answer in time", "TimeoutError");
      abort2.abort(late);
      end(late);
    }, ms);
  }
  world;
  signal;
  over;
  timer;
  stop() {
    this.world.clearTimeout(this.timer);
  }
};

// src/lib/locks/api.ts
function createProjectLockApi(parts = {}) {
  return new Api(worldOf(parts));
}
var Api = class {
  constructor(world) {
    this.world = world;
    this.owner = ownerOf(world);
    if (world.page) this.watch(world.page);
  }
  world;
  sessions = /* @__PURE__ */ new Map();
  listeners = /* @__PURE__ */ new Set();
  sightings = new Sightings();
  owner;
  acquireProjectLock = async (opts = {}) => {
    opts.signal?.throwIfAborted();
    const held = this.sessions.get(opts.leaseId ?? "");
    if (held?.isHeld) return this.again(held);
    const session = new Session(this.world, opts.ownerId ?? this.owner, this.sightings, (e) => this.publish(e));
    this.sessions.set(session.leaseId, session);
    try {
      return await session.acquire(opts);
    } catch (e) {
      this.sessions.delete(session.leaseId);
      throw e;
    }
  };
  renewProjectLock = async (lease, opts = {}) => {
    opts.signal?.throwIfAborted();
    const session = this.sessions.get(lease.leaseId);
    if (!session) throw lockError("lease-stale", false);
    session.check();
    return session.renew(opts.signal);
  };
  /** Idempotent: a lease that is held no more is released already. */
  releaseProjectLock = async (lease, opts = {}) => {
    opts.signal?.throwIfAborted();
    const session = this.sessions.get(lease.leaseId);
    if (!session) return;
    if (session.isHeld && --session.depth > 0) return;
    await session.release(opts.force ?? false, opts.signal).finally(() => this.forget(session));
  };
  withProjectLock = async (fn, opts = {}) => {
    const lease = await this.acquireProjectLock(opts);
    let result;
    try {
      result = await whileHeld(lease, opts.signal, () => fn(lease));
    } catch (e) {
      if (opts.releaseOnError ?? true) await this.releaseProjectLock(lease).catch(() => void 0);
      throw e;
    }
    await this.releaseProjectLock(lease);
    return result;
  };
  subscribeLockEvents = (listener) => {
    const entry = { hear: listener };
    this.listeners.add(entry);
    return () => void this.listeners.delete(entry);
  };
  again(session) {
    session.assertWritable();
    session.depth++;
    return session.lease();
  }
  forget(session) {
    if (session.isOver) this.sessions.delete(session.leaseId);
  }
  /** One listener that throws keeps the event from no other, and the lock from nothing. */
  publish(event) {
    for (const l of [...this.listeners]) {
      try {
        l.hear(event);
      } catch (e) {
        globalThis.reportError?.(e);
      }
    }
  }
  watch(page) {
    const all = (type) => {
      for (const s of [...this.sessions.values()]) s.feed({ type });
    };
    const check = () => {
      for (const s of [...this.sessions.values()]) s.check();
    };
    page.addEventListener("pagehide", () => all("hide"));
    page.addEventListener("pageshow", (e) => e.persisted ? all("show") : check());
    for (const type of ["resume", "visibilitychange", "focus", "online"]) page.addEventListener(type, check);
  }
};
async function whileHeld(lease, signal, fn) {
  const stop = new AbortController();
  const over = new Promise((_, reject) => {
    for (const s of [lease.signal, signal]) {
      s?.addEventListener("abort", () => reject(s.reason), { signal: stop.signal });
    }
  });
  try {
    return await Promise.race([fn(), over]);
  } finally {
    stop.abort();
  }
}
function ownerOf(world) {
  const text = `${globalThis.location?.origin ?? ""} ${world.uuid()}`;
  let h = 0xcbf29ce484222325n;
  for (const c of text) h = BigInt.asUintN(64, (h ^ BigInt(c.codePointAt(0) ?? 0)) * 0x100000001b3n);
  return h.toString(16).padStart(16, "0");
}

// src/lib/locks/http_store.ts
function httpStore(url, options = {}) {
  const call = (method, headers, signal, body) => (options.fetch ?? globalThis.fetch)(url, {
    method,
    headers: { ...options.headers, ...headers },
    credentials: "same-origin",
    cache: "no-store",
    keepalive: true,
    ...signal ? { signal } : {},
    ...body === void 0 ? {} : { body }
  });
  return {
    async read(signal) {
      const answer = await call("GET", {}, signal);
      if (answer.status === 404) return void 0;
      return stored(expect(answer, 200), await answer.text());
    },
    async put(record, previous, signal) {
      const condition = previous === void 0 ? { "If-None-Match": "*" } : { "If-Match": previous.etag };
      const headers = { "Content-Type": "application/json", ...condition };
      const answer = await call("PUT", headers, signal, JSON.stringify(record));
      return answer.status !== 412 && expect(answer, 200, 201, 204) !== void 0;
    },
    async remove(etag, signal) {
      const answer = await call("DELETE", { "If-Match": etag }, signal);
      return answer.status !== 412 && expect(answer, 200, 204, 404) !== void 0;
    }
  };
}
function expect(answer, ...good) {
  if (!good.includes(answer.status)) throw new Error(`project lock store answered ${answer.status}`);
  return answer;
}
function stored(answer, text) {
  const reading = readRecord(text);
  const etag = answer.headers.get("ETag") ?? (reading.kind === "record" ? etagOf(reading.leaseId) : '"unreadable"');
  const ageMs = age(answer.headers);
  return ageMs === void 0 ? { text, etag } : { text, etag, ageMs };
}
function age(h) {
  const own = h.get("X-Lock-Age-Ms");
  if (own !== null) return Number(own);
  const ms = Date.parse(h.get("Date") ?? "") - Date.parse(h.get("Last-Modified") ?? "");
  return Number.isNaN(ms) ? void 0 : Math.max(0, ms - 1e3);
}

// src/lib/locks/telemetry.ts
function toTelemetry(event, at) {
  const fields = fieldsOf(event);
  if (fields === void 0) return void 0;
  const type = `autosave.lock.${event.type.slice("lock:".length)}`;
  return { ts: new Date(at).toISOString(), type, feature: "autosave", ...fields };
}
function fieldsOf(e) {
  switch (e.type) {
    case "lock:attempt":
      return { operation: e.operation, strategy: e.strategy, retry: e.retry, leaseId: e.leaseId };
    case "lock:acquired":
      return { leaseId: e.lease.leaseId, strategy: e.lease.strategy, expiresAt: e.lease.expiresAt };
    case "lock:renewed":
      return { leaseId: e.lease.leaseId, strategy: e.lease.strategy, retry: e.retry };
    case "lock:readonly-entered":
      return { reason: e.info.reason, retry: e.retry, leaseId: e.leaseId };
    case "lock:release-failed":
      return { leaseId: e.leaseId, retry: e.retry, force: e.force };
    case "lock:released":
      return { leaseId: e.leaseId, strategy: e.strategy, durationMs: e.durationMs };
    default:
      return void 0;
  }
}

// src/lib/locks/http_telemetry.ts
var collectFor = 1e3;
var most = 100;
function httpTelemetry(url, o = {}) {
  const now = o.now ?? Date.now;
  const later = o.setTimeout ?? ((run, ms) => globalThis.setTimeout(run, ms));
  const page = o.page === void 0 ? globalThis : o.page;
  let lines = [];
  let waiting = false;
  const send = () => {
    waiting = false;
    const batch = lines.splice(0, most);
    lines = [];
    if (batch.length === 0) return;
    (o.fetch ?? globalThis.fetch)(url, {
      method: "POST",
      headers: { ...o.headers, "Content-Type": "application/json" },
      credentials: "same-origin",
      keepalive: true,
      body: JSON.stringify(batch)
    }).catch(() => void 0);
  };
  page?.addEventListener?.("pagehide", () => queueMicrotask(send));
  return (event) => {
    const line = toTelemetry(event, now());
    if (line === void 0) return;
    lines.push(line);
    if (waiting) return;
    waiting = true;
    later(send, collectFor);
  };
}

// src/lib/locks.ts
var shared;
var api = () => shared ??= createProjectLockApi();
var acquireProjectLock = (opts) => api().acquireProjectLock(opts);
var renewProjectLock = (lease, opts) => api().renewProjectLock(lease, opts);
var releaseProjectLock = (lease, opts) => api().releaseProjectLock(lease, opts);
var withProjectLock = (fn, opts) => api().withProjectLock(fn, opts);
var subscribeLockEvents = (listener) => api().subscribeLockEvents(listener);
export {
  acquireProjectLock,
  createProjectLockApi,
  httpStore,
  httpTelemetry,
  isProjectLockError,
  opfsStore,
  releaseProjectLock,
  renewProjectLock,
  subscribeLockEvents,
  toTelemetry,
  withProjectLock
};
