/** Markdown to a tree. It knows what people write in requests and reports; HTML in it is text. */
export type Inline =
  | { readonly t: 'text' | 'code'; readonly text: string }
  | { readonly t: 'strong' | 'em' | 'del'; readonly kids: readonly Inline[] }
  | { readonly t: 'link'; readonly href: string; readonly kids: readonly Inline[] }
  | { readonly t: 'image'; readonly href: string; readonly alt: string }
  | { readonly t: 'br' };

export interface Item {
  readonly checked: boolean | undefined;
  readonly blocks: readonly Block[];
}

export type Block =
  | { readonly t: 'heading'; readonly level: number; readonly kids: readonly Inline[] }
  | { readonly t: 'para'; readonly kids: readonly Inline[] }
  | { readonly t: 'code'; readonly lang: string; readonly text: string }
  | { readonly t: 'quote'; readonly blocks: readonly Block[] }
  | { readonly t: 'list'; readonly start: number | undefined; readonly tight: boolean; readonly items: readonly Item[] }
  | { readonly t: 'table'; readonly align: readonly Align[]; readonly head: readonly Cell[]; readonly rows: readonly (readonly Cell[])[] }
  | { readonly t: 'rule' };

export type Align = '' | 'left' | 'center' | 'right';
export type Cell = readonly Inline[];

const deepest = 8;

export function parse(text: string): Block[] {
  return blocks(text.replace(/\r\n?/g, '\n').replaceAll('\0', '\ufffd').split('\n'), 0);
}

const heading = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$/;
const fence = /^ {0,3}(`{3,}|~{3,})[ \t]*([^`]*)$/;
const rule = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const bullet = /^( {0,3})([-*+]|\d{1,9}[.)])(?:([ \t]+)(.*)|)$/;
const quote = /^ {0,3}> ?(.*)$/;
const comment = /^ {0,3}<!--/;

function blocks(lines: readonly string[], depth: number): Block[] {
  const out: Block[] = [];
  let i = 0;
  while (i < lines.length) {
    const line = lines[i] ?? '';
    const open = fence.exec(line);
    const head = heading.exec(line);
    const quoted = quote.exec(line);
    if (line.trim() === '') {
      i++;
    } else if (comment.test(line) && afterComment(lines, i) > 0) {
      i = afterComment(lines, i);
    } else if (open) {
      i = code(lines, i, open, out);
    } else if (head) {
      out.push({ t: 'heading', level: head[1]?.length ?? 1, kids: inline(head[2] ?? '') });
      i++;
    } else if (rule.test(line)) {
      out.push({ t: 'rule' });
      i++;
    } else if (quoted && depth < deepest) {
      const inner: string[] = [];
      while (i < lines.length) {
        const q = quote.exec(lines[i] ?? '');
        if (!q) break;
        inner.push(q[1] ?? '');
        i++;
      }
      out.push({ t: 'quote', blocks: blocks(inner, depth + 1) });
    } else if (bullet.test(line) && depth < deepest) {
      i = list(lines, i, depth, out);
    } else if (/^(?: {4}|\t)/.test(line)) {
      const inner: string[] = [];
      while (i < lines.length && /^(?: {4}|\t|\s*$)/.test(lines[i] ?? '')) inner.push((lines[i++] ?? '').replace(/^(?: {4}|\t)/, ''));
      out.push({ t: 'code', lang: '', text: inner.join('\n').trimEnd() });
    } else if (isTable(lines, i)) {
      i = table(lines, i, out);
    } else {
      i = paragraph(lines, i, depth, out);
    }
  }
  return out;
}

/** The line after a comment that ends at the end of a line; -1 when there is none. */
function afterComment(lines: readonly string[], at: number): number {
  for (let i = at; i < lines.length; i++) {
    const end = (lines[i] ?? '').indexOf('-->');
    if (end >= 0) return (lines[i] ?? '').slice(end + 3).trim() === '' ? i + 1 : -1;
  }
  return -1;
}

function code(lines: readonly string[], at: number, open: RegExpExecArray, out: Block[]): number {
  const mark = open[1] ?? '```';
  const end = new RegExp(`^ {0,3}${mark[0] === '~' ? '~' : '`'}{${mark.length},}[ \\t]*$`);
  const inner: string[] = [];
  let i = at + 1;
  while (i < lines.length && !end.test(lines[i] ?? '')) inner.push(lines[i++] ?? '');
  out.push({ t: 'code', lang: (open[2] ?? '').trim().split(/\s/)[0] ?? '', text: inner.join('\n') });
  return i + 1;
}

function startsBlock(line: string): boolean {
  return line.trim() === '' || comment.test(line) || fence.test(line) || heading.test(line) || rule.test(line) || quote.test(line) || /^ {0,3}(?:[-*+]|1[.)])[ \t]+\S/.test(line);
}

function paragraph(lines: readonly string[], at: number, depth: number, out: Block[]): number {
  const inner: string[] = [(lines[at] ?? '').trimStart()];
  let i = at + 1;
  while (i < lines.length) {
    const line = lines[i] ?? '';
    const under = /^ {0,3}(=+|-+)[ \t]*$/.exec(line);
    if (under) {
      out.push({ t: 'heading', level: under[1]?.[0] === '=' ? 1 : 2, kids: inline(inner.join('\n')) });
      return i + 1;
    }
    if (depth < deepest && startsBlock(line)) break;
    if (line.trim() === '' || isTable(lines, i)) break;
    inner.push(line.trimStart());
    i++;
  }
  out.push({ t: 'para', kids: inline(inner.join('\n').trimEnd()) });
  return i;
}

function list(lines: readonly string[], at: number, depth: number, out: Block[]): number {
  const first = bullet.exec(lines[at] ?? '');
  const kind = (mark: string) => (/\d/.test(mark) ? mark.slice(-1) : mark);
  const type = kind(first?.[2] ?? '-');
  const items: Item[] = [];
  let tight = true;
  let i = at;
  while (i < lines.length) {
    const m = bullet.exec(lines[i] ?? '');
    if (!m || kind(m[2] ?? '') !== type || rule.test(lines[i] ?? '')) break;
    const pad = Math.min(4, (m[3] ?? ' ').length);
    const width = (m[1]?.length ?? 0) + (m[2]?.length ?? 1) + pad;
    const inner: string[] = [m[4] ?? ''];
    i++;
    let blank = false;
    while (i < lines.length) {
      const line = lines[i] ?? '';
      const indent = /^[ \t]*/.exec(line)?.[0].replace(/\t/g, '    ').length ?? 0;
      if (line.trim() === '') blank = true;
      else if (indent >= Math.min(width, 2) && indent >= (blank ? width : 2)) blank = false;
      else if (blank || startsBlock(line) || bullet.test(line)) break;
      inner.push(strip(line, width));
      i++;
    }
    while (inner.length > 1 && inner.at(-1)?.trim() === '') inner.pop();
    if (inner.some((l) => l.trim() === '') || (blank && i < lines.length && sameList(lines[i] ?? '', type, kind))) tight = false;
    items.push(item(inner, depth));
  }
  out.push({ t: 'list', start: /\d/.test(first?.[2] ?? '') ? parseInt(first?.[2] ?? '1', 10) : undefined, tight, items });
  return i;
}

function sameList(line: string, type: string, kind: (mark: string) => string): boolean {
  const m = bullet.exec(line);
  return m !== null && kind(m[2] ?? '') === type;
}

function strip(line: string, width: number): string {
  let n = 0;
  let i = 0;
  while (i < line.length && n < width && (line[i] === ' ' || line[i] === '\t')) n += line[i++] === '\t' ? 4 : 1;
  return line.slice(i);
}

function item(inner: string[], depth: number): Item {
  const box = /^\[([ xX])\][ \t]+/.exec(inner[0] ?? '');
  if (box) inner[0] = (inner[0] ?? '').slice(box[0].length);
  return { checked: box ? box[1] !== ' ' : undefined, blocks: blocks(inner, depth + 1) };
}

const divider = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

function isTable(lines: readonly string[], i: number): boolean {
  const head = lines[i] ?? '';
  const next = lines[i + 1] ?? '';
  return head.includes('|') && next.includes('-') && divider.test(next) && cells(head).length === cells(next).length;
}

function cells(line: string): string[] {
  const out: string[] = [];
  let cell = '';
  const text = line.trim().replace(/^\|/, '');
  for (let i = 0; i < text.length; i++) {
    const c = text[i] ?? '';
    if (c === '\\' && text[i + 1] === '|') {
      cell += '|';
      i++;
    } else if (c === '|') {
      out.push(cell.trim());
      cell = '';
    } else cell += c;
  }
  if (cell.trim() !== '') out.push(cell.trim());
  return out;
}

function table(lines: readonly string[], at: number, out: Block[]): number {
  const head = cells(lines[at] ?? '');
  const align = cells(lines[at + 1] ?? '').map((c): Align => {
    const l = c.startsWith(':');
    const r = c.endsWith(':');
    return l && r ? 'center' : r ? 'right' : l ? 'left' : '';
  });
  const rows: Cell[][] = [];
  let i = at + 2;
  while (i < lines.length && (lines[i] ?? '').trim() !== '' && (lines[i] ?? '').includes('|')) {
    const row = cells(lines[i++] ?? '');
    rows.push(head.map((_, c) => inline(row[c] ?? '')));
  }
  out.push({ t: 'table', align, head: head.map((c) => inline(c)), rows });
  return i;
}

// Inline -------------------------------------------------------------------------------------------------------------

interface Mark {
  readonly char: string;
  count: number;
  /** Where in nodes its text stands. */
  readonly at: number;
}

const inlineDepth = 6;

export function inline(text: string, depth = 0): Inline[] {
  return new Reader(text, depth).run();
}

class Reader {
  private readonly nodes: Inline[] = [];
  private readonly marks: Mark[] = [];
  private readonly floor = new Map<string, number>();
  private plain = '';
  private i = 0;
  private readonly ticks: Map<number, number[]>;
  private readonly pairs: Map<number, number>;

  constructor(
    private readonly text: string,
    private readonly depth: number,
  ) {
    this.ticks = tickRuns(text);
    this.pairs = bracketPairs(text);
  }

  run(): Inline[] {
    while (this.i < this.text.length) this.step(this.text[this.i] ?? '');
    this.flush();
    return joined(this.nodes);
  }

  private step(c: string): void {
    if (c === '\\') this.escape();
    else if (c === '`') this.code();
    else if (c === '\n') this.newline();
    else if (c === '<') this.angle();
    else if (c === '&') this.entity();
    else if ((c === '[' || (c === '!' && this.text[this.i + 1] === '[')) && this.link(c === '!')) return;
    else if (c === '*' || c === '_' || c === '~') this.mark(c);
    else if (c === 'h' && this.address()) return;
    else {
      this.plain += c;
      this.i++;
    }
  }

  private flush(): void {
    if (this.plain !== '') this.nodes.push({ t: 'text', text: this.plain });
    this.plain = '';
  }

  private put(n: Inline): void {
    this.flush();
    this.nodes.push(n);
  }

  private escape(): void {
    const next = this.text[this.i + 1] ?? '';
    if (next === '\n') {
      this.put({ t: 'br' });
      this.i += 2;
    } else if (/[!-/:-@[-`{-~]/.test(next)) {
      this.plain += next;
      this.i += 2;
    } else {
      this.plain += '\\';
      this.i++;
    }
  }

  private code(): void {
    let n = 0;
    while (this.text[this.i + n] === '`') n++;
    const end = this.ticks.get(n)?.find((p) => p > this.i);
    if (end === undefined) {
      this.plain += '`'.repeat(n);
      this.i += n;
      return;
    }
    let inner = this.text.slice(this.i + n, end).replaceAll('\n', ' ');
    if (inner.startsWith(' ') && inner.endsWith(' ') && inner.trim() !== '') inner = inner.slice(1, -1);
    this.put({ t: 'code', text: inner });
    const list = this.ticks.get(n);
    while (list?.[0] !== undefined && list[0] <= end) list.shift();
    this.i = end + n;
  }

  private newline(): void {
    if (this.plain.endsWith('  ')) {
      this.plain = this.plain.trimEnd();
      this.put({ t: 'br' });
    } else this.plain = this.plain.trimEnd() + '\n';
    this.i++;
  }

  /** As text, so that it can be nothing else. */
  private entity(): void {
    const m = /^&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(lt|gt|amp|quot|apos|nbsp));/i.exec(this.text.slice(this.i, this.i + 12));
    const code = m?.[1] !== undefined ? Number(m[1]) : m?.[2] !== undefined ? parseInt(m[2], 16) : undefined;
    const named = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'", nbsp: '\u00a0' }[(m?.[3] ?? '').toLowerCase()];
    const text = named ?? (code !== undefined && code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : undefined);
    this.plain += text ?? '&';
    this.i += text === undefined ? 1 : (m?.[0].length ?? 1);
  }

  /** <https://…>; comments are not shown, everything else in angle brackets is text. */
  private angle(): void {
    if (this.text.startsWith('<!--', this.i)) {
      const end = this.text.indexOf('-->', this.i + 4);
      if (end > 0) {
        this.plain = this.plain.replace(/ $/, '');
        this.i = end + 3;
        return;
      }
    }
    const m = /^<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/.exec(this.text.slice(this.i, this.i + 2020));
    if (!m) {
      this.plain += '<';
      this.i++;
      return;
    }
    this.put({ t: 'link', href: m[1] ?? '', kids: [{ t: 'text', text: m[1] ?? '' }] });
    this.i += m[0].length;
  }

  private address(): boolean {
    if (/\w/.test(this.text[this.i - 1] ?? '')) return false;
    const m = /^https?:\/\/[^\s<>"'`、。）」]{1,2000}/.exec(this.text.slice(this.i, this.i + 2020));
    if (!m) return false;
    const href = m[0].replace(/[.,;:!?)\]*_~]+$/, '');
    this.put({ t: 'link', href, kids: [{ t: 'text', text: href }] });
    this.i += href.length;
    return true;
  }

  private link(image: boolean): boolean {
    const open = this.i + (image ? 1 : 0);
    const close = this.pairs.get(open);
    if (close === undefined || this.text[close + 1] !== '(') return false;
    const m = /^\(\s*(?:<([^<>\n]*)>|([^\s()]*(?:\([^\s()]*\)[^\s()]*)*))(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/.exec(
      this.text.slice(close + 1, close + 2100),
    );
    if (!m) return false;
    const label = this.text.slice(open + 1, close);
    const href = m[1] ?? m[2] ?? '';
    if (image) this.put({ t: 'image', href, alt: label });
    else this.put({ t: 'link', href, kids: this.depth < inlineDepth ? inline(label, this.depth + 1) : [{ t: 'text', text: label }] });
    this.i = close + 1 + m[0].length;
    return true;
  }

  private mark(c: string): void {
    let n = 0;
    while (this.text[this.i + n] === c) n++;
    const before = this.text[this.i - 1] ?? ' ';
    const after = this.text[this.i + n] ?? ' ';
    this.i += n;
    if (c === '~' && n !== 2) {
      this.plain += c.repeat(n);
      return;
    }
    const word = (x: string) => /[\p{L}\p{N}]/u.test(x);
    const opens = !/\s/.test(after) && !(c === '_' && word(before));
    const closes = !/\s/.test(before) && !(c === '_' && word(after));
    let left = n;
    this.flush();
    while (closes && left > 0) {
      const used = this.close(c, left);
      if (used === 0) break;
      left -= used;
    }
    if (left === 0) return;
    if (opens) this.marks.push({ char: c, count: left, at: this.nodes.length });
    this.nodes.push({ t: 'text', text: c.repeat(left) });
  }

  /** Wraps what stands since the latest mark of its kind; gives how many characters that took. */
  private close(c: string, left: number): number {
    let k = this.marks.length - 1;
    const floor = this.floor.get(c) ?? 0;
    while (k >= floor && this.marks[k]?.char !== c) k--;
    const open = this.marks[k];
    if (k < floor || open === undefined) {
      this.floor.set(c, this.marks.length);
      return 0;
    }
    const used = c === '~' ? 2 : Math.min(2, open.count, left);
    const kids = joined(this.nodes.splice(open.at + 1));
    open.count -= used;
    this.marks.length = open.count > 0 ? k + 1 : k;
    if (open.count > 0) this.nodes[open.at] = { t: 'text', text: c.repeat(open.count) };
    else this.nodes.length = open.at;
    for (const [key, f] of this.floor) this.floor.set(key, Math.min(f, this.marks.length));
    this.nodes.push({ t: c === '~' ? 'del' : used === 2 ? 'strong' : 'em', kids });
    return used;
  }
}

function joined(nodes: readonly Inline[]): Inline[] {
  const out: Inline[] = [];
  for (const n of nodes) {
    const last = out.at(-1);
    if (n.t === 'text' && last?.t === 'text') out[out.length - 1] = { t: 'text', text: last.text + n.text };
    else out.push(n);
  }
  return out;
}

/** Where runs of backticks stand, by length. */
function tickRuns(text: string): Map<number, number[]> {
  const runs = new Map<number, number[]>();
  for (const m of text.matchAll(/`+/g)) {
    const list = runs.get(m[0].length) ?? [];
    list.push(m.index);
    runs.set(m[0].length, list);
  }
  return runs;
}

function bracketPairs(text: string): Map<number, number> {
  const pairs = new Map<number, number>();
  const open: number[] = [];
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === '[') open.push(i);
    else if (text[i] === ']') {
      const at = open.pop();
      if (at !== undefined) pairs.set(at, i);
    }
  }
  return pairs;
}
