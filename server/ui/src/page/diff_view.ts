import { call, runPath, type Diff } from './api.js';
import { layout, foldReason, type FileDiff, type Row, type Side } from './diff.js';
import { fill, h, type Child } from './dom.js';
import { t, word } from './i18n.js';
import { visible } from './logtext.js';
import { button, chip, withCode } from './parts.js';

type Mark = '' | 'kept-';

/** Old beside new, one fold a file; a file is drawn when it is opened. */
export class DiffView {
  readonly el = h('div', { class: 'diff' });
  private etag = '';
  private readonly folds = new Map<string, boolean>();

  constructor(
    private readonly id: string,
    private readonly run: string,
  ) {
    fill(this.el, h('p', { class: 'muted' }, t('common.loading')));
  }

  async load(): Promise<void> {
    const { data, etag } = await call<Diff>('GET', `${runPath(this.id, this.run)}/diff`);
    if (etag !== '' && etag === this.etag) return;
    this.etag = etag;
    this.paint(data);
  }

  private paint(d: Diff): void {
    const folds: HTMLDetailsElement[] = [];
    const kept = d.uncommitted;
    fill(
      this.el,
      (d.files ?? []).length === 0 ? h('p', { class: 'muted' }, t('diff.none')) : this.part(d, '', folds),
      kept ? h('section', { class: 'kept' }, h('h3', null, t('diff.kept', { step: kept.step_id, attempt: kept.attempt })), this.part(kept, 'kept-', folds)) : null,
    );
    const asked = folds.find((f) => '#' + f.id === location.hash);
    if (asked) {
      asked.open = true;
      asked.scrollIntoView({ block: 'start' });
    }
  }

  /** What was committed, or what a stopped step left; `mark` tells their files apart. */
  private part(d: Diff, mark: Mark, every: HTMLDetailsElement[]): Child {
    const files = d.files ?? [];
    const folds: HTMLDetailsElement[] = [];
    const all = (open: boolean) => () => folds.forEach((f) => (f.open = open));
    const made = files.map((f, n) => {
      const el = this.file(f, n, mark);
      folds.push(el);
      every.push(el);
      return el;
    });
    return [
      h(
        'div',
        { class: 'row wrap spread' },
        h('strong', null, t('diff.stat', { files: d.stat.files, added: d.stat.additions, deleted: d.stat.deletions })),
        h('span', { class: 'row' }, button(t('diff.open_all'), all(true), { class: 'btn small' }), button(t('diff.fold_all'), all(false), { class: 'btn small' })),
      ),
      d.truncated ? h('p', { class: 'banner warn' }, withCode(t('diff.cut', { command: '`aiflow run diff ' + this.run + '`' }))) : null,
      files.length > 1
        ? h('nav', { class: 'file-list', 'aria-label': t('diff.files') }, h('ul', { class: 'plain-list' }, files.map((f, n) => h('li', null, h('a', { href: `#${mark}file-${n}`, onclick: () => folds[n] && (folds[n].open = true) }, visible(f.path)), numbers(f)))))
        : null,
      made,
    ];
  }

  private file(f: FileDiff, n: number, mark: Mark): HTMLDetailsElement {
    const why = foldReason(f);
    const body = h('div', { class: 'file-body' });
    const el = h(
      'details',
      { class: 'file', id: `${mark}file-${n}` },
      h(
        'summary',
        null,
        h('span', { class: 'file-name' }, visible(f.path)),
        f.old_path && f.old_path !== f.path ? h('small', null, t('diff.was', { old: visible(f.old_path) })) : null,
        numbers(f),
        chip(word('diff', f.status), 'quiet', f.status),
        why ? chip(t(why === 'large' ? 'diff.large' : 'diff.generated'), 'warn') : null,
      ),
      body,
    );
    const drawNow = () => {
      if (el.open && body.childElementCount === 0) fill(body, this.body(f, body, mark));
      this.folds.set(mark + f.path, el.open);
    };
    el.addEventListener('toggle', drawNow);
    el.open = this.folds.get(mark + f.path) ?? why === undefined;
    if (el.open) fill(body, this.body(f, body, mark));
    return el;
  }

  private body(f: FileDiff, into: HTMLElement, mark: Mark): Child {
    const cut =
      f.truncated === true
        ? h(
            'p',
            { class: 'banner warn' },
            t('diff.file_cut'),
            ' ',
            button(
              t('diff.load'),
              async () => {
                const { data } = await call<Diff>('GET', `${runPath(this.id, this.run)}/diff?path=${encodeURIComponent(f.path)}`);
                const one = ((mark === '' ? data : data.uncommitted)?.files ?? []).find((x) => x.path === f.path);
                if (one) fill(into, hunks(one), one.truncated ? h('p', { class: 'banner warn' }, t('diff.file_cut')) : null);
              },
              { class: 'btn small' },
            ),
          )
        : null;
    return [cut, hunks(f)];
  }
}

function numbers(f: FileDiff): Child {
  return h('span', { class: 'numbers' }, h('span', { class: 'plus' }, `+${f.additions}`), ' ', h('span', { class: 'minus' }, `−${f.deletions}`));
}

function hunks(f: FileDiff): Child {
  if (f.binary) return h('p', { class: 'muted pad' }, t('diff.binary'));
  const list = f.hunks ?? [];
  if (list.length === 0) return h('p', { class: 'muted pad' }, f.old_mode && f.new_mode ? `${f.old_mode} → ${f.new_mode}` : t('diff.empty_file'));
  return list.map((k) => h('div', { class: 'hunk' }, h('div', { class: 'hunk-head' }, `@@ −${k.old_start},${k.old_lines} +${k.new_start},${k.new_lines} @@`), layout(k).map(row)));
}

function row(r: Row): HTMLElement {
  return h('div', { class: `dr ${r.kind}` }, side(r.old, 'old'), side(r.new, 'new'));
}

function side(s: Side | undefined, cls: string): Child {
  if (!s) return [h('span', { class: `ln ${cls} void` }), h('span', { class: `tx ${cls} void` })];
  const text = s.mark
    ? [visible(s.text.slice(0, s.mark[0])), h('mark', null, visible(s.text.slice(s.mark[0], s.mark[1]))), visible(s.text.slice(s.mark[1]))]
    : [visible(s.text)];
  return [
    h('span', { class: `ln ${cls}` }, s.n),
    h('span', { class: `tx ${cls}` }, text, s.noNewline ? h('small', { class: 'muted' }, ' ⏎ ', t('diff.no_newline')) : null),
  ];
}
