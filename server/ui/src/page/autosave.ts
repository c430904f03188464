/** The editor's conscience: when to lock, when to save, and what to say about it. */
export type SaveState =
  | { readonly s: 'clean' }
  | { readonly s: 'locking' }
  | { readonly s: 'typing' }
  | { readonly s: 'saving' }
  | { readonly s: 'saved'; readonly at: number }
  | { readonly s: 'failed'; readonly reason: string }
  | { readonly s: 'readonly'; readonly code: string; readonly reason: string }
  | { readonly s: 'conflict' };

export interface HeldLock {
  assertWritable(): void;
  readonly signal: AbortSignal;
}

export interface Saved {
  readonly text: string;
  readonly etag: string;
}

/** What the world does for it. */
export interface AutosaveParts {
  acquire(): Promise<HeldLock>;
  release(lock: HeldLock): Promise<void>;
  /** Throws a Conflict when the file is no longer what `etag` says. */
  save(text: string, etag: string): Promise<Saved>;
  keepDraft(text: string, etag: string): void;
  dropDraft(): void;
  keepVersion(text: string): void;
  show(state: SaveState): void;
  now(): number;
  later(run: () => void, ms: number): unknown;
  cancel(timer: unknown): void;
  /** Words for an error that kept us from locking or saving. */
  explain(e: unknown): { code: string; reason: string };
}

export class Conflict extends Error {}
/** The server cannot be reached: try again by itself. */
export class Unreachable extends Error {}

export const DEBOUNCE = 500;
export const IDLE = 2_000;
/** The longest that typing without a pause keeps the text from being kept, or saved. */
export const LONGEST_DRAFT = 1_000;
export const LONGEST_SAVE = 5_000;
export const LET_GO = 5 * 60_000;
const RETRY = 5_000;

export class Autosave {
  private state: SaveState = { s: 'clean' };
  private lock: HeldLock | undefined;
  private text: string;
  private saved: Saved;
  private draftTimer: unknown;
  private saveTimer: unknown;
  private idleTimer: unknown;
  /** When what is typed must be kept, and saved; undefined: all is. */
  private draftBy: number | undefined;
  private saveBy: number | undefined;
  private busy: Promise<void> | undefined;
  private closed = false;
  /** What was sent and got no answer: it may be what the file has now. */
  private readonly sent = new Set<string>();

  constructor(
    private readonly parts: AutosaveParts,
    start: Saved,
  ) {
    this.saved = start;
    this.text = start.text;
  }

  get isDirty(): boolean {
    return this.text !== this.saved.text;
  }

  get isReadonly(): boolean {
    return this.state.s === 'readonly' || this.state.s === 'conflict';
  }

  get isConflict(): boolean {
    return this.state.s === 'conflict';
  }

  /** What the file had when it was last seen, or what we may have written since. */
  knows(text: string): boolean {
    return text === this.saved.text || this.sent.has(text);
  }

  get etag(): string {
    return this.saved.etag;
  }

  input(text: string): void {
    this.text = text;
    const now = this.parts.now();
    this.draftBy ??= now + LONGEST_DRAFT;
    this.again(Math.min(DEBOUNCE, this.draftBy - now), 'draftTimer', () => this.draft());
    this.again(LET_GO, 'idleTimer', () => void this.letGo());
    if (this.isReadonly) return;
    if (!this.lock) void this.take();
    else this.go({ s: 'typing' });
    this.saveSoon();
  }

  /** Tries once more to become the writer. */
  async retry(): Promise<void> {
    this.go({ s: 'locking' });
    await this.take();
    if (this.lock && this.isDirty) await this.flush();
  }

  /** What kept it from writing may be gone: what is typed goes on, and who has typed nothing takes no lock. */
  async goOn(): Promise<void> {
    if (this.state.s !== 'readonly') return;
    if (this.isDirty) await this.retry();
    else this.go({ s: 'clean' });
  }

  /** Saves now. */
  async flush(): Promise<void> {
    this.parts.cancel(this.saveTimer);
    this.saveBy = undefined;
    while (this.busy) await this.busy;
    if (!this.isDirty || this.isReadonly) return;
    if (!this.lock) await this.take();
    if (!this.lock) return;
    this.busy = this.write().finally(() => (this.busy = undefined));
    await this.busy;
  }

  /** The file changed elsewhere. true: the editor should show the new text. */
  changedElsewhere(now: Saved): boolean {
    if (this.state.s === 'failed') this.saveSoon(); // the file may have been away
    if (now.etag === this.saved.etag) return false;
    if (this.busy) return false;
    if (this.isDirty) {
      if (!this.knows(now.text)) this.go({ s: 'conflict' });
      else this.saved = now; // only the head changed, or it is what we wrote
      if (!this.isDirty) this.done();
      return false;
    }
    this.saved = now;
    this.text = now.text;
    return true;
  }

  /** Their text, ours is kept as a version. */
  takeTheirs(now: Saved): void {
    if (this.isDirty) this.parts.keepVersion(this.text);
    this.saved = now;
    this.text = now.text;
    this.parts.dropDraft();
    this.go({ s: 'clean' });
  }

  /** Our text on top of theirs, which is kept as a version. */
  async keepOurs(now: Saved): Promise<void> {
    this.parts.keepVersion(now.text);
    this.saved = now;
    this.go({ s: 'typing' });
    await this.flush();
  }

  async close(): Promise<void> {
    if (this.closed) return;
    await this.flush().catch(() => undefined);
    this.closed = true;
    if (this.isDirty) this.draft();
    for (const timer of [this.draftTimer, this.saveTimer, this.idleTimer]) this.parts.cancel(timer);
    await this.drop();
  }

  /** Synchronous: what can still be done when the page goes away. */
  leave(): void {
    if (this.isDirty) this.draft();
  }

  /** Saves, and lets others write. */
  async letGo(): Promise<void> {
    await this.flush();
    if (!this.isDirty) await this.drop();
  }

  private async drop(): Promise<void> {
    const lock = this.lock;
    this.lock = undefined;
    if (lock) await this.parts.release(lock).catch(() => undefined);
  }

  private taking: Promise<void> | undefined;

  private take(): Promise<void> {
    return (this.taking ??= this.takeOnce().finally(() => (this.taking = undefined)));
  }

  private async takeOnce(): Promise<void> {
    if (this.closed) return;
    this.go({ s: 'locking' });
    try {
      const lock = await this.parts.acquire();
      this.lock = lock;
      lock.signal.addEventListener('abort', () => {
        if (this.lock === lock) this.lost(lock.signal.reason);
      });
      this.go(this.isDirty ? { s: 'typing' } : { s: 'clean' });
    } catch (e) {
      this.draft();
      this.go({ s: 'readonly', ...this.parts.explain(e) });
    }
  }

  private lost(e: unknown): void {
    this.lock = undefined;
    if (this.closed) return;
    this.draft();
    this.go({ s: 'readonly', ...this.parts.explain(e) });
  }

  private async write(): Promise<void> {
    const text = this.text;
    this.go({ s: 'saving' });
    try {
      this.lock?.assertWritable();
    } catch (e) {
      this.lost(e);
      return;
    }
    try {
      const before = this.saved.text;
      this.sent.add(text);
      this.saved = { text, etag: (await this.parts.save(text, this.saved.etag)).etag };
      this.sent.clear();
      this.parts.keepVersion(before);
      this.parts.keepVersion(text);
      if (!this.isDirty) return this.done();
      this.saveSoon();
      this.go({ s: 'typing' });
    } catch (e) {
      if (!(e instanceof Unreachable)) this.sent.delete(text);
      this.draft();
      if (e instanceof Conflict) this.go({ s: 'conflict' });
      else {
        this.go({ s: 'failed', reason: this.parts.explain(e).reason });
        if (e instanceof Unreachable) this.again(RETRY, 'saveTimer', () => void this.flush());
      }
    }
  }

  /** All that was typed is in the file. */
  private done(): void {
    this.sent.clear();
    this.parts.dropDraft();
    this.go({ s: 'saved', at: this.parts.now() });
  }

  private saveSoon(): void {
    const now = this.parts.now();
    this.saveBy ??= now + LONGEST_SAVE;
    this.again(Math.min(IDLE, this.saveBy - now), 'saveTimer', () => void this.flush());
  }

  private draft(): void {
    this.draftBy = undefined;
    if (this.isDirty) this.parts.keepDraft(this.text, this.saved.etag);
  }

  private go(state: SaveState): void {
    this.state = state;
    if (!this.closed) this.parts.show(state);
  }

  private again(ms: number, timer: 'draftTimer' | 'saveTimer' | 'idleTimer', run: () => void): void {
    this.parts.cancel(this[timer]);
    this[timer] = this.parts.later(run, Math.max(0, ms));
  }
}
