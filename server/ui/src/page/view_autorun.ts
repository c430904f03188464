import { runNext, stopQueue, toWhatIsInTheWay, type Go } from './actions.js';
import { call, get, type Excluded, type Selection, type Session } from './api.js';
import { fill, fillIf, h, type Child } from './dom.js';
import { duration, moment } from './format.js';
import { t, word } from './i18n.js';
import { coalesced, type LiveEvent } from './live.js';
import { actionsList, button, chip, elapsed, endedAs, field, link, requestLink, showError, stateTone, tell, usageText, waitsText, withCode, type View } from './parts.js';
import { runAt } from './router.js';
import { nightLanes, worked, type Lane } from './timeline.js';
import { nightStrip, timelinePicture } from './timeline_view.js';

const active = ['STARTING', 'SELECTING', 'RUNNING', 'STOPPING'];

/** A session as a picture needs it. */
export function nightOf(s: Session, isActive: boolean): { lanes: Lane[]; start: number; end: number | undefined; href: (lane: { id: string }) => string | undefined } {
  const results = s.results ?? [];
  const start = Date.parse(s.started_at ?? '');
  const now = isActive ? Date.now() : undefined;
  const before = results.at(-1);
  const current = s.current_request_id && now !== undefined ? { id: s.current_request_id, from: before ? Date.parse(before.ended_at) : start, now } : undefined;
  return {
    lanes: nightLanes(results.map((r) => ({ ...r, outcome: endedAs(r.state) })), current, start),
    start,
    end: now ?? (Date.parse(s.ended_at ?? '') || undefined),
    href: (lane) => {
      const [id, run] = lane.id.split('/');
      const which = run ?? s.current_run_id;
      return id && which ? runAt(id, which) : undefined;
    },
  };
}

export const isActiveSession = (s: Session): boolean => active.includes(s.state);

/** The sentence over the strip: what it came to, and how much of the time something ran. */
export function nightSentence(s: Session): string {
  const night = nightOf(s, isActiveSession(s));
  const c = s.counters;
  return t('night.sum', { done: c.done, needs: c.needs_input, failed: c.failed, busy: duration(worked(night.lanes)), span: duration((night.end ?? Date.now()) - night.start) });
}

export class AutorunView implements View {
  readonly el = h('div', { class: 'view autorun' });
  private session: Session | undefined;
  private kept: readonly Excluded[] = [];
  private readonly head = h('div');
  private readonly body = h('div');
  private readonly form = h('div');
  private readonly strip = h('div', { class: 'night' });
  private readonly picture = h('section', { class: 'card' });
  private readonly maxRuns = h('input', { type: 'number', min: 1, max: 1000, class: 'short' });
  private readonly maxMinutes = h('input', { type: 'number', min: 1, max: 10000, class: 'short' });
  private readonly maxCost = h('input', { type: 'number', min: 0.01, step: 'any', class: 'short' });
  private readonly until = h('input', { type: 'time', class: 'short' });
  private readonly stack = h('input', { type: 'checkbox' });
  private readonly reload = coalesced(() => this.load(), 60);
  private readonly timer = window.setInterval(() => this.isActive() && this.paintPicture(), 3_000);

  constructor(private readonly go: Go) {
    fill(this.el, h('h1', null, t('nav.autorun')), this.head, this.strip, this.body, this.form, this.picture);
    void this.reload.now().catch(showError);
  }

  title = (): string => t('nav.autorun');

  close(): void {
    clearInterval(this.timer);
  }

  onEvent(e: LiveEvent): void {
    if (['autorun', 'queue', 'request', 'reset'].includes(e.kind)) this.reload();
  }

  private isActive(): boolean {
    return this.session !== undefined && active.includes(this.session.state);
  }

  private async load(): Promise<void> {
    const before = this.session?.state;
    this.session = await get<Session>('/autorun');
    this.kept = ((await get<Selection>('/queue/next')).excluded ?? []).filter((e) => e.precondition);
    if (before !== undefined && before !== this.session.state) tell(`${t('nav.autorun')}: ${word('session', this.session.state)}. ${this.isActive() ? '' : (this.session.stop_reason?.message ?? '')}`);
    this.paint();
  }

  private paint(): void {
    const s = this.session;
    if (!s) return;
    fillIf(this.head, JSON.stringify([s.state, s.current_run_id, s.started_at, s.ended_at]), () => [
      h(
        'div',
        { class: 'row wrap facts' },
        chip(word('session', s.state), stateTone(s.state), s.state),
        s.started_at ? h('span', null, t('run.started', { at: moment(s.started_at) })) : null,
        s.started_at ? h('span', null, t('run.elapsed'), ' ', elapsed(s.started_at, this.isActive() ? null : s.ended_at)) : null,
      ),
      this.isActive() ? this.running(s) : null,
    ]);
    fillIf(this.form, String(this.isActive()), () => (this.isActive() ? null : this.starter()));
    fillIf(this.body, JSON.stringify([s.counters, s.stop_reason, s.skipped, s.usage, s.provider_wait, this.kept, s.started_at === null, s.state]), () => [
      this.isActive() || !s.stop_reason ? null : this.reason(s),
      s.started_at ? this.counters(s) : h('p', { class: 'muted' }, t('auto.none')),
      waitsText(s.provider_wait),
      s.usage ? h('p', null, usageText(s.usage)) : null,
      this.listed(t('auto.kept'), this.kept.slice(0, 50)),
      this.listed(t('auto.skipped'), s.skipped ?? []),
    ]);
    this.paintPicture();
  }

  private listed(title: string, list: readonly Excluded[]): Child {
    if (list.length === 0) return null;
    return h('section', { class: 'card' }, h('h2', null, title), h('ul', { class: 'plain-list' }, list.map((k) => h('li', null, requestLink(k.request_id), ' ', k.detail, ' ', h('span', { class: 'code-name' }, k.reason_code)))));
  }

  private running(s: Session): Child {
    return h(
      'div',
      { class: 'card now' },
      s.current_request_id ? h('p', null, t('auto.now'), ': ', requestLink(s.current_request_id)) : null,
      h(
        'div',
        { class: 'row wrap' },
        s.current_request_id && s.current_run_id ? link(runAt(s.current_request_id, s.current_run_id), t('auto.open'), { class: 'btn primary', 'data-key': 'open' }) : null,
        s.state === 'STOPPING' ? null : button(t('auto.stop'), () => this.stop(false), { 'data-key': 'stop' }),
        button(t('auto.stop_now'), () => this.stop(true), { class: 'btn danger', 'data-key': 'stop-now' }),
      ),
    );
  }

  private starter(): Child {
    const form = h(
      'form',
      { class: 'card' },
      h('div', { class: 'row wrap end-line' }, field(t('auto.max_runs'), this.maxRuns), field(t('auto.max_minutes'), this.maxMinutes), field(t('auto.max_cost'), this.maxCost), field(t('auto.until'), this.until), h('label', null, this.stack, ' ', t('auto.stack'))),
      h('div', { class: 'row wrap' }, button(t('auto.start'), () => this.start(), { type: 'submit', class: 'btn primary', 'data-key': 'start' }), button(t('list.run_next'), () => runNext(this.go), { 'data-key': 'next' })),
    );
    form.addEventListener('submit', (e) => e.preventDefault()); // Enter presses the button
    return form;
  }

  private reason(s: Session): Child {
    const r = s.stop_reason;
    if (!r) return null;
    const last = s.last_result;
    const needs = s.counters.needs_input + s.counters.failed > 0;
    const bad = needs || (s.state !== 'COMPLETED' && r.reason_code !== 'STOP_REQUESTED');
    return h(
      'section',
      { class: `card reason ${bad ? 'ask' : 'good'}` },
      h('h2', null, t('auto.reason')),
      h('p', null, withCode(r.message)),
      h('p', { class: 'code-name' }, r.reason_code),
      actionsList(r.actions),
      last && last.state !== 'DONE' ? h('p', null, link(runAt(last.request_id, last.run_id), `${last.request_id} · ${endedAs(last.state)}`, { class: 'btn' })) : null,
    );
  }

  private counters(s: Session): Child {
    const c = s.counters;
    const one = (label: string, n: number, cls: string) => h('div', { class: `counter ${n > 0 ? cls : ''}` }, h('b', null, n), h('span', null, label));
    return h('div', { class: 'counters' }, one(t('auto.runs'), c.runs, 'now'), one(t('auto.done'), c.done, 'good'), one(t('auto.needs'), c.needs_input, 'ask'), one(t('auto.failed'), c.failed, 'bad'), one(t('auto.skips'), c.skips, 'quiet'));
  }

  private paintPicture(): void {
    const s = this.session;
    if (!s?.started_at) {
      fill(this.strip);
      fill(this.picture);
      this.picture.hidden = true;
      return;
    }
    if (this.picture.contains(document.activeElement) || this.strip.contains(document.activeElement)) return; // nobody loses the place
    this.picture.hidden = false;
    const night = nightOf(s, this.isActive());
    fill(this.strip, h('p', null, h('strong', null, nightSentence(s))), nightStrip(night.lanes, night.href, night.start, night.end));
    fill(this.picture, h('h2', null, t('auto.timeline')), timelinePicture(night.lanes, night.href, night.start, night.end));
  }

  private async start(): Promise<void> {
    const body = {
      ...(this.maxRuns.value === '' ? {} : { max_runs: Number(this.maxRuns.value) }),
      ...(this.maxMinutes.value === '' ? {} : { max_minutes: Number(this.maxMinutes.value) }),
      ...(this.maxCost.value === '' ? {} : { max_cost: Number(this.maxCost.value) }),
      ...(this.until.value === '' ? {} : { until: this.until.value }),
      ...(this.stack.checked ? { stack: true } : {}),
    };
    try {
      this.session = (await call<Session>('POST', '/autorun/start', body)).data;
      this.paint();
    } catch (e) {
      if (!toWhatIsInTheWay(this.go, e)) throw e;
    }
  }

  private async stop(now: boolean): Promise<void> {
    await stopQueue(now);
    await this.reload.now();
  }
}
