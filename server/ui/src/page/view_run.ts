import { landRun, resumeRun, stopRun, type Go } from './actions.js';
import { get, runPath, type RunDetail, type RunLog, type Stage, type Step } from './api.js';
import { DiffView } from './diff_view.js';
import { fill, fillIf, h, type Child } from './dom.js';
import { duration, moment, size } from './format.js';
import { t, word } from './i18n.js';
import { coalesced, type LiveEvent } from './live.js';
import { Following, LogView } from './log_view.js';
import { renderMarkdown } from './markdown_view.js';
import { button, chip, copyButton, elapsed, errorCard, errorOf, link, requestLink, stateTone, tell, toast, showTitle, usageText, type Tone, type View } from './parts.js';
import { requestAt, runAt, type RunTab } from './router.js';
import { placeOf, type LogPlace } from './run_logs.js';
import { answerForm } from './run_answer.js';
import { attemptBegan, isAsking, isStopped, outcome, showTail, spine, stateOf, tellingLog, type RunActions } from './run_top.js';
import { runLanes } from './timeline.js';
import { timelinePicture } from './timeline_view.js';

const tabs: readonly RunTab[] = ['steps', 'diff', 'report', 'logs', 'timeline'];
const ended = ['DONE', 'FAILED', 'NEEDS_INPUT'];

interface StepBox {
  readonly el: HTMLElement;
  readonly head: HTMLElement;
  readonly facts: HTMLElement;
  readonly logs: HTMLElement;
  open: boolean | undefined;
}

export class RunView implements View {
  readonly el = h('div', { class: 'view run' });
  private run: RunDetail | undefined;
  private readonly bar = h('div', { class: 'spine' });
  private readonly facts = h('div');
  private readonly reason = h('div');
  private readonly tail = h('div');
  private readonly answer = h('div');
  private readonly actions: RunActions = {
    way: (verb) => this.resume(verb),
    stop: () => stopRun(this.id, this.runID),
    merge: () => landRun(this.go, this.id, this.run?.stage.git.base_branch ?? ''),
    log: (name) => this.showLog(name),
  };
  private readonly tabBar = h('div', { class: 'tabs', role: 'navigation', 'aria-label': t('run.run') });
  private readonly main = h('div', { class: 'tab-body' });
  private readonly rail = h('nav', { class: 'rail', 'aria-label': t('run.tab_steps') });
  private readonly boxes = new Map<string, StepBox>();
  private readonly views = new Map<string, LogView>();
  private readonly wished = new Map<string, boolean>();
  private readonly sizes = new Map<string, number>();
  private readonly following = new Following();
  private readonly reload = coalesced(() => this.load(), 30);
  private readonly restage = coalesced(() => this.loadStage(), 20);
  private readonly diff: DiffView;
  private timer = 0;
  private asked = '';
  private isGone = false;

  constructor(
    private readonly go: Go,
    private readonly id: string,
    private readonly runID: string,
    private tab: RunTab,
  ) {
    this.diff = new DiffView(id, runID, () => this.isLive());
    this.lay();
    if (tab === 'diff') this.diff.prefetch();
    void this.reload.now().catch((e: unknown) => this.fail(e));
    // Nobody tells of files that a step writes, nor that time goes on.
    this.timer = window.setInterval(() => ['timeline', 'diff'].includes(this.tab) && this.isLive() && !document.hidden && this.paintMain(), 3_000);
  }

  private lay(): void {
    fill(
      this.el,
      h('p', { class: 'crumbs' }, link('/', t('nav.requests')), ' › ', requestLink(this.id), ' › ', h('span', { class: 'id' }, this.runID)),
      this.bar,
      h('div', { class: 'with-rail' }, this.rail, h('div', null, this.reason, this.facts, this.tabBar, this.main)),
    );
  }

  title = (): string => {
    const r = this.run;
    if (!r) return `${this.id} · ${this.runID}`;
    return `${r.locked ? `● ${r.stage.progress.percent}%` : isStopped(r) ? '!' : r.stage.state === 'DONE' ? '✓' : ''} ${r.stage.title || this.id} · ${stateOf(r).text}`.trim();
  };

  tone = (): Tone => (this.run ? stateOf(this.run).tone : 'quiet');

  readonly keys = {
    End: () => {
      const open = [...this.views.values()].at(-1);
      if (open) open.toEnd();
      else window.scrollTo(0, document.body.scrollHeight);
    },
    f: () => this.log()?.follow(),
    '/': () => this.log()?.find(),
    n: () => this.log()?.step(1),
    N: () => this.log()?.step(-1),
  };

  /** The log that a key is meant for: the one of the address, else the one of which most is seen. */
  private log(): LogView | undefined {
    const all = [...this.views.values()];
    const asked = this.views.get(logOf(location.hash).name);
    if (asked && seenOf(asked.el) > 0) return asked;
    return all.toSorted((a, b) => seenOf(a.el) - seenOf(b.el)).at(-1);
  }

  /** The other tabs of the same run. */
  show(tab: RunTab): void {
    this.tab = tab;
    this.paint();
  }

  is(id: string, run: string): boolean {
    return this.id === id && this.runID === run && !this.isGone;
  }

  close(): void {
    clearInterval(this.timer);
    for (const v of this.views.values()) v.close();
  }

  onEvent(e: LiveEvent): void {
    if (e.kind === 'log') {
      if (e.data['run_id'] === this.runID) this.grown(String(e.data['name']), Number(e.data['size']));
      return;
    }
    if (e.kind === 'stage') {
      if (e.data['run_id'] !== this.runID) return;
      const state = String(e.data['state']);
      if (this.run?.locked && state === this.run.stage.state && !ended.includes(state)) this.restage();
      else this.reload();
      return;
    }
    if ((e.kind === 'lock' || e.kind === 'queue') && e.data['request_id'] && e.data['request_id'] !== this.id) return;
    this.reload();
  }

  private isLive(): boolean {
    return this.run !== undefined && this.run.locked !== null;
  }

  private async load(): Promise<void> {
    const run = this.notOlder(await get<RunDetail>(runPath(this.id, this.runID)));
    for (const l of run.logs) this.sizes.set(l.name, Math.max(l.size, this.sizes.get(l.name) ?? 0));
    for (const [name, v] of this.views) v.grown(this.sizes.get(name) ?? 0);
    const first = this.run === undefined;
    if (this.isLive() && run.locked === null) this.tellEnd(run);
    if (this.run) this.tellState(run);
    this.run = run;
    if (this.isGone) this.lay(); // it did not answer, and does now
    this.isGone = false;
    if (first) this.toPlace();
    this.paint();
  }

  /** An answer may be older than what was told since it was asked for. */
  private notOlder(run: RunDetail): RunDetail {
    const logs = [...this.sizes].filter(([name]) => !run.logs.some((l) => l.name === name)).map(([name, size]) => ({ path: name, name, type: '', size }));
    const stage = this.run && this.run.stage.seq > run.stage.seq ? this.run.stage : run.stage;
    return { ...run, stage, logs: [...run.logs, ...logs] };
  }

  private tellState(r: RunDetail): void {
    const { text: state } = stateOf(r);
    if (r.stage.state !== this.run?.stage.state || r.interrupted !== this.run.interrupted) tell(`${this.id}: ${state}. ${r.stage.error?.title ?? ''}`);
  }

  /** Who reads a log far below hears of the end without being moved. */
  private tellEnd(r: RunDetail): void {
    if (window.scrollY < 200) return;
    const { text: state } = stateOf(r);
    const top = button('↑', () => window.scrollTo(0, 0), { class: 'btn small', 'aria-label': t('run.to_top') });
    toast([h('strong', null, state), ' ', r.stage.error?.title ?? '', ' ', top], r.interrupted ? 'warn' : stateTone(r.stage.state));
  }

  /** A step or a log in the address is opened and shown. */
  private toPlace(): void {
    const mark = safeDecode(location.hash.slice(1));
    const { name: log, line } = logOf(location.hash);
    const step = log !== '' ? placeOf(log, this.run?.stage.steps ?? [])?.step : mark;
    if (log !== '') this.wished.set(log, true);
    if (line > 0) requestAnimationFrame(() => void this.views.get(log)?.goTo(line));
    if (!step || !/^S\d+$/.test(step)) return;
    this.asked = step;
    if (line === 0) requestAnimationFrame(() => document.getElementById(step)?.scrollIntoView({ block: 'start' }));
  }

  private mark(what: string): void {
    history.replaceState(null, '', `${location.pathname}${location.search}#${encodeURIComponent(what).replaceAll('%2F', '/').replace('%3D', '=').replace('%3A', ':')}`);
  }

  private async loadStage(): Promise<void> {
    const { stage } = await get<{ stage: Stage }>(`${runPath(this.id, this.runID)}/stage`);
    if (!this.run || stage.seq < this.run.stage.seq) return;
    const run = { ...this.run, stage };
    this.tellState(run);
    this.run = run;
    this.paint();
  }

  private fail(e: unknown): void {
    this.isGone = true;
    fill(this.el, h('h1', null, this.runID), errorCard(errorOf(e), 'bad'), link(requestAt(this.id), this.id, { class: 'btn' }));
  }

  private grown(name: string, bytes: number): void {
    this.sizes.set(name, bytes);
    this.views.get(name)?.grown(bytes);
    if (this.run && !this.run.logs.some((l) => l.name === name)) {
      this.run = this.notOlder(this.run);
      this.paintMain();
    }
  }

  private paint(): void {
    const run = this.run;
    if (!run) return;
    this.el.dataset['tab'] = this.tab; // beside the steps the reason stands in short
    showTitle(this);
    this.paintHead(run);
    this.paintReason(run);
    this.paintRail(run);
    fillIf(this.tabBar, JSON.stringify([this.tab, run.logs.length]), () =>
      tabs.map((tab) => link(runAt(this.id, this.runID, tab), t(`run.tab_${tab}`), { class: 'tab', 'aria-current': tab === this.tab ? 'page' : null, 'data-key': 'tab-' + tab })),
    );
    this.paintMain();
  }

  private paintHead(r: RunDetail): void {
    const s = r.stage;
    fillIf(this.bar, JSON.stringify([s.title, s.state, s.current_step_id, s.progress, s.dropped_at, s.steps?.map((x) => x.status), r.locked, r.interrupted, r.advice, isAsking(r)]), () => spine(r, this.actions, isAsking(r)));
    const key = JSON.stringify([s.state, s.git.stacked_on, s.ended_at, s.replaced_by, s.replaces, s.git.work_branch, s.landed, r.locked, r.compare_url, r.warnings, s.locks, r.usage]);
    fillIf(this.facts, key, () => [
      h(
        'div',
        { class: 'row wrap facts' },
        r.warnings.map((w) => chip(word('warning', w), 'ask', w)),
        h('span', null, t('run.started', { at: moment(s.started_at) })),
        h('span', null, t('run.worked'), ' ', r.locked && s.state !== 'DONE' ? elapsed(new Date(Date.now() - r.worked_ms).toISOString(), null) : h('span', { class: 'elapsed' }, duration(r.worked_ms))),
        usageText(r.usage),
        s.git.work_branch ? h('span', { class: 'branch' }, h('code', null, s.git.work_branch), ' ', copyButton(s.git.work_branch)) : null,
        s.landed?.at ? h('span', { class: 'landed' }, t('run.landed', { into: s.landed.into, commit: s.landed.commit.slice(0, 10), at: moment(s.landed.at) })) : null,
        r.compare_url ? link(r.compare_url, t('run.compare'), { target: '_blank', rel: 'noopener noreferrer' }) : null,
        (s.git.stacked_on ?? []).length > 0 ? h('span', { class: 'stands-on' }, t('run.stands_on'), (s.git.stacked_on ?? []).map((on) => [' ', link(runAt(on.request_id, on.run_id), on.request_id, { 'data-key': 'on:' + on.run_id })])) : null,
        s.replaced_by ? h('span', null, t('run.replaced_by'), ' ', link(runAt(this.id, s.replaced_by), s.replaced_by, { 'data-key': 'by' })) : null,
        s.replaces ? h('span', null, t('run.replaces'), ' ', link(runAt(this.id, s.replaces), s.replaces, { 'data-key': 'of' })) : null,
      ),
      this.locks(r),
    ]);
  }

  /** The steps, beside everything else where there is room. */
  private paintRail(r: RunDetail): void {
    const steps = r.stage.steps ?? [];
    fillIf(this.rail, JSON.stringify([steps.map((s) => [s.step_id, s.title, s.status, s.attempt, s.started_at, s.ended_at]), r.locked === null, r.interrupted]), () =>
      h(
        'ol',
        { class: 'plain-list' },
        steps.map((s) => {
          const stopped = s.status === 'RUNNING' && r.interrupted;
          const said = stopped ? t('run.interrupted') : word('step', s.status);
          return h(
            'li',
            null,
            link(`${runAt(this.id, this.runID)}#${s.step_id}`, [h('i', { class: stopped ? 'ask' : stateTone(s.status), role: 'img', 'aria-label': said, title: said }), h('span', { class: 'rail-title', title: s.title }, s.title)], { 'data-key': 'rail:' + s.step_id, onclick: (e: Event) => this.toStep(e, s.step_id) }),
            h('span', { class: 'muted' }, s.attempt > 1 ? h('span', { title: t('run.attempt', { n: s.attempt }) }, `×${s.attempt} `) : null, this.took(r, s)),
          );
        }),
      ),
    );
  }

  private toStep(e: Event, id: string): void {
    e.preventDefault();
    if (this.tab !== 'steps') this.go(runAt(this.id, this.runID));
    this.mark(id);
    this.asked = id;
    const box = this.boxes.get(id);
    if (box) box.open = true;
    this.paintMain();
    requestAnimationFrame(() => document.getElementById(id)?.scrollIntoView({ block: 'start' }));
  }

  /** How long the attempt in hand took, or takes. */
  private took(r: RunDetail, s: Step): HTMLElement {
    const running = s.status === 'RUNNING' && r.locked !== null;
    return elapsed(attemptBegan(r.stage, s), s.ended_at ?? (running ? null : s.started_at && r.stage.updated_at));
  }

  private locks(r: RunDetail): Child {
    const held = [r.stage.locks.request_lock, r.stage.locks.queue_lock].filter((l) => l?.held && r.locked !== null);
    if (held.length === 0) return null;
    const at = r.locked;
    return h('p', { class: 'muted' }, t('run.locks'), ': ', held.map((l) => [h('code', { title: l?.path }, l?.path.split('/').pop()), ' ']), at ? `pid ${at.pid} @ ${at.hostname || at.host}` : '');
  }

  private paintReason(r: RunDetail): void {
    const s = r.stage;
    const key = JSON.stringify([s.error, s.state, r.errors, r.interrupted, r.locked === null, r.waits, isStopped(r), r.advice, s.replaced_by, s.dropped_at, s.git, s.current_step_id]);
    const asks = isAsking(r);
    fillIf(this.answer, asks ? JSON.stringify(r.errors?.questions) : '', () => (asks ? answerForm(this.go, r) : null));
    fillIf(this.reason, key, () => outcome(r, this.actions, this.tail, asks ? this.answer : null));
    const log = isStopped(r) ? tellingLog(r) : undefined;
    fillIf(this.tail, log ? `${log.name} ${log.size}` : '', () => null);
    if (log && this.tail.childElementCount === 0) void showTail(this.tail, r, log).catch(() => undefined); // the log itself says what is wrong
  }

  /** What was shown may be of before: the workspace tells nobody that it was changed. */
  private async resume(verb: string, back?: string): Promise<void> {
    await this.reload.now();
    const way = this.run?.advice.find((a) => a.verb === verb);
    if (way?.allowed) await resumeRun(this.go, this.id, this.runID, way, back);
  }

  private showLog(name: string): void {
    const place = placeOf(name, this.run?.stage.steps ?? []);
    this.wished.set(name, true);
    const box = place ? this.boxes.get(place.step) : undefined;
    if (box) box.open = true;
    this.go(runAt(this.id, this.runID, place ? 'steps' : 'logs'));
    this.paintMain();
    requestAnimationFrame(() => this.views.get(name)?.el.scrollIntoView({ block: 'start' }));
  }

  private paintMain(): void {
    const run = this.run;
    if (!run) return;
    for (const v of this.views.values()) v.setLive(this.isLive());
    if (this.tab !== 'steps' && this.tab !== 'logs') this.dropViews();
    if (this.main.dataset['tab'] !== this.tab) {
      this.dropViews();
      this.boxes.clear();
      fill(this.main);
      fillIf(this.main, '', () => null);
      this.main.dataset['tab'] = this.tab;
    }
    switch (this.tab) {
      case 'steps':
        this.paintSteps(run);
        break;
      case 'logs':
        this.paintLogs(run);
        break;
      case 'diff':
        if (!this.diff.el.isConnected) fill(this.main, this.diff.el);
        void this.diff.load().catch((e: unknown) => fill(this.main, errorCard(errorOf(e), 'warn')));
        break;
      case 'report':
        fillIf(this.main, 'report' + run.report.markdown, () =>
          run.report.markdown.trim() === ''
            ? h('p', { class: 'muted' }, t('run.no_report'))
            : [h('section', { class: 'card text' }, renderMarkdown(run.report.markdown, (shown, all) => t('common.cut', { shown, all }))), h('p', { class: 'muted' }, h('code', null, run.report.path))],
        );
        break;
      case 'timeline': {
        const s = run.stage;
        const now = this.isLive() ? Date.now() : undefined;
        fill(this.main, h('section', { class: 'card' }, timelinePicture(runLanes(s.history ?? [], s.steps ?? [], now), () => undefined, Date.parse(s.started_at), Date.parse(s.ended_at ?? '') || now)), this.events(s));
      }
    }
  }

  private events(s: Stage): Child {
    return h(
      'ol',
      { class: 'plain-list history' },
      (s.history ?? []).map((e) => h('li', null, h('span', { class: 'muted' }, moment(e.at)), ' ', h('strong', { title: e.event }, word('event', e.event)), ' ', e.step_id ?? '', ' ', e.reason_code ? h('span', { class: 'code-name' }, e.reason_code) : null)),
    );
  }

  private dropViews(): void {
    for (const v of this.views.values()) v.close();
    this.views.clear();
  }

  private paintSteps(r: RunDetail): void {
    const steps = r.stage.steps ?? [];
    if (steps.length === 0) {
      fillIf(this.main, 'none', () => h('p', { class: 'muted' }, t('run.no_steps')));
      return;
    }
    fillIf(this.main, 'steps', () => null);
    for (const id of [...this.boxes.keys()]) {
      if (!steps.some((s) => s.step_id === id)) {
        this.boxes.get(id)?.el.remove();
        this.boxes.delete(id);
      }
    }
    for (const step of steps) this.paintStep(r, step);
  }

  private box(step: Step): StepBox {
    let box = this.boxes.get(step.step_id);
    if (!box) {
      const head = h('button', { type: 'button', class: 'step-head' });
      const [facts, logs] = [h('div'), h('div')];
      const made: StepBox = { el: h('section', { class: 'step', id: step.step_id }, h('h2', null, head), h('div', { class: 'step-body' }, facts, logs)), head, facts, logs, open: step.step_id === this.asked ? true : undefined };
      head.addEventListener('click', () => {
        made.open = !made.el.classList.contains('open');
        this.mark(step.step_id);
        if (this.run) this.paintSteps(this.run);
      });
      this.boxes.set(step.step_id, made);
      this.main.append(made.el);
      box = made;
    }
    return box;
  }

  private paintStep(r: RunDetail, step: Step): void {
    const box = this.box(step);
    const current = step.step_id === r.stage.current_step_id && r.stage.state !== 'DONE';
    const open = box.open ?? (['RUNNING', 'NEEDS_INPUT', 'FAILED'].includes(step.status) || (current && step.status !== 'DONE'));
    box.el.className = `step ${step.status === 'RUNNING' && r.interrupted ? 'ask' : stateTone(step.status)}${open ? ' open' : ''}`;
    box.head.setAttribute('aria-expanded', String(open));
    const running = step.status === 'RUNNING' && r.locked !== null;
    const stopped = step.status === 'RUNNING' && r.interrupted;
    fillIf(box.head, JSON.stringify([step.title, step.status, step.attempt, step.started_at, step.ended_at, running, stopped]), () => [
      h('span', { class: 'step-id' }, step.step_id),
      h('span', { class: 'step-title' }, step.title),
      step.attempt > 1 ? h('span', { class: 'muted' }, t('run.attempt', { n: step.attempt })) : null,
      this.took(r, step),
      stopped ? chip(t('run.interrupted'), 'ask') : chip(word('step', step.status), stateTone(step.status), step.status),
    ]);
    if (!open) {
      this.paintStepLogs(box, []);
      fillIf(box.facts, '', () => null);
      return;
    }
    const back = r.earlier_steps.includes(step.step_id) ? r.advice.find((a) => a.mode === 'retry_step' && a.allowed) : undefined;
    fillIf(box.facts, JSON.stringify([step.summary, step.diff_stat, step.test, step.error, back]), () => [
      this.stepFacts(step),
      back ? h('p', null, button(t('run.go_back'), () => this.resume(back.verb, step.step_id), { class: 'btn small', 'data-key': 'back:' + step.step_id })) : null,
    ]);
    const logs = r.logs
      .map((log) => ({ log, place: placeOf(log.name, r.stage.steps ?? []) }))
      .filter((l) => l.place?.step === step.step_id)
      .sort((a, b) => (a.place?.attempt ?? 0) - (b.place?.attempt ?? 0));
    this.paintStepLogs(box, logs.map((l) => l.log), logs.map((l) => this.logLabel(step, l.place)));
  }

  private logLabel(step: Step, place: LogPlace | undefined): string {
    const kind = word('log_kind', place?.kind ?? '');
    if (place?.attempt) return `${kind} · ${t('run.attempt', { n: place.attempt })}`;
    return step.attempt > 1 ? `${kind} · ${t('run.attempts', { n: step.attempt })}` : kind;
  }

  private stepFacts(step: Step): Child {
    const tests = Object.entries(step.test).filter(([, v]) => v && v.status !== 'NOT_RUN');
    const d = step.diff_stat;
    return [
      step.summary && step.summary !== step.title ? h('p', null, step.summary) : null,
      h(
        'div',
        { class: 'row wrap facts' },
        d.files_changed > 0 ? link(runAt(this.id, this.runID, 'diff'), t('run.lines_changed', { files: d.files_changed, added: d.lines_added, deleted: d.lines_deleted })) : null,
        tests.map(([kind, v]) => chip(`${word('test_kind', kind)}: ${word('test', v.status)}${v.duration_ms != null ? ' ' + duration(v.duration_ms) : ''}`, v.status === 'PASS' ? 'good' : v.status === 'FAIL' ? 'bad' : 'quiet', v.command ?? '')),
      ),
      tests.map(([, v]) => (v.failed_summary ? h('pre', { tabindex: 0 }, v.failed_summary) : null)),
    ];
  }

  /** Attempts as one list; the latest log is open, others when asked for. */
  private paintStepLogs(box: StepBox, logs: readonly RunLog[], labels: readonly string[] = []): void {
    const written = logs.filter((l) => (this.sizes.get(l.name) ?? l.size) > 0);
    const last = written.at(-1) ?? logs.at(-1);
    for (const el of [...box.logs.children]) {
      const name = (el as HTMLElement).dataset['log'] ?? '';
      if (!logs.some((l) => l.name === name)) this.removeLog(el, name);
    }
    logs.forEach((log, n) => this.logFold(box.logs, log, labels[n] ?? log.name, this.wished.get(log.name) ?? log === last));
  }

  private removeLog(el: Element, name: string): void {
    this.views.get(name)?.close();
    this.views.delete(name);
    el.remove();
  }

  private logFold(into: HTMLElement, log: RunLog, label: string, open: boolean, aside = log.name): void {
    let el = [...into.children].find((c) => (c as HTMLElement).dataset['log'] === log.name) as HTMLElement | undefined;
    if (!el) {
      const head = h('button', { type: 'button', class: 'log-name' }, h('span', null, label), h('span', { class: 'muted' }, aside));
      el = h('div', { class: 'log-fold', 'data-log': log.name }, head);
      head.addEventListener('click', () => {
        this.wished.set(log.name, !this.views.has(log.name));
        this.mark('log=' + log.name);
        this.paintMain();
      });
      into.append(el);
    }
    el.firstElementChild?.setAttribute('aria-expanded', String(open));
    const said = el.querySelector('.log-name > span');
    if (said && said.textContent !== label) said.textContent = label; // another attempt was added
    const view = this.views.get(log.name);
    if (open && !view) {
      const made = new LogView(this.id, this.runID, log.name, Math.max(log.size, this.sizes.get(log.name) ?? 0), this.following, (line) => this.mark(`log=${log.name}:${line}`));
      this.views.set(log.name, made);
      made.setLive(this.isLive());
      el.append(made.el);
    } else if (!open && view) {
      view.close();
      view.el.remove();
      this.views.delete(log.name);
    }
  }

  private paintLogs(r: RunDetail): void {
    if (r.logs.length === 0) {
      fillIf(this.main, 'none', () => h('p', { class: 'muted' }, t('run.no_logs')));
      return;
    }
    fillIf(this.main, 'logs', () => null);
    for (const log of r.logs) this.logFold(this.main, log, log.name, this.wished.get(log.name) ?? log.name === 'runner.log', size(this.sizes.get(log.name) ?? log.size));
  }
}

/** How many px of it are in the window. */
function seenOf(el: Element): number {
  const r = el.getBoundingClientRect();
  return Math.max(0, Math.min(r.bottom, window.innerHeight) - Math.max(r.top, 0));
}

/** `#log=NAME`, or `#log=NAME:LINE`. */
function logOf(hash: string): { name: string; line: number } {
  const m = /^log=(.+?)(?::(\d+))?$/.exec(safeDecode(hash.slice(1)));
  return { name: m?.[1] ?? '', line: Number(m?.[2] ?? 0) };
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
