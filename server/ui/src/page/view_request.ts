import { restackRun, runRequest, toWhatIsInTheWay, type Go } from './actions.js';
import { ApiError, call, get, hasText, requestPath, type Advice, type Answer, type Known, type LockItem, type RunItem } from './api.js';
import { fill, fillIf, h, type Child } from './dom.js';
import type { Drafts } from './drafts.js';
import { Editor } from './editor.js';
import { duration, moment } from './format.js';
import { t, word } from './i18n.js';
import { coalesced, type LiveEvent } from './live.js';
import { renderMarkdown } from './markdown_view.js';
import {
  button, chip, choice, commaList, commands, confirmed, errorCard, errorOf, field, link, listText, lockMeans, priorityChip, priorityOptions, requestLink, showTitle,
  showError, stateTone, statusChip, statusOptions, toast, withCode, withLinks, type View,
} from './parts.js';
import { address, runAt } from './router.js';

export class RequestView implements View {
  readonly el = h('div', { class: 'view request' });
  private detail: Known | undefined;
  /** Why there is no text. */
  private textless: ApiError | undefined;
  private etag = '';
  private runs: readonly RunItem[] = [];
  private editor: Editor | undefined;
  private readonly head = h('div');
  private readonly reason = h('div');
  private readonly main = h('div');
  private readonly metaForm = h('div');
  private readonly runList = h('section', { class: 'card' });
  private readonly reload = coalesced(() => this.load(), 60);
  private gone = false;
  /** Grows with each answer to a change of ours; what was asked for before it is older than what is shown. */
  private ours = 0;

  constructor(
    private readonly go: Go,
    private readonly id: string,
    private edit: boolean,
    private readonly drafts: Drafts,
  ) {
    fill(this.el, this.head, this.reason, this.metaForm, this.main, this.runList);
    void this.reload.now().catch((e: unknown) => this.fail(e));
  }

  title = (): string => this.detail?.title ?? this.id;

  readonly keys = {
    e: () => this.toggleEdit(),
    r: () => {
      if (this.detail && !this.editor) void this.askRun().catch(showError);
    },
  };

  private isFinished = (): boolean => this.detail?.derived.latest_run?.awaits_merge === true;

  /** One stray key starts nothing. */
  private async askRun(): Promise<void> {
    if (await confirmed(t(this.isFinished() ? 'req.again_sure' : 'req.ask_run'), t('list.run'))) await runRequest(this.go, this.id);
  }

  onEvent(e: LiveEvent): void {
    if (e.kind === 'log') return;
    if (e.kind === 'reset') void this.editor?.goOn().catch(showError);
    const ids = e.data['ids'];
    if (e.kind === 'request' && Array.isArray(ids) && ids.length > 0 && !ids.includes(this.id) && !this.concerns(ids)) return;
    if (e.kind === 'stage' && e.data['request_id'] !== this.id && !this.concerns([e.data['request_id']])) return;
    this.reload();
  }

  async close(): Promise<void> {
    await this.editor?.close();
  }

  private concerns(ids: readonly unknown[]): boolean {
    return (this.detail?.meta.depends_on ?? []).some((d) => ids.includes(d));
  }

  private async load(): Promise<void> {
    const before = this.ours;
    try {
      const [one, runs] = await Promise.all([this.read(), get<{ items: RunItem[] }>(`${requestPath(this.id)}/runs`)]);
      if (before !== this.ours) {
        this.reload();
        return;
      }
      this.runs = runs.items;
      this.take(one.data, one.etag);
      if (hasText(one.data)) this.editor?.changed(one.data, one.etag);
      if (this.gone) fill(this.el, this.head, this.reason, this.metaForm, this.main, this.runList);
      this.gone = false;
    } catch (e) {
      if (!this.detail) throw e;
      if (e instanceof ApiError && !e.isOffline && e.status < 500 && !this.editor) this.fail(e);
    }
  }

  /** The request with its text, or what else is known of it where that cannot be given. */
  private async read(): Promise<Answer<Known>> {
    try {
      const a = await call<Known>('GET', requestPath(this.id));
      this.textless = undefined;
      return a;
    } catch (e) {
      if (!(e instanceof ApiError) || e.code !== 'REQUEST_NOT_UTF8') throw e;
      this.textless = e;
      return call<Known>('GET', `${requestPath(this.id)}/meta`);
    }
  }

  private fail(e: unknown): void {
    this.gone = true;
    fill(this.el, h('h1', null, this.id), errorCard(errorOf(e), 'bad'), link('/', t('common.home'), { class: 'btn' }));
  }

  private take(d: Known, etag: string): void {
    this.detail = d;
    this.etag = etag;
    showTitle(this);
    this.paint(d);
  }

  private own(d: Known, etag: string): void {
    this.ours++;
    this.take(d, etag);
    this.reload();
  }

  private paint(d: Known): void {
    const { queue_eligible: can, rank, why, locked, latest_run: latest } = d.derived;
    const key = JSON.stringify([d.title, d.meta, d.derived, d.problems, this.edit, hasText(d)]);
    fillIf(this.head, key, () => [
      h('p', { class: 'crumbs' }, link('/', t('nav.requests')), ' › ', h('span', { class: 'id' }, d.id)),
      h('h1', null, d.title),
      h(
        'div',
        { class: 'row wrap facts' },
        priorityChip(d.meta.priority),
        d.meta.status ? statusChip(d.meta.status) : null,
        locked ? (locked.pid > 0 ? chip(t('standing.running'), 'now') : chip(t('standing.locked'), 'ask')) : null,
        latest?.stale ? chip(t('standing.stale'), 'ask') : latest?.land_failed ? chip(t('run.land_failed'), 'ask') : latest?.awaits_merge ? chip(t('req.awaits'), 'good') : null,
        (d.meta.labels ?? []).map((l) => h('span', { class: 'label' }, l)),
        d.meta.estimate ? h('span', { class: 'muted' }, t('meta.estimate_is', { size: d.meta.estimate })) : null,
        d.meta.updated_at ? h('span', { class: 'muted' }, t('meta.updated', { at: d.meta.updated_at })) : null,
        h('span', { class: 'muted path' }, d.path),
      ),
      (d.meta.depends_on ?? []).length > 0
        ? h('p', { class: 'depends' }, t('meta.depends_on'), ': ', (d.meta.depends_on ?? []).map((id, n) => [n > 0 ? ', ' : '', requestLink(id), d.derived.blocked_by.includes(id) ? ` (${t('legend.waiting')})` : ' ✓']))
        : null,
      (d.meta.touches ?? []).length > 0 ? h('p', { class: 'touches' }, t('meta.touches'), ': ', (d.meta.touches ?? []).map((g) => [h('code', null, g), ' '])) : null,
      this.buttons(d, can, locked !== null),
    ]);
    fillIf(this.reason, key, () => [this.reasons(d, rank, why?.detail, why?.reason_code, why?.advice), this.problems(d)]);
    this.paintMain(d);
    this.paintRuns();
  }

  private buttons(d: Known, can: boolean, isLocked: boolean): Child {
    const status = d.meta.status ?? '';
    const run = d.derived.locked?.run_id;
    const broken = d.problems.some((p) => p.level === 'error');
    const latest = d.derived.latest_run;
    const unfinished = latest && latest.state !== 'DONE';
    return h(
      'div',
      { class: 'row wrap do' },
      latest?.awaits_merge && !latest.stale && !isLocked
        ? [link(runAt(this.id, latest.run_id, 'diff'), t('run.see_diff'), { class: 'btn primary', 'data-key': 'see-diff' }), link('/land', t('landing.see'), { class: 'btn', 'data-key': 'land' })]
        : null,
      latest?.stale && !isLocked && d.derived.why?.advice?.some((a) => a.verb === 'restack')
        ? button(t('run.restack'), () => restackRun(this.id, latest.run_id), { class: 'btn primary', 'data-key': 'restack' })
        : null,
      isLocked && run
        ? link(runAt(this.id, run), t('req.to_run'), { class: 'btn primary', 'data-key': 'watch' })
        : d.can_run
          ? button(t('req.run'), () => this.run(false), { class: can ? 'btn primary' : 'btn', 'data-key': 'run' })
          : null,
      !isLocked && !broken && unfinished ? button(t('req.fresh'), () => this.run(true), { 'data-key': 'fresh' }) : null,
      hasText(d) || this.editor ? button(this.edit ? t('req.read') : t('req.edit'), () => this.toggleEdit(), { 'data-key': 'edit' }) : null,
      button(t('meta.edit'), () => this.openMeta(), { 'data-key': 'meta' }),
      status !== 'done' && !isLocked ? button(t('req.done'), () => this.markDone(latest?.awaits_merge === true), { 'data-key': 'done' }) : null,
      status !== 'ready' && status !== 'running' && !isLocked ? button(t('req.ready'), () => this.setStatus('ready', t('req.readied')), { 'data-key': 'ready' }) : null,
      status !== 'archived' && !isLocked ? button(t('req.archive'), () => this.archive(), { 'data-key': 'archive' }) : null,
      link(address({ view: 'graph', focus: this.id, hops: 1 }), t('req.graph'), { class: 'btn', 'data-key': 'graph' }),
    );
  }

  private problems(d: Known): Child {
    if (d.problems.length === 0) return null;
    return h(
      'section',
      { class: `card ${d.problems.some((p) => p.level === 'error') ? 'bad' : 'warn'}` },
      h('ul', { class: 'plain-list' }, d.problems.map((p) => h('li', null, h('code', null, `${p.path}${p.line ? ':' + p.line : ''}`), ' ', withCode(p.message ?? p.kind)))),
    );
  }

  private reasons(d: Known, rank: number | null, why: string | undefined, code: string | undefined, advice: readonly Advice[] = []): Child {
    const locked = d.derived.locked;
    if (d.problems.some((p) => p.level === 'error')) return null; // they say it
    if (locked) {
      if (locked.pid <= 0) {
        const place = h('section', { class: 'card ask' });
        void get<{ items: LockItem[] }>('/locks')
          .then(({ items }) => {
            const l = items.find((x) => x.lock_type === 'request' && x.request_id === d.id);
            if (l) fill(place, h('p', null, t('req.lock_odd', { path: l.path, means: lockMeans(l) })), commands(l.advice ?? []));
          })
          .catch(showError);
        return place;
      }
      return h('section', { class: 'card now' }, t('req.locked', { pid: locked.pid, host: locked.hostname || locked.host, since: moment(locked.since) }));
    }
    if (why && d.meta.status !== 'done' && d.meta.status !== 'archived') {
      const known = new Set([...d.derived.blocked_by, ...(d.meta.depends_on ?? [])]);
      const isFine = d.derived.latest_run?.awaits_merge === true && !d.derived.latest_run.stale;
      return h('section', { class: isFine ? 'card good' : 'card ask' }, h('strong', null, t(isFine ? 'landing.title' : 'req.why'), ': '), withLinks(why, (id) => known.has(id), d.id, (run) => (run === d.derived.latest_run?.run_id ? runAt(d.id, run) : undefined)), ' ', h('span', { class: 'code-name' }, code), commands(advice.filter((a) => !why.includes(a.command))));
    }
    return rank === null ? null : h('section', { class: 'card good' }, t('req.rank', { n: rank }), (d.derived.stacked_on ?? []).map((id, n) => [n === 0 ? ` · ${t('req.stacked')} ` : ', ', requestLink(id)]));
  }

  private paintMain(d: Known): void {
    if (!hasText(d) && !this.editor) {
      fillIf(this.main, 'textless', () => (this.textless ? errorCard(errorOf(this.textless), 'ask') : null));
      return;
    }
    if (this.edit) {
      if (!this.editor && hasText(d)) {
        this.editor = new Editor(this.id, d, this.etag, this.drafts, (now, etag) => this.own(now, etag));
        fill(this.main, this.editor.el);
        this.editor.focus();
      }
      return;
    }
    if (!hasText(d)) return;
    fillIf(this.main, JSON.stringify([d.body_markdown, d.meta.steps]), () => [
      h(
        'section',
        { class: 'card text' },
        d.body_markdown.trim() === '' ? h('p', { class: 'muted' }, t('req.empty')) : renderMarkdown(d.body_markdown, (shown, all) => t('common.cut', { shown, all })),
      ),
      (d.meta.steps ?? []).length > 0
        ? h(
            'section',
            { class: 'card' },
            h('h2', null, t('req.steps')),
            h('ol', null, (d.meta.steps ?? []).map((s) => h('li', null, s.title, s.run ? [h('p', { class: 'small-head' }, t('req.step_run')), h('pre', null, s.run)] : null, s.test ? [h('p', { class: 'small-head' }, t('req.step_test')), h('pre', null, s.test)] : null))),
          )
        : null,
    ]);
  }

  private paintRuns(): void {
    fillIf(this.runList, JSON.stringify(this.runs), () => [
      h('h2', null, t('req.runs')),
      this.runs.length === 0
        ? h('p', { class: 'muted' }, t('req.no_runs'))
        : h(
            'ul',
            { class: 'plain-list runs' },
            this.runs.map((r) =>
              h(
                'li',
                { class: 'row wrap' },
                r.dropped_at ? chip(t('run.dropped'), 'quiet') : r.interrupted ? chip(t('run.interrupted'), 'ask') : chip(word('state', r.state), stateTone(r.state)),
                link(runAt(r.request_id, r.run_id), r.run_id, { 'data-key': r.run_id, class: 'id' }),
                h('span', null, moment(r.started_at)),
                r.worked_ms === undefined ? null : h('span', { class: 'elapsed', title: t('run.worked') }, duration(r.worked_ms)),
                r.reason_code ? h('span', { class: 'code-name' }, r.reason_code) : null,
                r.replaced_by ? h('span', { class: 'muted' }, t('run.replaced_by'), ' ', link(runAt(r.request_id, r.replaced_by), r.replaced_by)) : null,
              ),
            ),
          ),
    ]);
  }

  private async run(fresh: boolean): Promise<void> {
    if (this.isFinished() && !(await confirmed(t('req.again_sure'), t('list.run')))) return;
    await this.editor?.close();
    await runRequest(this.go, this.id, fresh);
  }

  private toggleEdit(): void {
    const d = this.detail;
    if (!d || (!hasText(d) && !this.editor)) return;
    this.edit = !this.edit;
    history.replaceState(null, '', address({ view: 'request', id: this.id, edit: this.edit }));
    const editor = this.editor;
    this.editor = undefined;
    if (editor && !this.edit) void editor.close().then(() => this.reload());
    fill(this.main);
    fillIf(this.main, '', () => null);
    this.paint(d);
  }

  private async setStatus(status: string, said: string): Promise<void> {
    try {
      const a = await call<Known>('PATCH', `${requestPath(this.id)}/meta`, { status });
      this.own(a.data, a.etag);
      if (hasText(a.data)) this.editor?.changed(a.data, a.etag);
      toast(said, 'good');
    } catch (e) {
      if (!toWhatIsInTheWay(this.go, e)) throw e;
    }
  }

  private async markDone(unmerged: boolean): Promise<void> {
    if (!unmerged || (await confirmed(t('req.done_sure', { id: this.id }), t('req.done')))) await this.setStatus('done', t('req.marked'));
  }

  private async archive(): Promise<void> {
    if (await confirmed(t('req.archive_sure', { id: this.id }), t('req.archive'))) await this.setStatus('archived', t('req.archived'));
  }

  private openMeta(): void {
    const d = this.detail;
    if (!d || this.metaForm.childElementCount > 0) {
      fill(this.metaForm);
      return;
    }
    let etag = this.etag;
    const m = d.meta;
    const title = h('input', { type: 'text', value: m.title ?? '', maxlength: 300 });
    const priority = choice(priorityOptions(), m.priority ?? '');
    const status = choice(statusOptions(), m.status ?? '');
    const labels = h('input', { type: 'text', value: listText(m.labels ?? []) });
    const depends = h('input', { type: 'text', value: listText(m.depends_on ?? []) });
    const estimate = choice([['', '–'], ['S', 'S'], ['M', 'M'], ['L', 'L']], m.estimate ?? '');
    const base = h('input', { type: 'text', value: m.base ?? '', 'data-key': 'base' });
    const touches = h('input', { type: 'text', value: listText(m.touches ?? []), 'data-key': 'touches' });
    const wrong = h('p', { class: 'wrong', role: 'alert' });
    const typed = (): Record<string, string | string[]> => ({
      title: title.value.trim(), priority: priority.value, status: status.value, estimate: estimate.value, base: base.value.trim(),
      labels: commaList(labels.value), depends_on: commaList(depends.value), touches: commaList(touches.value),
    });
    const was = typed(); // a field may show less than the file says: one line of a title
    const save = async () => {
      const changed = Object.fromEntries(Object.entries(typed()).filter(([k, v]) => JSON.stringify(v) !== JSON.stringify(was[k])));
      if (Object.keys(changed).length === 0) {
        fill(this.metaForm);
        return;
      }
      try {
        const a = await call<Known>('PATCH', `${requestPath(this.id)}/meta`, changed, { 'If-Match': etag });
        fill(this.metaForm);
        this.own(a.data, a.etag);
        if (hasText(a.data)) this.editor?.changed(a.data, a.etag);
        toast(t('meta.saved'), 'good');
      } catch (e) {
        if (toWhatIsInTheWay(this.go, e)) return;
        if (e instanceof ApiError && e.code === 'CONFLICT') {
          const a = await this.read();
          etag = a.etag;
          this.take(a.data, a.etag);
          wrong.textContent = t('meta.conflict');
        } else {
          const o = errorOf(e);
          wrong.textContent = [o.title, ...(o.actions ?? [])].join(' · ');
        }
      }
    };
    const form = h(
      'form',
      { class: 'card form meta' },
      field(t('meta.title'), title),
      h('div', { class: 'row wrap' }, field(t('meta.priority'), priority), field(t('meta.status'), status), field(t('meta.estimate'), estimate), field(t('meta.base'), base)),
      field(t('meta.labels'), labels, t('meta.labels_hint')),
      field(t('meta.depends_on'), depends, t('meta.depends_hint')),
      field(t('meta.touches'), touches, t('meta.touches_hint')),
      wrong,
      h('div', { class: 'row end' }, button(t('common.cancel'), () => fill(this.metaForm)), button(t('common.save'), save, { type: 'submit', class: 'btn primary' })),
    );
    form.addEventListener('submit', (e) => e.preventDefault()); // Enter presses the button
    fill(this.metaForm, form);
    title.focus();
  }
}
