import type { Go } from './actions.js';
import { call, get, requestPath, type Graph, type Meta, type Selection } from './api.js';
import { fill, fillIf, h, s, type Child } from './dom.js';
import { around, draw, mostWaited, ringsOf, withMissing, type GraphEdge, type GraphNode, type Picture, type Placed } from './graph.js';
import { t, word } from './i18n.js';
import { coalesced, type LiveEvent } from './live.js';
import { button, requestLink, showError, toast, type View } from './parts.js';
import { address, requestAt } from './router.js';

const most = 60;
const card = { w: 190, h: 58, dx: 74, dy: 20 };
const above = 28; // room for what goes round
const closed = ['DONE', 'ARCHIVED'];

export class GraphView implements View {
  readonly el = h('div', { class: 'view graph' });
  private data: Graph | undefined;
  private etag = '';
  private hideDone = false;
  private drawn = '';
  private next = '';
  private readonly bar = h('div', { class: 'toolbar' });
  private readonly notes = h('div');
  private readonly rings = h('div');
  private readonly place = h('div', { class: 'scroll-x graph-box', tabindex: 0 });
  private readonly reload = coalesced(() => this.load(), 150);

  constructor(
    private readonly go: Go,
    private readonly focus: string,
    private readonly hops: number,
  ) {
    fill(this.el, h('h1', null, t('graph.title')), h('p', { class: 'muted' }, t('graph.hint')), this.bar, this.notes, this.rings, this.place, legend());
    void this.reload.now().catch(showError);
  }

  title = (): string => t('graph.title');

  onEvent(e: LiveEvent): void {
    if (e.kind !== 'log' && e.kind !== 'stage') this.reload();
    else if (e.kind === 'stage' && ['DONE', 'FAILED', 'NEEDS_INPUT', 'INIT'].includes(String(e.data['state']))) this.reload();
  }

  private async load(): Promise<void> {
    const { data, etag } = await call<Graph>('GET', '/graph');
    if (etag !== '' && etag === this.etag) return;
    this.etag = etag;
    this.data = data;
    if (this.focus === '' && data.nodes.length > most) this.next = (await get<Selection>('/queue/next')).next?.request_id ?? '';
    this.paint();
  }

  private paint(): void {
    const data = this.data;
    if (!data) return;
    const all = withMissing(data.nodes, data.edges);
    const open = this.hideDone ? all.filter((n) => !closed.includes(n.derived) || n.id === this.focus) : all;
    const { nodes, focus } = this.choose(open, data.edges);
    const picture = draw(nodes, data.edges);
    this.paintBar(all, focus, focus !== '' && around(data.edges, focus, this.hops + 1).size > around(data.edges, focus, this.hops).size);
    const shown = new Set(nodes.map((n) => n.id));
    const rings = ringsOf(data.edges.filter((e) => shown.has(e.from) && shown.has(e.to)));
    fillIf(this.rings, JSON.stringify(rings), () => rings.map((r) => this.ring(r, all)));
    fill(
      this.notes,
      focus !== '' && this.focus === '' ? h('p', { class: 'note warn' }, t('graph.large', { n: open.filter((n) => n.derived !== 'MISSING').length, id: focus })) : null,
      picture.implied > 0 ? h('p', { class: 'muted' }, t('graph.implied', { n: picture.implied })) : null,
    );
    // Only what changed is painted anew; who scrolled stays where they are.
    const key = JSON.stringify([picture, focus]);
    if (key === this.drawn) return;
    this.drawn = key;
    const { scrollLeft, scrollTop } = this.place;
    fill(this.place, nodes.length === 0 ? h('p', { class: 'empty' }, t('graph.empty')) : this.picture(picture, focus));
    this.place.scrollLeft = scrollLeft;
    this.place.scrollTop = scrollTop;
  }

  private choose(open: readonly GraphNode[], edges: readonly GraphEdge[]): { nodes: GraphNode[]; focus: string } {
    if (this.focus === '' && open.length <= most) return { nodes: [...open], focus: '' };
    const linked = new Set(edges.flatMap((e) => [e.from, e.to]));
    const first = ringsOf(edges)[0]?.[0]?.from ?? (linked.has(this.next) ? this.next : undefined) ?? mostWaited(edges) ?? (this.next || open[0]?.id);
    const focus = this.focus !== '' ? this.focus : (first ?? '');
    const near = around(edges, focus, this.hops);
    return { nodes: open.filter((n) => near.has(n.id)).slice(0, 400), focus };
  }

  private paintBar(all: readonly GraphNode[], focus: string, hasMore: boolean): void {
    if (this.bar.contains(document.activeElement)) return;
    const input = h('input', { type: 'search', list: 'graph-ids', placeholder: t('graph.focus'), 'aria-label': t('graph.focus'), value: this.focus });
    input.addEventListener('change', () => {
      const id = input.value.trim();
      if (id === '' || all.some((n) => n.id === id)) this.go(address({ view: 'graph', focus: id, hops: 1 }));
    });
    const hide = h('input', { type: 'checkbox' });
    hide.checked = this.hideDone;
    hide.addEventListener('change', () => {
      this.hideDone = hide.checked;
      this.paint();
    });
    fill(
      this.bar,
      input,
      h('datalist', { id: 'graph-ids' }, all.slice(0, 1000).map((n) => h('option', { value: n.id }, n.title))),
      hasMore ? button(t('graph.more'), () => this.go(address({ view: 'graph', focus, hops: this.hops + 1 })), { class: 'btn small' }) : null,
      this.focus !== '' ? button(t('graph.all'), () => this.go('/graph'), { class: 'btn small' }) : null,
      focus !== '' ? requestLink(focus) : null,
      h('label', { class: 'check' }, hide, ' ', t('graph.hide_done')),
    );
  }

  /** A ring as a ring, and each of its dependencies with the button that ends it. */
  private ring(edges: readonly GraphEdge[], all: readonly GraphNode[]): Child {
    const next = new Map(edges.map((e) => [e.from, e.to]));
    const ids: string[] = [];
    for (let id = edges[0]?.from; id !== undefined && !ids.includes(id); id = next.get(id)) ids.push(id);
    for (const e of edges) if (!ids.includes(e.from)) ids.push(e.from);
    const r = Math.max(110, ids.length * 48);
    const [cx, cy] = [r * 1.5 + card.w / 2 + 8, r + card.h / 2 + 8];
    const at = new Map(ids.map((id, i) => [id, { x: cx + r * 1.5 * Math.sin((i / ids.length) * 2 * Math.PI), y: cy - r * Math.cos((i / ids.length) * 2 * Math.PI) }]));
    const [width, height] = [2 * cx, Math.max(...[...at.values()].map((p) => p.y)) + card.h / 2 + 8];
    const arrow = (e: GraphEdge, n: number): Child => {
      const [a, b] = [at.get(e.from), at.get(e.to)];
      if (!a || !b) return null;
      const [dx, dy] = [b.x - a.x, b.y - a.y];
      const part = Math.min(0.45, (Math.min(card.w / 2 / Math.abs(dx || 1e-9), card.h / 2 / Math.abs(dy || 1e-9))) + 4 / Math.hypot(dx, dy)); // where the line leaves the card
      return s('path', { d: `M${a.x + dx * part} ${a.y + dy * part}L${b.x - dx * part} ${b.y - dy * part}`, class: `edge cycle${n === 0 ? ' weakest' : ''}`, 'marker-end': 'url(#ring-arrow)' });
    };
    return h(
      'section',
      { class: 'card bad ring' },
      h('p', null, h('strong', null, t('graph.ring'))),
      h(
        'div',
        { class: 'scroll-x', tabindex: 0 },
        s(
          'svg',
          { width, height, viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': t('graph.ring_label') },
          s('defs', null, s('marker', { id: 'ring-arrow', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto' }, s('path', { d: 'M0 0L8 4L0 8z', class: 'arrow cycle' }))),
          edges.map(arrow),
          ids.map((id) => {
            const node = all.find((n) => n.id === id);
            const p = at.get(id);
            return node && p ? this.card({ node, col: 0, row: 0 }, { x: p.x - card.w / 2, y: p.y - card.h / 2 }, false) : null;
          }),
        ),
      ),
      h('ul', { class: 'plain-list' }, edges.map((e, n) => h('li', { class: 'row wrap' }, h('span', null, t('graph.waits', { id: e.from, on: e.to })), n === 0 ? h('span', { class: 'muted' }, t('graph.weakest')) : null, button(t('graph.remove'), () => this.cut(e), { class: n === 0 ? 'btn small primary' : 'btn small', 'aria-label': `${t('graph.remove')}: ${t('graph.waits', { id: e.from, on: e.to })}`, 'data-key': `cut:${e.from}:${e.to}` })))),
    );
  }

  private async cut(e: GraphEdge): Promise<void> {
    const { data, etag } = await call<{ meta: Meta }>('GET', `${requestPath(e.from)}/meta`);
    await call('PATCH', `${requestPath(e.from)}/meta`, { depends_on: (data.meta.depends_on ?? []).filter((id) => id !== e.to) }, { 'If-Match': etag });
    toast(t('graph.removed', { id: e.from, on: e.to }), 'good');
    await this.reload.now();
  }

  private picture(p: Picture, focus: string): Child {
    const at = new Map(p.placed.map((c) => [c.node.id, { x: c.col * (card.w + card.dx) + 8, y: c.row * (card.h + card.dy) + above }]));

    const width = p.cols * (card.w + card.dx) - card.dx + 16;
    const height = p.rows * (card.h + card.dy) - card.dy + above + 8;
    return s(
      'svg',
      { width, height, viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': t('graph.title') },
      s('defs', null, s('marker', { id: 'arrow', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto' }, s('path', { d: 'M0 0L8 4L0 8z', class: 'arrow' }))),
      p.edges.map((e) => edge(e, at)),
      p.placed.map((c) => this.card(c, at.get(c.node.id) ?? { x: 0, y: 0 }, c.node.id === focus)),
    );
  }

  private card(c: Placed, at: { x: number; y: number }, isFocus: boolean): Child {
    const n = c.node;
    const what = t(`legend.${tone(n)}`);
    const state = n.derived === 'NOT_READY' && n.status !== 'blocked' ? word('status', n.status) : word('graph', n.derived) === n.derived ? what : word('graph', n.derived);
    const a = s(
      'a',
      { href: requestAt(n.id), class: `node ${tone(n)}${isFocus ? ' focus' : ''}`, transform: `translate(${at.x} ${at.y})` },
      s('rect', { width: card.w, height: card.h, rx: 8 }),
      // A picture of its own cuts off what is too long.
      s(
        'svg',
        { width: card.w - 8, height: card.h },
        s('text', { x: 10, y: 17, class: 'n-id' }, cut(n.id, 21), n.priority ? ` ${n.priority}` : ''),
        s('text', { x: 10, y: 34, class: 'n-title' }, cut(n.title, 20)),
        s('text', { x: 10, y: 50, class: 'n-state' }, cut(state, 28)),
      ),
      s('title', null, `${n.id}\n${n.title}\n${state}\n${n.derived}`),
    );
    a.addEventListener('click', (e) => {
      if (!e.shiftKey) return;
      e.preventDefault();
      e.stopPropagation();
      this.go(address({ view: 'graph', focus: n.id, hops: 1 }));
    });
    return a;
  }
}

function edge(e: GraphEdge, at: Map<string, { x: number; y: number }>): Child {
  const from = at.get(e.from);
  const to = at.get(e.to);
  if (!from || !to) return null;
  const [x1, y1] = [from.x, from.y + card.h / 2];
  const [x2, y2] = [to.x + card.w, to.y + card.h / 2];
  if (from.x <= to.x) {
    // It closes a ring: round the cards, not behind them.
    const over = Math.min(from.y, to.y) - 6;
    return s('path', { d: `M${from.x + card.w / 2} ${from.y}C${from.x + card.w / 2} ${over - 16} ${to.x + card.w / 2} ${over - 16} ${to.x + card.w / 2} ${to.y - 2}`, class: `edge ${e.state.toLowerCase()}`, 'marker-end': 'url(#arrow)' });
  }
  const bend = Math.max(30, Math.abs(x1 - x2) / 2);
  return s('path', { d: `M${x1} ${y1}C${x1 - bend} ${y1} ${x2 + bend} ${y2} ${x2 + 2} ${y2}`, class: `edge ${e.state.toLowerCase()}`, 'marker-end': 'url(#arrow)' });
}

type Tone = 'runnable' | 'waiting' | 'running' | 'ask' | 'bad' | 'done' | 'other';

export function tone(n: GraphNode): Tone {
  switch (n.derived) {
    case 'RUNNABLE':
      return 'runnable';
    case 'DONE':
      return 'done';
    case 'REQUEST_LOCKED':
    case 'QUEUE_LOCKED':
      return 'running';
    case 'LATEST_RUN_NEEDS_INPUT':
      return 'ask';
    case 'LATEST_RUN_DONE':
      return 'done';
    case 'DEPENDS_NOT_DONE':
      return 'waiting';
    case 'NOT_READY':
      return n.status === 'blocked' ? 'ask' : n.status === 'running' ? 'running' : 'other';
    case 'ARCHIVED':
      return 'other';
    default:
      return 'bad';
  }
}

function legend(): HTMLElement {
  const names = ['runnable', 'waiting', 'running', 'ask', 'bad', 'done', 'other'] as const;
  return h('ul', { class: 'legend', 'aria-label': t('graph.legend') }, names.map((n) => h('li', null, h('span', { class: `swatch ${n}` }), t(`legend.${n}`))));
}

function cut(text: string, room: number): string {
  let left = room;
  let out = '';
  for (const c of text) {
    left -= (c.codePointAt(0) ?? 0) > 0x2e7f ? 1.8 : /[A-Z0-9mw@%]/.test(c) ? 1.1 : 1;
    if (left < 0) return out + '…';
    out += c;
  }
  return out;
}
