import { ApiError, call, requestPath, type Detail } from './api.js';
import { Autosave, Conflict, Unreachable, type HeldLock, type SaveState, type Saved } from './autosave.js';
import { compare } from './diff.js';
import { hunksOf } from './diff_view.js';
import { fill, h, type Child } from './dom.js';
import type { Drafts } from './drafts.js';
import { clock, moment } from './format.js';
import { t, type TextKey } from './i18n.js';
import { createProjectLockApi, httpStore, httpTelemetry, isProjectLockError, type GuardedProjectLockLease, type ProjectLockApi } from '../lib/locks.js';
import { renderMarkdown } from './markdown_view.js';
import { button, showError, toast } from './parts.js';

let shared: ProjectLockApi | undefined;

/** One lock API for the whole page: a page that goes from one request to the next is the same writer. */
function locks(): ProjectLockApi {
  if (!shared) {
    shared = createProjectLockApi({ store: httpStore('/api/project-lock'), uuid });
    shared.subscribeLockEvents(httpTelemetry('/api/project-lock/events'));
  }
  return shared;
}

/** Also where the address is not one that browsers trust, as with --host. */
function uuid(): string {
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID();
  const b = crypto.getRandomValues(new Uint8Array(16));
  b[6] = ((b[6] ?? 0) & 15) | 64;
  b[8] = ((b[8] ?? 0) & 63) | 128;
  const x = [...b].map((v) => v.toString(16).padStart(2, '0')).join('');
  return `${x.slice(0, 8)}-${x.slice(8, 12)}-${x.slice(12, 16)}-${x.slice(16, 20)}-${x.slice(20)}`;
}

/** The text of a request as a textarea gives it back. */
const textOf = (d: Detail): string => d.body_markdown.replace(/\r\n?/g, '\n');

export class Editor {
  readonly el = h('section', { class: 'editor' });
  private readonly area: HTMLTextAreaElement;
  private readonly light = h('span', { class: 'save', role: 'status' });
  private readonly notice = h('div');
  private readonly past = h('div');
  private readonly sides = h('div', { class: 'card sides' });
  private readonly preview = h('div', { class: 'preview' });
  private readonly count = h('span', { class: 'muted' });
  private readonly auto: Autosave;
  private leases = new Map<HeldLock, GuardedProjectLockLease>();
  private readonly onLeave = (e: Event) => this.leave(e);
  /** Who goes to another tab may want to write there, and who comes back here. */
  private readonly onTurn = () => void (document.visibilityState === 'hidden' ? this.auto.letGo() : this.goOn()).catch(() => undefined);
  private previewTimer = 0;

  constructor(
    private readonly id: string,
    start: Detail,
    etag: string,
    private readonly drafts: Drafts,
    private readonly saved: (d: Detail, etag: string) => void,
  ) {
    this.auto = new Autosave(
      {
        acquire: () => this.acquire(),
        release: (l) => this.release(l),
        save: (text, tag) => this.save(text, tag),
        keepDraft: (text, tag) => {
          if (!drafts.put(id, { text, etag: tag, at: Date.now() })) toast(t('edit.no_room'), 'bad');
        },
        dropDraft: () => drafts.drop(id),
        keepVersion: (text) => drafts.keep(id, text, Date.now()),
        show: (s) => this.show(s),
        now: () => Date.now(),
        later: (run, ms) => window.setTimeout(run, ms),
        cancel: (timer) => clearTimeout(timer as number),
        explain,
      },
      { text: textOf(start), etag },
    );
    this.area = h('textarea', { class: 'text', 'aria-label': t('edit.label'), spellcheck: 'false', rows: 20 });
    this.area.value = start.body_markdown;
    this.area.addEventListener('input', () => {
      this.auto.input(this.area.value);
      this.typed();
    });
    this.area.addEventListener('keydown', (e) => {
      if (e.key === 's' && (e.ctrlKey || e.metaKey)) {
        e.preventDefault();
        void this.auto.flush();
      }
    });
    fill(
      this.el,
      h('div', { class: 'row spread bar' }, this.light, h('span', { class: 'row' }, this.count, button(t('edit.history'), () => this.history(), { class: 'btn small' }))),
      this.notice,
      this.past,
      h('div', { class: 'split' }, this.area, h('div', null, h('h2', { class: 'small-head' }, t('edit.preview')), this.preview)),
    );
    this.show({ s: 'clean' });
    this.typed();
    this.offer();
    window.addEventListener('pagehide', this.onLeave);
    window.addEventListener('beforeunload', this.onLeave);
    document.addEventListener('visibilitychange', this.onTurn);
  }

  focus(): void {
    this.area.focus();
  }

  async close(): Promise<void> {
    window.removeEventListener('pagehide', this.onLeave);
    window.removeEventListener('beforeunload', this.onLeave);
    document.removeEventListener('visibilitychange', this.onTurn);
    clearTimeout(this.previewTimer);
    await this.auto.close();
  }

  /** The file as it now stands. */
  changed(d: Detail, etag: string): void {
    if (this.auto.changedElsewhere({ text: textOf(d), etag })) this.put(textOf(d));
    else if (this.auto.isConflict) this.paintSides(d);
  }

  private async acquire(): Promise<HeldLock> {
    const lease = await locks().acquireProjectLock();
    this.leases.set(lease, lease);
    return lease;
  }

  private async release(lock: HeldLock): Promise<void> {
    const lease = this.leases.get(lock);
    this.leases.delete(lock);
    if (lease) await locks().releaseProjectLock(lease);
  }

  private async save(text: string, etag: string): Promise<Saved> {
    try {
      const a = await call<Detail>('PUT', requestPath(this.id), { body_markdown: text }, { 'If-Match': etag });
      this.saved(a.data, a.etag);
      return { text: textOf(a.data), etag: a.etag };
    } catch (e) {
      if (e instanceof ApiError && e.code === 'CONFLICT') return this.reconcile(text, e);
      if (e instanceof ApiError && (e.isOffline || e.status >= 500)) throw new Unreachable(e.message);
      throw e;
    }
  }

  /** A head that changed below the same text is no conflict, nor is what we wrote without hearing of it. */
  private async reconcile(text: string, e: ApiError): Promise<Saved> {
    const now = await call<Detail>('GET', requestPath(this.id));
    if (!this.auto.knows(textOf(now.data))) throw new Conflict(e.message);
    const a = await call<Detail>('PUT', requestPath(this.id), { body_markdown: text }, { 'If-Match': now.etag });
    this.saved(a.data, a.etag);
    return { text: textOf(a.data), etag: a.etag };
  }

  private put(text: string): void {
    const { selectionStart: from, selectionEnd: to, scrollTop } = this.area;
    this.area.value = text;
    this.area.setSelectionRange(Math.min(from, text.length), Math.min(to, text.length));
    this.area.scrollTop = scrollTop;
    this.typed();
  }

  private typed(): void {
    this.count.textContent = t('edit.chars', { n: this.area.value.length });
    clearTimeout(this.previewTimer);
    this.previewTimer = window.setTimeout(
      () => fill(this.preview, renderMarkdown(this.area.value, (shown, all) => t('common.cut', { shown, all }))),
      this.preview.childElementCount === 0 ? 0 : 250,
    );
  }

  private show(s: SaveState): void {
    const stopped = s.s === 'readonly' || s.s === 'conflict';
    this.area.readOnly = stopped;
    this.el.dataset['state'] = s.s;
    this.light.className = 'save ' + s.s;
    fill(this.light, this.words(s));
    fill(this.notice, this.notices(s));
  }

  private words(s: SaveState): Child {
    switch (s.s) {
      case 'clean':
        return t('edit.clean');
      case 'locking':
        return t('edit.locking');
      case 'typing':
        return t('edit.typing');
      case 'saving':
        return t('edit.saving');
      case 'saved':
        return t('edit.saved', { time: clock(s.at) });
      case 'failed':
        return t('edit.failed', { reason: s.reason });
      case 'readonly':
        return t('edit.readonly_now'); // the notice says why
      case 'conflict':
        return t('edit.typing');
    }
  }

  private notices(s: SaveState): Child {
    if (s.s === 'readonly') {
      return h('div', { class: 'banner ask', role: 'alert' }, t('edit.readonly', { reason: s.reason }), h('span', { class: 'grow' }), button(t('edit.again'), () => this.retry(), { class: 'btn small primary' }));
    }
    if (s.s === 'conflict') {
      fill(this.sides);
      void call<Detail>('GET', requestPath(this.id)).then((now) => this.paintSides(now.data)).catch(showError);
      return [h(
        'div',
        { class: 'banner ask', role: 'alert' },
        h('span', { class: 'grow' }, t('edit.conflict')),
        button(t('edit.theirs'), () => this.settle('theirs'), { class: 'btn small', 'data-key': 'theirs' }),
        button(t('edit.ours'), () => this.settle('ours'), { class: 'btn small primary', 'data-key': 'ours' }),
      ), this.sides];
    }
    return null;
  }

  /** The file beside what was typed: nobody chooses between two texts of which they see one. */
  private paintSides(now: Detail): void {
    const hunks = compare(textOf(now), this.area.value);
    fill(
      this.sides,
      h('p', { class: 'small-head' }, t('edit.sides')),
      hunks.length === 0 ? h('p', { class: 'muted' }, t('edit.same')) : h('div', { class: 'file-body', tabindex: 0, role: 'group', 'aria-label': t('edit.sides') }, hunksOf(hunks)),
    );
  }

  /** Becoming the writer again starts from the file as it now is. */
  private async retry(): Promise<void> {
    const now = await call<Detail>('GET', requestPath(this.id));
    this.changed(now.data, now.etag);
    if (!this.auto.isConflict) await this.auto.retry();
    this.area.focus();
  }

  /** The server is there again, or somebody looks here again: what kept it from writing may have gone. */
  async goOn(): Promise<void> {
    if (!this.auto.isReadonly || this.auto.isConflict) return;
    const now = await call<Detail>('GET', requestPath(this.id));
    this.changed(now.data, now.etag);
    await this.auto.goOn();
  }

  private async settle(which: 'theirs' | 'ours'): Promise<void> {
    const now = await call<Detail>('GET', requestPath(this.id));
    const theirs = { text: textOf(now.data), etag: now.etag };
    if (which === 'ours') await this.auto.keepOurs(theirs);
    else {
      this.auto.takeTheirs(theirs);
      this.put(theirs.text);
    }
    this.saved(now.data, which === 'ours' ? this.auto.etag : now.etag);
    this.area.focus();
  }

  /** After a crash: what was typed and never saved. */
  private offer(): void {
    const d = this.drafts.get(this.id);
    if (!d || d.text === this.area.value) {
      if (d) this.drafts.drop(this.id);
      return;
    }
    const done = () => fill(this.past);
    fill(
      this.past,
      h(
        'div',
        { class: 'banner warn', role: 'status' },
        h('span', { class: 'grow' }, t('edit.recover', { time: moment(d.at) })),
        button(t('edit.recover_no'), () => {
          this.drafts.keep(this.id, d.text, d.at);
          this.drafts.drop(this.id);
          done();
        }, { class: 'btn small' }),
        button(t('edit.recover_do'), () => {
          done();
          this.restore(d.text);
        }, { class: 'btn small primary' }),
      ),
    );
  }

  private restore(text: string): void {
    this.drafts.keep(this.id, this.area.value, Date.now());
    this.area.value = text;
    this.auto.input(text);
    this.typed();
    this.area.focus();
  }

  private history(): void {
    if (this.past.querySelector('.history')) {
      fill(this.past);
      return;
    }
    const list = this.drafts.history(this.id);
    fill(
      this.past,
      h(
        'div',
        { class: 'card history' },
        list.length === 0
          ? t('edit.history_none')
          : h(
              'ul',
              { class: 'plain-list' },
              list.map((v) =>
                h(
                  'li',
                  null,
                  h('details', null, h('summary', null, moment(v.at), ' · ', t('edit.chars', { n: v.text.length })), h('pre', null, v.text.slice(0, 20_000))),
                  button(t('edit.restore'), () => {
                    fill(this.past);
                    if (!this.auto.isReadonly) this.restore(v.text);
                  }, { class: 'btn small' }),
                ),
              ),
            ),
      ),
    );
  }

  private leave(e: Event): void {
    this.auto.leave();
    if (e.type === 'beforeunload' && this.auto.isDirty) e.preventDefault();
  }
}

function explain(e: unknown): { code: string; reason: string } {
  if (isProjectLockError(e)) return { code: e.code, reason: t(('lock.' + e.code) as TextKey) };
  if (e instanceof ApiError) return { code: e.code, reason: e.message };
  return { code: 'error', reason: e instanceof Error ? e.message : String(e) };
}
