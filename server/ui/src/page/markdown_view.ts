import { h, isSafeHref, type Child } from './dom.js';
import { parse, type Block, type Inline, type Item } from './markdown.js';

/** Nothing that is drawn at once is longer; what is cut is said. */
const longest = 200_000;

export function renderMarkdown(text: string, cutNote: (shown: number, all: number) => string): HTMLElement {
  const el = h('div', { class: 'md' }, parse(text.slice(0, longest)).map(block));
  if (text.length > longest) el.prepend(h('p', { class: 'note warn' }, cutNote(longest, text.length)));
  return el;
}

function block(b: Block): Child {
  switch (b.t) {
    case 'heading':
      return h(`h${Math.min(6, b.level + 1)}` as 'h2', null, b.kids.map(inlineNode));
    case 'para':
      return h('p', null, b.kids.map(inlineNode));
    case 'code':
      return h('pre', { tabindex: 0 }, h('code', null, b.text));
    case 'quote':
      return h('blockquote', null, b.blocks.map(block));
    case 'list':
      return list(b);
    case 'rule':
      return h('hr');
    case 'table': {
      const cell = (tag: 'th' | 'td') => (c: readonly Inline[], i: number) =>
        h(tag, { class: b.align[i] ? 'a-' + b.align[i] : null }, c.map(inlineNode));
      return h(
        'div',
        { class: 'scroll-x', tabindex: 0 },
        h('table', null, h('thead', null, h('tr', null, b.head.map(cell('th')))), h('tbody', null, b.rows.map((r) => h('tr', null, r.map(cell('td')))))),
      );
    }
  }
}

function list(b: Extract<Block, { t: 'list' }>): Child {
  const items = b.items.map((i) => listItem(i, b.tight));
  return b.start === undefined ? h('ul', null, items) : h('ol', { start: b.start }, items);
}

function listItem(i: Item, tight: boolean): Child {
  const kids = i.blocks.map((b) => (tight && b.t === 'para' ? b.kids.map(inlineNode) : block(b)));
  if (i.checked === undefined) return h('li', null, kids);
  const box = h('input', { type: 'checkbox', disabled: true, 'aria-label': i.checked ? '✓' : '–' });
  box.checked = i.checked;
  return h('li', { class: 'task' }, box, ' ', kids);
}

function inlineNode(n: Inline): Child {
  switch (n.t) {
    case 'text':
      return n.text;
    case 'code':
      return h('code', null, n.text);
    case 'br':
      return h('br');
    case 'image': // shown as a link: looking at a request asks nobody for anything
      return outward(n.href, ['[' + (n.alt || n.href) + ']']);
    case 'link':
      return outward(n.href, n.kids.map(inlineNode));
    default:
      return h(n.t, null, n.kids.map(inlineNode));
  }
}

function outward(href: string, kids: readonly Child[]): Child {
  if (!isSafeHref(href) || href === '') return h('span', { class: 'deadlink', title: href }, kids);
  const outside = /^(https?:|mailto:)/i.test(href);
  if (!outside && !href.startsWith('#') && !href.startsWith('/')) return h('span', { class: 'deadlink', title: href }, kids);
  return h('a', outside ? { href, target: '_blank', rel: 'noopener noreferrer' } : { href }, kids);
}
