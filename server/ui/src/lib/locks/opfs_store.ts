import { readRecord, type ProjectLockRecord, type StoredLock } from './record.js';
import { etagOf, type Previous, type ProjectLockStore } from './store.js';

const folder = 'project';
const file = '.lock';
const guardFile = '.lock.guard';
const guardName = 'project/.lock.guard';
const guardPatience = 2_000;
const guardPoll = 10;
const readsOfAMovingFile = 20;

export interface OpfsStoreOptions {
  readonly storage?: StorageManager;
  /** Guards reads and writes where files cannot be opened exclusively. */
  readonly locks?: LockManager | null;
  readonly now?: () => number;
}

/**
 * The record in the origin's private file system. Every read-decide-write happens while `project/.lock.guard` is open
 * exclusively, which works in tabs without Web Locks; browsers without exclusive writing use a short Web Lock instead.
 */
export function opfsStore(options: OpfsStoreOptions = {}): ProjectLockStore {
  const now = options.now ?? Date.now;
  const directory = async () =>
    (await (options.storage ?? navigator.storage).getDirectory()).getDirectoryHandle(folder, { create: true });
  const guarded = async <T>(act: (dir: FileSystemDirectoryHandle) => Promise<T>): Promise<T> => {
    const dir = await directory();
    return exclusively(dir, options.locks === undefined ? globalThis.navigator?.locks : options.locks, () => act(dir));
  };

  return {
    async read() {
      return readFile(await directory(), now());
    },
    put: (record, previous) =>
      guarded(async (dir) => {
        const found = await readFile(dir, now());
        if (!mayReplace(found, record, previous)) return false;
        await writeFile(dir, JSON.stringify(record));
        return true;
      }),
    remove: (etag) =>
      guarded(async (dir) => {
        const found = await readFile(dir, now());
        if (found === undefined) return true;
        if (found.etag !== etag || readRecord(found.text).kind === 'newer') return false;
        await dir.removeEntry(file);
        return true;
      }),
  };
}

export function mayReplace(found: StoredLock | undefined, record: ProjectLockRecord, previous?: Previous): boolean {
  if (found?.etag !== previous?.etag) return false;
  if (found === undefined || previous === undefined) return true;
  const old = readRecord(found.text);
  if (old.kind === 'record' && old.leaseId === record.leaseId) return record.beat > old.beat;
  return found.text === previous.text;
}

async function readFile(dir: FileSystemDirectoryHandle, now: number): Promise<StoredLock | undefined> {
  for (let again = readsOfAMovingFile; ; again--) {
    try {
      const f = await (await dir.getFileHandle(file)).getFile();
      const text = await f.text();
      const r = readRecord(text);
      const etag = r.kind === 'record' ? etagOf(r.leaseId) : `"unreadable-${f.lastModified}-${f.size}"`;
      return { text, etag, ageMs: now - f.lastModified };
    } catch (e) {
      if (nameOf(e) === 'NotFoundError') return undefined;
      // The file was replaced between opening and reading it: what was opened is no longer there.
      if (nameOf(e) !== 'NotReadableError' || again <= 1) throw e;
    }
  }
}

/** Whole or not at all: the browser writes a copy and puts it in place on close. */
async function writeFile(dir: FileSystemDirectoryHandle, text: string): Promise<void> {
  const handle = await dir.getFileHandle(file, { create: true });
  const w = await handle.createWritable();
  try {
    await w.write(text);
    await w.close();
  } catch (e) {
    await w.abort().catch(() => undefined);
    await removeEmpty(dir);
    throw e;
  }
}

/** A write that found the disk full must not leave the empty file that it began with. */
async function removeEmpty(dir: FileSystemDirectoryHandle): Promise<void> {
  const f = await (await dir.getFileHandle(file)).getFile();
  if (f.size === 0) await dir.removeEntry(file);
}

async function exclusively<T>(
  dir: FileSystemDirectoryHandle,
  locks: LockManager | null | undefined,
  act: () => Promise<T>,
): Promise<T> {
  const guard = await openGuard(dir);
  if (guard === undefined) {
    if (!locks) throw new Error('this browser can guard no file of its own: neither exclusive writing nor Web Locks');
    return (await locks.request(guardName, act)) as T;
  }
  try {
    return await act();
  } finally {
    await guard.abort();
  }
}

/** undefined: this browser does not know exclusive writing. */
async function openGuard(dir: FileSystemDirectoryHandle): Promise<FileSystemWritableFileStream | undefined> {
  const handle = await dir.getFileHandle(guardFile, { create: true });
  const end = performance.now() + guardPatience;
  for (;;) {
    const asked = { mode: '' };
    const options = { keepExistingData: false, get mode() { return (asked.mode = 'exclusive'); } };
    try {
      const w = await handle.createWritable(options);
      if (asked.mode !== '') return w;
      await w.abort();
      return undefined;
    } catch (e) {
      if (nameOf(e) !== 'NoModificationAllowedError' || performance.now() > end) throw e;
    }
    await new Promise((resolve) => setTimeout(resolve, guardPoll));
  }
}

const nameOf = (e: unknown): string => (e instanceof DOMException ? e.name : '');
