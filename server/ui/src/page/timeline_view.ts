import { h, s, type Child } from './dom.js';
import { clock, day, duration } from './format.js';
import { t, word } from './i18n.js';
import { axisOf, type Axis, type Bar, type Lane } from './timeline.js';

const laneHeight = 28; // px; lengths are parts of the width, whatever that is

const place = (axis: Axis, at: number): number => ((at - axis.from) / (axis.to - axis.from)) * 100;
const percent = (n: number): string => `${Math.round(n * 100) / 100}%`;
const said = (b: Bar): string => (b.kind === 'wait' ? word('event', b.label) : b.label);

/** Bars over an axis that fits them, the name of each beside it. Bars of lanes with an address lead there. */
export function timelinePicture(lanes: readonly Lane[], href: (lane: Lane) => string | undefined, begin?: number, end?: number): HTMLElement {
  if (lanes.length === 0) return h('p', { class: 'muted' }, t('time.none'));
  const axis = axisOf(lanes, begin, end);
  const line = (at: number) => s('line', { x1: percent(place(axis, at)), x2: percent(place(axis, at)), y1: 0, y2: laneHeight, class: 'tick' });
  const row = (lane: Lane): Child => {
    const name = lane.id === 'wait' ? t('time.wait') : `${lane.id.startsWith('S') ? lane.id + ' ' : ''}${lane.label}`;
    const kids = [h('span', { class: 'lane-name', title: name }, name), s('svg', { class: 'timeline', width: '100%', height: laneHeight }, axis.ticks.map(line), lane.bars.map((b) => bar(axis, b, name)))];
    const to = href(lane);
    return to === undefined ? h('div', { class: 'lane-row' }, kids) : h('a', { class: 'lane-row', href: to }, kids);
  };
  return h('div', { role: 'group', 'aria-label': t('time.label') }, lanes.map(row), h('div', { class: 'lane-row axis' }, h('span'), s('svg', { class: 'timeline', width: '100%', height: 18 }, ticks(axis, 14))));
}

function bar(axis: Axis, b: Bar, name: string): Child {
  const [from, width] = [place(axis, b.from), place(axis, b.to) - place(axis, b.from)];
  const text = [said(b), duration(b.to - b.from)].filter(Boolean).join(' ');
  const needs = 12 + 6.5 * text.length; // px
  return s(
    'g',
    null,
    s('rect', { x: percent(from), y: 4, width: percent(Math.max(0.4, width)), height: laneHeight - 8, rx: 4, class: `bar ${b.kind}` }),
    // A picture of its own cuts off what is too long.
    width * 6.5 > needs ? s('svg', { x: percent(from), width: percent(width), height: laneHeight }, s('text', { x: 6, y: 18, class: width * 3 > needs ? 'bar-text' : 'bar-text roomy' }, text)) : null,
    s('title', null, `${name} ${said(b)} ${clock(b.from)}–${clock(b.to)} (${duration(b.to - b.from)})`),
  );
}

function ticks(axis: Axis, y: number): Child {
  const long = day(axis.from) !== day(axis.to);
  const text = (at: number) => (axis.to - axis.from < 180_000 ? clock(at) : long ? `${day(at).slice(5)} ${clock(at).slice(0, 5)}` : clock(at).slice(0, 5));
  return axis.ticks.map((at) => {
    const x = place(axis, at);
    return s('text', { x: percent(x), y, class: 'tick-text', 'text-anchor': x < 4 ? 'start' : x > 94 ? 'end' : 'middle' }, text(at));
  });
}

/** All runs of a session in one line, or one for each slot: a bar for each, gaps stay gaps. */
export function nightStrip(lanes: readonly Lane[], href: (lane: Lane) => string | undefined, begin: number, end: number | undefined): Element {
  const axis = axisOf(lanes, begin, end);
  const top = (lane: Lane) => laneHeight * (lane.row ?? 0);
  const height = laneHeight * (1 + lanes.reduce((n, lane) => Math.max(n, lane.row ?? 0), 0));
  const bars = lanes.flatMap((lane) =>
    lane.bars.map((b) => {
      const [from, width] = [place(axis, b.from), place(axis, b.to) - place(axis, b.from)];
      const made = s('g', { class: 'run' }, s('rect', { x: percent(from), y: 2 + top(lane), width: percent(Math.max(0.4, width)), height: 24, rx: 3, class: `bar ${b.kind}` }), s('title', null, `${lane.label} · ${b.label} · ${clock(b.from)}–${clock(b.to)} (${duration(b.to - b.from)})`));
      const to = href(lane);
      return to === undefined ? made : s('a', { href: to, 'aria-label': `${lane.label}: ${b.label}` }, made);
    }),
  );
  const over = new Map<number, number>();
  const gaps = lanes.flatMap((lane) =>
    lane.bars.map((b) => {
      const last = over.get(top(lane)) ?? axis.from;
      over.set(top(lane), Math.max(last, b.to));
      return b.from - last > (axis.to - axis.from) / 100 ? s('g', { class: 'gap' }, s('rect', { x: percent(place(axis, last)), y: 12 + top(lane), width: percent(place(axis, b.from) - place(axis, last)), height: 4 }), s('title', null, t('night.gap', { time: duration(b.from - last) }))) : null;
    }),
  );
  return s('svg', { class: 'timeline strip', width: '100%', height: height + 18, role: 'group', 'aria-label': t('night.strip') }, gaps, bars, ticks(axis, height + 14));
}
