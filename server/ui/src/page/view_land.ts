import { restackRun } from './actions.js';
import { call, get, type Forecast, type Landing, type LandItem, type LandLeft, type List } from './api.js';
import { fill, h, type Child } from './dom.js';
import { t } from './i18n.js';
import { coalesced, type LiveEvent } from './live.js';
import { button, confirmed, copyButton, errorCard, errorOf, link, waysOut, withCode, type View } from './parts.js';
import { requestAt, runAt } from './router.js';

/** What is finished and waits to be merged: what merges, what collides with what, and the buttons that do it. */
export class LandView implements View {
  readonly el = h('div', { class: 'view landing' });
  private titles = new Map<string, string>();
  private readonly last = h('div', { role: 'status' });
  private readonly main = h('div');
  private readonly reload = coalesced(() => this.load(), 200);
  private timer = 0;

  constructor() {
    fill(this.el, h('h1', null, t('landing.title')), this.last, this.main);
    fill(this.main, h('p', { class: 'muted' }, t('landing.asking')));
    void this.reload.now();
  }

  title = (): string => t('landing.title');

  close(): void {
    clearTimeout(this.timer);
  }

  onEvent(e: LiveEvent): void {
    if (e.kind === 'reset' || (e.kind === 'stage' && e.data['state'] === 'DONE')) this.reload();
  }

  private async load(): Promise<void> {
    clearTimeout(this.timer);
    try {
      const { running, result, error } = await get<{ running: boolean; result: Landing | null; error?: { reason_code: string; message: string; actions: string[] | null } }>('/land');
      this.paintLast(running, result);
      if (error) fill(this.last, errorCard({ ...error, title: error.message, message: '', severity: '' }, 'ask'));
      if (running) {
        this.timer = window.setTimeout(() => this.reload(), 1_000);
        return;
      }
    } catch (e) {
      fill(this.last, errorCard(errorOf(e), 'ask'));
    }
    try {
      const [forecast, { items }] = await Promise.all([get<Forecast>('/land/forecast'), get<List>('/requests')]);
      this.titles = new Map(items.map((i) => [i.id, i.title]));
      this.paint(forecast);
    } catch (e) {
      fill(this.main, errorCard(errorOf(e), 'ask'));
    }
  }

  private paintLast(running: boolean, r: Landing | null): void {
    if (running) {
      fill(this.last, h('p', { class: 'banner now' }, t('landing.running')));
      return;
    }
    fill(
      this.last,
      r
        ? h(
            'section',
            { class: `card ${r.left_out.length > 0 ? 'ask' : 'good'}` },
            h('h2', null, t('landing.last')),
            h('p', null, t('land.sum', { into: r.into, from: r.from.slice(0, 10), to: r.to.slice(0, 10), count: r.landed.length, left: r.left_out.length })),
            r.test === '' ? h('p', { class: 'muted' }, t('land.untested')) : null,
            h('ul', { class: 'plain-list' }, r.landed.map((i) => h('li', null, t('land.landed', { id: i.request_id, commit: (i.commit ?? '').slice(0, 10), branch: i.branch }))), r.left_out.map((l) => this.left(l))),
          )
        : null,
    );
  }

  private paint(f: Forecast): void {
    const ids = f.lands.map((i) => i.request_id);
    const none = ids.length + f.left_out.length === 0;
    fill(
      this.main,
      h('p', null, h('strong', null, none ? t('land.nothing', { into: f.into }) : t('land.would_sum', { into: f.into, count: ids.length, left: f.left_out.length }))),
      none ? null : h('p', { class: 'muted' }, t('landing.hint', { into: f.into })),
      ids.length > 0
        ? h(
            'section',
            { class: 'card good' },
            h('div', { class: 'row wrap spread' }, h('h2', null, t('landing.lands')), ids.length > 1 ? this.go(t('landing.all', { n: ids.length }), ids, f.into, 'btn primary', 'land-all') : null),
            h('ol', { class: 'plain-list' }, f.lands.map((i) => h('li', { class: 'row wrap lands' }, h('div', { class: 'row wrap' }, this.named(i), h('code', null, i.branch)), h('div', { class: 'row' }, link(runAt(i.request_id, i.run_id, 'diff'), t('run.see_diff'), { class: 'btn small', 'aria-label': `${t('run.see_diff')}: ${this.nameOf(i)}` }), this.go(t('landing.one'), [i.request_id], f.into, ids.length > 1 ? 'btn small' : 'btn small primary', 'land:' + i.request_id, this.nameOf(i)))))),
            h('p', { class: 'row wrap' }, h('code', null, 'aiflow land --all'), copyButton('aiflow land --all')),
          )
        : null,
      f.collisions.length > 0
        ? h(
            'section',
            { class: 'card ask' },
            h('h2', null, t('landing.collide')),
            h('ul', { class: 'plain-list' }, f.collisions.map((c) => h('li', { class: 'collision' }, t('land.pair', { id: c.requests[0], with: c.requests[1], files: c.files.join(', ') })))),
            f.most.length > ids.length
              ? h('div', { class: 'row wrap' }, h('span', null, withCode(t('land.most', { count: f.most.length, command: 'aiflow land ' + f.most.join(' ') }))), this.go(t('landing.these', { n: f.most.length }), f.most, f.into, 'btn small', 'land-most'))
              : null,
          )
        : null,
      f.left_out.length > 0 ? h('section', { class: 'card' }, h('h2', null, t('landing.left')), h('ul', { class: 'plain-list' }, f.left_out.map((l) => this.left(l)))) : null,
    );
  }

  private nameOf = (i: LandItem): string => this.titles.get(i.request_id) ?? i.request_id;

  private named(i: LandItem): Child {
    return [link(requestAt(i.request_id), this.nameOf(i), { class: 'lane-title' }), h('span', { class: 'id' }, i.request_id)];
  }

  private left(l: LandLeft): Child {
    return h('li', null, this.named(l), ' ', withCode(l.error?.message ?? ''), ' ', h('span', { class: 'code-name' }, l.error?.reason_code), this.move(l), l.files.length > 0 ? h('div', { class: 'muted' }, h('code', null, l.files.join(', '))) : null, waysOut(l.error?.actions ?? []));
  }

  /** What stands on something that is no longer what it was can be moved here. */
  private move(l: LandLeft): Child {
    if (l.error?.reason_code !== 'STACK_STALE' || !l.error.context?.['name']) return null;
    return [' ', button(t('run.restack'), () => restackRun(l.request_id, l.run_id).then(() => this.reload.now()), { class: 'btn small', 'aria-label': `${t('run.restack')}: ${this.nameOf(l)}`, 'data-key': 'restack:' + l.request_id })];
  }

  private go(label: string, names: readonly string[], into: string, look: string, key: string, of?: string): HTMLElement {
    return button(
      label,
      async () => {
        if (!(await confirmed(t('landing.ask', { into, names: names.join(', ') }), t('landing.one')))) return;
        await call('POST', '/land', { names });
        await this.reload.now();
      },
      { class: look, 'data-key': key, 'aria-label': of === undefined ? undefined : `${label}: ${of}` },
    );
  }
}
