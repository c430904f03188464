import { ApiError, type Advice, type ErrorObject, type LockItem, type ProviderWait, type Usage } from './api.js';
import { fill, h, type Child } from './dom.js';
import { ago, duration, moment } from './format.js';
import { t, word, type TextKey } from './i18n.js';
import type { LiveEvent } from './live.js';
import { requestAt } from './router.js';

/** A part of the page that fills it under one address. */
export interface View {
  readonly el: HTMLElement;
  title(): string;
  /** What the icon of the tab tells. */
  tone?(): Tone;
  onEvent?(e: LiveEvent): void;
  /** What the keys of this view do. */
  readonly keys?: Readonly<Record<string, () => void>>;
  close?(): void | Promise<void>;
}

/** What can be typed now. */
export function commands(list: readonly Advice[]): Child {
  const can = list.filter((a) => a.allowed);
  return can.length > 0 ? h('ul', { class: 'hints plain-list' }, can.map((a) => h('li', { class: 'hint' }, '→ ', h('code', null, a.command)))) : null;
}

/** What is thought of a lock, in the words of `aiflow lock list`. */
export const lockMeans = (l: LockItem): string => t(`lock.means_${l.verdict}` as TextKey);

export type Tone = 'good' | 'bad' | 'ask' | 'now' | 'quiet' | 'warn';

const icons: Partial<Record<Tone, string>> = { good: '#0f6d3c', bad: '#ad1f2c', ask: '#c97a00', now: '#2458d3' };

/** The tab says how it stands, for who looks at another one. */
export function showTitle(v: View): void {
  document.title = `${v.title()} · aiflow`;
  const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (!icon) return;
  icon.dataset['plain'] ??= icon.getAttribute('href') ?? '';
  const colour = icons[v.tone?.() ?? 'quiet'];
  const href = colour ? `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="7" fill="${colour}"/></svg>`)}` : icon.dataset['plain'];
  if (icon.getAttribute('href') !== href) icon.setAttribute('href', href);
}

export function chip(text: string, tone: Tone, title?: string): HTMLElement {
  return h('span', { class: `chip ${tone}`, title }, text);
}

export function priorityChip(p: string | undefined): HTMLElement {
  const known = /^P[0-3]$/.test(p ?? '');
  return h('span', { class: `prio ${known ? p : 'none'}` }, known ? p : '–');
}

function statusTone(status: string): Tone {
  switch (status) {
    case 'done':
      return 'good';
    case 'running':
      return 'now';
    case 'blocked':
      return 'ask';
    case 'ready':
      return 'warn';
    default:
      return 'quiet';
  }
}

export function stateTone(state: string): Tone {
  switch (state) {
    case 'DONE':
    case 'COMPLETED':
      return 'good';
    case 'NEEDS_INPUT':
      return 'ask';
    case 'FAILED':
      return 'bad';
    case 'PENDING':
    case 'SKIPPED':
    case 'IDLE':
    case 'STOPPED':
      return 'quiet';
    default:
      return 'now';
  }
}

/** What a run that is over came to; one whose process ended before it did was interrupted. */
export const endedAs = (state: string): string => (['DONE', 'NEEDS_INPUT', 'FAILED'].includes(state) ? word('state', state) : t('run.interrupted'));

export const statusChip = (status: string): HTMLElement => chip(word('status', status), statusTone(status), status);

/** A button that is busy while what it does is under way. Its own errors are shown. */
export function button(label: Child, run: (e: Event) => unknown, props: Readonly<Record<string, unknown>> = {}): HTMLButtonElement {
  const b = h('button', { type: 'button', class: 'btn', ...props }, label);
  b.addEventListener('click', (e) => {
    if (b.getAttribute('aria-busy') === 'true') return;
    const result = run(e);
    if (!(result instanceof Promise)) return;
    b.setAttribute('aria-busy', 'true');
    result.catch((err: unknown) => showError(err)).finally(() => b.removeAttribute('aria-busy'));
  });
  return b;
}

export const link = (href: string, label: Child, props: Readonly<Record<string, unknown>> = {}): HTMLElement => h('a', { href, ...props }, label);

export const requestLink = (id: string, label: Child = id): HTMLElement => link(requestAt(id), label, { 'data-key': 'r:' + id });

/** A sentence with `code` in it, whose ids lead to the requests that they name; a command is for typing, and has no links. */
export function withLinks(text: string, known: (id: string) => boolean, skip = '', run: (id: string) => string | undefined = () => undefined): Child[] {
  return text.split('`').map((part, i) => (i % 2 === 1 ? h('code', null, part.includes(' ') ? part : linked(part, known, skip, run)) : linked(part, known, skip, run)));
}

function linked(text: string, known: (id: string) => boolean, skip: string, run: (id: string) => string | undefined): Child[] {
  const out: Child[] = [];
  let at = 0;
  for (const m of text.matchAll(/[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9]/g)) {
    const at_run = run(m[0]);
    if (!at_run && (m[0] === skip || !known(m[0]))) continue;
    out.push(text.slice(at, m.index), at_run ? link(at_run, m[0], { class: 'id' }) : requestLink(m[0]));
    at = m.index + m[0].length;
  }
  out.push(text.slice(at));
  return out;
}

/** Text with `code` in it, as the server's advice has. */
export function withCode(text: string): Child[] {
  return text.split('`').map((part, i) => (i % 2 === 1 ? h('code', null, part) : part));
}

/** Every way out is a line of its own. */
export function waysOut(list: readonly string[]): Child {
  return list.length > 0 ? h('ul', { class: 'hints plain-list' }, list.map((one) => h('li', { class: 'hint' }, '→ ', withCode(one)))) : null;
}

export function actionsList(actions: readonly string[] | null | undefined): Child {
  if (!actions || actions.length === 0) return null;
  return h('div', { class: 'actions-list' }, h('h3', null, t('common.next_actions')), h('ol', null, actions.map((a) => h('li', null, withCode(a)))));
}

/** Title, message, small code, numbered actions, then what else there is. */
export function errorCard(e: ErrorObject, tone: Tone, ...more: Child[]): HTMLElement {
  return h(
    'section',
    { class: `card reason ${tone}`, role: 'alert' },
    h('h2', null, withCode(e.title || e.reason_code)),
    e.message ? h('p', null, withCode(e.message)) : null,
    h('p', { class: 'code-name' }, e.reason_code),
    actionsList(e.actions),
    more,
  );
}

export function errorOf(e: unknown): ErrorObject {
  if (e instanceof ApiError) {
    // Who typed something into a form made no call, nor did who looks for what is not set up: what is wrong is enough.
    const said = { INVALID_REQUEST: 'cause', NOT_FOUND: 'reason' }[e.code];
    const why = said && e.context[said];
    return { reason_code: e.code, title: why || e.message, message: '', severity: '', actions: e.code === 'NOT_FOUND' && why ? [] : e.actions.filter((a) => !a.includes('openapi.yaml')) }; // that one is for programs
  }
  return { reason_code: 'INTERNAL', title: e instanceof Error ? e.message : String(e), message: '', severity: '', actions: [] };
}

const toasts = h('div', { class: 'toasts', 'aria-live': 'polite' });

export function toastPlace(): HTMLElement {
  return toasts;
}

const told = h('div', { class: 'told', role: 'status' });

/** Where what is told, but not shown, is said. */
export const toldPlace = (): HTMLElement => told;

/** Says a change of state to whoever does not see it. */
export function tell(text: string): void {
  if (told.textContent !== text) told.textContent = text;
}

export function toast(text: Child, tone: Tone = 'quiet'): void {
  const el: HTMLElement = h('div', { class: `toast ${tone}` }, h('div', null, text), button('×', () => el.remove(), { class: 'btn bare', 'aria-label': t('common.close') }));
  toasts.append(el);
  if (tone !== 'bad') setTimeout(() => el.remove(), 6_000);
  while (toasts.childElementCount > 4) toasts.firstElementChild?.remove();
}

export function showError(e: unknown): void {
  const o = errorOf(e);
  if (o.reason_code === 'OFFLINE') toast(h('strong', null, o.title), 'warn'); // it passes, and the bar says the rest
  else toast([h('strong', null, withCode(o.title)), ' ', h('span', { class: 'code-name' }, o.reason_code), actionsList(o.actions)], 'bad');
}

/** Asks before something that cannot simply be undone. */
export function confirmed(text: string, yes: string): Promise<boolean> {
  return new Promise((answer) => {
    let said = false;
    const d = h('dialog', { class: 'dialog', 'aria-labelledby': 'asked' });
    const end = (way: boolean) => {
      said = way;
      d.close();
    };
    const buttons = [button(t('common.cancel'), () => end(false)), button(yes, () => end(true), { class: 'btn primary' })];
    fill(d, h('div', { id: 'asked' }, text), h('div', { class: 'row wrap end' }, buttons));
    showDialog(d, () => answer(said));
  });
}

export function showDialog(d: HTMLDialogElement, closed: () => void = () => undefined): void {
  const before = document.activeElement;
  document.body.append(d);
  d.addEventListener('close', () => {
    d.remove();
    if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    closed();
  });
  d.addEventListener('click', (e) => e.target === d && d.close());
  d.showModal();
}

export function field(label: string, input: HTMLElement, hint?: string): HTMLElement {
  return h('label', { class: 'field' }, h('span', null, label, hint ? h('small', null, ` (${hint})`) : null), input);
}

export function choice(options: readonly (readonly [string, string])[], value: string): HTMLSelectElement {
  const el = h('select', null, options.map(([v, label]) => h('option', { value: v }, label)));
  if (value !== '' && !options.some(([v]) => v === value)) el.append(h('option', { value }, value));
  el.value = value;
  return el;
}

export const statusOptions = (): [string, string][] =>
  ['draft', 'ready', 'blocked', 'done', 'archived'].map((s) => [s, word('status', s)]);
export const priorityOptions = (): [string, string][] => [['', '–'], ...['P0', 'P1', 'P2', 'P3'].map((p): [string, string] => [p, p])];

/** What has commas between; one that has commas itself stands in quotes. */
export const commaList = (text: string): string[] =>
  [...text.matchAll(/\s*"([^"]*)"\s*(?=[,、\n]|$)|[^,、\n]+/g)].map((m) => (m[1] ?? m[0]).trim()).filter((v) => v !== '');
export const listText = (items: readonly string[]): string => items.map((v) => (/[,、\n]/.test(v) ? `"${v}"` : v)).join(', ');

/** A time span that counts by itself while `end` is missing. */
export function elapsed(from: string | null | undefined, end: string | null | undefined): HTMLElement {
  const start = Date.parse(from ?? '');
  const el = h('span', { class: 'elapsed' });
  if (Number.isNaN(start)) return el;
  const stop = Date.parse(end ?? '');
  if (Number.isNaN(stop)) {
    el.dataset['since'] = String(start);
    el.textContent = duration(Math.floor((Date.now() - start) / 1000) * 1000);
  } else el.textContent = duration(stop - start);
  return el;
}

/** How long ago something was; it counts by itself. */
export const age = (at: string, title: string): HTMLElement => h('time', { class: 'age', datetime: at, title }, ago(at));

export function tickElapsed(root: ParentNode): void {
  for (const el of root.querySelectorAll<HTMLTimeElement>('time.age')) {
    const text = ago(el.dateTime);
    if (el.textContent !== text) el.textContent = text;
  }
  for (const el of root.querySelectorAll<HTMLElement>('[data-since]')) {
    const text = duration(Math.max(0, Math.floor((Date.now() - Number(el.dataset['since'])) / 1000)) * 1000);
    if (el.textContent !== text) el.textContent = text;
  }
}

export function copyButton(text: string): HTMLElement {
  return button(
    t('common.copy'),
    async () => {
      try {
        await navigator.clipboard.writeText(text);
        toast(t('common.copied'));
      } catch {
        toast(t('common.copy_failed'), 'bad');
      }
    },
    { class: 'btn small', 'aria-label': `${t('common.copy')}: ${text}` },
  );
}

/** What AI commands took; nothing where none reported it. */
export function usageText(u: Usage | undefined): Child {
  if (!u) return null;
  const n = (count: number): string => String(count);
  return h('span', { class: 'usage' }, t('run.usage', { input: n(u.input), cached: n(u.cached), output: n(u.output) }), u.cost_usd === undefined ? '' : ` · $${u.cost_usd.toFixed(u.cost_usd < 0.01 ? 4 : 2)}`);
}

/** Whom it waits for, first in the words of the program. */
export function waitsText(w: ProviderWait | undefined): Child {
  if (!w) return null;
  const text = w.until ? t('run.waits', { name: w.provider, reason: w.reason_code, at: moment(w.until) }) : t('run.waits_open', { name: w.provider, reason: w.reason_code });
  return h('p', { class: 'waits' }, w.said ? h('strong', null, w.said, ' ') : null, text);
}
