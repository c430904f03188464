import { logPart, logPath } from './api.js';
import { fill, h } from './dom.js';
import { size } from './format.js';
import { t } from './i18n.js';
import { LogLines, type Span } from './logtext.js';
import { button, link, showError } from './parts.js';

const tail = 256 * 1024;
const more = 1024 * 1024;
const cluster = 50;
const mostClusters = 400;

/** Whether the reader follows what is written; one choice for the page. */
export interface Following {
  on: boolean;
}

/** A log that shows its end at once, grows while it is written, and is never fetched twice. */
export class LogView {
  readonly el = h('div', { class: 'log' });
  private readonly head = h('div', { class: 'log-head' });
  private readonly text = h('div', { class: 'log-text', tabindex: 0, translate: 'no' });
  private readonly open = h('div', { class: 'open-line' });
  private readonly end = h('div', { class: 'log-end' });
  private readonly jump: HTMLButtonElement;
  private lines = new LogLines();
  private last: HTMLElement | undefined;
  private inLast = 0;
  private from = 0;
  private at = 0;
  private wanted: number;
  private busy = false;
  private unseen = 0;
  private closed = false;
  private dropped = false;

  constructor(
    private readonly id: string,
    private readonly run: string,
    readonly name: string,
    known: number,
    private readonly following: Following,
  ) {
    this.wanted = known;
    this.from = this.at = Math.max(0, known - tail);
    this.jump = button('', () => this.toEnd(), { class: 'btn small primary jump', hidden: true });
    this.text.setAttribute('aria-label', name);
    fill(this.el, this.head, this.text, this.open, this.end, this.jump);
    this.paintHead();
    void this.pull();
    window.addEventListener('scroll', this.onScroll, { passive: true });
    document.addEventListener('visibilitychange', this.onSeen);
  }

  close(): void {
    this.closed = true;
    window.removeEventListener('scroll', this.onScroll);
    document.removeEventListener('visibilitychange', this.onSeen);
  }

  grown(bytes: number): void {
    if (bytes < this.at) this.restart(); // it was begun anew
    this.wanted = Math.max(this.wanted, bytes);
    if (!document.hidden) void this.pull();
  }

  toEnd(): void {
    this.following.on = true;
    this.unseen = 0;
    this.paintJump();
    this.keepAtEnd();
  }

  private readonly onSeen = () => {
    if (!document.hidden) void this.pull();
  };

  private readonly onScroll = () => {
    if (!this.el.isConnected) return;
    if (this.isAtEnd()) {
      this.unseen = 0;
      this.paintJump();
    }
  };

  private restart(): void {
    this.lines = new LogLines();
    this.from = this.at = 0;
    this.last = undefined;
    fill(this.text);
  }

  private async pull(): Promise<void> {
    if (this.busy || this.closed) return;
    this.busy = true;
    try {
      while (this.at < this.wanted && !this.closed) {
        // After a long sleep the end matters more than the middle.
        if (this.wanted - this.at > 4 * more) {
          this.restart();
          this.from = this.at = this.wanted - tail;
        }
        const part = await logPart(logPath(this.id, this.run, this.name), this.at, Math.min(this.wanted, this.at + more));
        if (part.bytes.length === 0) break;
        const first = this.at === this.from && this.from > 0;
        this.at = part.from + part.bytes.length;
        this.add(first ? afterLine(part.bytes) : part.bytes);
      }
    } catch (e) {
      if (!this.closed && this.text.childElementCount === 0) fill(this.open, e instanceof Error ? e.message : String(e));
    } finally {
      this.busy = false;
      this.paintHead();
    }
  }

  private add(bytes: Uint8Array): void {
    const follow = this.following.on && (this.isAtEnd() || this.text.childElementCount === 0);
    const lines = this.lines.add(bytes);
    for (const line of lines) this.put(line);
    fill(this.open, spans(this.lines.open()));
    while (this.text.childElementCount > mostClusters) {
      this.text.firstElementChild?.remove();
      this.dropped = true;
    }
    if (follow) this.keepAtEnd();
    else {
      this.unseen += lines.length;
      this.paintJump();
    }
  }

  private put(line: readonly Span[]): void {
    if (!this.last || this.inLast >= cluster) {
      this.last = h('div', { class: 'cluster' });
      this.inLast = 0;
      this.text.append(this.last);
    }
    this.last.append(...spans(line), '\n');
    this.inLast++;
  }

  private isAtEnd(): boolean {
    const r = this.end.getBoundingClientRect();
    return r.bottom <= window.innerHeight + 60 && r.bottom > 0;
  }

  private keepAtEnd(): void {
    const below = this.end.getBoundingClientRect().bottom - window.innerHeight + 32;
    if (below > 0) window.scrollBy(0, below);
  }

  private paintJump(): void {
    const show = this.unseen > 0 && this.el.isConnected && this.following.on;
    this.jump.hidden = !show;
    if (show) this.jump.textContent = t('log.new', { n: this.unseen });
  }

  private paintHead(): void {
    fill(
      this.head,
      this.from > 0 && !this.dropped ? button(t('log.earlier', { size: size(Math.min(more, this.from)) }), () => this.earlier(), { class: 'btn small' }) : null,
      this.dropped ? h('span', { class: 'note warn' }, t('log.dropped')) : null,
      this.wanted === 0 ? h('span', { class: 'muted' }, t('log.empty')) : null,
      h('span', { class: 'grow' }),
      link('/api' + logPath(this.id, this.run, this.name), t('log.whole', { size: size(this.wanted) }), { target: '_blank', rel: 'noopener' }),
    );
  }

  /** What came before, in front of what is shown; the lines that are read stay where they are. */
  private async earlier(): Promise<void> {
    const from = Math.max(0, this.from - more);
    const part = await logPart(logPath(this.id, this.run, this.name), from, this.at);
    const height = this.el.getBoundingClientRect().height;
    this.restart();
    this.from = from;
    this.at = from + part.bytes.length;
    this.unseen = 0;
    for (const line of this.lines.add(from > 0 ? afterLine(part.bytes) : part.bytes)) this.put(line);
    fill(this.open, spans(this.lines.open()));
    window.scrollBy(0, this.el.getBoundingClientRect().height - height);
    this.paintHead();
    void this.pull().catch(showError);
  }
}

function spans(line: readonly Span[]): (Node | string)[] {
  return line.map((s) => (s.cls === '' ? s.text : h('span', { class: s.cls }, s.text)));
}

/** A tail begins in the middle of a line. */
function afterLine(bytes: Uint8Array): Uint8Array {
  const at = bytes.indexOf(10);
  return at < 0 ? bytes : bytes.subarray(at + 1);
}
