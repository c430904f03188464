import { logPart, logPath } from './api.js';
import { fill, fillIf, h } from './dom.js';
import { size } from './format.js';
import { t } from './i18n.js';
import { LogSearch } from './log_search.js';
import { LogStore, type Line } from './log_store.js';
import { memory } from './memory.js';
import { button, link } from './parts.js';

const tail = 256 * 1024;
const more = 1024 * 1024;
const mostSearched = 32 * 1024 * 1024;
const cluster = 50;
const mostDrawn = 20_000;
const step = 5_000;

/** Whether the reader follows what is written; one choice for the page, and for the next one. */
export class Following {
  on = memory.get('follow') !== 'no';
  private readonly watchers = new Set<() => void>();

  set(on: boolean): void {
    if (on === this.on) return;
    this.on = on;
    memory.set('follow', on ? 'yes' : 'no');
    for (const w of [...this.watchers]) w();
  }

  watch(watcher: () => void): () => void {
    this.watchers.add(watcher);
    return () => void this.watchers.delete(watcher);
  }
}

/** A log that shows its end at once, grows while it is written, and is never fetched twice. Only a part is drawn. */
export class LogView {
  readonly el = h('div', { class: 'log' });
  private readonly head = h('div', { class: 'log-head' });
  private readonly before = h('div', { class: 'log-more' });
  private readonly text = h('div', { class: 'log-text', tabindex: 0, translate: 'no', role: 'group' });
  private readonly open = h('div', { class: 'open-line' });
  private readonly after = h('div', { class: 'log-more' });
  private readonly end = h('div', { class: 'log-end' });
  private readonly jump: HTMLButtonElement;
  private readonly search: LogSearch;
  private store: LogStore;
  /** The lines that are drawn. */
  private low = 0;
  private high = 0;
  private wanted: number;
  private busy = false;
  private unseen = 0;
  private closed = false;
  private isLive = false;
  private aimed: Element | undefined;
  private readonly began: Promise<void>;
  private readonly unwatch: () => void;

  constructor(
    private readonly id: string,
    private readonly run: string,
    readonly name: string,
    known: number,
    private readonly following: Following,
    private readonly toLine?: (number: number) => void,
  ) {
    this.wanted = known;
    this.store = new LogStore(Math.max(0, known - tail));
    this.jump = button('', () => this.toEnd(), { class: 'btn small primary jump', hidden: true });
    this.search = new LogSearch({
      name,
      store: () => this.store,
      drawn: () => ({ low: this.low, high: this.high }),
      line: (n) => this.lineAt(n),
      show: (n) => this.show(n),
      middle: () => this.middle(),
      whole: () => this.whole(),
      leave: () => this.text.focus({ preventScroll: true }),
    });
    this.text.setAttribute('aria-label', name);
    fill(this.el, this.head, this.search.el, this.before, this.text, this.open, this.after, this.end, this.jump);
    this.paintHead();
    this.text.addEventListener('click', (e) => this.pressed(e));
    this.began = this.pull();
    this.unwatch = following.watch(() => this.paintHead());
    window.addEventListener('scroll', this.onScroll, { passive: true });
    document.addEventListener('visibilitychange', this.onSeen);
  }

  close(): void {
    this.closed = true;
    this.search.close();
    this.unwatch();
    window.removeEventListener('scroll', this.onScroll);
    document.removeEventListener('visibilitychange', this.onSeen);
  }

  grown(bytes: number): void {
    if (bytes < this.store.at) this.restart(0); // it was begun anew
    this.wanted = Math.max(this.wanted, bytes);
    if (!document.hidden) void this.pull();
  }

  setLive(live: boolean): void {
    if (live === this.isLive) return;
    this.isLive = live;
    this.paintHead();
  }

  toEnd(): void {
    this.following.set(true);
    const n = this.store.lines.length;
    if (this.high < n) this.draw(Math.max(0, n - mostDrawn / 2), n);
    this.unseen = 0;
    this.paintJump();
    this.keepAtEnd();
  }

  /** Opens the search, with the focus in it. */
  find(): void {
    this.search.open();
    this.paintHead();
  }

  step(by: 1 | -1): void {
    this.search.step(by);
  }

  /** Goes to the line of an address; what is between it and what is known is fetched. */
  async goTo(number: number): Promise<void> {
    await this.began;
    while (number < (this.store.first ?? 1) && this.store.at - this.store.from < mostSearched && !this.closed) if (!(await this.fetchEarlier())) break;
    const first = this.store.first ?? 1;
    if (number < first || this.closed) return;
    this.aim(this.show(number - first));
    this.aimed?.scrollIntoView({ block: 'center' });
  }

  private aim(line: Element | undefined): void {
    this.aimed?.classList.remove('aimed');
    this.aimed = line;
    line?.classList.add('aimed');
  }

  /** The number of a line is its address. */
  private pressed(e: MouseEvent): void {
    const line = e.target instanceof Element ? e.target.closest('.line') : null;
    const first = this.store.first;
    if (!line || first === undefined || e.clientX > this.text.getBoundingClientRect().left + parseFloat(getComputedStyle(line.parentElement as Element).paddingLeft)) return;
    const within = [...this.text.children].indexOf(line.parentElement as Element) * cluster + [...(line.parentElement?.children ?? [])].indexOf(line);
    this.aim(line);
    this.toLine?.(first + this.low + within);
  }

  /** Numbers are of the whole log. */
  private number(): void {
    const first = this.store.first;
    this.text.classList.toggle('numbered', first !== undefined);
    if (first === undefined) return;
    this.el.style.setProperty('--digits', String(Math.max(4, String(first + this.store.lines.length).length)));
    // A part that is not laid out while it is not seen counts by itself, from what stands in it.
    [...this.text.children].forEach((c, n) => c.firstElementChild instanceof HTMLElement && (c.firstElementChild.style.counterReset = `line ${first - 1 + this.low + n * cluster}`));
  }

  private readonly onSeen = () => {
    if (!document.hidden) void this.pull();
  };

  private readonly onScroll = () => {
    if (!this.el.isConnected || !this.isAtEnd()) return;
    this.unseen = 0;
    this.paintJump();
  };

  private restart(from: number): void {
    this.store = new LogStore(from);
    this.low = this.high = 0;
    fill(this.text);
    this.search.again();
  }

  private async pull(): Promise<void> {
    if (this.busy || this.closed) return;
    this.busy = true;
    try {
      while (this.store.at < this.wanted && !this.closed) {
        // After a long sleep the end matters more than the middle.
        if (this.wanted - this.store.at > 4 * more && !this.search.isOn) this.restart(this.wanted - tail);
        const store = this.store;
        const { bytes, line } = await this.part(store.at, Math.min(this.wanted, store.at + more), store.first === undefined);
        if (store !== this.store) continue; // it was begun anew meanwhile
        if (bytes.length === 0) break;
        this.add(bytes, line);
      }
    } catch (e) {
      if (!this.closed && this.text.childElementCount === 0) fill(this.open, e instanceof Error ? e.message : String(e));
    } finally {
      this.busy = false;
      this.paintHead();
    }
  }

  private async part(from: number, to: number, numbered = false): Promise<{ bytes: Uint8Array; line: number | undefined }> {
    const part = await logPart(logPath(this.id, this.run, this.name), from, to, numbered);
    // Who does not know ranges gives the whole.
    return { bytes: part.from === from ? part.bytes : part.bytes.subarray(from, to), line: part.line };
  }

  private add(bytes: Uint8Array, line: number | undefined): void {
    const isDrawn = this.high === this.store.lines.length;
    const first = this.store.lines.length === 0;
    const follow = this.following.on && (first ? this.isLive : this.isAtEnd());
    const come = this.store.append(bytes, line);
    if (isDrawn) this.drawMore();
    this.paintOpen();
    this.search.grown();
    if (follow) this.keepAtEnd();
    else if (this.isLive || !first) this.unseen += come;
    this.paintJump();
    if (!isDrawn) this.paintEnds();
  }

  /** What came at the end, while the end is drawn. */
  private drawMore(): void {
    this.put(this.high, this.store.lines.length);
    this.high = this.store.lines.length;
    while (this.high - this.low > mostDrawn) {
      this.text.firstElementChild?.remove();
      this.low += cluster;
    }
    this.paintEnds();
  }

  private draw(low: number, high: number): void {
    fill(this.text);
    this.low = low;
    this.high = high;
    this.put(low, high);
    this.paintOpen();
    this.paintEnds();
    this.search.drawn();
  }

  private put(from: number, to: number): void {
    let last = this.text.lastElementChild;
    for (let n = from; n < to; n++) {
      if (!last || last.childElementCount >= cluster) last = this.text.appendChild(h('div', { class: 'cluster' }));
      last.append(h('span', { class: 'line' }, spans(this.store.lines[n] ?? []), '\n'));
    }
    this.number();
  }

  private paintOpen(): void {
    fill(this.open, this.high === this.store.lines.length ? spans(this.store.open()) : null);
  }

  private lineAt(n: number): Element | undefined {
    if (n === this.store.lines.length) return this.high === n ? this.open : undefined;
    if (n < this.low || n >= this.high) return undefined;
    return this.text.children[Math.floor((n - this.low) / cluster)]?.children[(n - this.low) % cluster];
  }

  /** Draws what is around a line, unless it is drawn, and gives it. */
  private show(n: number): Element | undefined {
    if (!this.lineAt(n)) this.draw(Math.max(0, n - step / 2), Math.min(this.store.lines.length, n + step / 2));
    return this.lineAt(n);
  }

  /** The line in the middle of what is seen. */
  private middle(): number {
    const at = this.text.getBoundingClientRect();
    const part = at.height > 0 ? (window.innerHeight / 2 - at.top) / at.height : 1;
    return this.low + Math.round(Math.min(1, Math.max(0, part)) * (this.high - this.low));
  }

  private isAtEnd(): boolean {
    if (this.high < this.store.lines.length) return false;
    const r = this.end.getBoundingClientRect();
    return r.bottom <= window.innerHeight + 60 && r.bottom > 0;
  }

  private keepAtEnd(): void {
    const below = this.end.getBoundingClientRect().bottom - window.innerHeight + 32;
    if (below > 0) window.scrollBy(0, below);
  }

  private paintJump(): void {
    const show = this.unseen > 0 && this.el.isConnected;
    this.jump.hidden = !show;
    if (show) this.jump.textContent = t('log.new', { n: this.unseen });
  }

  private paintHead(): void {
    const key = JSON.stringify([this.wanted, this.isLive, this.following.on, this.search.isOpen]);
    fillIf(this.head, key, () => [
      this.wanted === 0 ? h('span', { class: 'muted' }, t(this.isLive ? 'log.empty' : 'log.nothing')) : null,
      h('span', { class: 'grow' }),
      this.isLive ? button(t('log.follow'), () => this.follow(), { class: 'toggle', 'aria-label': `${t('log.follow')}: ${this.name}`, 'aria-pressed': this.following.on ? 'true' : 'false', 'data-key': 'follow' }) : null,
      button(t('log.find'), () => (this.search.isOpen ? this.search.shut() : this.find(), this.paintHead()), { class: 'toggle', 'aria-label': `${t('log.find')}: ${this.name}`, 'aria-expanded': this.search.isOpen ? 'true' : 'false', 'data-key': 'find' }),
      link('/api' + logPath(this.id, this.run, this.name), t('log.whole', { size: size(this.wanted) }), { 'aria-label': `${t('log.whole', { size: size(this.wanted) })}: ${this.name}`, target: '_blank', rel: 'noopener' }),
    ]);
    this.paintEnds();
  }

  follow(): void {
    if (this.following.on) this.following.set(false);
    else this.toEnd();
  }

  /** What is known or kept but not drawn here. */
  private paintEnds(): void {
    const [from, low, left] = [this.store.from, this.low, this.store.lines.length - this.high];
    fillIf(this.before, JSON.stringify([from, low]), () => {
      if (low > 0) return button(t('log.before', { n: low }), () => this.back(), { class: 'btn small', 'data-key': 'before' });
      return from > 0 ? button(t('log.earlier', { size: size(Math.min(more, from)) }), () => this.earlier(), { class: 'btn small', 'data-key': 'before' }) : null;
    });
    fillIf(this.after, JSON.stringify(left), () =>
      left > 0 ? [button(t('log.after', { n: left }), () => this.forth(), { class: 'btn small', 'data-key': 'after' }), ' ', button(t('log.to_end'), () => this.toEnd(), { class: 'btn small', 'data-key': 'end' })] : null,
    );
  }

  /** Keeps a line where it is seen while what is around it changes. */
  private holding(n: number, change: () => void): void {
    const was = this.lineAt(n)?.getBoundingClientRect().top;
    change();
    const now = this.lineAt(n)?.getBoundingClientRect().top;
    if (was !== undefined && now !== undefined) window.scrollBy(0, now - was);
  }

  private back(): void {
    const low = Math.max(0, this.low - step);
    this.holding(this.low, () => this.draw(low, Math.min(this.high, low + mostDrawn)));
  }

  private forth(): void {
    const high = Math.min(this.store.lines.length, this.high + step);
    this.holding(this.high - 1, () => this.draw(Math.max(this.low, high - mostDrawn), high));
  }

  private async earlier(): Promise<void> {
    const come = (await this.fetchEarlier()) ?? 0;
    if (come > 0) this.back();
  }

  /** The piece before what is known; what is drawn stays. Undefined when the log was begun anew meanwhile. */
  private async fetchEarlier(): Promise<number | undefined> {
    const store = this.store;
    const from = Math.max(0, store.from - more);
    const { bytes } = await this.part(from, store.from);
    if (store !== this.store || bytes.length === 0) return undefined;
    const come = store.prepend(bytes, from);
    this.low += come;
    this.high += come;
    this.search.prepended(come);
    this.number();
    this.paintEnds();
    return come;
  }

  /** Fetches what is not known yet, for the search; false when it is too much. */
  private async whole(): Promise<boolean> {
    while (this.store.from > 0 && !this.closed && this.search.isOn) {
      if (this.store.at - this.store.from >= mostSearched) return false;
      const from = this.store.from;
      const come = await this.fetchEarlier();
      if (come !== undefined && this.store.from >= from) return false; // no line began in it
    }
    return true;
  }
}

function spans(line: Line): (Node | string)[] {
  return line.map((s) => (s.cls === '' ? s.text : h('span', { class: s.cls }, s.text)));
}
