import { isWay, resumeRun, runNext, stopQueue, toWhatIsInTheWay, type Go } from './actions.js';
import { call, get, runPath, type Excluded, type RunDetail, type Selection, type Session, type SessionResult } from './api.js';
import { fill, fillIf, h, type Child } from './dom.js';
import { duration, moment } from './format.js';
import { t, word } from './i18n.js';
import { coalesced, type LiveEvent } from './live.js';
import { actionsList, button, chip, elapsed, endedAs, field, link, requestLink, showError, stateTone, tell, usageText, waitsText, withCode, type View } from './parts.js';
import { runAt } from './router.js';
import { isAsking, verbText, wasAsked } from './run_top.js';
import { busy, nightLanes, turnLanes, type Lane } from './timeline.js';
import { nightStrip, timelinePicture } from './timeline_view.js';

const active = ['STARTING', 'SELECTING', 'RUNNING', 'STOPPING'];

/** The runs that a session has in hand. */
function inHand(s: Session): { request_id: string; run_id: string }[] {
  const turns = (s.turns ?? []).flatMap((turn) => (turn.until === undefined && turn.run_id ? [{ request_id: turn.request_id, run_id: turn.run_id }] : []));
  return turns.length === 0 && s.current_request_id && s.current_run_id ? [{ request_id: s.current_request_id, run_id: s.current_run_id }] : turns;
}

/** A session as a picture needs it. */
export function nightOf(s: Session, isActive: boolean): { lanes: Lane[]; start: number; end: number | undefined; href: (lane: { id: string }) => string | undefined } {
  const results = (s.results ?? []).map((r) => ({ ...r, outcome: endedAs(r.state) }));
  const turns = s.turns ?? [];
  const start = Date.parse(s.started_at ?? '');
  const now = isActive ? Date.now() : undefined;
  const before = results.at(-1);
  const current = s.current_request_id && now !== undefined ? { id: s.current_request_id, title: turns.findLast((turn) => turn.request_id === s.current_request_id)?.title, from: before ? Date.parse(before.ended_at) : start, now } : undefined;
  const last = now ?? (Date.parse(s.ended_at ?? '') || Math.max(start, ...turns.map((turn) => Date.parse(turn.until ?? turn.from))));
  return {
    lanes: turns.some((turn) => turn.slot > 1) ? turnLanes(turns, results, last, isActive) : nightLanes(results, current, start),
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
  const cut = night.lanes.flatMap((l) => l.bars).filter((b) => b.kind === 'ask' || b.kind === 'bad').length - c.needs_input - c.failed; // these have no counter
  return t('night.sum', { done: c.done, needs: c.needs_input, failed: c.failed, more: cut > 0 ? t('night.cut', { n: cut }) : '', busy: duration(busy(night.lanes)), span: duration((night.end ?? Date.now()) - night.start) });
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
  private readonly maxRuns = h('input', { type: 'number', min: 1, max: 10_000, class: 'short' });
  private readonly maxMinutes = h('input', { type: 'number', min: 1, max: 10_000, class: 'short' });
  private readonly maxCost = h('input', { type: 'number', min: 0.01, max: 1_000_000, step: 'any', class: 'short' });
  private readonly jobs = h('input', { type: 'number', min: 1, max: 64, class: 'short', 'data-key': 'jobs' });
  private readonly until = h('input', { type: 'time', class: 'short' });
  private readonly wrong = h('p', { class: 'wrong', role: 'alert' });
  private readonly stack = h('input', { type: 'checkbox' });
  private readonly reload = coalesced(() => this.load(), 60);
  private readonly timer = window.setInterval(() => this.isActive() && this.paintPicture(), 3_000);

  constructor(private readonly go: Go) {
    fill(this.el, h('h1', null, t('nav.autorun')), this.head, this.strip, this.body, this.form, this.picture);
    void this.reload.now().catch(showError);
    void this.showDefaults().catch(() => undefined); // the fields work without
  }

  /** What holds where nothing is typed. */
  private async showDefaults(): Promise<void> {
    const { values } = await get<{ values: readonly { key: string; value: unknown }[] }>('/config');
    for (const [el, key] of [[this.maxRuns, 'auto_run.max_runs_per_session'], [this.maxMinutes, 'auto_run.max_duration_min'], [this.jobs, 'limits.jobs']] as const) {
      const n = values.find((v) => v.key === key)?.value;
      if (typeof n === 'number' && n > 0) el.placeholder = String(n);
    }
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
    fillIf(this.head, JSON.stringify([s.state, inHand(s), s.started_at, s.ended_at]), () => [
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
    const at = inHand(s);
    const first = at[0];
    return h(
      'div',
      { class: 'card now' },
      at.map((turn) => h('p', null, t('auto.now'), ': ', requestLink(turn.request_id), at.length > 1 ? [' ', link(runAt(turn.request_id, turn.run_id), t('auto.open_one'))] : null)),
      h(
        'div',
        { class: 'row wrap' },
        first !== undefined && at.length === 1 ? link(runAt(first.request_id, first.run_id), t('auto.open'), { class: 'btn primary', 'data-key': 'open' }) : null,
        s.state === 'STOPPING' ? null : button(t('auto.stop'), () => this.stop(false), { 'data-key': 'stop' }),
        button(t('auto.stop_now'), () => this.stop(true), { class: 'btn danger', 'data-key': 'stop-now' }),
      ),
    );
  }

  private starter(): Child {
    const form = h(
      'form',
      { class: 'card' },
      h('div', { class: 'row wrap end-line' }, field(t('auto.max_runs'), this.maxRuns), field(t('auto.max_minutes'), this.maxMinutes), field(t('auto.max_cost'), this.maxCost), field(t('auto.until'), this.until), field(t('auto.jobs'), this.jobs), h('label', null, this.stack, ' ', t('auto.stack'))),
      this.wrong,
      h('div', { class: 'row wrap' }, button(t('auto.start'), () => this.start(), { type: 'submit', class: 'btn primary', 'data-key': 'start' }), button(t('list.run_next'), () => runNext(this.go), { 'data-key': 'next' })),
    );
    form.noValidate = true; // it says itself what is wrong, in the language of the page
    form.addEventListener('submit', (e) => e.preventDefault()); // Enter presses the button
    return form;
  }

  private reason(s: Session): Child {
    const r = s.stop_reason;
    if (!r) return null;
    const last = s.last_result;
    const said = h('p', null, withCode(r.message));
    const needs = s.counters.needs_input + s.counters.failed > 0;
    const bad = needs || (s.state !== 'COMPLETED' && r.reason_code !== 'STOP_REQUESTED');
    return h(
      'section',
      { class: `card reason ${bad ? 'ask' : 'good'}` },
      h('h2', null, t('auto.reason')),
      said,
      h('p', { class: 'code-name' }, r.reason_code),
      last && last.state !== 'DONE' ? h('p', { class: 'row wrap' }, this.verb(last, r.reason_code === 'INTERRUPTED' ? said : undefined), link(runAt(last.request_id, last.run_id), `${last.request_id} · ${endedAs(last.state)}`, { class: 'btn' })) : null,
      actionsList(r.actions),
    );
  }

  /** The one thing to do with what it stopped at, as its own page offers it. */
  private verb(last: SessionResult, said: HTMLElement | undefined): HTMLElement {
    const place = h('span');
    void get<RunDetail>(runPath(last.request_id, last.run_id))
      .then((r) => {
        if (said && wasAsked(r.stage)) fill(said, t('run.stopped_hint'));
        const best = isAsking(r) ? undefined : r.advice.find((a) => a.recommended && isWay(a) && a.allowed);
        if (best) fill(place, button(verbText(best), () => resumeRun(this.go, last.request_id, last.run_id, best), { class: 'btn primary', 'aria-label': `${verbText(best)}: ${last.title}`, 'data-key': 'verb' }));
      })
      .catch(() => undefined); // its page says what is wrong
    return place;
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
    const odd = [this.maxRuns, this.maxMinutes, this.maxCost, this.jobs].find((el) => !el.validity.valid);
    for (const el of [this.maxRuns, this.maxMinutes, this.maxCost, this.jobs]) el.removeAttribute('aria-invalid');
    odd?.setAttribute('aria-invalid', 'true');
    odd?.closest('label')?.append(this.wrong); // said where it is wrong
    this.wrong.textContent = odd ? t('auto.bounds', { field: odd.closest('label')?.querySelector('span')?.textContent ?? '', min: odd.min, max: odd.max }) : '';
    if (odd) return odd.focus();
    const body = {
      ...(this.maxRuns.value === '' ? {} : { max_runs: Number(this.maxRuns.value) }),
      ...(this.maxMinutes.value === '' ? {} : { max_minutes: Number(this.maxMinutes.value) }),
      ...(this.maxCost.value === '' ? {} : { max_cost: Number(this.maxCost.value) }),
      ...(this.until.value === '' ? {} : { until: this.until.value }),
      ...(this.jobs.value === '' ? {} : { jobs: Number(this.jobs.value) }),
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
