/** Old beside new: how the lines of a diff stand next to each other. */
export interface DiffLine {
  readonly op: string;
  readonly text: string;
  readonly no_newline?: boolean;
}

export interface Hunk {
  readonly old_start: number;
  readonly old_lines: number;
  readonly new_start: number;
  readonly new_lines: number;
  readonly lines: readonly DiffLine[];
}

export interface FileDiff {
  readonly path: string;
  readonly old_path?: string;
  readonly status: string;
  readonly additions: number;
  readonly deletions: number;
  readonly binary?: boolean;
  readonly submodule?: boolean;
  readonly old_mode?: string;
  readonly new_mode?: string;
  readonly truncated?: boolean;
  readonly hunks: readonly Hunk[] | null;
}

export interface Side {
  readonly n: number;
  readonly text: string;
  /** The part that differs from the other side, when that says something. */
  readonly mark?: readonly [number, number];
  readonly noNewline: boolean;
}

export interface Row {
  readonly kind: 'same' | 'change' | 'del' | 'add';
  readonly old?: Side;
  readonly new?: Side;
}

/** Lines that went stand beside lines that came, in order; the longer side has rows of its own. */
export function layout(hunk: Hunk): Row[] {
  const rows: Row[] = [];
  let a = hunk.old_start;
  let b = hunk.new_start;
  let gone: Side[] = [];
  let come: Side[] = [];
  const flush = () => {
    for (let i = 0; i < Math.max(gone.length, come.length); i++) rows.push(pair(gone[i], come[i]));
    gone = [];
    come = [];
  };
  for (const l of hunk.lines) {
    const side = (n: number): Side => ({ n, text: l.text, noNewline: l.no_newline === true });
    if (l.op === '-') {
      if (come.length > 0) flush();
      gone.push(side(a++));
    } else if (l.op === '+') {
      come.push(side(b++));
    } else {
      flush();
      rows.push({ kind: 'same', old: side(a++), new: side(b++) });
    }
  }
  flush();
  return rows;
}

function pair(o: Side | undefined, n: Side | undefined): Row {
  if (o === undefined) return n === undefined ? { kind: 'same' } : { kind: 'add', new: n };
  if (n === undefined) return { kind: 'del', old: o };
  const [was, is] = difference(o.text, n.text);
  return {
    kind: 'change',
    old: was === undefined ? o : { ...o, mark: was },
    new: is === undefined ? n : { ...n, mark: is },
  };
}

type Span = readonly [number, number];

/** What is left after the common beginning and end; nothing when little is common. */
export function difference(a: string, b: string): [Span | undefined, Span | undefined] {
  const least = Math.min(a.length, b.length);
  let from = 0;
  while (from < least && a[from] === b[from]) from++;
  let end = 0;
  while (end < least - from && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const common = a.slice(0, from).trim().length + (end > 0 ? a.slice(-end).trim().length : 0);
  if (a === b || common * 3 < least) return [undefined, undefined];
  return [
    [from, a.length - end],
    [from, b.length - end],
  ];
}

const around = 3;
const mostCompared = 4_000_000; // cells of a table; more is shown as gone and come

/** What of a text is another in a second one, by lines, with some lines around it. */
export function compare(before: string, after: string): Hunk[] {
  const a = before.split('\n');
  const b = after.split('\n');
  const lines = changes(a, b);
  const near = lines.map((_, n) => lines.slice(Math.max(0, n - around), n + around + 1).some((l) => l.op !== ' '));
  const hunks: Hunk[] = [];
  let [old_start, new_start] = [1, 1];
  for (let n = 0; n < lines.length; ) {
    let end = n;
    while (end < lines.length && near[end] === near[n]) end++;
    const part = lines.slice(n, end);
    const old_lines = part.filter((l) => l.op !== '+').length;
    const new_lines = part.filter((l) => l.op !== '-').length;
    if (near[n]) hunks.push({ old_start, old_lines, new_start, new_lines, lines: part });
    old_start += old_lines;
    new_start += new_lines;
    n = end;
  }
  return hunks;
}

function changes(a: readonly string[], b: readonly string[]): DiffLine[] {
  const line = (op: string) => (text: string): DiffLine => ({ op, text });
  let from = 0;
  while (from < a.length && from < b.length && a[from] === b[from]) from++;
  let end = 0;
  while (end < Math.min(a.length, b.length) - from && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const [x, y] = [a.slice(from, a.length - end), b.slice(from, b.length - end)];
  return [...a.slice(0, from).map(line(' ')), ...between(x, y), ...a.slice(a.length - end).map(line(' '))];

  function between(x: readonly string[], y: readonly string[]): DiffLine[] {
    if (x.length * y.length > mostCompared) return [...x.map(line('-')), ...y.map(line('+'))];
    const wide = y.length + 1;
    const common = new Uint32Array((x.length + 1) * wide); // how many lines the rests have in common
    const at = (i: number, j: number): number => common[i * wide + j] ?? 0;
    for (let i = x.length - 1; i >= 0; i--) {
      for (let j = y.length - 1; j >= 0; j--) common[i * wide + j] = x[i] === y[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
    const out: DiffLine[] = [];
    for (let [i, j] = [0, 0]; i < x.length || j < y.length; ) {
      if (i < x.length && j < y.length && x[i] === y[j]) {
        out.push({ op: ' ', text: x[i++] ?? '' });
        j++;
      } else if (i < x.length && (j === y.length || at(i + 1, j) >= at(i, j + 1))) out.push({ op: '-', text: x[i++] ?? '' });
      else out.push({ op: '+', text: y[j++] ?? '' });
    }
    return out;
  }
}

export type FoldReason = 'large' | 'generated';

const foldFrom = 400;
const generated = /(^|\/)(package-lock\.json|pnpm-lock\.yaml|yarn\.lock|go\.sum|Cargo\.lock|composer\.lock|poetry\.lock)$|\.(min\.(js|css)|map|snap)$|(^|\/)(dist|vendor)\//;

/** One column: what went, then what came. */
export function unified(rows: readonly Row[]): Row[] {
  const out: Row[] = [];
  let come: Row[] = [];
  for (const r of rows) {
    if (r.kind === 'same') {
      out.push(...come, r);
      come = [];
      continue;
    }
    if (r.old) out.push({ kind: 'del', old: r.old });
    if (r.new) come.push({ kind: 'add', new: r.new });
  }
  return [...out, ...come];
}

/** Lines that differ in whitespace alone are as if nothing had changed. */
export function withoutSpace(hunk: Hunk): Hunk {
  const bare = (l: DiffLine): string => l.text.replace(/\s+/g, '');
  const lines: DiffLine[] = [];
  let gone: DiffLine[] = [];
  let come: DiffLine[] = [];
  const flush = () => {
    let at = 0;
    for (const g of gone) {
      const same = bare(g) === '' ? (come[at] && bare(come[at] as DiffLine) === '' ? at : -1) : come.findIndex((c, i) => i >= at && bare(c) === bare(g));
      if (same < 0) lines.push(g);
      else {
        lines.push(...come.slice(at, same), { op: ' ', text: come[same]?.text ?? '' });
        at = same + 1;
      }
    }
    lines.push(...come.slice(at));
    gone = [];
    come = [];
  };
  for (const l of hunk.lines) {
    if (l.op === '-') gone.push(l);
    else if (l.op === '+') come.push(l);
    else {
      flush();
      lines.push(l);
    }
  }
  flush();
  return { ...hunk, lines };
}

export const isChanged = (k: Hunk): boolean => k.lines.some((l) => l.op !== ' ');

/** A folder of changed files; folders that hold one folder alone are one. `files` are indices. */
export interface Folder {
  readonly name: string;
  readonly folders: readonly Folder[];
  readonly files: readonly number[];
}

const natural = new Intl.Collator('en', { numeric: true });

export function treeOf(paths: readonly string[]): Folder {
  const build = (name: string, depth: number, files: readonly number[]): Folder => {
    const inside = new Map<string, number[]>();
    const own: number[] = [];
    for (const f of files) {
      const parts = (paths[f] ?? '').split('/');
      const dir = parts[depth];
      if (dir === undefined || depth === parts.length - 1) own.push(f);
      else inside.set(dir, [...(inside.get(dir) ?? []), f]);
    }
    const [only] = inside;
    if (own.length === 0 && inside.size === 1 && only) return build(name === '' ? only[0] : `${name}/${only[0]}`, depth + 1, only[1]);
    const folders = [...inside].sort((a, b) => natural.compare(a[0], b[0])).map(([dir, list]) => build(dir, depth + 1, list));
    return { name, folders, files: own.sort((a, b) => natural.compare(paths[a] ?? '', paths[b] ?? '')) };
  };
  return build('', 0, paths.map((_, n) => n));
}

/** The files in the order of the tree. */
export const inTree = (f: Folder): number[] => [...f.folders.flatMap(inTree), ...f.files];

/** Why a file is closed at first. */
export function foldReason(f: FileDiff): FoldReason | undefined {
  if (generated.test(f.path)) return 'generated';
  return f.additions + f.deletions > foldFrom ? 'large' : undefined;
}
