import type { Go } from './actions.js';
import { call } from './api.js';
import { fill, h } from './dom.js';
import { t } from './i18n.js';
import { button, choice, commaList, errorOf, field, priorityOptions, showDialog, statusOptions } from './parts.js';
import { requestAt } from './router.js';

/** Asks for what a request needs, and goes to it. */
export function newRequest(go: Go, ids: readonly string[]): void {
  const d = h('dialog', { class: 'dialog wide', 'aria-label': t('list.new') });
  const title = h('input', { type: 'text', maxlength: 300, required: true });
  const priority = choice(priorityOptions(), 'P2');
  const status = choice(statusOptions().filter(([s]) => s === 'draft' || s === 'ready'), 'draft');
  const labels = h('input', { type: 'text' });
  const depends = h('input', { type: 'text', list: 'new-ids' });
  const text = h('textarea', { rows: 6 });
  const wrong = h('p', { class: 'wrong', role: 'alert' });
  const create = async () => {
    if (title.value.trim() === '') {
      wrong.textContent = t('new.need');
      title.focus();
      return;
    }
    try {
      const { data } = await call<{ id: string }>('POST', '/requests', {
        title: title.value.trim(), priority: priority.value, status: status.value,
        labels: commaList(labels.value), depends_on: commaList(depends.value),
        ...(text.value.trim() === '' ? {} : { body_markdown: text.value }),
      });
      d.close();
      go(requestAt(data.id));
    } catch (e) {
      wrong.textContent = errorOf(e).title;
    }
  };
  const form = h(
    'form',
    { class: 'form' },
    h('h2', null, t('list.new')),
    field(t('new.title'), title),
    h('div', { class: 'row wrap' }, field(t('meta.priority'), priority), field(t('meta.status'), status)),
    field(t('meta.labels'), labels, t('meta.labels_hint')),
    field(t('meta.depends_on'), depends, t('meta.depends_hint')),
    h('datalist', { id: 'new-ids' }, ids.slice(0, 500).map((id) => h('option', { value: id }))),
    field(t('new.body'), text),
    wrong,
    h('div', { class: 'row end' }, button(t('common.cancel'), () => d.close()), button(t('new.create'), create, { type: 'submit', class: 'btn primary' })),
  );
  form.noValidate = true; // the form says itself what is missing
  form.addEventListener('submit', (e) => e.preventDefault()); // Enter presses the button
  fill(d, form);
  showDialog(d);
  title.focus();
}
