import { h, s, type Child } from './dom.js';
import { clock, day, duration } from './format.js';
import { t } from './i18n.js';
import { axisOf, type Lane } from './timeline.js';

const width = 1000;
const label = 250;
const laneHeight = 30;

/** Bars over an axis that fits them. Bars of lanes with an address lead there. */
export function timelinePicture(lanes: readonly Lane[], href: (lane: Lane) => string | undefined, begin?: number, end?: number): HTMLElement {
  if (lanes.length === 0) return h('p', { class: 'muted' }, t('time.none'));
  const axis = axisOf(lanes, begin, end);
  const x = (at: number) => label + ((at - axis.from) / (axis.to - axis.from)) * (width - label - 20);
  const height = lanes.length * laneHeight + 34;
  const long = day(axis.from) !== day(axis.to);
  const picture = s(
    'svg',
    { viewBox: `0 0 ${width} ${height}`, class: 'timeline', role: lanes.some((l) => href(l) !== undefined) ? 'group' : 'img', 'aria-label': t('time.label') },
    axis.ticks.map((at) => [
      s('line', { x1: x(at), x2: x(at), y1: 0, y2: height - 24, class: 'tick' }),
      s('text', { x: x(at), y: height - 8, class: 'tick-text', 'text-anchor': 'middle' }, axis.to - axis.from < 180_000 ? clock(at) : long ? `${day(at).slice(5)} ${clock(at).slice(0, 5)}` : clock(at).slice(0, 5)),
    ]),
    lanes.map((lane, n) => laneOf(lane, n, x, href(lane))),
  );
  return h('div', { class: 'scroll-x', tabindex: 0 }, picture);
}

/** All runs of a session in one line: a bar for each, gaps stay gaps. */
export function nightStrip(lanes: readonly Lane[], href: (lane: Lane) => string | undefined, begin: number, end: number | undefined): HTMLElement {
  const axis = axisOf(lanes, begin, end);
  const x = (at: number) => ((at - axis.from) / (axis.to - axis.from)) * width;
  const bars = lanes.flatMap((lane) =>
    lane.bars.map((b) => {
      const bar = s('g', { class: 'run' }, s('rect', { x: x(b.from), y: 2, width: Math.max(4, x(b.to) - x(b.from) - 1), height: 24, rx: 3, class: `bar ${b.kind}` }), s('title', null, `${lane.label} · ${b.label} · ${clock(b.from)}–${clock(b.to)} (${duration(b.to - b.from)})`));
      const to = href(lane);
      return to === undefined ? bar : s('a', { href: to, 'aria-label': `${lane.label}: ${b.label}` }, bar);
    }),
  );
  let last = axis.from;
  const gaps = lanes.flatMap((lane) =>
    lane.bars.map((b) => {
      const gap = b.from - last > (axis.to - axis.from) / 100 ? s('g', { class: 'gap' }, s('rect', { x: x(last), y: 12, width: x(b.from) - x(last), height: 4 }), s('title', null, t('night.gap', { time: duration(b.from - last) }))) : null;
      last = Math.max(last, b.to);
      return gap;
    }),
  );
  const tick = (at: number) => s('text', { x: Math.min(width - 40, x(at)), y: 42, class: 'tick-text' }, clock(at).slice(0, 5));
  return h('div', { class: 'scroll-x' }, s('svg', { viewBox: `0 0 ${width} 46`, class: 'timeline strip', role: 'group', 'aria-label': t('night.strip') }, gaps, bars, axis.ticks.map(tick)));
}

function laneOf(lane: Lane, n: number, x: (at: number) => number, href: string | undefined): Child {
  const y = n * laneHeight + 4;
  const name = lane.id === 'wait' ? t('time.wait') : `${lane.id.startsWith('S') ? lane.id + ' ' : ''}${lane.label}`;
  const shown = s('text', { x: 0, y: y + 16, class: 'lane-text' }, short(name));
  shown.append(s('title', null, name));
  const bars = lane.bars.map((b) =>
    s(
      'g',
      null,
      s('rect', { x: x(b.from), y, width: Math.max(3, x(b.to) - x(b.from)), height: laneHeight - 10, rx: 4, class: `bar ${b.kind}` }),
      x(b.to) - x(b.from) > 60 ? s('text', { x: x(b.from) + 6, y: y + 14, class: 'bar-text' }, [b.label, duration(b.to - b.from)].filter(Boolean).join(' ').slice(0, Math.floor((x(b.to) - x(b.from)) / 8))) : null,
      s('title', null, `${name} ${b.label} ${clock(b.from)}–${clock(b.to)} (${duration(b.to - b.from)})`),
    ),
  );
  return href === undefined ? s('g', null, shown, bars) : s('a', { href }, shown, bars);
}

/** Full-width characters take two places. */
function short(text: string): string {
  let room = 30;
  let out = '';
  for (const c of text) {
    room -= (c.codePointAt(0) ?? 0) > 0x2e7f ? 2 : 1;
    if (room < 0) return out + '…';
    out += c;
  }
  return out;
}
