/** What stands first on a run: the bar that stays, and why it stopped or what it came to. */
import { isWay } from './actions.js';
import { get, logPart, logPath, runPath, type Advice, type Diff, type RunDetail, type RunLog, type Stage, type Step } from './api.js';
import { fill, h, type Child } from './dom.js';
import { duration, moment } from './format.js';
import { t, word } from './i18n.js';
import { textOf, LogStore } from './log_store.js';
import { actionsList, button, chip, copyButton, elapsed, link, stateTone, waitsText, withCode, type Tone } from './parts.js';
import { runAt } from './router.js';
import { placeOf } from './run_logs.js';

const tailBytes = 32 * 1024;
const tailLines = 15;

/** What a person can do from here. */
export interface RunActions {
  readonly way: (verb: string) => Promise<void>;
  readonly stop: () => Promise<void>;
  readonly merge: () => Promise<void>;
  readonly log: (name: string) => void;
}

export const isStopped = (r: RunDetail): boolean => (r.stage.state === 'NEEDS_INPUT' || r.stage.state === 'FAILED' || r.interrupted) && r.locked === null;

/** Whether it waits for answers that can be given now. */
export const isAsking = (r: RunDetail): boolean => isStopped(r) && (r.errors?.questions ?? []).length > 0 && r.advice.some((a) => a.mode === 'resume' && a.allowed);

export const stateOf = (r: RunDetail): { text: string; tone: Tone } =>
  r.stage.dropped_at
    ? { text: t('run.dropped'), tone: 'quiet' }
    : r.interrupted
      ? { text: t('run.interrupted'), tone: 'ask' }
      : { text: word('state', r.stage.state), tone: stateTone(r.stage.state) };

/** Whether a person stopped it: nothing but its end was told since. */
export const wasAsked = (s: Stage): boolean => (s.history ?? []).findLast((e) => e.event !== 'INTERRUPTED')?.event === 'STOP_REQUESTED';

/** When the attempt in hand began: a step that waited for a person for a night did not work for a night. */
export function attemptBegan(s: Stage, step: Step): string | null {
  return (s.history ?? []).findLast((e) => e.step_id === step.step_id && ['STEP_START', 'RETRY', 'RESUMED'].includes(e.event))?.at ?? step.started_at;
}

/** The bar: state, title, step, progress, time of this attempt, and the one thing to do. */
export function spine(r: RunDetail, act: RunActions, asks: boolean): Child {
  const s = r.stage;
  const live = r.locked !== null;
  const { text, tone } = stateOf(r);
  const steps = s.steps ?? [];
  const n = s.state === 'DONE' ? -1 : steps.findIndex((x) => x.step_id === s.current_step_id);
  const step = steps[n];
  const best = asks ? undefined : r.advice.find((a) => a.recommended && isWay(a) && a.allowed);
  return [
    chip(text, tone, s.state),
    h('h1', null, s.title || r.request_id),
    step ? h('span', { class: 'at-step' }, atStep(r, n)) : null,
    live && step ? elapsed(attemptBegan(s, step), null) : null,
    live ? h('span', { class: 'bar-progress' }, h('progress', { max: 100, value: s.progress.percent, 'aria-label': t('run.progress') }), `${s.progress.percent}%`) : null,
    h('span', { class: 'grow' }),
    live
      ? s.state === 'DONE'
        ? h('span', { class: 'muted' }, t('run.moving'))
        : button(t('run.stop'), act.stop, { class: 'btn small', 'data-key': 'stop' })
      : best
        ? button(verbText(best), () => act.way(best.verb), { class: 'btn small primary', 'data-key': 'bar-verb' })
        : null,
  ];
}

/** Where it is; a step that is the whole of it has no title of its own. */
export function atStep(r: RunDetail, n: number): string {
  const title = r.stage.steps?.[n]?.title ?? '';
  return t('run.at_step', { n: n + 1, of: r.stage.steps?.length ?? 0, title: title === r.stage.title ? '' : title }).trim();
}

export const verbText = (a: Advice): string => t(`run.${a.verb as 'resume'}`);

/** The first block below the bar; none while the run works. */
export function outcome(r: RunDetail, act: RunActions, tail: HTMLElement, answer: Child): Child {
  const s = r.stage;
  if (s.dropped_at) return h('section', { class: 'card reason' }, h('p', null, t('run.dropped_hint', { at: moment(s.dropped_at) })));
  if (isStopped(r)) return stopped(r, act, tail, answer);
  return s.state === 'DONE' && r.locked === null ? done(r, act) : null;
}

function stopped(r: RunDetail, act: RunActions, tail: HTMLElement, answer: Child): HTMLElement {
  const s = r.stage;
  const e = s.error;
  const ways = r.advice.filter(isWay);
  return h(
    'section',
    { class: `card reason ${s.state === 'FAILED' ? 'bad' : 'ask'}`, role: 'alert' },
    h('h2', null, e ? e.title || e.reason_code : t('run.interrupted')),
    e?.message && !answer ? h('p', { class: 'clamp', title: e.message }, withCode(shortCode(e.message))) : null,
    e ? h('p', { class: 'code-name' }, e.reason_code) : h('p', null, t(wasAsked(s) ? 'run.stopped_hint' : 'run.interrupted_hint')),
    waitsText(r.waits),
    answer || h('div', { class: 'tail-of' }, tail),
    remedies(r, ways, act, !answer),
    actionsList((e?.actions ?? []).filter((text) => !ways.some((a) => text.includes(`\`${a.command}\``)))), // those have a card
    evidence(r, act),
  );
}

/** A script of a step is no part of a sentence; its beginning says which it was. */
const shortCode = (text: string): string => text.replace(/`([^`]{60})[^`]{10,}`/g, '`$1 …`').replace(/「([^」]{60})[^」]{10,}」/g, '「$1 …」');

/** Every way to go on, the recommended one first; one that would be refused says why and is no button. */
function remedies(r: RunDetail, ways: readonly Advice[], act: RunActions, first: boolean): Child {
  if (ways.length === 0) return null;
  const order = ways.toSorted((a, b) => weight(a) - weight(b));
  return h(
    'ul',
    { class: 'resume plain-list' },
    order.map((a) =>
      h(
        'li',
        { class: a.recommended && first ? 'way first' : 'way' },
        h('p', null, t(r.interrupted && a.verb === 'resume' ? 'run.why_go_on' : `run.why_${a.verb as 'resume'}`)),
        a.mode === 'resume' && a.allowed ? h('p', { class: 'muted' }, t('run.workspace'), ' ', h('code', null, r.stage.git.workspace), ' ', copyButton(r.stage.git.workspace)) : null,
        a.allowed
          ? h(
              'div',
              { class: 'row wrap' },
              button(verbText(a), () => act.way(a.verb), { class: a.recommended && first ? 'btn primary' : 'btn', 'data-key': a.verb }),
              h('code', { class: 'small' }, a.command),
              copyButton(a.command),
            )
          : h('p', { class: 'muted' }, verbText(a), ' · ', t('run.refused'), ' ', h('span', { class: 'code-name' }, a.why_not)),
      ),
    ),
  );
}

const weight = (a: Advice): number => (a.recommended ? 0 : a.allowed ? 1 : 2);

function evidence(r: RunDetail, act: RunActions): Child {
  const e = r.errors?.evidence;
  const logs = (e?.log_paths ?? []).map((p) => r.logs.find((l) => l.path === p)).filter((l) => l !== undefined).filter((l) => l.size > 0);
  const related = (r.errors?.related_paths ?? []).filter((p) => !r.logs.some((l) => l.path === p));
  return [
    e?.stderr_snippet || e?.command
      ? h('details', null, h('summary', null, t('run.evidence')), e.command ? h('p', null, h('code', null, e.command), e.exit_code != null ? ` → ${e.exit_code}` : '') : null, h('pre', { tabindex: 0 }, e.stderr_snippet ?? ''))
      : null,
    logs.length > 0 ? h('p', { class: 'row wrap evidence' }, logs.map((l) => button(`${t('run.log_of')}: ${l.name}`, () => act.log(l.name), { class: 'btn small', 'data-key': 'log:' + l.name }))) : null,
    related.length > 0 ? h('p', { class: 'evidence' }, t('run.related'), ': ', related.map((p) => [h('code', null, p), ' '])) : null,
  ];
}

/** How many files and lines a run changed, once that is known. */
export function changed(r: RunDetail): HTMLElement {
  const stat = h('span', { class: 'stat' });
  const count = (): Promise<void> =>
    get<Diff>(`${runPath(r.request_id, r.run_id)}/diff?hunks=0`)
      .then((d) => fill(stat, t('run.lines_changed', { files: d.stat.files, added: d.stat.additions, deleted: d.stat.deletions })))
      .catch(() => undefined); // the tab of the diff says what is wrong
  setTimeout(() => void count(), location.pathname.endsWith('/diff') ? 500 : 0); // there it is said by the diff, which is not kept waiting
  return stat;
}

/** What the tests of a run came to. */
export function testsChip(r: RunDetail): Child {
  const tests = (r.stage.steps ?? []).flatMap((x) => Object.values(x.test)).filter((x) => x && ['PASS', 'FAIL'].includes(x.status));
  const failed = tests.filter((x) => x.status === 'FAIL').length;
  if (tests.length === 0) return h('span', { class: 'muted' }, t('run.no_tests'));
  const took = duration(tests.reduce((sum, x) => sum + (x.duration_ms ?? 0), 0));
  return [chip(failed > 0 ? t('run.tests_failed', { n: failed }) : t('run.tests_passed', { n: tests.length }), failed > 0 ? 'bad' : 'good'), ' ', h('span', { class: 'muted' }, took)];
}

function done(r: RunDetail, act: RunActions): HTMLElement {
  const s = r.stage;
  const merge = r.advice.find((a) => a.verb === 'merge')?.command;
  const anew = r.advice.find((a) => a.verb === 'run'); // its tests fail where it was landed
  const move = anew ? undefined : r.advice.find((a) => a.kind === 'remedy' && ['restack', 'drop'].includes(a.verb)); // what it stands on is no longer what it was
  const commits = s.git.commits ?? [];
  const drop = `aiflow run drop ${r.run_id}`;
  return h(
    'section',
    { class: `card reason ${move || anew ? 'ask' : 'good'} outcome` },
    h('h2', null, anew ? t('run.land_failed') : move ? t('run.stale') : merge ? t('run.merge_hint') : t('run.done')),
    anew ? [h('p', null, t('run.land_failed_what')), h('p', { class: 'row wrap' }, h('code', null, anew.command), copyButton(anew.command))] : null,
    move ? [h('p', null, t(move.verb === 'restack' ? 'run.stale_restack' : 'run.stale_drop')), h('p', { class: 'row wrap' }, move.verb === 'restack' ? button(verbText(move), () => act.way(move.verb), { class: 'btn primary', 'data-key': 'restack' }) : null, h('code', null, move.command), copyButton(move.command))] : null,
    h(
      'div',
      { class: 'row wrap facts' },
      commits.length > 0 ? changed(r) : null,
      h('span', null, t('run.commits', { n: commits.length })),
      testsChip(r),
      commits.length > 0 ? link(runAt(r.request_id, r.run_id, 'diff'), t('run.see_diff'), { class: merge ? 'btn primary' : 'btn', 'data-key': 'see-diff' }) : null,
    ),
    merge ? h('p', { class: 'row wrap' }, button(t('landing.one'), act.merge, { 'data-key': 'merge' }), link('/land', t('landing.see'), { class: 'btn', 'data-key': 'land' }), h('code', null, merge), copyButton(merge)) : null,
    merge && !anew && !move ? h('p', { class: 'row wrap' }, h('span', { class: 'muted' }, t('run.reject')), h('code', null, drop), copyButton(drop)) : null,
    commits.length > 0 ? h('ul', { class: 'plain-list commits' }, commits.map((c) => h('li', null, h('code', null, c.hash.slice(0, 10)), ' ', c.subject))) : null,
  );
}

/** The log that tells most of why a run stopped. */
export function tellingLog(r: RunDetail): RunLog | undefined {
  const named = (r.errors?.evidence?.log_paths ?? []).map((p) => r.logs.find((l) => l.path === p)).filter((l) => l !== undefined && l.size > 0);
  if (named.length > 0) return named.at(-1);
  return r.logs.filter((l) => l.size > 0 && placeOf(l.name, r.stage.steps ?? [])?.step === r.stage.current_step_id).at(-1);
}

/** Which of the last lines is the error: the last that begins as one, else that speaks of one, else that says anything; -1 where none does. */
export function errorLine(lines: readonly string[]): number {
  const begins = lines.findLastIndex((l) => /^\W*(error|fatal|panic|fail(ed|ure)?)\b|^\s*(エラー|失敗)/i.test(l));
  if (begins >= 0) return begins;
  const speaks = lines.findLastIndex((l) => /\b(error|fail(ed|ure|s)?|fatal|panic|exception|cannot|not found|missing|refused|denied)\b/i.test(l) || /エラー|失敗/.test(l));
  return speaks >= 0 ? speaks : lines.findLastIndex((l) => l.trim() !== '');
}

/** The last lines of a log that say something. */
export async function lastLines(r: RunDetail, log: { readonly name: string; readonly size: number }): Promise<string[]> {
  const from = Math.max(0, log.size - tailBytes);
  const part = await logPart(logPath(r.request_id, r.run_id, log.name), from, log.size);
  const store = new LogStore(part.from);
  store.append(part.bytes);
  const all = [...store.lines.map(textOf), textOf(store.open())];
  while (all.length > 0 && all.at(-1)?.trim() === '') all.pop();
  return all.slice(-tailLines);
}

/** Fills el with the last lines of a log. */
export async function showTail(el: HTMLElement, r: RunDetail, log: RunLog): Promise<void> {
  const lines = await lastLines(r, log);
  const wrong = r.interrupted ? -1 : errorLine(lines); // who was stopped made no mistake
  const last = h('pre', { class: 'tail', tabindex: 0, translate: 'no' }, lines.map((l, i) => h('span', { class: i === wrong ? 'line wrong' : 'line' }, l + '\n')));
  fill(el, h('p', { class: 'small-head' }, t('run.last_lines', { log: log.name })), last);
  last.scrollTop = last.scrollHeight;
}
