import { answerRun, type Go } from './actions.js';
import type { RunDetail } from './api.js';
import { h } from './dom.js';
import { t } from './i18n.js';
import { memory } from './memory.js';
import { button } from './parts.js';

/** What a role asks, as a form. What is typed outlives the tab until it was sent. */
export function answerForm(go: Go, r: RunDetail): HTMLElement {
  const questions = r.errors?.questions ?? [];
  const kept = (n: number): string => `answer.${r.run_id}.${questions[n]}`; // another question has no draft of this one
  const fields = questions.map((q, n) => {
    const el = h('textarea', { rows: 2, required: true, 'aria-label': q, 'data-key': 'answer' + n, value: memory.get(kept(n)) ?? '' });
    el.addEventListener('input', () => memory.set(kept(n), el.value));
    el.addEventListener('keydown', (e) => {
      if (e.key !== 'Enter' || !(e.ctrlKey || e.metaKey)) return;
      e.preventDefault();
      send.click();
    });
    return el;
  });
  const wrong = h('p', { class: 'wrong', role: 'alert' });
  const send = button(
    t('run.answer'),
    async () => {
      const empty = fields.find((f) => f.value.trim() === '');
      wrong.textContent = empty ? t('run.answer_need') : '';
      if (empty) return empty.focus();
      const said = fields.map((f, n) => (fields.length > 1 ? `${n + 1}. ` : '') + f.value.trim()).join('\n');
      await answerRun(go, r.request_id, r.run_id, questions, said);
      fields.forEach((_, n) => memory.set(kept(n), ''));
    },
    { type: 'submit', class: 'btn primary', 'data-key': 'answer' },
  );
  const form = h(
    'form',
    { class: 'answer form' },
    questions.map((q, n) => h('label', { class: 'field' }, h('span', null, q), fields[n])),
    wrong,
    h('div', { class: 'row wrap' }, send, h('span', { class: 'muted' }, t('run.answer_hint'))),
  );
  form.noValidate = true; // it says itself what is missing, in the language of the page
  form.addEventListener('submit', (e) => e.preventDefault());
  return form;
}
