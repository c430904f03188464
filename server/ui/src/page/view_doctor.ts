import { call, get, type Check, type DoctorReport, type LockItem } from './api.js';
import { fill, h, type Child } from './dom.js';
import { moment } from './format.js';
import { t, word } from './i18n.js';
import { coalesced, type LiveEvent } from './live.js';
import { button, chip, commands, errorCard, errorOf, link, lockMeans, requestLink, showError, waysOut, withCode, type Tone, type View } from './parts.js';
import { runAt } from './router.js';

export class DoctorView implements View {
  readonly el = h('div', { class: 'view doctor' });
  private readonly report = h('div');
  private isKnown = false;
  private readonly locks = h('section', { class: 'card' });
  private readonly reloadLocks = coalesced(() => this.loadLocks(), 100);

  constructor() {
    fill(
      this.el,
      h('h1', null, t('nav.doctor')),
      h(
        'div',
        { class: 'row wrap' },
        button(t('doctor.quick'), () => this.examine('quick', false), { class: 'btn primary' }),
        button(t('doctor.full'), () => this.examine('full', false)),
        button(t('doctor.fix'), () => this.examine('full', true)),
      ),
      this.report,
      this.locks,
    );
    this.look();
    void this.reloadLocks.now().catch(showError);
  }

  title = (): string => t('nav.doctor');

  onEvent(e: LiveEvent): void {
    if (['lock', 'queue', 'reset'].includes(e.kind)) this.reloadLocks();
    if (e.kind === 'reset' && !this.isKnown) this.look();
  }

  private look(): void {
    fill(this.report, h('p', { class: 'muted' }, t('doctor.running')));
    get<DoctorReport>('/doctor')
      .then((r) => this.paint(r))
      .catch((e: unknown) => fill(this.report, errorCard(errorOf(e), 'ask')));
  }

  private async examine(mode: string, fix: boolean): Promise<void> {
    fill(this.report, h('p', { class: 'muted', role: 'status' }, t('doctor.running')));
    this.paint((await call<DoctorReport>('POST', '/doctor', { mode, fix })).data);
    await this.loadLocks();
  }

  private paint(r: DoctorReport): void {
    this.isKnown = true;
    const rank = (s: string) => ['FAIL', 'WARN', 'PASS'].indexOf(s);
    const checks = [...r.checks].sort((a, b) => rank(a.status) - rank(b.status));
    const repairs = r.repairs ?? [];
    const passed = checks.filter((c) => c.status === 'PASS');
    fill(
      this.report,
      h(
        'p',
        { class: 'row wrap facts', role: 'status' },
        chip(word('check', r.summary.status), tone(r.summary.status), r.summary.status),
        r.summary.fail_count + r.summary.warn_count === 0 ? t('doctor.ok') : t('doctor.summary', { fail: r.summary.fail_count, warn: r.summary.warn_count }),
        h('span', { class: 'muted' }, t(r.mode === 'full' ? 'doctor.full' : 'doctor.quick')),
      ),
      repairs.length > 0 ? h('section', { class: 'card good' }, h('h2', null, t('doctor.repairs')), h('ul', null, repairs.map((x) => h('li', null, x.message ?? x.id ?? '')))) : null,
      listed(checks.filter((c) => c.status !== 'PASS')),
      passed.length > 0 ? h('details', { class: 'passed', open: passed.length === checks.length }, h('summary', null, t('doctor.passed', { n: passed.length })), listed(passed)) : null,
    );
  }

  private async loadLocks(): Promise<void> {
    const { items } = await get<{ items: LockItem[] }>('/locks');
    fill(
      this.locks,
      h('h2', null, t('locks.title')),
      items.length === 0
        ? h('p', { class: 'muted' }, t('locks.none'))
        : h(
            'ul',
            { class: 'plain-list' },
            items.map((l) =>
              h(
                'li',
                { class: 'row wrap' },
                chip(word('lock_type', l.lock_type), l.verdict === 'held' || l.verdict === 'mine' ? 'now' : 'warn', l.verdict),
                l.request_id ? requestLink(l.request_id) : null,
                l.request_id && l.run_id ? link(runAt(l.request_id, l.run_id), l.run_id) : l.run_id,
                h('span', null, lockMeans(l)),
                l.pid > 0 ? h('span', { class: 'muted' }, t('locks.of', { pid: l.pid, host: l.hostname || l.host }), l.created_at ? ` · ${moment(l.created_at)}` : '') : null,
                h('code', null, l.path),
                commands(l.advice ?? []),
              ),
            ),
          ),
    );
  }
}

function listed(checks: readonly Check[]): Child {
  if (checks.length === 0) return null;
  const one = (c: Check): Child =>
    h(
      'li',
      { class: `check ${tone(c.status)}` },
      chip(word('check', c.status), tone(c.status), c.status),
      h('div', null, h('strong', null, c.name || c.id), ' ', h('span', { class: 'code-name' }, c.id), h('p', null, withCode(c.message)), c.hint && c.status !== 'PASS' ? waysOut(c.hint.split('\n')) : null, evidence(c.evidence)),
    );
  return h('ul', { class: 'checks plain-list' }, checks.map(one));
}

function tone(status: string): Tone {
  return status === 'FAIL' ? 'bad' : status === 'WARN' ? 'ask' : status === 'PASS' ? 'good' : 'quiet';
}

function evidence(v: unknown): Child {
  if (v === null || v === undefined) return null;
  const text = typeof v === 'string' ? v : JSON.stringify(v, null, 2);
  if (['', '{}', '[]', 'null'].includes(text)) return null;
  return h('details', null, h('summary', null, t('doctor.evidence')), h('pre', { tabindex: 0 }, text.slice(0, 20_000)));
}
