import { fill, h } from './dom.js';
import { t, type TextKey } from './i18n.js';
import { button, showDialog } from './parts.js';

/** The documented keys; docs/page.md has the same list. */
export const keyList: readonly (readonly [string, TextKey])[] = [
  ['/', 'help.filter'],
  ['j  k  ↓  ↑', 'help.move'],
  ['Enter', 'help.open'],
  ['n', 'help.new'],
  ['r', 'help.next'],
  ['e', 'help.edit'],
  ['Ctrl+S  ⌘S', 'help.save'],
  ['/', 'help.find'],
  ['n  N', 'help.hits'],
  ['f', 'help.follow'],
  ['End', 'help.end'],
  ['1  2  3  4  5', 'help.go'],
  ['?', 'help.this'],
];

export function showHelp(): void {
  const d = h('dialog', { class: 'dialog', 'aria-label': t('help.title') });
  fill(
    d,
    h('h2', null, t('help.title')),
    h('dl', { class: 'keys' }, keyList.map(([keys, what]) => [h('dt', null, keys.split('  ').map((k) => [h('kbd', null, k), ' '])), h('dd', null, t(what))])),
    h('div', { class: 'row end' }, button(t('common.close'), () => d.close(), { class: 'btn primary' })),
  );
  showDialog(d);
}
