import { runNext, runRequest, stopQueue, stopRun, type Go } from './actions.js';
import { ApiError, call, get, requestPath, type Item, type List, type Session } from './api.js';
import { fill, fillIf, h, type Child } from './dom.js';
import { moment } from './format.js';
import { Cards } from './home_cards.js';
import { currentLang, t, word } from './i18n.js';
import { heldStill, inOrder, isBroken, labelsOf, matchesFilter, needsAnswer, patched, sorted, standing, type Standing } from './list_state.js';
import { coalesced, type LiveEvent } from './live.js';
import { age, button, chip, choice, confirmed, errorCard, errorOf, link, priorityChip, priorityOptions, requestLink, showError, showTitle, stateTone, toast, withCode, type Tone, type View } from './parts.js';
import { address, noFilter, requestAt, runAt, type Filter } from './router.js';
import { newRequest } from './new_request.js';
import { nightStrip } from './timeline_view.js';
import { isActiveSession, nightOf, nightSentence } from './view_autorun.js';
import { scrollFor, visibleRange, type Sight } from './window.js';

const filters = ['draft', 'ready', 'blocked', 'done', 'archived'];
const runFilters = ['needs_input', 'failed', 'interrupted', 'stale', 'waits'] as const;
const counted = ['needs', 'merge', 'running', 'can_run'] as const;
const inLane = 5;
const atFirst = 60; // rows: more than a window shows
const tones: Partial<Record<Standing, Tone>> = { broken: 'bad', failed: 'bad', running: 'now', locked: 'ask', needs_input: 'ask', interrupted: 'ask', stale: 'ask', blocked: 'ask', merge: 'good', can_run: 'warn', done: 'good' };

/** Every request is shown, in the order of the server. */
const isUnfiltered = (f: Filter): boolean => address({ view: 'requests', filter: f }) === '/';

const runOf = (i: Item): string => i.derived.locked?.run_id || i.derived.latest_run?.run_id || '';

/** Some are left out; another order leaves out none. */
const isNarrowed = (f: Filter): boolean => !isUnfiltered({ ...f, sort: '' });

/** The list as it was last read. */
let known: { readonly lang: string; readonly served: List } | undefined;

export class RequestsView implements View {
  readonly el = h('div', { class: 'view requests' });
  /** As the server has it, and in the order in which it is shown. */
  private served: List | undefined;
  private list: List | undefined;
  private shown: Item[] = [];
  private waiting = 0;
  private isLoaded = false;
  /** Only the beginning of the list is known yet. */
  private isPart = false;
  private filter: Filter;
  private session: Session | undefined;
  private ids = new Set<string>();
  /** Ids whose text has the words of the filter; only the server knows the texts. */
  private found: { readonly text: string; readonly ids: ReadonlySet<string> } | undefined;
  private readonly picked = new Set<string>();
  private readonly picking = h('div', { class: 'picking' });
  private readonly find = coalesced(() => this.findText(), 250);
  private readonly cards: Cards;
  private readonly rows = new Map<string, HTMLElement>();
  private readonly drawn = new WeakMap<HTMLElement, Item>();
  private readonly wrong = h('div');
  private readonly banner = h('div');
  private readonly counts = h('div', { class: 'counts', role: 'group', 'aria-label': t('list.status') });
  private readonly top = h('div');
  private readonly night = h('div', { class: 'night' });
  private readonly count = h('p', { class: 'count', 'aria-live': 'polite' });
  private readonly moved = h('div', { class: 'moved' });
  private readonly body = h('div', { class: 'rows', role: 'list', 'aria-label': t('list.rows') });
  /** There is nothing to search or run before the first one. */
  private readonly below = h('div', { class: 'below' });
  private readonly make = button(t('list.new'), () => this.create());
  private readonly next = button(t('list.run_next'), () => runNext(this.go), { class: 'btn primary' });
  private readonly search: HTMLInputElement;
  private readonly labels: HTMLSelectElement;
  private readonly chips: HTMLElement;
  private readonly sort: HTMLSelectElement;
  private readonly reload = coalesced(() => this.load(), 0);
  private readonly onScroll = () => this.paintSoon();
  private frame = 0;
  private active = '';

  constructor(
    private readonly go: Go,
    filter: Filter,
  ) {
    this.filter = filter;
    this.cards = new Cards(go);
    this.search = h('input', { type: 'search', class: 'search', placeholder: t('list.filter'), 'aria-label': t('list.filter'), value: filter.text });
    this.search.addEventListener('input', () => {
      this.refilter({ ...this.filter, text: this.search.value });
      this.find();
      if (this.body.getBoundingClientRect().top > innerHeight * 0.6) this.search.scrollIntoView({ block: 'start' }); // what is found is below it
    });
    this.labels = choice([['', t('list.any_label')]], filter.label);
    this.labels.setAttribute('aria-label', t('list.label'));
    this.labels.addEventListener('change', () => this.refilter({ ...this.filter, label: this.labels.value }));
    this.sort = choice([['', t('list.sort_order')], ['run', t('list.sort_run')], ['title', t('list.sort_title')]], filter.sort);
    this.sort.setAttribute('aria-label', t('list.sort'));
    this.sort.addEventListener('change', () => this.refilter({ ...this.filter, sort: this.sort.value }));
    this.chips = h('div', { class: 'filters' });
    this.paintFilters();
    fill(
      this.below,
      h('div', { class: 'toolbar' }, this.search, this.labels, this.sort, this.chips),
      h('div', { class: 'row spread' }, this.count, this.moved),
      this.picking,
      this.body,
    );
    this.el.classList.toggle('narrow', isNarrowed(filter));
    fill(
      this.el,
      h(
        'div',
        { class: 'head' },
        h('h1', null, t('nav.requests')),
        h('div', { class: 'row' }, this.make, this.next),
      ),
      this.wrong,
      this.banner,
      this.counts,
      this.night,
      this.top,
      this.below,
    );
    window.addEventListener('scroll', this.onScroll, { passive: true });
    window.addEventListener('resize', this.onScroll);
    this.body.addEventListener('focusin', (e) => {
      const row = e.target instanceof Element ? e.target.closest<HTMLElement>('.rq') : null;
      this.active = row?.dataset['path'] ?? '';
    });
    this.body.addEventListener('mouseleave', () => this.settle());
    const before = known?.lang === currentLang() ? known.served : undefined; // one comes back to it, perhaps without a connection
    this.served = before;
    if (before) requestAnimationFrame(() => this.list || this.use(before));
    void this.reload.now().catch(showError);
    this.find();
  }

  title = (): string => {
    const n = this.list?.items.filter(needsAnswer).length ?? 0;
    return n > 0 ? `! ${t('list.lane_needs')} (${n})` : `${this.list?.queue.locked ? '● ' : ''}${t('nav.requests')}`;
  };

  tone = (): Tone => (this.list?.items.some(needsAnswer) ? 'ask' : this.list?.queue.locked ? 'now' : 'quiet');

  readonly keys = {
    '/': () => this.search.focus(),
    j: () => this.move(1),
    k: () => this.move(-1),
    ArrowDown: () => this.move(1),
    ArrowUp: () => this.move(-1),
    n: () => this.create(),
    r: () => void this.askNext().catch(showError),
  };

  /** One stray key starts nothing. */
  private async askNext(): Promise<void> {
    if (await confirmed(t('list.ask_next'), t('list.run_next'))) await runNext(this.go);
  }

  close(): void {
    window.removeEventListener('scroll', this.onScroll);
    window.removeEventListener('resize', this.onScroll);
    cancelAnimationFrame(this.frame);
  }

  onEvent(e: LiveEvent): void {
    if (e.kind === 'log') return this.cards.grown(e.data);
    if (e.kind === 'stage' && this.progressed(e.data)) return;
    this.reload();
  }

  /** A run that only went on changes one row, not the list. */
  private progressed(d: Readonly<Record<string, unknown>>): boolean {
    const state = String(d['state']);
    const i = this.shown.findIndex((x) => x.derived.latest_run?.run_id === d['run_id']);
    const item = this.shown[i];
    const run = item?.derived.latest_run;
    if (!item || !run || !item.derived.locked || ['DONE', 'FAILED', 'NEEDS_INPUT'].includes(state)) return false;
    const progress = d['progress'] as { percent?: number } | undefined;
    const latest_run = { ...run, state, percent: progress?.percent ?? run.percent, current_step_id: String(d['current_step_id'] ?? '') };
    const now = { ...item, derived: { ...item.derived, latest_run } };
    this.shown[i] = now;
    if (this.list) {
      this.list = { ...this.list, items: this.list.items.map((x) => (x === item ? now : x)) };
      this.paintTop(this.list);
    }
    this.paintSoon();
    return true;
  }

  /** What is known of the list stays, with why there is nothing newer. */
  private async load(): Promise<void> {
    try {
      await this.read();
      fillIf(this.wrong, '', () => null);
    } catch (e) {
      if (!(e instanceof ApiError) || e.isOffline || e.status >= 500) throw e;
      const error = errorOf(e);
      fillIf(this.wrong, JSON.stringify(error), () => errorCard(error, 'bad'));
    }
  }

  private async read(): Promise<void> {
    if (!this.isLoaded && !this.served && isUnfiltered(this.filter) && (await this.begin())) return;
    const before = this.served;
    const data = await get<List>('/requests' + (before?.revision ? `?since=${before.revision}` : ''));
    if (data.queue.locked || !this.isLoaded) this.session = await get<Session>('/autorun').catch(() => undefined);
    else if (this.session && isActiveSession(this.session)) this.session = await get<Session>('/autorun').catch(() => undefined); // it has ended
    this.isLoaded = true;
    if (!before || !this.list || data.since === undefined || data.since !== data.revision) {
      this.use(before ? patched(before, data) : data);
      this.find();
    } else this.take();
  }

  /** What a window shows, before the whole list: that of ten thousand requests is some megabytes. Whether this is all. */
  private async begin(): Promise<boolean> {
    const [list, session] = await Promise.all([get<List>(`/requests?first=${atFirst}`), get<Session>('/autorun').catch(() => undefined)]);
    this.session = session;
    this.isLoaded = true;
    this.isPart = list.revision === undefined;
    if (!this.isPart) this.use(list);
    else if (isUnfiltered(this.filter)) {
      this.list = { ...list, items: inOrder(list.items) };
      this.take();
    }
    return !this.isPart;
  }

  private use(served: List): void {
    known = { lang: currentLang(), served };
    this.served = served;
    this.list = { ...served, items: inOrder(served.items) };
    this.ids = new Set(served.items.map((i) => i.id));
    if (this.isPart) this.shown = []; // the same rows, and all others: nothing moves
    this.isPart = false;
    this.take();
  }

  private async findText(): Promise<void> {
    const text = this.filter.text.trim();
    if (text === '') return;
    const { items } = await get<List>(`/requests?q=${encodeURIComponent(text)}`);
    this.found = { text, ids: new Set(items.map((i) => i.id)) };
    if (text === this.filter.text.trim()) this.take();
  }

  private wanted(list: List): readonly Item[] {
    const inText = this.found?.text === this.filter.text.trim() ? this.found.ids : undefined;
    return sorted(list.items.filter((i) => matchesFilter(i, this.filter, inText)), this.filter.sort);
  }

  private take(): void {
    const list = this.list;
    if (!list) return;
    const next = this.wanted(list);
    this.waiting = 0;
    if (this.shown.length > 0 && this.isBusy()) {
      const { items, changed } = heldStill(this.shown, next);
      this.waiting = changed;
      this.shown = changed === 0 ? [...next] : items;
    } else this.shown = [...next];
    this.paint();
  }

  /** Somebody points at the rows or stands in one. */
  private isBusy(): boolean {
    return this.body.matches(':hover') || this.body.contains(document.activeElement);
  }

  private settle(): void {
    if (this.waiting > 0 && !this.body.contains(document.activeElement)) this.show();
  }

  private show(): void {
    const list = this.list;
    if (!list) return;
    this.waiting = 0;
    this.shown = [...this.wanted(list)];
    this.paint();
  }

  /** Who asks at the top for some of them sees those, not the lanes; who is at the list is not moved. */
  private refilter(f: Filter, atTop = false): void {
    this.filter = f;
    this.el.classList.toggle('narrow', isNarrowed(f) && (atTop || this.el.classList.contains('narrow')));
    const to = address({ view: 'requests', filter: f });
    if (atTop) history.pushState(null, '', to); // as a link would
    else history.replaceState(null, '', to);
    this.paintFilters();
    this.show();
  }

  private create(): void {
    newRequest(this.go, [...this.ids]);
  }

  private toggle(name: 'status' | 'priority', value: string, label: Child, look: string): HTMLElement {
    const on = this.filter[name].includes(value);
    const next = on ? this.filter[name].filter((v) => v !== value) : [...this.filter[name], value];
    return h('button', { type: 'button', class: look, 'aria-pressed': String(on), 'data-key': name + value, onclick: () => this.refilter({ ...this.filter, [name]: next }, look !== 'toggle') }, label);
  }

  private paintFilters(): void {
    const of = { status: new Map<string, number>(), priority: new Map<string, number>() };
    for (const i of this.list?.items ?? []) {
      for (const v of new Set([i.meta.status ?? '', standing(i)])) of.status.set(v, (of.status.get(v) ?? 0) + 1);
      of.priority.set(i.meta.priority ?? '', (of.priority.get(i.meta.priority ?? '') ?? 0) + 1);
    }
    const toggle = (name: 'status' | 'priority', value: string, label: string) => {
      const el = this.toggle(name, value, label, 'toggle');
      if (this.list && !this.isPart) el.dataset['n'] = String(of[name].get(value) ?? 0);
      return el;
    };
    const isSet = !isUnfiltered(this.filter);
    fillIf(this.chips, JSON.stringify([this.filter, this.isPart, [...of.status], [...of.priority]]), () => [
      h('span', { role: 'group', 'aria-label': t('list.status'), class: 'group' }, filters.map((v) => toggle('status', v, word('status', v)))),
      h('span', { role: 'group', 'aria-label': t('list.run_state'), class: 'group' }, runFilters.map((v) => toggle('status', v, t(`standing.${v}`)))),
      h('span', { role: 'group', 'aria-label': t('list.priority'), class: 'group' }, ['P0', 'P1', 'P2', 'P3'].map((v) => toggle('priority', v, v))),
      isSet
        ? button(t('list.clear'), () => {
            this.search.value = '';
            this.labels.value = '';
            this.sort.value = '';
            this.refilter(noFilter);
          }, { class: 'btn small' })
        : null,
    ]);
  }

  private paint(): void {
    const list = this.list;
    if (!list) return;
    showTitle(this);
    const isNone = list.stats.total === 0;
    this.below.hidden = isNone;
    this.make.classList.toggle('primary', isNone);
    this.next.classList.toggle('primary', !isNone);
    this.paintBanner(list);
    this.paintFilters();
    this.paintTop(list);
    this.paintNight();
    const labels = labelsOf(list.items);
    fillIf(this.labels, JSON.stringify([labels, this.filter.label]), () => ['', ...labels].map((l) => h('option', { value: l }, l === '' ? t('list.any_label') : l)));
    if (!labels.includes(this.filter.label) && this.filter.label !== '') this.labels.append(h('option', { value: this.filter.label }, this.filter.label));
    this.labels.value = this.filter.label;
    const count = t('list.count', { shown: this.length(), total: list.stats.total });
    if (this.count.textContent !== count) this.count.textContent = count;
    fillIf(this.moved, String(this.waiting), () =>
      this.waiting > 0 ? button(t('list.changed', { n: this.waiting }), () => this.show(), { class: 'btn small primary' }) : null,
    );
    this.paintPicking(list);
    this.paintRows();
  }

  private pick(paths: readonly string[], on: boolean): void {
    for (const p of paths) {
      if (on) this.picked.add(p);
      else this.picked.delete(p);
    }
    this.paint();
  }

  /** What can be done with all that are selected; what is filtered away is not meant. */
  private paintPicking(list: List): void {
    const items = this.shown.filter((i) => this.picked.has(i.path) && list.items.includes(i));
    const priority = (): HTMLElement => {
      const el = choice([['-', t('list.pick_priority')], ...priorityOptions().slice(1)], '-');
      el.setAttribute('aria-label', t('list.pick_priority'));
      el.addEventListener('change', () => void this.change(items, { priority: el.value }).catch(showError));
      return el;
    };
    fillIf(this.picking, JSON.stringify([items.map((i) => i.path), this.shown.length]), () =>
      items.length === 0
        ? null
        : h(
            'div',
            { class: 'banner now', role: 'group', 'aria-label': t('list.picked', { n: items.length }) },
            h('strong', null, t('list.picked', { n: items.length })),
            button(t('req.ready'), () => this.change(items, { status: 'ready' }), { class: 'btn small', 'data-key': 'pick-ready' }),
            button(t('req.archive'), () => this.archive(items), { class: 'btn small', 'data-key': 'pick-archive' }),
            priority(),
            h('span', { class: 'grow' }),
            items.length < this.shown.length ? button(t('list.pick_all', { n: this.shown.length }), () => this.pick(this.shown.map((i) => i.path), true), { class: 'btn small', 'data-key': 'pick-all' }) : null,
            button(t('list.pick_none'), () => this.pick([...this.picked], false), { class: 'btn small', 'data-key': 'pick-none' }),
          ),
    );
  }

  private async archive(items: readonly Item[]): Promise<void> {
    if (await confirmed(t('list.archive_sure', { n: items.length }), t('req.archive'))) await this.change(items, { status: 'archived' });
  }

  /** Those that are refused stay selected, the first reason is told. */
  private async change(items: readonly Item[], meta: Readonly<Record<string, string>>): Promise<void> {
    const refused: unknown[] = [];
    for (const i of items) {
      try {
        await call('PATCH', `${requestPath(i.id)}/meta`, meta);
        this.picked.delete(i.path);
      } catch (e) {
        refused.push(e);
      }
    }
    if (refused.length > 0) toast([h('strong', null, t('list.pick_refused', { n: refused.length }), ': '), errorOf(refused[0]).title], 'bad');
    if (refused.length < items.length) toast(t('list.pick_done', { n: items.length - refused.length }), 'good');
    await this.reload.now();
  }

  private paintBanner(list: List): void {
    const holder = list.queue.holder;
    const running = list.items.find((i) => i.derived.locked && (i.derived.locked.run_id === holder?.run_id || i.id === this.session?.current_request_id));
    const run = running?.derived.locked?.run_id ?? '';
    const active = this.session && ['STARTING', 'SELECTING', 'RUNNING'].includes(this.session.state);
    const stopping = this.session?.state === 'STOPPING';
    fillIf(this.banner, JSON.stringify([list.queue.locked, running?.id, run, active, stopping]), () =>
      !list.queue.locked
        ? null
        : h(
            'div',
            { class: 'banner now', role: 'status' },
            h('strong', null, t('list.queue')),
            h('span', { class: 'what grow' }, running ? t('list.queue_what', { id: running.title }) : null),
            running && run !== '' ? link(runAt(running.id, run), t('list.queue_open'), { class: 'btn small', 'data-key': 'queue-open' }) : null,
            stopping
              ? h('span', null, word('session', 'STOPPING'))
              : active
                ? button(t('list.queue_stop'), () => stopQueue(false), { class: 'btn small', 'data-key': 'queue-stop' })
                : running && run !== ''
                  ? button(t('run.stop'), () => stopRun(running.id, run), { class: 'btn small', 'data-key': 'queue-stop' })
                  : null,
          ),
    );
  }

  /** The last session, when it is of today or goes on. */
  private paintNight(): void {
    const s = this.session;
    const at = Date.parse(s?.ended_at ?? s?.started_at ?? '');
    const shown = s?.started_at && (s.results ?? []).length > 0 && (isActiveSession(s) || Date.now() - at < 24 * 3_600_000) ? s : undefined;
    fillIf(this.night, JSON.stringify([shown?.started_at, shown?.results?.length, shown?.state]), () => {
      if (!shown) return null;
      const night = nightOf(shown, isActiveSession(shown));
      return [h('p', null, link('/autorun', t('night.title'), { 'data-key': 'night' }), ' ', nightSentence(shown)), nightStrip(night.lanes, night.href, night.start, night.end)];
    });
  }

  private paintTop(list: List): void {
    const broken = list.items.filter(isBroken);
    const lanes: Record<(typeof counted)[number], Item[]> = { needs: [], merge: [], running: [], can_run: [] };
    for (const i of list.items) {
      const at = needsAnswer(i) ? 'needs' : standing(i);
      if (at in lanes) lanes[at as 'needs'].push(i);
    }
    const beyond = list.stats.runnable - list.items.filter((i) => i.derived.rank !== null).length; // of a beginning of the list
    const number = (c: (typeof counted)[number]): number => lanes[c].length + (c === 'can_run' ? beyond : 0);
    fillIf(this.counts, JSON.stringify([counted.map(number), this.filter.status]), () =>
      counted.map((c) => this.toggle('status', c, [h('b', null, number(c)), ' ', t(`list.count_${c}`)], `counted ${number(c) > 0 ? c : ''}`)),
    );
    const go = [...lanes.running, ...lanes.can_run];
    const seen = [lanes.needs, lanes.merge, go].flatMap((l) => l.slice(0, inLane));
    this.cards.only(new Set(seen.map(runOf)));
    for (const i of seen) this.card(i);
    const isNew = list.stats.total < 5 && !list.items.some((i) => i.derived.latest_run);
    const key = JSON.stringify([isNew, broken.map((b) => [b.path, b.problems]), [lanes.needs.length, lanes.merge.length, go.length + beyond], [lanes.needs, lanes.merge, go].map((l) => l.slice(0, inLane).map((i) => [i.id, i.title, i.derived.rank, i.derived.locked, i.derived.latest_run]))]);
    fillIf(this.top, key, () => [
      lanes.needs.length + lanes.merge.length + go.length === 0
        ? null
        : h(
            'div',
            { class: 'lanes' },
            this.lane('needs', lanes.needs, (i) => [this.outcome(i), ' ', i.derived.latest_run?.stale ? this.why(i) : i.derived.why?.title, ' ', this.age(i), this.card(i)]),
            this.lane('merge', lanes.merge, (i) => this.card(i)),
            this.lane('next', go, (i) => (i.derived.locked ? [this.outcome(i), ' ', `${i.derived.latest_run?.percent ?? 0}%`, this.card(i)] : i.derived.rank === 1 ? chip(t('list.next'), 'good') : i.derived.rank === null ? null : h('span', { class: 'muted' }, `#${i.derived.rank}`)), beyond),
          ),
      isNew
        ? h('section', { class: 'card first-steps' }, h('h2', null, t('list.first')), h('ol', null, h('li', null, t('list.first_1')), h('li', null, t('list.first_2')), h('li', null, t('list.first_3'))))
        : null,
      broken.length === 0
        ? null
        : h(
            'details',
            { class: 'card bad broken', open: broken.length <= 3 },
            h('summary', null, h('strong', null, t('list.broken', { n: broken.length }))),
            h(
              'ul',
              null,
              broken.slice(0, 200).map((b) =>
                b.problems
                  .filter((p) => p.level === 'error')
                  .map((p) => h('li', null, link(requestAt(b.id), `${p.path}${p.line ? ':' + p.line : ''}`), ' ', withCode(p.message ?? p.kind))),
              ),
            ),
          ),
    ]);
  }

  /** Of a run that stopped, is at work or waits to be merged; what only comes next has none. */
  private card(i: Item): Child {
    return (i.derived.locked || needsAnswer(i) || standing(i) === 'merge') && runOf(i) !== '' ? this.cards.of(i, runOf(i)) : null;
  }

  private lane(kind: 'needs' | 'merge' | 'next', items: readonly Item[], more: (i: Item) => Child, beyond = 0): Child {
    const at = (i: Item): string => (kind === 'next' && !i.derived.locked ? requestAt(i.id) : runAt(i.id, runOf(i)));
    return h(
      'section',
      { class: 'card lane ' + kind },
      h('div', { class: 'row spread' }, h('h2', null, t(`list.lane_${kind}`)), kind === 'merge' && items.length > 0 ? link('/land', t('landing.see'), { class: 'btn small primary', 'data-key': 'land' }) : null),
      items.length === 0 ? h('p', { class: 'muted' }, t('common.none')) : h('ul', { class: 'plain-list' }, items.slice(0, inLane).map((i) => h('li', null, link(at(i), [i.title, items.some((x) => x !== i && x.title === i.title) ? [' ', h('span', { class: 'id' }, i.id)] : null], { class: 'lane-title', title: i.id, 'data-key': kind + i.id }), h('div', { class: 'sub' }, more(i))))),
      items.length + beyond > inLane ? h('p', { class: 'muted' }, t('list.lane_more', { n: items.length + beyond - inLane })) : null,
    );
  }

  private paintSoon(): void {
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.paintRows();
    });
  }

  /** Of the whole list, also while only its beginning is known. */
  private length(): number {
    return this.isPart && this.list && isUnfiltered(this.filter) ? this.list.stats.total : this.shown.length;
  }

  private sight(): Sight {
    const row = parseFloat(getComputedStyle(this.body).getPropertyValue('--row')) || 60;
    return { top: -this.body.getBoundingClientRect().top, view: window.innerHeight, row, count: this.length(), margin: 8 };
  }

  private paintRows(): void {
    const at = this.sight();
    this.body.style.height = `${Math.max(1, at.count) * at.row}px`;
    const { from, to } = visibleRange(at);
    const keep = new Set<string>();
    const draw = (n: number) => {
      const item = this.shown[n];
      if (item) {
        keep.add(item.path);
        this.paintRow(item, n, at);
      }
    };
    for (let n = from; n < to; n++) draw(n);
    const focused = this.active === '' ? -1 : this.shown.findIndex((i) => i.path === this.active);
    if (focused >= 0 && (focused < from || focused >= to)) draw(focused); // the focus stays in the page
    for (const [path, row] of this.rows) {
      if (!keep.has(path)) {
        row.remove();
        this.rows.delete(path);
      }
    }
    if (this.list && this.shown.length === 0) {
      fill(this.body, h('p', { class: 'empty' }, t('list.empty')));
    } else this.body.querySelector(':scope > .empty')?.remove();
  }

  private paintRow(item: Item, n: number, at: Sight): void {
    let row = this.rows.get(item.path);
    if (!row) {
      row = h('div', { class: 'rq', role: 'listitem', 'data-path': item.path });
      this.rows.set(item.path, row);
      this.body.append(row);
    }
    const picked = this.picked.has(item.path);
    const place = `${n}/${at.count}/${at.row}/${picked}`;
    if (this.drawn.get(row) === item && row.dataset['place'] === place) return;
    this.drawn.set(row, item);
    row.dataset['place'] = place;
    const isNext = item.derived.rank === 1;
    row.className = 'rq' + (isNext ? ' next' : '') + (item.derived.locked ? ' running' : '') + (isBroken(item) ? ' broken' : '');
    row.setAttribute('aria-posinset', String(n + 1));
    row.setAttribute('aria-setsize', String(at.count));
    row.style.transform = `translateY(${n * at.row}px)`;
    fillIf(row, JSON.stringify([item, picked, this.isPart]), () => this.cells(item, isNext, picked));
  }

  private cells(i: Item, isNext: boolean, picked: boolean): Child {
    const run = i.derived.latest_run;
    const box = h('input', { type: 'checkbox', 'aria-label': t('list.pick', { title: i.title }), 'data-key': 'pick', onchange: () => this.pick([i.path], box.checked) });
    box.checked = picked;
    return [
      box,
      h('span', { class: 'rank' }, isNext ? chip(t('list.next'), 'good') : (i.derived.rank ?? '')),
      priorityChip(i.meta.priority),
      h(
        'div',
        { class: 'what' },
        link(requestAt(i.id), i.title, { class: 'title', 'data-key': 'open', title: i.title }),
        h('span', { class: 'sub' }, h('span', { class: 'id' }, i.id), this.why(i), h('span', { class: 'labels' }, (i.meta.labels ?? []).map((l) => h('span', { class: 'label' }, l)))),
      ),
      this.dots(i),
      this.age(i),
      h('div', { class: 'state' }, this.outcome(i), run && i.derived.locked ? h('span', { class: 'pct' }, `${run.percent}%`) : null),
      h(
        'div',
        { class: 'do' },
        i.derived.locked && i.derived.locked.run_id !== ''
          ? link(runAt(i.id, i.derived.locked.run_id), t('list.resume'), { class: 'btn small', 'aria-label': `${t('list.resume')}: ${i.title}`, 'data-key': 'run' })
          : i.derived.queue_eligible
            ? button(t('list.run'), () => runRequest(this.go, i.id), { class: 'btn small', 'aria-label': `${t('list.run')}: ${i.title}`, 'data-key': 'run' })
            : null,
      ),
    ];
  }

  /** What the last runs came to, the newest at the right. */
  private dots(i: Item): Child {
    const states = i.derived.last_runs ?? [];
    const said = (s: string): string => (s === 'INTERRUPTED' ? t('run.interrupted') : s === 'DROPPED' ? t('run.dropped') : word('state', s));
    const label = t('list.last_runs', { states: states.map(said).join(', ') });
    return h('span', { class: 'dots', ...(states.length > 0 ? { role: 'img', 'aria-label': label, title: label } : {}) }, states.map((s) => h('i', { class: s === 'INTERRUPTED' ? 'ask' : s === 'DROPPED' ? 'quiet' : stateTone(s) })));
  }

  private age(i: Item): Child {
    const run = i.derived.latest_run;
    if (!run) return h('span', { class: 'age' });
    const at = run.finished_at ?? run.started_at;
    return age(at, t('list.last_run', { at: moment(at) }));
  }

  /** One chip, of file and run; it leads to the run where the run is what it tells of. */
  private outcome(i: Item): Child {
    const run = i.derived.latest_run;
    const at = standing(i);
    const made = chip(t(`standing.${at}`), tones[at] ?? 'quiet', run?.reason_code ?? i.meta.status);
    if (!run || ['draft', 'waits', 'blocked', 'can_run', 'broken'].includes(at)) return made;
    return link(runAt(i.id, i.derived.locked?.run_id || run.run_id), made, { class: 'plain', 'data-key': 'latest' });
  }

  /** The reason in a few words; the whole of it is the title, and on the request. */
  private why(i: Item): Child {
    const why = i.derived.why;
    const title = why?.detail ?? '';
    const short = (...kids: Child[]): Child => h('span', { class: 'why', title }, kids);
    if (isBroken(i)) return short(i.problems.find((p) => p.level === 'error')?.message);
    const [below, ...others] = i.derived.stacked_on ?? [];
    if (below && !i.derived.locked) return short(t('list.short_stacked'), ' ', requestLink(below), others.length > 0 ? ` ${t('list.more', { n: others.length })}` : '');
    if (!why || i.derived.locked || ['draft', 'done', 'archived'].includes(standing(i))) return null;
    const [first, ...more] = i.derived.blocked_by;
    const run = i.derived.latest_run;
    if (run?.stale) return short(t('list.short_stale'), ' ', requestLink(run.stale));
    if (run?.land_failed) return short(t('list.short_land_failed'), ' ', h('code', null, run.land_failed));
    if (run?.awaits_merge) return short(run.warnings.map((w, n) => [n > 0 ? ' · ' : '', h('b', { title: w }, word('warning', w))]), h('span', { class: 'to-merge' }, run.warnings.length > 0 ? ' · ' : '', t('list.short_merge'), ' ', h('code', null, run.work_branch)));
    if (why.reason_code === 'DEPENDS_NOT_DONE' && first) return short(t('list.short_waits'), ' ', this.isPart || this.ids.has(first) ? requestLink(first) : first, more.length > 0 ? ` ${t('list.more', { n: more.length })}` : '');
    return short(why.title);
  }

  private move(by: number): void {
    const now = this.shown.findIndex((i) => i.path === this.active);
    const to = now < 0 ? 0 : Math.min(this.shown.length - 1, Math.max(0, now + by));
    const item = this.shown[to];
    if (!item) return;
    this.active = item.path;
    const y = scrollFor(this.sight(), to, 64);
    if (y !== undefined) window.scrollBy(0, y - this.sight().top);
    this.paintRows();
    this.rows.get(item.path)?.querySelector<HTMLElement>('a.title')?.focus({ preventScroll: true });
  }
}
