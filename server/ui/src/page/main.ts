import { get } from './api.js';
import { fill, fillIf, h, isTyping, s } from './dom.js';
import { Drafts } from './drafts.js';
import { clock } from './format.js';
import { showHelp } from './help.js';
import { currentLang, pickLang, setLang, t } from './i18n.js';
import { Live, type Connection } from './live.js';
import { memory } from './memory.js';
import { newRequest } from './new_request.js';
import { canNotify, isNotifying, notify, switchNotifying } from './notify.js';
import { button, choice, link, showTitle, tickElapsed, toast, toastPlace, toldPlace, type View } from './parts.js';
import { readAddress, type Route } from './router.js';
import { AutorunView } from './view_autorun.js';
import { DoctorView } from './view_doctor.js';
import { GraphView } from './view_graph.js';
import { LandView } from './view_land.js';
import { QueueView } from './view_queue.js';
import { RequestView } from './view_request.js';
import { RequestsView } from './view_requests.js';
import { RunView } from './view_run.js';

const always = [
  ['/', 'nav.requests'],
  ['/graph', 'nav.graph'],
  ['/autorun', 'nav.autorun'],
  ['/doctor', 'nav.doctor'],
] as const;
const withQueue = [...always, ['/queue', 'nav.queue']] as const;

/** Where somebody was in a view: how far down, and in which of its rows or buttons. */
interface Place {
  readonly y: number;
  readonly focus: string;
}

function placeOfFocus(): string {
  const el = document.activeElement;
  const key = el instanceof HTMLElement ? el.dataset['key'] : undefined;
  if (!el || key === undefined) return '';
  const row = el.closest<HTMLElement>('[data-path]')?.dataset['path'];
  return `${row === undefined ? '' : `[data-path="${CSS.escape(row)}"] `}[data-key="${CSS.escape(key)}"]`;
}

/** Drawn, since not every machine has a letter for it. */
const bell = (): Element => s('svg', { width: 18, height: 18, viewBox: '0 0 18 18', 'aria-hidden': 'true' }, s('path', { d: 'M9 2a4.6 4.6 0 0 0-4.6 4.6c0 3.8-1.4 5-1.9 5.9h13c-.5-.9-1.9-2.1-1.9-5.9A4.6 4.6 0 0 0 9 2zM7.4 14.8a1.7 1.7 0 0 0 3.2 0' }));

class App {
  private view: View | undefined;
  private project = '';
  private hasQueue = false;
  private readonly live = new Live();
  private readonly header = h('header', { class: 'top' });
  private readonly bar = h('div', { class: 'connection', role: 'status' });
  private readonly main = h('main', { id: 'main', tabindex: -1 });
  private readonly go = (to: string) => this.open(to, true);
  private readonly places = new Map<string, Place>();
  private wasLost = false;

  start(): void {
    history.scrollRestoration = 'manual';
    this.language(pickLang(memory.get('lang'), navigator.languages));
    this.theme(memory.get('theme') ?? 'auto');
    fill(document.body, h('a', { href: '#main', class: 'skip' }, t('app.skip')), this.header, this.bar, this.main, toastPlace(), toldPlace());
    document.addEventListener('click', (e) => this.clicked(e));
    document.addEventListener('keydown', (e) => this.pressed(e));
    window.addEventListener('popstate', () => this.open(location.pathname + location.search, false));
    window.setInterval(() => document.hidden || tickElapsed(document), 1_000);
    this.live.on((e) => {
      this.view?.onEvent?.(e);
      notify(e, this.live.isLeader, this.go);
    });
    this.live.watch((c) => this.connection(c));
    void this.begin();
  }

  private async begin(): Promise<void> {
    const known = this.about().catch(() => undefined); // the view says what is wrong
    const here = readAddress(location.pathname, location.search);
    if (here.view === 'request') await known; // its drafts are kept by project
    this.paintHeader();
    this.open(location.pathname + location.search, false);
    await known;
    this.paintHeader();
    this.live.start();
  }

  private async about(): Promise<void> {
    const { project, taskqueue } = await get<{ project: string; taskqueue: boolean }>('/health');
    this.project = project;
    this.hasQueue = taskqueue;
  }

  private open(to: string, push: boolean): void {
    const at = new URL(to, location.origin);
    if (push) this.here = location.pathname + location.search; // a filter may have changed it
    if (this.view) this.places.set(this.here, { y: window.scrollY, focus: placeOfFocus() });
    if (push && at.pathname + at.search + at.hash !== location.pathname + location.search + location.hash) history.pushState(null, '', to);
    this.here = at.pathname + at.search;
    const route = readAddress(at.pathname, at.search);
    if (route.view === 'run' && this.view instanceof RunView && this.view.is(route.id, route.run)) {
      this.view.show(route.tab);
      return;
    }
    const isFirst = this.view === undefined;
    void this.view?.close?.();
    this.view = this.make(route);
    fill(this.main, this.view.el);
    showTitle(this.view);
    this.paintHeader();
    if (isFirst) return; // it is at its top, and asking for that would lay out what is not there yet
    window.scrollTo(0, 0);
    if (push) this.main.focus({ preventScroll: true });
    else this.comeBack(this.places.get(this.here));
  }

  private here = '';

  /** Where one was, as soon as there is something there. */
  private comeBack(at: Place | undefined): void {
    if (!at) return;
    let tries = 0;
    const step = () => {
      window.scrollTo(0, at.y);
      const el = at.focus === '' ? null : this.main.querySelector<HTMLElement>(at.focus);
      el?.focus({ preventScroll: true });
      if ((Math.abs(window.scrollY - at.y) > 2 || (at.focus !== '' && !el)) && tries++ < 60) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  private make(r: Route): View {
    switch (r.view) {
      case 'requests':
        return new RequestsView(this.go, r.filter);
      case 'request':
        return new RequestView(this.go, r.id, r.edit, new Drafts(window.localStorage, this.project));
      case 'run':
        return new RunView(this.go, r.id, r.run, r.tab);
      case 'graph':
        return new GraphView(this.go, r.focus, r.hops);
      case 'autorun':
        return new AutorunView(this.go);
      case 'land':
        return new LandView();
      case 'doctor':
        return new DoctorView();
      case 'queue':
        return new QueueView(r.namespace, r.status);
      case 'missing':
        return { el: h('div', { class: 'view missing' }, h('h1', null, t('common.missing')), h('p', null, h('code', null, location.pathname)), link('/', t('common.home'), { class: 'btn primary', 'data-key': 'home' })), title: () => t('common.missing') };
    }
  }

  private paintHeader(): void {
    const path = location.pathname;
    const isAt = (to: string) => (to === '/' ? path === '/' || path === '/land' || path.startsWith('/requests') : path.startsWith(to));
    fillIf(this.header, JSON.stringify([path, currentLang(), this.project, this.hasQueue, isNotifying()]), () => [
      link('/', [h('strong', null, 'aiflow'), h('span', { class: 'project' }, this.project)], { class: 'brand' }),
      h('nav', { 'aria-label': t('nav.main') }, this.shown().map(([to, key]) => link(to, t(key), { 'aria-current': isAt(to) ? 'page' : null, 'data-key': 'nav' + to }))),
      h('span', { class: 'grow' }),
      h('div', { class: 'tools' }, canNotify() ? button(bell(), () => switchNotifying().then(() => this.paintHeader()), { class: 'btn bare', 'aria-label': t('notify.ask'), title: t('notify.ask'), 'aria-pressed': String(isNotifying()), 'data-key': 'notify' }) : null, this.themeChoice(), button(t('set.lang'), () => this.switchLanguage(), { class: 'btn bare', 'data-key': 'lang' }), button('?', showHelp, { class: 'btn bare', 'aria-label': t('nav.help'), 'data-key': 'help' })),
    ]);
  }

  /** The queue has a place only when one is configured. */
  private shown() {
    return this.hasQueue ? withQueue : always;
  }

  private themeChoice(): HTMLElement {
    const el = choice([['auto', '◐ ' + t('set.auto')], ['light', '☀ ' + t('set.light')], ['dark', '☾ ' + t('set.dark')]], memory.get('theme') ?? 'auto');
    el.setAttribute('aria-label', t('set.theme'));
    el.dataset['key'] = 'theme';
    el.addEventListener('change', () => {
      memory.set('theme', el.value);
      this.theme(el.value);
    });
    return el;
  }

  private theme(name: string): void {
    document.documentElement.dataset['theme'] = name === 'light' || name === 'dark' ? name : 'auto';
  }

  private language(lang: 'ja' | 'en'): void {
    setLang(lang);
    document.documentElement.lang = lang;
  }

  private switchLanguage(): void {
    const to = currentLang() === 'ja' ? 'en' : 'ja';
    memory.set('lang', to);
    void Promise.resolve(this.view?.close?.()).then(() => {
      this.view = undefined;
      this.language(to);
      this.open(location.pathname + location.search, false);
    });
  }

  private connection(c: Connection): void {
    const lost = c.state === 'lost' || c.state === 'locked-out';
    fillIf(this.bar, JSON.stringify(c), () => {
      if (!lost) return null;
      return h(
        'div',
        { class: 'banner warn' },
        h('span', { class: 'grow' }, c.state === 'lost' ? t('conn.lost', { time: clock(c.since) }) : t('conn.out')),
        this.live.isLeader ? button(t('conn.again'), () => this.live.again(), { class: 'btn small' }) : null,
      );
    });
    if (c.state === 'open' && this.wasLost) {
      toast(t('conn.back'), 'good');
      this.view?.onEvent?.({ kind: 'reset', data: {} }); // it may have been opened meanwhile
    }
    if (c.state !== 'connecting') this.wasLost = lost;
  }

  /** Links inside the page change the view, not the page. */
  private clicked(e: MouseEvent): void {
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    const a = e.target instanceof Element ? e.target.closest('a') : null;
    const href = a?.getAttribute('href') ?? '';
    if (!a || a.hasAttribute('target') || !href.startsWith('/') || href.startsWith('//') || href.startsWith('/api/')) return;
    e.preventDefault();
    this.go(href);
  }

  private pressed(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || document.querySelector('dialog[open]')) return;
    if (isTyping(e.target)) {
      if (e.key === 'Escape' && e.target instanceof HTMLInputElement) e.target.blur();
      return;
    }
    const n = Number(e.key);
    const place = Number.isInteger(n) ? this.shown()[n - 1] : undefined;
    const own = this.view?.keys?.[e.key];
    if (own) own();
    else if (e.key === '?') showHelp();
    else if (e.key === 'n') newRequest(this.go, []);
    else if (place && /^\d$/.test(e.key)) this.go(place[0]);
    else return;
    e.preventDefault();
  }
}

new App().start();
