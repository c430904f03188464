import { call, get } from './api.js';
import { fill, fillIf, h, type Child } from './dom.js';
import { duration, moment } from './format.js';
import { t, word } from './i18n.js';
import { memory } from './memory.js';
import { button, chip, choice, confirmed, copyButton, elapsed, errorCard, errorOf, field, requestLink, showDialog, toast, type View } from './parts.js';
import { Poller } from './poller.js';
import { canCancel, firstLine, firstShown, hasMore, idsOf, isNamespace, isOrphan, mostShown, namespacesOf, queuePath, runnerState, taskStatuses, taskTone, type Runner, type Task, type TaskQueue } from './queue_state.js';
import { address } from './router.js';

const every = 2_000;
const other = '\n'; // no namespace has this name

export class QueueView implements View {
  readonly el = h('div', { class: 'view taskqueue' });
  private queue: TaskQueue | undefined;
  private turn = 0;
  private limit = firstShown;
  private again = false;
  private named = remembered();
  private readonly head = h('div');
  private readonly counts = h('div', { class: 'row wrap facts' });
  private readonly age = h('div');
  private readonly problem = h('div');
  private readonly tasks = h('div');
  private readonly runners = h('section', { class: 'card' });
  private readonly prompt = h('textarea', { rows: 4, maxlength: 300_000 });
  private readonly group = h('input', { type: 'text', class: 'short', maxlength: 200 });
  private readonly ids = h('input', { type: 'text', maxlength: 10_000 });
  private readonly adding: HTMLElement;
  private readonly poller: Poller;

  constructor(
    private namespace: string,
    private status: string,
  ) {
    this.remember(namespace);
    this.adding = this.adder();
    fill(this.el, h('h1', null, t('nav.queue')), this.problem, this.head, this.counts, this.age, this.tasks, this.runners, this.adding);
    this.runners.hidden = true;
    this.poller = new Poller(() => this.load(), every);
  }

  title = (): string => t('nav.queue');

  close(): void {
    this.poller.close();
  }

  private async load(): Promise<void> {
    const turn = ++this.turn;
    try {
      const again = this.again;
      this.again = false;
      const queue = await get<TaskQueue>(queuePath(this.namespace, this.status, this.limit, again));
      if (turn !== this.turn) return; // another choice was made meanwhile
      this.queue = queue;
      this.adding.hidden = false;
      fillIf(this.problem, '', () => null);
      this.paint(queue);
    } catch (e) {
      if (turn !== this.turn) return;
      const error = errorOf(e);
      this.adding.hidden = error.reason_code === 'NOT_FOUND'; // there is no queue to put it in
      fillIf(this.problem, JSON.stringify(error), () => errorCard(error, 'bad'));
    }
  }

  private paint(q: TaskQueue): void {
    const names = namespacesOf(q, this.named);
    fillIf(this.head, JSON.stringify([names, q.namespace, this.status]), () => this.chooser(q, names));
    fillIf(this.counts, JSON.stringify(q.counts), () => Object.entries(q.counts).map(([s, n]) => chip(`${word('task', s)} ${n}`, taskTone(s), s)));
    fillIf(this.age, q.fresh_for > every ? q.read_at : '', () =>
      q.fresh_for > every ? h('p', { class: 'row wrap muted' }, h('span', null, t('queue.read_at', { at: moment(q.read_at), every: duration(q.fresh_for) })), button(t('queue.again'), () => this.readAgain(), { class: 'btn small', 'data-key': 'again' })) : null,
    );
    const orphans = q.groups.flatMap((g) => g.tasks.filter((task) => isOrphan(task, q.runners)).map((task) => task.task_id));
    fillIf(this.tasks, JSON.stringify([q.groups, q.left_off, q.namespace, orphans]), () => [
      q.groups.length === 0 ? h('p', { class: 'muted' }, t('queue.none')) : null,
      q.groups.map((g) => h('section', { class: 'card' }, h('h2', null, g.task_group_id || t('queue.no_group')), h('ul', { class: 'plain-list' }, g.tasks.map((task) => this.task(task, orphans.includes(task.task_id)))))),
      q.left_off > 0
        ? h(
            'p',
            { class: 'row wrap muted' },
            t('queue.left_off', { n: q.left_off }),
            this.limit < mostShown ? button(t('queue.more'), () => this.more(), { class: 'btn small', 'data-key': 'more' }) : null,
          )
        : null,
    ]);
    this.runners.hidden = false;
    fillIf(this.runners, JSON.stringify([q.runners, q.namespace]), () => [
      h('h2', null, t('queue.runners')),
      q.runners.length === 0 ? h('p', { class: 'muted' }, t('queue.no_runners')) : h('ul', { class: 'plain-list' }, q.runners.map(runnerLine)),
    ]);
  }

  private chooser(q: TaskQueue, names: readonly string[]): Child {
    const space = choice([...names.map((n) => [n, n] as const), [other, t('queue.other')] as const], q.namespace);
    space.dataset['key'] = 'namespace';
    space.addEventListener('change', () => {
      if (space.value !== other) return this.choose(space.value, this.status);
      space.value = q.namespace;
      this.askNamespace();
    });
    const status = choice([['', t('queue.any_status')], ...taskStatuses.map((s) => [s, word('task', s)] as const)], this.status);
    status.dataset['key'] = 'status';
    status.addEventListener('change', () => this.choose(this.namespace, status.value));
    return h('div', { class: 'row wrap end-line' }, field(t('queue.namespace'), space), field(t('list.status'), status));
  }

  private choose(namespace: string, status: string): void {
    this.namespace = namespace;
    this.status = status;
    this.limit = firstShown;
    this.remember(namespace);
    history.replaceState(null, '', address({ view: 'queue', namespace, status }));
    void this.load();
  }

  /** A namespace with ended tasks only is listed nowhere; its name is enough. */
  private askNamespace(): void {
    const name = h('input', { type: 'text', maxlength: 32, autocomplete: 'off', spellcheck: 'false' });
    const wrong = h('p', { class: 'wrong', role: 'alert' });
    const d = h('dialog', { class: 'dialog', 'aria-label': t('queue.other') });
    const buttons = h('div', { class: 'row end' }, button(t('common.cancel'), () => d.close()), h('button', { class: 'btn primary' }, t('common.open')));
    const form = h('form', { class: 'form', method: 'dialog' }, field(t('queue.namespace'), name), wrong, buttons);
    fill(d, form);
    form.addEventListener('submit', (e) => {
      e.preventDefault();
      if (!isNamespace(name.value.trim())) return void (wrong.textContent = t('queue.namespace_rule'));
      d.close();
      this.choose(name.value.trim(), this.status);
    });
    showDialog(d);
    name.focus();
  }

  private remember(name: string): void {
    if (!isNamespace(name) || this.named.includes(name)) return;
    this.named = [name, ...this.named].slice(0, 20);
    memory.set('namespaces', this.named.join(','));
  }

  private async more(): Promise<void> {
    this.limit = Math.min(mostShown, this.limit * 4);
    await this.load();
  }

  private async readAgain(): Promise<void> {
    this.again = true;
    await this.load();
  }

  private task(task: Task, orphan: boolean): Child {
    return h(
      'li',
      { class: 'task' },
      h(
        'div',
        { class: 'row wrap' },
        chip(word('task', task.status), taskTone(task.status), task.status),
        h('strong', null, task.request_id ? requestLink(task.request_id, task.task_id) : task.task_id),
        task.status === 'RUNNING' || task.status === 'QUEUED' ? elapsed(task.created_at, null) : h('span', { class: 'muted' }, moment(task.updated_at)),
        task.claimed_by ? h('span', { class: 'muted' }, t('queue.claimed_by', { runner: task.claimed_by })) : null,
        orphan ? chip(t('queue.orphan'), 'bad') : null,
        h('span', { class: 'grow' }),
        hasMore(task) ? button(t('queue.open'), () => openTask(task), { class: 'btn small', 'data-key': 'open:' + task.task_id, 'aria-label': `${t('queue.open')} ${task.task_id}` }) : null,
        canCancel(task) ? button(t('queue.cancel'), () => this.cancel(task), { class: 'btn small', 'data-key': 'cancel:' + task.task_id, 'aria-label': `${t('queue.cancel')} ${task.task_id}` }) : null,
      ),
      h('div', null, firstLine(task.prompt)),
      task.error_message ? h('p', { class: 'task-error' }, task.error_message) : null,
      task.output ? h('details', null, h('summary', null, t('queue.output')), h('pre', { tabindex: 0 }, task.output)) : null,
    );
  }

  private adder(): HTMLElement {
    this.prompt.setAttribute('aria-label', t('queue.prompt'));
    return h(
      'section',
      { class: 'card' },
      h('h2', null, t('queue.add_title')),
      field(t('queue.prompt'), this.prompt),
      h('div', { class: 'row wrap end-line' }, field(t('queue.group'), this.group), button(t('queue.add'), () => this.add(), { class: 'btn primary', 'data-key': 'add' })),
      h('div', { class: 'row wrap end-line' }, field(t('queue.requests'), this.ids, t('queue.requests_hint')), button(t('queue.push'), () => this.push(), { 'data-key': 'push' })),
    );
  }

  private async add(): Promise<void> {
    const prompt = this.prompt.value.trim();
    if (prompt === '') return this.prompt.focus();
    const group = this.group.value.trim();
    await this.put({ prompt, ...(group === '' ? {} : { group }) });
    this.prompt.value = '';
  }

  private async push(): Promise<void> {
    const ids = idsOf(this.ids.value);
    if (ids.length === 0) return this.ids.focus();
    await this.put({ request_ids: ids });
    this.ids.value = '';
  }

  private async put(what: Readonly<Record<string, unknown>>): Promise<void> {
    const { data } = await call<{ items: { created: boolean; task: Task }[] }>('POST', '/taskqueue', { ...what, ...this.where() });
    for (const one of data.items) toast(t(one.created ? 'queue.added' : 'queue.there', { id: one.task.task_id }), one.created ? 'good' : 'warn');
    await this.load();
  }

  private async cancel(task: Task): Promise<void> {
    if (!(await confirmed(t(task.status === 'RUNNING' ? 'queue.cancel_running' : 'queue.cancel_sure', { id: task.task_id }), t('queue.cancel')))) return;
    await call('POST', `/taskqueue/${encodeURIComponent(task.task_id)}/cancel`, { namespace: task.namespace });
    toast(t('queue.cancelled', { id: task.task_id }), 'good');
    await this.load();
  }

  /** What is shown is what is changed, also when the choice was left to the server. */
  private where(): { namespace?: string } {
    const namespace = this.namespace || this.queue?.namespace;
    return namespace ? { namespace } : {};
  }
}

function remembered(): string[] {
  return (memory.get('namespaces') ?? '').split(',').filter(isNamespace);
}

/** All that a task says, however long. */
async function openTask(listed: Task): Promise<void> {
  const { task } = await get<{ task: Task }>(`/taskqueue/${encodeURIComponent(listed.task_id)}?namespace=${encodeURIComponent(listed.namespace)}`);
  const part = (title: string, text: string) => (text === '' ? null : [h('div', { class: 'row spread' }, h('h3', null, title), copyButton(text)), h('pre', { class: 'tall', tabindex: 0 }, text)]);
  const d = h('dialog', { class: 'dialog wide', 'aria-label': task.task_id });
  fill(
    d,
    h('h2', null, task.task_id),
    h('p', { class: 'row wrap' }, chip(word('task', task.status), taskTone(task.status), task.status), h('span', { class: 'muted' }, `${moment(task.created_at)} – ${moment(task.updated_at)}`)),
    part(t('queue.prompt'), task.prompt),
    part(t('queue.error'), task.error_message),
    part(t('queue.output'), task.output),
    h('div', { class: 'row end' }, button(t('common.close'), () => d.close(), { class: 'btn primary' })),
  );
  showDialog(d);
}

function runnerLine(r: Runner): Child {
  const state = runnerState(r);
  return h(
    'li',
    { class: 'row wrap' },
    chip(t(`queue.runner_${state}`), state === 'alive' ? 'good' : state === 'dead' ? 'bad' : 'quiet'),
    h('strong', null, r.runner_id),
    state === 'stopped' ? null : h('span', { class: 'muted' }, t('queue.heartbeat'), ' ', elapsed(r.last_heartbeat, null)),
    h('code', null, r.project_root),
  );
}
