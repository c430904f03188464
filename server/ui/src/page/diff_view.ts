import { get, call, runPath, type Answer, type Diff } from './api.js';
import { foldReason, inTree, isChanged, layout, treeOf, unified, withoutSpace, type FileDiff, type Folder, type Hunk, type Row, type Side } from './diff.js';
import { fill, h, type Child } from './dom.js';
import { t, word } from './i18n.js';
import { coalesced } from './live.js';
import { visible } from './logtext.js';
import { memory } from './memory.js';
import { button, chip, choice, showError, withCode } from './parts.js';

/** Of what was committed, or of what a step has made beyond that. */
type Mark = '' | 'kept-';

/** So many files come with their lines at once; the lines of others are asked for when they are seen. */
const atOnce = 20;
const atFirst = 200; // lines: more than a window shows
const lineHeight = 18.75;
const headHeight = 22;
const barHeight = 40; // of a file that is folded

interface Box {
  readonly mark: Mark;
  readonly head: string; // the commit that ticks are kept by
  readonly el: HTMLElement;
  readonly toggle: HTMLElement;
  readonly body: HTMLElement;
  readonly link: HTMLAnchorElement;
  file: FileDiff;
  drawn: boolean;
  asked: boolean;
  viewed: boolean;
}

/** A tree of files at the left, the files at the right: old beside new or in one column. */
export class DiffView {
  readonly el = h('div', { class: 'diff' });
  private etag = '';
  private live = false; // when it was painted: what is not committed is called otherwise then
  private ahead: Promise<Answer<Diff>> | undefined;
  private part = '';
  private parts: Diff['parts'] = [];
  private noSpace = false;
  private boxes: Box[] = [];
  private readonly folds = new Map<string, boolean>();
  private readonly pending = new Set<Box>();
  /** What was gone to: it stays there while those above it are drawn, until somebody scrolls. */
  private aim: Box | undefined;
  private aiming = 0;
  private readonly said = h('p', { class: 'muted', 'aria-live': 'polite' });
  private readonly fetch = coalesced(() => this.fetchLines(), 30);
  private readonly sight = new IntersectionObserver(
    (seen) => {
      for (const e of seen) {
        const box = e.isIntersecting ? this.boxes.find((b) => b.el === e.target) : undefined;
        if (box && isOpen(box)) this.draw(box);
      }
    },
    { rootMargin: '800px 0px' },
  );

  constructor(
    private readonly id: string,
    private readonly run: string,
    private readonly isLive: () => boolean,
  ) {
    for (const kind of ['wheel', 'touchmove', 'pointerdown', 'keydown']) this.el.addEventListener(kind, () => (this.aim = undefined), { passive: true });
    fill(this.el, h('p', { class: 'muted' }, t('common.loading')));
  }

  private query(more: string): string {
    return `${runPath(this.id, this.run)}/diff?${more}${this.part === '' ? '' : '&commit=' + this.part}`;
  }

  /** Asks before there is a place to show it; what went wrong is told by load. */
  prefetch(): void {
    this.ahead = this.ask();
    this.ahead.catch(() => undefined);
  }

  private ask(): Promise<Answer<Diff>> {
    this.part = new URLSearchParams(location.search).get('commit') ?? '';
    return call<Diff>('GET', this.query('hunks=' + atOnce)); // page.go has the browser ask for it before
  }

  async load(): Promise<void> {
    const asked = this.ahead ?? this.ask();
    this.ahead = undefined;
    const { data, etag } = await asked;
    const live = this.isLive();
    if (etag !== '' && etag === this.etag && live === this.live) return;
    const isFirst = this.etag === '';
    this.etag = etag;
    this.live = live;
    this.parts = data.parts;
    const y = isFirst ? 0 : window.scrollY;
    this.paint(data);
    if (!isFirst) {
      window.scrollTo(0, y);
      return;
    }
    const at = location.hash.replace('#kept-', '#'); // it may have been committed since
    const named = this.boxes.find((b) => b.link.hash === location.hash) ?? this.boxes.find((b) => b.link.hash === at);
    if (named) this.show(named);
  }

  private paint(d: Diff): void {
    this.sight.disconnect();
    this.pending.clear();
    const more = d.uncommitted;
    const list = (of: Omit<Diff, 'parts'>, mark: Mark) => {
      const files = of.files ?? [];
      const viewed = new Set(viewedOf(of.head));
      const boxes = files.map((f) => this.box(f, mark, of.head, viewed.has(mark + f.path)));
      return { tree: treeOf(files.map((f) => f.path)), boxes };
    };
    const lists = [...(more ? [list(more, 'kept-')] : []), list(d, '')]; // what is at hand stands first
    this.boxes = lists.flatMap(({ tree, boxes }) => inTree(tree).flatMap((n) => boxes[n] ?? []));
    const none = this.boxes.length === 0;
    const section = (of: Omit<Diff, 'parts'>, mark: Mark): Child => {
      const boxes = this.boxes.filter((b) => b.mark === mark);
      return [h('p', null, h('strong', null, t('run.lines_changed', { files: of.stat.files, added: of.stat.additions, deleted: of.stat.deletions }))), boxes.map((b) => b.el)];
    };
    fill(
      this.el,
      this.tools(none),
      this.said,
      h(
        'div',
        { class: 'diff-body' },
        this.boxes.length > 1
          ? h('nav', { class: 'file-tree', 'aria-label': t('diff.files') }, lists.map(({ tree, boxes }) => branch(tree, boxes)))
          : null,
        h(
          'div',
          { class: 'files' },
          more ? h('section', { class: 'kept' }, h('h3', null, t(this.live ? 'diff.so_far' : 'diff.kept', { step: more.step_id, attempt: more.attempt })), section(more, 'kept-')) : null,
          (d.files ?? []).length === 0 ? h('p', { class: 'muted' }, t('diff.none')) : section(d, ''),
        ),
      ),
    );
    for (const b of this.boxes) {
      this.open(b, this.folds.get(b.mark + b.file.path) ?? (foldReason(b.file) === undefined && !b.viewed), false);
      this.showViewed(b);
      this.sight.observe(b.el);
    }
    this.drawSoon(this.boxes.slice(0, atOnce).filter(isOpen), atFirst);
    this.say();
  }

  /** So many lines now, that somebody can begin to read; then a file at a time. */
  private drawSoon(boxes: readonly Box[], lines: number): void {
    const [b, ...rest] = boxes;
    if (!b || !this.boxes.includes(b)) return;
    if (isOpen(b)) this.draw(b);
    const left = lines - b.file.additions - b.file.deletions;
    if (left > 0) this.drawSoon(rest, left);
    else setTimeout(() => this.drawSoon(rest, 0));
  }

  private tools(none: boolean): Child {
    const which = choice([['', t('diff.part_all')], ...this.parts.map((p): [string, string] => [p.commit, p.attempt ? t('diff.part_attempt', { step: p.step_id, attempt: p.attempt }) : t('diff.part_commit', { step: p.step_id })])], this.part);
    which.setAttribute('aria-label', t('diff.which'));
    which.addEventListener('change', () => {
      history.replaceState(null, '', location.pathname + (which.value === '' ? '' : '?commit=' + which.value));
      void this.load().catch(showError);
    });
    const inOne = memory.get('diff') === 'unified';
    const space = h('input', { type: 'checkbox', 'data-key': 'space' });
    space.checked = this.noSpace;
    space.addEventListener('change', () => {
      this.noSpace = space.checked;
      this.redraw();
    });
    const all = (open: boolean) => () => this.boxes.forEach((b) => this.open(b, open));
    const columns = button(t(inOne ? 'diff.split' : 'diff.unified'), () => {
      memory.set('diff', memory.get('diff') === 'unified' ? 'split' : 'unified');
      columns.textContent = t(memory.get('diff') === 'unified' ? 'diff.split' : 'diff.unified');
      this.redraw();
    }, { class: 'btn small', 'data-key': 'columns' });
    return h(
      'div',
      { class: 'row wrap' },
      this.parts.length > 1 ? which : null,
      none ? null : [columns, h('label', { class: 'check' }, space, ' ', t('diff.space')), h('span', { class: 'grow' }), button(t('diff.open_all'), all(true), { class: 'btn small' }), button(t('diff.fold_all'), all(false), { class: 'btn small' })],
    );
  }

  /** How much of it is on the page, and what is folded. */
  private say(): void {
    const files = this.boxes.length;
    const drawn = this.boxes.filter((b) => b.drawn).length;
    const folded = this.boxes.filter((b) => !isOpen(b) && !b.viewed).map((b) => visible(b.file.path));
    const viewed = this.boxes.filter((b) => b.viewed).length;
    const names = [...folded.slice(0, 5), ...(folded.length > 5 ? [t('diff.and_more', { n: folded.length - 5 })] : [])].join(', ');
    const text = [drawn < files ? t('diff.drawn', { drawn, files }) : '', folded.length > 0 ? t('diff.folded', { names }) : '', viewed > 0 ? t('diff.viewed_of', { n: viewed, files }) : ''].filter(Boolean).join(' · ');
    if (this.said.textContent !== text) this.said.textContent = text;
  }

  private box(f: FileDiff, mark: Mark, head: string, viewed: boolean): Box {
    const why = foldReason(f);
    const at = `${mark}file=${encodeURIComponent(f.path).replaceAll('%2F', '/')}`;
    const toggle = h(
      'button',
      { type: 'button', class: 'file-toggle' },
      h('span', { class: 'file-name' }, visible(f.path)),
      f.old_path && f.old_path !== f.path ? h('small', null, t('diff.was', { old: visible(f.old_path) })) : null,
      numbers(f),
      chip(word('diff', f.status), 'quiet', f.status),
      why ? chip(t(why === 'large' ? 'diff.large' : 'diff.generated'), 'warn') : null,
    );
    const tick = h('input', { type: 'checkbox', 'aria-label': `${t('diff.viewed')}: ${visible(f.path)}` });
    const body = h('div', { class: 'file-body' });
    const el = h('section', { class: 'file', id: at, 'data-path': f.path }, h('div', { class: 'file-head' }, toggle, h('label', { class: 'viewed' }, tick, ' ', t('diff.viewed'))), body);
    const link: HTMLAnchorElement = h('a', { href: '#' + at, title: visible(f.path) }, visible(f.path.split('/').pop() ?? ''));
    const box: Box = { mark, head, el, toggle, body, link, file: f, drawn: false, asked: false, viewed };
    toggle.addEventListener('click', () => this.open(box, !isOpen(box)));
    tick.addEventListener('change', () => {
      box.viewed = tick.checked;
      const seen = viewedOf(head);
      setViewed(head, tick.checked ? [...seen, mark + f.path] : seen.filter((p) => p !== mark + f.path));
      this.showViewed(box);
      this.open(box, !tick.checked);
    });
    link.addEventListener('click', (e) => {
      e.preventDefault();
      history.replaceState(null, '', '#' + at);
      this.show(box);
    });
    return box;
  }

  private show(b: Box): void {
    this.open(b, true);
    this.aim = b;
    this.toAim();
  }

  /** Files above it still get their lines for a while. */
  private toAim(): void {
    if (!this.aim) return;
    clearTimeout(this.aiming);
    this.aiming = window.setTimeout(() => (this.aim = undefined), 5_000);
    this.aim.el.scrollIntoView({ block: 'start' });
  }

  private showViewed(b: Box): void {
    const tick = b.el.querySelector('input');
    if (tick) tick.checked = b.viewed;
    b.link.classList.toggle('seen', b.viewed);
  }

  private open(b: Box, on: boolean, drawNow = true): void {
    b.body.hidden = !on;
    b.toggle.setAttribute('aria-expanded', String(on));
    const height = headHeight + Math.min(600, b.file.additions + b.file.deletions) * lineHeight;
    if (!b.drawn) b.body.style.minHeight = `${height}px`;
    b.el.style.containIntrinsicBlockSize = `auto ${barHeight + (on ? height : 0)}px`; // what is far from the window is not laid out
    if (!drawNow) return;
    this.folds.set(b.mark + b.file.path, on);
    const { top } = b.el.getBoundingClientRect();
    if (on && top < window.innerHeight + 800) this.draw(b);
    this.say();
  }

  private draw(b: Box): void {
    if (b.drawn) return;
    const f = b.file;
    if (f.truncated && !b.asked) {
      this.pending.add(b);
      this.fetch();
      return;
    }
    b.drawn = true;
    b.body.style.minHeight = '';
    fill(b.body, this.left(f), this.lines(f));
    this.sight.unobserve(b.el);
    this.toAim();
    this.say();
  }

  /** The lines of the files that came to sight, in one go; a file that comes cut is asked for alone. */
  private async fetchLines(): Promise<void> {
    const wanted = [...this.pending].slice(0, atOnce);
    const etag = this.etag;
    for (const b of wanted) this.pending.delete(b);
    const ask = async (boxes: readonly Box[]): Promise<void> => {
      if (boxes.length === 0) return;
      const d = await get<Diff>(this.query(boxes.map((b) => 'path=' + encodeURIComponent(b.file.path)).join('&')));
      if (etag !== this.etag) return;
      for (const b of boxes) b.file = ((b.mark === '' ? d : d.uncommitted)?.files ?? []).find((f) => f.path === b.file.path) ?? b.file;
    };
    await ask(wanted);
    for (const b of wanted) if (b.file.truncated && wanted.length > 1) await ask([b]);
    if (etag !== this.etag) return;
    for (const b of wanted) {
      b.asked = true;
      if (isOpen(b)) this.draw(b);
    }
    if (this.pending.size > 0) this.fetch();
  }

  private redraw(): void {
    for (const b of this.boxes) {
      if (!b.drawn) continue;
      b.drawn = false;
      this.draw(b);
    }
  }

  private left(f: FileDiff): Child {
    if (!f.truncated) return null;
    const shown = (f.hunks ?? []).reduce((n, k) => n + k.lines.filter((l) => l.op !== ' ').length, 0);
    const command = '`aiflow run diff ' + this.run + '`';
    return h('p', { class: 'banner warn' }, h('span', null, withCode(shown === 0 ? t('diff.not_shown', { command }) : t('diff.file_cut', { shown, all: f.additions + f.deletions, command }))));
  }

  private lines(f: FileDiff): Child {
    if (f.binary) return h('p', { class: 'muted pad' }, t('diff.binary'));
    const all = f.hunks ?? [];
    if (all.length === 0) return f.truncated ? null : h('p', { class: 'muted pad' }, f.old_mode && f.new_mode ? `${f.old_mode} → ${f.new_mode}` : t('diff.empty_file'));
    const list = this.noSpace ? all.map(withoutSpace).filter(isChanged) : all;
    if (list.length === 0) return h('p', { class: 'muted pad' }, t('diff.only_space'));
    return hunksOf(list);
  }
}

/** In one column or two, as somebody likes it. */
export function hunksOf(list: readonly Hunk[]): Child {
  const inOne = memory.get('diff') === 'unified';
  return list.map((k) => h('div', { class: 'hunk' }, h('div', { class: 'hunk-head' }, `@@ −${k.old_start},${k.old_lines} +${k.new_start},${k.new_lines} @@`), inOne ? unified(layout(k)).map(oneColumn) : layout(k).map(row)));
}

const isOpen = (b: Box): boolean => !b.body.hidden;

/** Ticks of the last commits that were looked at, in this browser. */
const keptTicks = 50;
type Ticks = readonly (readonly [string, readonly string[]])[];

function ticks(): Ticks {
  try {
    return JSON.parse(memory.get('viewed') ?? '[]') as Ticks;
  } catch {
    return [];
  }
}

const viewedOf = (commit: string): readonly string[] => ticks().find(([c]) => c === commit)?.[1] ?? [];

function setViewed(commit: string, paths: readonly string[]): void {
  memory.set('viewed', JSON.stringify([[commit, paths], ...ticks().filter(([c]) => c !== commit)].slice(0, keptTicks)));
}

function branch(f: Folder, boxes: readonly Box[]): HTMLElement {
  return h(
    'ul',
    { class: 'plain-list' },
    f.name === '' ? null : h('li', { class: 'folder' }, visible(f.name) + '/'),
    f.folders.map((d) => h('li', null, branch(d, boxes))),
    f.files.map((n) => {
      const b = boxes[n];
      return b ? h('li', { class: 'leaf' }, b.link, numbers(b.file)) : null;
    }),
  );
}

function numbers(f: FileDiff): Child {
  return h('span', { class: 'numbers' }, h('span', { class: 'plus' }, `+${f.additions}`), ' ', h('span', { class: 'minus' }, `−${f.deletions}`));
}

function row(r: Row): HTMLElement {
  return h('div', { class: `dr ${r.kind}` }, side(r.old, 'old'), side(r.new, 'new'));
}

function oneColumn(r: Row): HTMLElement {
  const s = r.new ?? r.old;
  const n = (of: Side | undefined): Child => h('span', { class: 'ln' }, of?.n);
  return h('div', { class: `dr uni ${r.kind}` }, n(r.old), n(r.new), s ? h('span', { class: `tx ${r.new ? 'new' : 'old'}` }, textOf(s)) : null);
}

function side(s: Side | undefined, cls: string): Child {
  if (!s) return [h('span', { class: `ln ${cls} void` }), h('span', { class: `tx ${cls} void` })];
  return [h('span', { class: `ln ${cls}` }, s.n), h('span', { class: `tx ${cls}` }, textOf(s))];
}

function textOf(s: Side): Child {
  const text = s.mark ? [visible(s.text.slice(0, s.mark[0])), h('mark', null, visible(s.text.slice(s.mark[0], s.mark[1]))), visible(s.text.slice(s.mark[1]))] : [visible(s.text)];
  return [text, s.noNewline ? h('small', { class: 'muted' }, ' ⏎ ', t('diff.no_newline')) : null];
}
