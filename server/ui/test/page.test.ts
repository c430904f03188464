import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Autosave, Conflict, Unreachable, type AutosaveParts, type HeldLock, type SaveState } from '../src/page/autosave.js';
import { compare, difference, foldReason, inTree, layout, treeOf, unified, withoutSpace } from '../src/page/diff.js';
import { isSafeHref } from '../src/page/dom.js';
import { Drafts, MAX_VERSIONS } from '../src/page/drafts.js';
import { duration, size } from '../src/page/format.js';
import { around, draw, mostWaited, ringsOf, withMissing, type GraphNode } from '../src/page/graph.js';
import { fillPlaces, pickLang } from '../src/page/i18n.js';
import { heldStill, inOrder, matchesFilter, needsAnswer, patched, standing } from '../src/page/list_state.js';
import { coalesced } from '../src/page/live.js';
import { firstAt, LogFinder, type Hit } from '../src/page/log_find.js';
import { LogStore, textOf } from '../src/page/log_store.js';
import { colours, LogLines } from '../src/page/logtext.js';
import { inline, parse, type Block, type Inline } from '../src/page/markdown.js';
import { address, noFilter, readAddress } from '../src/page/router.js';
import { Poller } from '../src/page/poller.js';
import { canCancel, firstLine, hasMore, idsOf, isNamespace, isOrphan, namespacesOf, queuePath, runnerState, taskStatuses, type Runner, type Task } from '../src/page/queue_state.js';
import { placeOf } from '../src/page/run_logs.js';
import { axisOf, busy, nightLanes, runLanes, turnLanes } from '../src/page/timeline.js';
import { scrollFor, visibleRange } from '../src/page/window.js';
import { ApiError, type Item, type List } from '../src/page/api.js';
import { settle } from './world.js';

// A short form of the tree, to compare with.
const flat = (n: Inline): string => {
  switch (n.t) {
    case 'text':
      return n.text;
    case 'code':
      return `{code ${n.text}}`;
    case 'br':
      return '{br}';
    case 'image':
      return `{image ${n.alt}>${n.href}}`;
    case 'link':
      return `{link ${n.kids.map(flat).join('')}>${n.href}}`;
    default:
      return `{${n.t} ${n.kids.map(flat).join('')}}`;
  }
};
const line = (text: string) => inline(text).map(flat).join('');
const shape = (b: Block): string => {
  switch (b.t) {
    case 'heading':
      return `h${b.level}(${b.kids.map(flat).join('')})`;
    case 'para':
      return `p(${b.kids.map(flat).join('')})`;
    case 'code':
      return `code[${b.lang}](${b.text})`;
    case 'quote':
      return `q(${b.blocks.map(shape).join(' ')})`;
    case 'rule':
      return 'hr';
    case 'list':
      return `${b.start === undefined ? 'ul' : 'ol' + b.start}(${b.items.map((i) => (i.checked === undefined ? '' : i.checked ? '[x]' : '[ ]') + i.blocks.map(shape).join(' ')).join('; ')})`;
    case 'table':
      return `table[${b.align.join(',')}](${[b.head, ...b.rows].map((r) => r.map((c) => c.map(flat).join('')).join('|')).join(' / ')})`;
  }
};
const doc = (text: string) => parse(text).map(shape).join(' ');

test('markdown: blocks', () => {
  for (const [text, want] of [
    ['# A #\n\ntext\nmore', 'h1(A) p(text\nmore)'],
    ['A\n===\nB\n---\n', 'h1(A) h2(B)'],
    ['- a\n- b\n  - c\n', 'ul(p(a); p(b) ul(p(c)))'],
    ['1. a\n2. b', 'ol1(p(a); p(b))'],
    ['3) a', 'ol3(p(a))'],
    ['- [x] a\n- [ ] b', 'ul([x]p(a); [ ]p(b))'],
    ['> a\n> - b\n\nc', 'q(p(a) ul(p(b))) p(c)'],
    ['```go\n<b>\n# no\n```\nx', 'code[go](<b>\n# no) p(x)'],
    ['~~~\nopen', 'code[](open)'],
    ['    code\n\n    more', 'code[](code\n\nmore)'],
    ['a\n***\nb', 'p(a) hr p(b)'],
    ['| a | b \\| c |\n|:--|--:|\n| `1` | 2 |\n| 3 |', 'table[left,right](a|b | c / {code 1}|2 / 3|)'],
    ['<!-- note\nmore -->\ntext <!-- x -->', 'p(text)'],
    ['<script>alert(1)</script>', 'p(<script>alert(1)</script>)'],
    ['#nospace', 'p(#nospace)'],
    ['a\r\nb', 'p(a\nb)'],
    ['', ''],
  ] as const) assert.equal(doc(text), want, JSON.stringify(text));
});

test('markdown: inline', () => {
  for (const [text, want] of [
    ['a *b* **c** ***d*** ~~e~~', 'a {em b} {strong c} {em {strong d}} {del e}'],
    ['**bold *both* end**', '{strong bold {em both} end}'],
    ['snake_case_name and 2 * 3 * 4', 'snake_case_name and 2 * 3 * 4'],
    ['`a *b*` ``c ` d``', '{code a *b*} {code c ` d}'],
    ['[a *b*](http://x/(y)) [c](<d e> "t")', '{link a {em b}>http://x/(y)} {link c>d e}'],
    ['![alt](http://x/i.png)', '{image alt>http://x/i.png}'],
    ['https://example.invalid/a. <https://x/>', '{link https://example.invalid/a>https://example.invalid/a}. {link https://x/>https://x/}'],
    ['\\*no\\* [open ](', '*no* [open ]('],
    ['&lt;b&gt; &amp; &#x41; &bogus;', '<b> & A &bogus;'],
    ['a  \nb\\\nc', 'a{br}b{br}c'],
    ['*open **still', '*open **still'],
  ] as const) assert.equal(line(text), want, JSON.stringify(text));
});

test('markdown: hostile sizes end soon', () => {
  const n = 50_000;
  for (const text of ['*'.repeat(n), '*a '.repeat(n), '['.repeat(n), '`a'.repeat(n), '![](('.repeat(n), '>'.repeat(n), '- '.repeat(n), '_*~'.repeat(n), '<'.repeat(n), '|'.repeat(n) + '\n' + '|-'.repeat(n), '&#'.repeat(n), '<!--'.repeat(2_000)]) assert.ok(parse(text).length > 0, text.slice(0, 9));
});

test('links of strangers', () => {
  for (const good of ['https://a/', 'HTTP://a', 'mailto:a@b', '/requests/a:b', '#x', 'a/b:c', '?q=a:b']) assert.ok(isSafeHref(good), good);
  for (const bad of ['javascript:alert(1)', ' java\tscript:x', 'JavaScript:x', 'data:text/html,x', 'vbscript:x', '//evil.invalid', '\\\\evil', '/\\evil', '\u0000javascript:x']) assert.ok(!isSafeHref(bad), bad);
});

test('windowing draws what is seen, and a little more', () => {
  const sight = { top: 0, view: 600, row: 60, count: 10_000, margin: 5 };
  assert.deepEqual(visibleRange(sight), { from: 0, to: 15 });
  assert.deepEqual(visibleRange({ ...sight, top: 6_000 }), { from: 95, to: 115 });
  assert.deepEqual(visibleRange({ ...sight, top: 599_990 }), { from: 9_994, to: 10_000 });
  assert.deepEqual(visibleRange({ ...sight, top: -5_000 }), { from: 0, to: 0 });
  assert.deepEqual(visibleRange({ ...sight, count: 0 }), { from: 0, to: 0 });
  assert.equal(scrollFor(sight, 3, 0), undefined);
  assert.equal(scrollFor(sight, 10, 0), 60);
  assert.equal(scrollFor({ ...sight, top: 600 }, 5, 50), 250);
});

test('every address is read back as it was written', () => {
  for (const r of [
    { view: 'requests', filter: noFilter },
    { view: 'requests', filter: { text: 'a b&c', status: ['ready', 'done'], priority: ['P0'], label: 'x,y', sort: 'title' } },
    { view: 'request', id: 'RQ-1', edit: true },
    { view: 'request', id: 'a b/ü', edit: false },
    { view: 'run', id: 'RQ-1', run: 'RUN-1', tab: 'steps' },
    { view: 'run', id: 'RQ-1', run: 'RUN-1', tab: 'diff' },
    { view: 'graph', focus: 'RQ-1', hops: 3 },
    { view: 'graph', focus: '', hops: 1 },
    { view: 'autorun' },
    { view: 'doctor' },
  ] as const) {
    const [path = '', search = ''] = address(r).split('?');
    assert.deepEqual(readAddress(path, search), r);
  }
  for (const odd of ['/nope', '/requests/a/b', '/requests/a/runs/b/nope', '/autorun/x', '/requests/a/runs/b/diff/x']) assert.equal(readAddress(odd, '').view, 'missing', odd);
  assert.equal(readAddress('/requests/%zz', '').view, 'request');
});

test('texts', () => {
  assert.equal(fillPlaces('{a} {b}', { a: '{b}' }), '{b} {b}');
  assert.equal(pickLang(null, ['fr', 'ja-JP', 'en']), 'ja');
  assert.equal(pickLang('en', ['ja']), 'en');
  assert.equal(pickLang('xx', []), 'en');
});

test('diff: old stands beside new', () => {
  const lines = (text: string) => text.split('\n').map((l) => ({ op: l[0] ?? ' ', text: l.slice(1) }));
  const rows = layout({ old_start: 5, old_lines: 4, new_start: 7, new_lines: 4, lines: lines(' a\n-let x = 1\n-gone\n+let x = 2\n b\n+new') });
  assert.deepEqual(
    rows.map((r) => [r.kind, r.old?.n, r.new?.n, r.old?.mark, r.new?.mark]),
    [
      ['same', 5, 7, undefined, undefined],
      ['change', 6, 8, [8, 9], [8, 9]],
      ['del', 7, undefined, undefined, undefined],
      ['same', 8, 9, undefined, undefined],
      ['add', undefined, 10, undefined, undefined],
    ],
  );
  assert.deepEqual(difference('abc', 'xyz'), [undefined, undefined]);
  const file = (path: string, n: number) => ({ path, status: 'modified', additions: n, deletions: 0, hunks: [{ old_start: 1, old_lines: 0, new_start: 1, new_lines: n, lines: Array.from({ length: n }, () => ({ op: '+', text: '' })) }] });
  assert.equal(foldReason(file('a.go', 400)), undefined);
  assert.equal(foldReason(file('a.go', 401)), 'large');
  assert.equal(foldReason(file('x/package-lock.json', 1)), 'generated');
  const paths = ['b.txt', 'a/x/f10.go', 'a/x/f9.go', 'a/x/y/z.go'];
  const tree = treeOf(paths);
  assert.deepEqual([tree.folders[0]?.name, tree.folders[0]?.folders[0]?.name, inTree(tree).map((n) => paths[n])], ['a/x', 'y', ['a/x/y/z.go', 'a/x/f9.go', 'a/x/f10.go', 'b.txt']]);
  const hunk = { old_start: 1, old_lines: 3, new_start: 1, new_lines: 5, lines: lines('-a\n-b\n-c\n+if {\n+  a\n+  b\n+}\n+d') };
  assert.deepEqual(withoutSpace(hunk).lines.map((l) => l.op + l.text), ['+if {', '   a', '   b', '-c', '+}', '+d']);
  assert.deepEqual(unified(layout(hunk)).map((r) => r.kind + (r.old?.n ?? '') + (r.new?.n ?? '')), ['del1', 'del2', 'del3', 'add1', 'add2', 'add3', 'add4', 'add5']);
});

test('log: lines, colours, and nothing else that a stranger sends', () => {
  const text = (spans: readonly { text: string; cls: string }[]) => spans.map((s) => (s.cls ? `<${s.cls}>` : '') + s.text).join('');
  assert.equal(text(colours('\x1b[1;31mbad\x1b[0m ok\x1b]0;title\x07\x1b]8;;http://x\x1b\\link\x07').spans), '<c-red c-bold>bad ok' + 'link');
  assert.equal(text(colours('a\u202eb\u200bc').spans), 'a\\u202eb\\u200bc');
  assert.equal(text(colours('\x1b[38;5;31mx\x1b[2Jy').spans), 'xy');
  const log = new LogLines();
  const bytes = new TextEncoder().encode('one\n10%\r50%\r100%\nä');
  assert.deepEqual([...log.add(bytes.subarray(0, bytes.length - 1))].map(text), ['one', '100%']);
  assert.equal(text(log.open()), '');
  log.add(bytes.subarray(bytes.length - 1));
  assert.equal(text(log.open()), 'ä');
  const long = log.add(new TextEncoder().encode('x'.repeat(10_000) + '\n'))[0] ?? [];
  assert.equal(long.at(-1)?.cls, 'cut');
});

const bytesOf = (text: string) => new TextEncoder().encode(text);

test('logs: a line without an end stays short, whatever is written to it', () => {
  const log = new LogLines();
  for (let i = 0; i < 1_000; i++) log.add(bytesOf('x'.repeat(10_000)));
  assert.ok(JSON.stringify(log).length < 40_000, 'ten million characters are kept');
  assert.equal(textOf(log.open()), 'x'.repeat(4_000) + ' … +9996000');
  const [line] = log.add(bytesOf('y\n'));
  assert.equal(textOf(line ?? []), 'x'.repeat(4_000) + ' … +9996001');
  // A progress bar that turns for ever is what it says in the end.
  for (let i = 0; i < 1_000; i++) log.add(bytesOf(`${'#'.repeat(100)}${i}\r`));
  assert.ok(JSON.stringify(log).length < 40_000);
  assert.equal(textOf(log.add(bytesOf('ready\n'))[0] ?? []), 'ready');
  log.add(bytesOf('z'.repeat(50_000) + '\r'));
  assert.equal(textOf(log.add(bytesOf('\n'))[0] ?? []), 'z'.repeat(4_000) + ' … +46000');
});

test('logs: pieces in front and behind make the whole', () => {
  const lines = Array.from({ length: 3_000 }, (_, i) => `line ${i} ä`);
  const file = bytesOf(lines.join('\n') + '\nopen');
  for (const from of [0, 1, 17, 20_000]) {
    const store = new LogStore(from);
    for (let at = from; at < file.length; at += 7_001) store.append(file.subarray(at, at + 7_001));
    while (store.from > 0) {
      const [before, until] = [Math.max(0, store.from - 5_003), store.from];
      store.prepend(file.subarray(before, until), before);
    }
    assert.equal(store.lines.map(textOf).join('\n'), lines.join('\n'), `from ${from}`);
    assert.equal(store.text(store.lines.length), 'open');
    assert.equal(store.at, file.length);
  }
});

test('logs: the search grows at both ends', () => {
  const store = new LogStore(10);
  store.append(bytesOf('cut\none error\ntwo\nthree Error, ERROR\nerr'));
  const found = new LogFinder();
  const places = (hits: readonly Hit[]) => hits.map((h) => `${h.line}:${h.at}`).join(' ');
  found.find('error', store);
  assert.equal(places(found.hits), '0:4 2:6 2:13');
  assert.deepEqual(found.step(1, 1), { line: 2, at: 6, length: 5 });
  store.append(bytesOf('or\nno'));
  found.grown(store);
  store.append(bytesOf('ne\nerror'));
  found.grown(store);
  found.grown(store);
  assert.equal(places(found.hits), '0:4 2:6 2:13 3:0 5:0');
  store.prepend(bytesOf('error at first\n'), 0);
  found.prepended(store, 1);
  assert.equal(places(found.hits), '0:0 1:4 3:6 3:13 4:0 6:0');
  assert.equal(found.hits[found.current]?.line, 3, 'the one that is looked at stays');
  for (const want of [3, 4, 6, 0, 1]) assert.equal(found.step(1, 0)?.line, want);
  assert.equal(found.step(-1, 0)?.line, 0);
  assert.equal(found.step(-1, 0)?.line, 6, 'round the end');
  found.find('.*[', store);
  assert.equal(found.hits.length, 0, 'words, not a pattern');
  assert.equal(found.step(1, 0), undefined);
  found.find('', store);
  assert.equal(found.isOn, false);
  const many = new LogStore(0);
  many.append(bytesOf('a\n'.repeat(30_000)));
  found.find('A', many);
  assert.equal(found.hits.length, 20_000);
  assert.equal(found.isFull, true);
  assert.equal(firstAt(found.hits, 15_000), 15_000);
});

test('logs belong to steps', () => {
  const steps = [{ step_id: 'S01' }, { step_id: 'S02' }];
  assert.deepEqual(placeOf('step-2.log', steps), { step: 'S02', attempt: 0, kind: 'step' });
  assert.deepEqual(placeOf('tests/unit.S01.attempt3.log', steps), { step: 'S01', attempt: 3, kind: 'unit' });
  assert.equal(placeOf('runner.log', steps), undefined);
});

const node = (id: string): GraphNode => ({ id, title: id, status: 'ready', priority: 'P1', derived: 'RUNNABLE' });

test('graph: rings end, implied arrows go, missing ones are shown', () => {
  const e = (from: string, to: string) => ({ from, to, state: 'waiting' });
  const chain = draw(['a', 'b', 'c', 'x'].map(node), [e('b', 'a'), e('c', 'b'), e('c', 'a')]);
  assert.equal(chain.implied, 1);
  assert.deepEqual(chain.placed.map((p) => `${p.node.id}${p.col}${p.row}`), ['a00', 'b10', 'c20', 'x01']);
  const ring = draw(['a', 'b'].map(node), [e('a', 'b'), e('b', 'a')]);
  assert.equal(ring.edges.length, 2);
  assert.deepEqual(withMissing([node('a')], [e('a', 'gone')]).map((n) => n.derived), ['RUNNABLE', 'MISSING']);
  const cycle = (from: string, to: string) => ({ from, to, state: 'cycle' });
  const rings = ringsOf([cycle('a', 'b'), cycle('x', 'y'), e('d', 'a'), cycle('b', 'c'), cycle('y', 'x'), cycle('c', 'a')]);
  assert.deepEqual(rings.map((r) => r.map((x) => x.from + x.to).join()).sort(), ['ca,bc,ab', 'yx,xy'], 'the youngest first');
  assert.equal(mostWaited([e('b', 'a'), e('c', 'z'), e('d', 'z')]), 'z');
  const edges = [e('b', 'a'), e('c', 'b'), e('d', 'c')];
  assert.deepEqual([...around(edges, 'b', 1)].sort(), ['a', 'b', 'c']);
  assert.deepEqual([...around(edges, 'b', 2)].sort(), ['a', 'b', 'c', 'd']);
});

test('timeline: attempts, and the time that a person took', () => {
  const at = (s: number) => new Date(s * 1000).toISOString();
  const steps = [{ step_id: 'S01', title: 'one', status: 'DONE', started_at: at(0), ended_at: at(90) }];
  const lanes = runLanes(
    [
      { at: at(0), event: 'STEP_START', step_id: 'S01' },
      { at: at(10), event: 'RETRY', step_id: 'S01' },
      { at: at(20), event: 'NEEDS_INPUT', step_id: 'S01', reason_code: 'X' },
      { at: at(80), event: 'RESUMED', step_id: 'S01' },
      { at: at(90), event: 'STEP_DONE', step_id: 'S01' },
    ],
    steps,
    undefined,
  );
  const short = lanes.map((l) => l.id + ':' + l.bars.map((b) => `${b.from / 1000}-${b.to / 1000}${b.kind}`).join(','));
  assert.deepEqual(short, ['S01:0-10bad,10-20ask,80-90good', 'wait:20-80wait']);
  const died = runLanes([{ at: at(0), event: 'STEP_START', step_id: 'S01' }, { at: at(5), event: 'RECORD_COMMITTED' }, { at: at(80), event: 'RESUMED', step_id: 'S01' }, { at: at(90), event: 'STEP_DONE', step_id: 'S01' }], steps, undefined);
  assert.deepEqual(died.map((l) => l.bars.map((b) => `${b.from / 1000}-${b.to / 1000}${b.kind}`).join()), ['0-5ask,80-90good', '5-80wait'], 'a night in which nobody worked is no bar');
  const run = (id: string, from: number, to: number) => ({ request_id: id, run_id: 'r', title: id, state: 'DONE', outcome: '', started_at: at(from), ended_at: at(to) });
  const night = nightLanes([run('a', 0, 100), run('b', 105, 120)], undefined, 80_000);
  assert.deepEqual(night.map((l) => l.bars.map((b) => `${b.from / 1000}-${b.to / 1000}`).join()), ['80-100', '105-120'], 'a run of before has only its slot');
  const axis = axisOf(lanes);
  assert.deepEqual([axis.from, axis.to, axis.ticks.length], [0, 90_000, 7]);
  assert.deepEqual([duration(500), duration(65_000), duration(7_260_000), size(2_048)], ['0.5s', '1m 05s', '2h 01m', '2.0 kB']);
});

test('a session of several runs has a row for each slot, and its time is not counted twice', () => {
  const at = (sec: number) => new Date(sec * 1000).toISOString();
  const turns = [
    { slot: 1, request_id: 'a', run_id: 'A', from: at(0), until: at(60) },
    { slot: 2, request_id: 'b', run_id: 'B', from: at(10), until: at(40) },
    { slot: 2, request_id: 'c', title: 'Third', from: at(70) },
  ];
  const results = [{ request_id: 'a', run_id: 'A', title: 'First', state: 'DONE', outcome: 'done', started_at: at(0), ended_at: at(60) }];
  const lanes = turnLanes(turns, results, 100_000, true);
  assert.deepEqual(lanes.map((l) => [l.row, l.label, l.id, l.bars[0]?.kind]), [[0, 'First', 'a/A', 'good'], [1, 'b', 'b/B', 'ask'], [1, 'Third', 'c', 'now']]);
  assert.equal(busy(lanes), 90_000);
  assert.equal(turnLanes(turns, results, 100_000, false)[2]?.bars[0]?.kind, 'ask');
});

test('two texts are compared by lines', () => {
  const form = (a: string, b: string) => compare(a, b).map((k) => `@${k.old_start},${k.old_lines}+${k.new_start},${k.new_lines} ${k.lines.map((l) => l.op + l.text).join('|')}`);
  assert.deepEqual(form('a\nb', 'a\nb'), []);
  assert.deepEqual(form('a\nb\nc', 'a\nc\nd'), ['@1,3+1,3  a|-b| c|+d']);
  const long = Array.from({ length: 30 }, (_, n) => `l${n}`);
  assert.deepEqual(form(long.join('\n'), ['x', ...long.slice(0, 20), 'y', ...long.slice(21)].join('\n')), ['@1,3+1,4 +x| l0| l1| l2', '@18,7+19,7  l17| l18| l19|-l20|+y| l21| l22| l23']);
  const [whole] = compare('a\n'.repeat(3_000) + 'z', 'b\n'.repeat(3_000) + 'z'); // too much for a table
  assert.equal(whole?.lines.filter((l) => l.op === '-').length, 3_000);
});

test('the list stands still while somebody points at it', () => {
  const item = (path: string, title = path): Item => ({ id: path, path, title, meta: { labels: ['l'], status: 'ready' }, derived: { queue_eligible: false, rank: null, why: null, blocked_by: [], locked: null, latest_run: null }, problems: [] });
  const held = heldStill([item('a'), item('b')], [item('b', 'new'), item('a')]);
  assert.deepEqual(held.items.map((i) => i.title), ['a', 'new']);
  assert.equal(held.changed, 1);
  const many = Array.from({ length: 50 }, (_, n) => item(`r${n}`));
  assert.equal(heldStill(many, [...many.slice(40, 41), ...many.slice(0, 40), ...many.slice(41)]).changed, 1); // forty slid
  assert.equal(heldStill(many, [item('new'), ...many.slice(1)]).changed, 2);
  assert.equal(heldStill([item('a')], [item('a')]).changed, 0);
  assert.equal(heldStill([item('a'), item('b')], [item('a')]).changed, 1);
  assert.ok(matchesFilter(item('Some-Thing'), { ...noFilter, text: 'thing some' }));
  assert.ok(!matchesFilter(item('a'), { ...noFilter, status: ['done'] }));
});

test('a list and what changed since make the list of now', () => {
  const item = (path: string, rank: number | null, title = path): Item => ({ id: path, path, title, meta: {}, derived: { queue_eligible: rank !== null, rank, why: null, blocked_by: [], locked: null, latest_run: null }, problems: [] });
  const rest = { next: null, stats: { total: 0, ready: 0, runnable: 0 }, queue: { locked: false, holder: null } };
  const list = (items: Item[], more: Partial<List> = {}): List => ({ ...rest, items, ...more });
  const before = list([item('a', 1), item('b', null), item('c', 2), item('d', 3)], { revision: '1' });
  const names = (l: List) => l.items.map((i) => `${i.title}${i.derived.rank ?? '-'}`).join();
  assert.equal(names(patched(before, list([item('d', 1, 'D'), item('n', null)], { since: '1', revision: '2', places: [0, 3], gone: ['b'] }))), 'D1,a2,c3,n-');
  assert.equal(patched(before, list([], { since: '1', revision: '2' })).items[2], before.items[2]); // nothing to draw anew
  assert.equal(names(patched(before, list([item('z', 1)]))), 'z1'); // the whole
});

test('coalesced: never twice at once, once more when asked meanwhile', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let runs = 0;
  let let_go: () => void = () => undefined;
  const ask = coalesced(() => new Promise((r) => ((let_go = r), runs++)), 20);
  ask();
  ask();
  t.mock.timers.tick(19);
  assert.equal(runs, 0);
  t.mock.timers.tick(1);
  assert.equal(runs, 1);
  ask();
  ask();
  t.mock.timers.tick(1_000);
  assert.equal(runs, 1); // it is still on its way
  let_go();
  await settle();
  t.mock.timers.tick(20);
  assert.equal(runs, 2);
  let_go();
  await settle();
  t.mock.timers.tick(1_000);
  assert.equal(runs, 2);
});

test('coalesced: what is wanted now waits for what is on its way', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const going: ((ok: boolean) => void)[] = [];
  const ask = coalesced(() => new Promise((go, fail) => going.push((ok) => (ok ? go() : fail(new Error('no')))) && undefined), 0);
  const first = ask.now();
  ask();
  const second = ask.now();
  assert.equal(going.length, 1);
  going[0]?.(false);
  await assert.rejects(first, /no/);
  await settle();
  assert.equal(going.length, 2); // one for both that asked meanwhile
  going[1]?.(true);
  await second;
  await settle();
  t.mock.timers.tick(1_000);
  assert.equal(going.length, 2);
});

test('coalesced: what failed for a while is asked again, ever more slowly', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let runs = 0;
  let error: unknown = new TypeError('no connection');
  const ask = coalesced(async () => {
    runs++;
    if (error) throw error;
  }, 20);
  const after = async (ms: number, want: number) => {
    t.mock.timers.tick(ms);
    await settle();
    assert.equal(runs, want, `after ${ms} ms`);
  };
  ask();
  await after(20, 1);
  await after(999, 1);
  await after(1, 2);
  await after(2_000, 3);
  error = new ApiError(0, 'OFFLINE', '', [], {});
  await after(4_000, 4);
  error = new ApiError(503, 'DISK_FULL', '', [], {});
  for (let n = 5; n < 9; n++) await after(30_000, n);
  ask(); // something else is told: that does not wait
  await after(20, 9);
  error = undefined;
  await after(30_000, 10);
  await after(100_000, 10);
  error = new ApiError(404, 'RUN_NOT_FOUND', '', [], {});
  ask();
  await after(20, 11);
  await after(100_000, 11); // it is gone: nothing to wait for
  error = new TypeError('no connection');
  ask();
  await after(20, 12);
  await after(1_000, 13); // from the beginning
});

test('drafts: twenty versions, and room is made for what is not saved', () => {
  const map = new Map<string, string>();
  let room = 100_000;
  const drafts = new Drafts({ getItem: (k) => map.get(k) ?? null, removeItem: (k) => void map.delete(k), setItem: (k, v) => {
    const used = [...map].reduce((sum, [key, text]) => sum + (key === k ? 0 : text.length), 0);
    if (used + v.length > room) throw new Error('quota');
    map.set(k, v);
  } }, 'p');
  for (let i = 0; i < 25; i++) drafts.keep('a', 'v' + i, i);
  assert.equal(drafts.history('a').length, MAX_VERSIONS);
  assert.equal(drafts.history('a')[0]?.text, 'v24');
  drafts.keep('a', 'v24', 99);
  assert.equal(drafts.history('a')[0]?.at, 24);
  room = 700;
  assert.ok(drafts.put('a', { text: 'x'.repeat(600), etag: 'e', at: 1 }));
  assert.deepEqual(drafts.history('a'), []);
  assert.ok(!drafts.put('a', { text: 'x'.repeat(900), etag: 'e', at: 1 }));
  map.set('aiflow.draft.p.b', '{"text":5}');
  assert.equal(drafts.get('b'), undefined);
});

// The editor's conscience, in a world where time is told.
class Desk {
  readonly states: string[] = [];
  readonly kept: string[] = [];
  readonly versions: string[] = [];
  file = { text: 'start', etag: '1' };
  refuse: unknown;
  lose = false;
  held = new AbortController();
  private timers: { at: number; run: () => void }[] = [];
  private clock = 0;
  away = false;
  readonly auto: Autosave;

  constructor() {
    const parts: AutosaveParts = {
      acquire: async (): Promise<HeldLock> => {
        if (this.refuse) throw this.refuse;
        this.held = new AbortController();
        return { signal: this.held.signal, assertWritable: () => this.held.signal.throwIfAborted() };
      },
      release: async () => void this.states.push('released'),
      save: async (text, etag) => {
        if (this.away) throw new Error('no such request');
        if (etag !== this.file.etag && !this.auto.knows(this.file.text)) throw new Conflict('changed');
        this.file = { text, etag: String(Number(this.file.etag) + 1) };
        if (this.lose) throw new Unreachable('no answer');
        return this.file;
      },
      keepDraft: (text) => void this.kept.push(text),
      dropDraft: () => void this.kept.push('-'),
      keepVersion: (text) => void this.versions.push(text),
      show: (s: SaveState) => void this.states.push(s.s),
      now: () => this.clock,
      later: (run, ms) => {
        const timer = { at: this.clock + ms, run };
        this.timers.push(timer);
        return timer;
      },
      cancel: (timer) => void (this.timers = this.timers.filter((x) => x !== timer)),
      explain: (e) => ({ code: 'c', reason: String(e) }),
    };
    this.auto = new Autosave(parts, this.file);
  }

  async pass(ms: number): Promise<void> {
    this.clock += ms;
    const due = this.timers.filter((x) => x.at <= this.clock);
    this.timers = this.timers.filter((x) => x.at > this.clock);
    for (const x of due) x.run();
    for (let i = 0; i < 20; i++) await Promise.resolve();
  }

  heard(): string {
    return this.states.splice(0).join(' ');
  }
}

test('autosave: typing without a pause is kept within a second and saved within five', async () => {
  const d = new Desk();
  let text = 'start';
  for (let ms = 0; ms < 20_000; ms += 100) {
    d.auto.input((text += '.'));
    await d.pass(100);
    if (ms >= 1_000) assert.ok(text.length - (d.kept.filter((k) => k !== '-').at(-1) ?? '').length <= 10, `draft at ${ms}`);
    if (ms >= 5_000) assert.ok(text.length - d.file.text.length <= 50, `file at ${ms}`);
  }
});

test('autosave: a draft after a moment, the file after two seconds', async () => {
  const d = new Desk();
  d.auto.input('a');
  await d.pass(0);
  assert.equal(d.heard(), 'locking typing');
  await d.pass(500);
  assert.deepEqual(d.kept.splice(0), ['a']);
  await d.pass(1_000);
  d.auto.input('ab');
  await d.pass(1_999);
  assert.equal(d.file.text, 'start');
  await d.pass(1);
  assert.equal(d.file.text, 'ab');
  assert.equal(d.heard(), 'typing saving saved');
  assert.deepEqual(d.versions, ['start', 'ab']);
  await d.pass(5 * 60_000);
  assert.equal(d.heard(), 'released');
});

test('autosave: no lock, no writing; then it tries again', async () => {
  const d = new Desk();
  d.refuse = 'busy';
  d.auto.input('mine');
  await d.pass(0);
  await d.pass(10_000);
  assert.equal(d.file.text, 'start');
  assert.equal(d.heard(), 'locking readonly');
  assert.ok(d.kept.includes('mine'));
  d.refuse = undefined;
  await d.auto.retry();
  assert.equal(d.file.text, 'mine');
});

test('autosave: what kept it from writing goes, and it goes on by itself', async () => {
  const d = new Desk();
  d.refuse = 'no server';
  d.auto.input('mine');
  await d.pass(0);
  assert.equal(d.heard(), 'locking readonly');
  d.refuse = undefined;
  await d.auto.goOn();
  assert.equal(d.file.text, 'mine');
  d.held.abort(new Error('no server'));
  d.heard();
  await d.auto.goOn();
  assert.equal(d.heard(), 'clean');
  d.away = true; // the file
  d.auto.input('more');
  await d.pass(0);
  await d.pass(2_000);
  assert.ok(d.heard().endsWith('failed'));
  d.away = false;
  d.auto.changedElsewhere(d.file);
  await d.pass(2_000);
  assert.equal(d.file.text, 'more');
  d.auto.input('last'); // and whoever goes elsewhere lets others write
  await d.pass(0);
  await d.auto.letGo();
  assert.equal(d.file.text, 'last');
  assert.ok(d.heard().endsWith('saving saved released'));
});

test('autosave: a lock that is lost stops writing at once', async () => {
  const d = new Desk();
  d.auto.input('a');
  await d.pass(0);
  d.held.abort(new Error('stale'));
  await d.pass(10_000);
  assert.equal(d.file.text, 'start');
  assert.equal(d.heard(), 'locking typing readonly');
  assert.equal(d.kept.at(-1), 'a');
});

test('autosave: what others wrote is never overwritten unseen', async () => {
  const d = new Desk();
  d.auto.input('mine');
  await d.pass(0);
  d.file = { text: 'theirs', etag: '9' };
  await d.pass(2_000);
  assert.equal(d.file.text, 'theirs');
  assert.equal(d.heard(), 'locking typing saving conflict');
  await d.auto.keepOurs(d.file);
  assert.equal(d.file.text, 'mine');
  assert.ok(d.versions.includes('theirs'));
  d.auto.input('more');
  assert.equal(d.auto.changedElsewhere({ text: 'theirs again', etag: '99' }), false);
  assert.ok(d.auto.isReadonly);
  d.auto.takeTheirs({ text: 'theirs again', etag: '99' });
  assert.ok(d.versions.includes('more') && !d.auto.isDirty);
  assert.equal(d.auto.changedElsewhere({ text: 'newer', etag: '100' }), true);
});

test('autosave: what was written and never answered is no conflict', async () => {
  for (const told of [true, false]) {
    const d = new Desk();
    d.lose = true;
    d.auto.input('a');
    await d.pass(0);
    await d.pass(2_000);
    assert.equal(d.heard(), 'locking typing saving failed');
    d.lose = false;
    d.auto.input('ab');
    if (told) assert.equal(d.auto.changedElsewhere(d.file), false);
    await d.pass(5_000);
    assert.equal(d.file.text, 'ab');
    assert.equal(d.heard(), 'typing saving saved');
  }
  const d = new Desk();
  d.lose = true;
  d.auto.input('a');
  await d.pass(0);
  await d.pass(2_000);
  d.auto.changedElsewhere(d.file);
  assert.equal(d.heard(), 'locking typing saving failed saved');
  assert.equal(d.kept.at(-1), '-');
  d.lose = false;
  d.auto.input('mine');
  d.auto.changedElsewhere({ text: 'theirs', etag: '99' });
  assert.ok(d.auto.isConflict);
});

test('autosave: closing saves, and gives the lock back', async () => {
  const d = new Desk();
  d.auto.input('last');
  await d.auto.close();
  assert.equal(d.file.text, 'last');
  assert.ok(d.heard().endsWith('released'));
});

test('the list: what runs, what can run, what waits, what is over', () => {
  const item = (id: string, status: string, rank: number | null, locked = false, state?: string): Item =>
    ({
      id, path: id, title: id, meta: { status }, problems: [],
      derived: { queue_eligible: rank !== null, rank, why: null, blocked_by: [], locked: locked ? { run_id: 'r', pid: 1 } : null, latest_run: state ? { state, interrupted: false, awaits_merge: false } : null },
    }) as unknown as Item;
  const items = [item('old', 'done', null), item('gone', 'archived', null), item('b', 'ready', 2), item('w', 'draft', null), item('a', 'ready', 1), item('r', 'running', null, true)];
  assert.deepEqual(inOrder(items).map((i) => i.id), ['r', 'a', 'b', 'w', 'old', 'gone']);
  assert.deepEqual([item('x', 'blocked', null, false, 'NEEDS_INPUT'), item('y', 'running', null, true, 'NEEDS_INPUT'), item('z', 'done', null, false, 'FAILED'), item('q', 'ready', 1)].map(needsAnswer), [true, false, false, false]);
  assert.deepEqual([item('r', 'ready', null, true), item('d', 'done', null, false, 'DONE'), item('a', 'ready', 1), item('w', 'ready', null), item('f', 'blocked', null, false, 'FAILED')].map(standing), ['running', 'done', 'can_run', 'waits', 'failed']);
});

const task = (o: Partial<Task>): Task => ({
  namespace: 'n', task_id: 'T', task_group_id: '', session_id: '', status: 'QUEUED', prompt: '', prompt_cut: false,
  created_at: '', updated_at: '', error_message: '', claimed_by: '', request_id: '', output: '', texts_cut: false, ...o,
});
const runner = (o: Partial<Runner>): Runner => ({ runner_id: 'r', last_heartbeat: '', started_at: '', status: 'running', project_root: '', is_alive: true, ...o });

test('queue: what can be cancelled, who is alive, what is said', () => {
  assert.deepEqual([...taskStatuses, 'AWAITING_RESPONSE'].map((status) => canCancel(task({ status }))), [true, true, false, false, false, false]);
  const runners = [runner({}), runner({ is_alive: false }), runner({ status: 'STOPPED', is_alive: false }), runner({ status: 'STOPPED', is_alive: false, silent: true })];
  assert.deepEqual(runners.map(runnerState), ['alive', 'dead', 'stopped', 'dead']);
  const mine = task({ status: 'RUNNING', claimed_by: 'r' });
  assert.equal(isOrphan(mine, [runner({})]), false);
  assert.equal(isOrphan(mine, [runner({ is_alive: false })]), true);
  assert.equal(isOrphan(mine, []), true);
  assert.equal(isOrphan(task({ status: 'QUEUED' }), []), false);
  assert.equal(firstLine('\n## A heading\ntext'), 'A heading');
  assert.deepEqual(idsOf(' RQ-1, RQ-2、RQ-1\n'), ['RQ-1', 'RQ-2']);
  assert.equal(queuePath('', '', 100, false), '/taskqueue');
  assert.equal(queuePath('a-b', 'ERROR', 400, true), '/taskqueue?namespace=a-b&status=ERROR&limit=400&again=true');
  const space = { queued_count: 0, running_count: 0, runner_count: 0, active_runner_count: 0 };
  assert.deepEqual(namespacesOf({ namespace: 'b', read_at: '', fresh_for: 0, namespaces: [{ namespace: 'c', ...space }, { namespace: 'a', ...space }], counts: {}, total: 0, left_off: 0, groups: [], runners: [] }, ['d', 'a']), ['a', 'b', 'c', 'd']);
  for (const [name, want] of [['a', true], ['a-b', true], ['-a', false], ['a-', false], ['a b', false], ['', false], ['x'.repeat(33), false]] as const) assert.equal(isNamespace(name), want, name);
  assert.deepEqual([hasMore(task({ prompt: '# one line\n' })), hasMore(task({ prompt: 'a\nb' })), hasMore(task({ prompt: 'a', texts_cut: true }))], [true, true, true]);
  assert.equal(hasMore(task({ prompt: 'a line\n' })), false);
  assert.deepEqual(readAddress('/queue', '?namespace=a&status=ERROR'), { view: 'queue', namespace: 'a', status: 'ERROR' });
  assert.equal(address({ view: 'queue', namespace: 'a', status: '' }), '/queue?namespace=a');
  assert.deepEqual(readAddress('/queue/x', ''), { view: 'missing' });
});

test('queue: looks every two seconds, only while visible, never twice at a time', async () => {
  let visible = true;
  let changed = () => {};
  let done = () => {};
  let looks = 0;
  let watched = true;
  const timers = new Map<number, () => void>();
  let last = 0;
  const p = new Poller(() => new Promise<void>((resolve) => { looks++; done = resolve; }), 2000, {
    isVisible: () => visible,
    onVisibility: (f) => { changed = f; return () => { watched = false; }; },
    later: (run, ms) => { assert.equal(ms, 2000); timers.set(++last, run); return last; },
    cancel: (id) => void timers.delete(id),
  });
  const settle = async () => { done(); await new Promise((r) => setImmediate(r)); };
  const fire = () => { const [id, run] = [...timers][0] ?? []; if (id !== undefined) timers.delete(id); run?.(); };
  assert.equal(looks, 1);
  changed(); // while it looks
  assert.equal(looks, 1);
  await settle();
  assert.equal(timers.size, 1);
  fire();
  assert.equal(looks, 2);
  visible = false;
  changed();
  await settle();
  assert.equal(timers.size, 0, 'hidden: no timer');
  visible = true;
  changed();
  assert.equal(looks, 3, 'visible again: looks at once');
  await settle();
  p.close();
  assert.equal(timers.size, 0);
  assert.equal(watched, false);
  changed();
  assert.equal(looks, 3);
});
