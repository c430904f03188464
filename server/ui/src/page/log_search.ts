import { fill, fillIf, h } from './dom.js';
import { t } from './i18n.js';
import { firstAt, LogFinder, type Hit } from './log_find.js';
import type { LogStore } from './log_store.js';
import { button, showError } from './parts.js';

/** What the search needs of the log that it stands in. */
export interface SearchParts {
  readonly name: string;
  store(): LogStore;
  drawn(): { readonly low: number; readonly high: number };
  line(n: number): Element | undefined;
  /** Draws a line if need be. */
  show(n: number): Element | undefined;
  /** The line that is in the middle of the window. */
  middle(): number;
  /** Fetches the rest of the log; false when it is too much. */
  whole(): Promise<boolean>;
  /** The focus goes back to the log. */
  leave(): void;
}

const mostMarked = 4_000;
const marks = 'highlights' in CSS ? { found: new Highlight(), now: new Highlight() } : undefined;
if (marks) {
  CSS.highlights.set('found', marks.found);
  CSS.highlights.set('found-now', marks.now);
}

/** Search in one log: words, count, next and previous, also while it grows. Marks are drawn over the text, not into it. */
export class LogSearch {
  readonly el = h('div', { class: 'log-search', role: 'search', hidden: true });
  private readonly input = h('input', { type: 'search', autocomplete: 'off', spellcheck: 'false' });
  private readonly count = h('span', { class: 'muted', role: 'status' });
  private readonly finder = new LogFinder();
  private marked: Range[] = [];
  private now: { range: Range; line: Element } | undefined;
  private state: 'whole' | 'busy' | 'part' = 'whole';
  private timer = 0;
  private turn = 0;

  constructor(private readonly log: SearchParts) {
    this.input.addEventListener('input', () => {
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.ask(), 150);
    });
    this.input.addEventListener('keydown', (e) => this.pressed(e));
  }

  get isOpen(): boolean {
    return !this.el.hidden;
  }

  get isOn(): boolean {
    return this.finder.isOn;
  }

  open(): void {
    if (this.el.hidden) {
      this.input.setAttribute('aria-label', t('log.find_label', { log: this.log.name }));
      this.input.placeholder = t('log.find_label', { log: this.log.name });
      fill(
        this.el,
        this.input,
        button('↑', () => this.step(-1), { class: 'btn small', 'aria-label': t('log.previous'), title: t('log.previous') }),
        button('↓', () => this.step(1), { class: 'btn small', 'aria-label': t('log.next'), title: t('log.next') }),
        this.count,
        button('×', () => this.shut(), { class: 'btn bare', 'aria-label': t('common.close') }),
      );
      this.el.hidden = false;
    }
    this.input.focus({ preventScroll: true });
    this.input.select();
  }

  shut(): void {
    this.el.hidden = true;
    this.input.value = '';
    this.ask();
    this.log.leave();
  }

  /** The log goes away. */
  close(): void {
    clearTimeout(this.timer);
    this.turn++;
    this.finder.find('', this.log.store());
    this.unmark();
  }

  step(by: 1 | -1): void {
    if (!this.finder.isOn) {
      if (this.isOpen && this.input.value !== '') this.ask();
      return;
    }
    const hit = this.finder.step(by, this.log.middle());
    if (hit) this.goTo(hit);
    this.paintCount();
  }

  /** The log was begun anew. */
  again(): void {
    if (this.finder.isOn) this.ask();
  }

  grown(): void {
    if (!this.finder.isOn) return;
    this.finder.grown(this.log.store());
    this.drawn();
  }

  prepended(lines: number): void {
    if (!this.finder.isOn) return;
    this.finder.prepended(this.log.store(), lines);
    this.paintCount();
  }

  /** Other lines are drawn than before. */
  drawn(): void {
    if (!this.finder.isOn) return;
    this.mark();
    this.paintCount();
  }

  private ask(): void {
    clearTimeout(this.timer);
    const turn = ++this.turn;
    this.finder.find(this.input.value, this.log.store());
    this.state = 'whole';
    this.mark();
    if (this.finder.isOn) {
      this.state = this.log.store().from > 0 ? 'busy' : 'whole';
      const hit = this.finder.step(1, 0);
      if (hit && this.state === 'whole') this.goTo(hit);
      else this.finder.current = -1;
      if (this.state === 'busy') void this.searchAll(turn);
    }
    this.paintCount();
  }

  /** The rest of the log is fetched first, so that the first hit is the first one. */
  private async searchAll(turn: number): Promise<void> {
    let state: 'whole' | 'part' = 'part';
    try {
      if (await this.log.whole()) state = 'whole';
    } catch (e) {
      showError(e);
    }
    if (turn !== this.turn) return;
    this.state = state;
    if (this.finder.current < 0) {
      const hit = this.finder.step(1, 0);
      if (hit) this.goTo(hit);
    }
    this.paintCount();
  }

  private pressed(e: KeyboardEvent): void {
    if (e.isComposing) return;
    if (e.key === 'Escape') this.shut();
    else if (e.key === 'Enter') this.entered(e.shiftKey ? -1 : 1);
    else return;
    e.preventDefault();
    e.stopPropagation();
  }

  private entered(by: 1 | -1): void {
    clearTimeout(this.timer);
    if (this.finder.words !== this.input.value) this.ask();
    else this.step(by);
  }

  private goTo(hit: Hit): void {
    const line = this.log.show(hit.line);
    this.mark();
    line?.scrollIntoView({ block: 'center' });
  }

  private paintCount(): void {
    const n = this.finder.hits.length;
    const key = [this.finder.isOn, n, this.finder.current, this.finder.isFull, this.state, this.log.store().cut > 0].join();
    fillIf(this.count, key, () => {
      if (!this.finder.isOn) return null;
      const all = `${n}${this.finder.isFull || this.state === 'busy' ? '+' : ''}`;
      return [
        n === 0 && this.state !== 'busy' ? t('log.no_hit') : t('log.hits', { n: this.finder.current + 1 || '–', all }),
        this.state === 'busy' ? ' ' + t('log.searching') : this.state === 'part' ? ' ' + t('log.searched_part') : null,
        this.log.store().cut > 0 ? ' ' + t('log.searched_cut') : null,
      ];
    });
  }

  private unmark(): void {
    for (const r of this.marked) marks?.found.delete(r);
    if (this.now) {
      marks?.now.delete(this.now.range);
      this.now.line.classList.remove('hit');
    }
    this.marked = [];
    this.now = undefined;
  }

  private mark(): void {
    this.unmark();
    const { low, high } = this.log.drawn();
    const hits = this.finder.hits;
    const current = hits[this.finder.current];
    const first = firstAt(hits, low);
    for (let i = first; i < Math.min(hits.length, first + mostMarked) && (hits[i]?.line ?? 0) <= high; i++) {
      const hit = hits[i] as Hit;
      const line = this.log.line(hit.line);
      const range = line && rangeOf(line, hit);
      if (!range) continue;
      if (hit === current) {
        this.now = { range, line };
        marks?.now.add(range);
        line.classList.add('hit');
      } else {
        this.marked.push(range);
        marks?.found.add(range);
      }
    }
  }
}

/** A hit in the text nodes of its line. */
function rangeOf(line: Element, hit: Hit): Range | undefined {
  const range = document.createRange();
  const walk = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  let at = 0;
  let isOpen = false;
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const length = node.nodeValue?.length ?? 0;
    if (!isOpen && hit.at < at + length) {
      range.setStart(node, hit.at - at);
      isOpen = true;
    }
    if (isOpen && hit.at + hit.length <= at + length) {
      range.setEnd(node, hit.at + hit.length - at);
      return range;
    }
    at += length;
  }
  return undefined;
}
