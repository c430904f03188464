/** A place in a log where the words stand. */
export interface Hit {
  readonly line: number;
  readonly at: number;
  readonly length: number;
}

/** Lines by index; the last one may have no end yet. */
export interface Searched {
  readonly lines: readonly unknown[];
  text(index: number): string;
}

const mostHits = 20_000;

/** Finds words in a log that grows at both ends. */
export class LogFinder {
  hits: Hit[] = [];
  current = -1;
  /** There are more hits than are kept. */
  isFull = false;
  words = '';
  private pattern: RegExp | undefined;
  private seen = 0;

  get isOn(): boolean {
    return this.pattern !== undefined;
  }

  find(words: string, log: Searched): void {
    this.pattern = words === '' ? undefined : new RegExp(words.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'giu');
    this.words = words;
    this.hits = [];
    this.current = -1;
    this.isFull = false;
    this.seen = 0;
    this.grown(log);
  }

  /** Looks at lines that came at the end, and again at the one that had no end. */
  grown(log: Searched): void {
    if (!this.pattern) return;
    const keep = firstAt(this.hits, this.seen);
    this.hits.length = keep;
    this.hits.push(...this.scan(log, this.seen, log.lines.length + 1));
    this.seen = log.lines.length;
    this.settle();
  }

  /** Looks at so many lines that came at the beginning. */
  prepended(log: Searched, lines: number): void {
    if (!this.pattern || lines === 0) return;
    const moved = this.hits.map((hit) => ({ ...hit, line: hit.line + lines }));
    const come = this.scan(log, 0, lines);
    this.hits = come.concat(moved);
    this.seen += lines;
    if (this.current >= 0) this.current += come.length;
    this.settle();
  }

  /** The next hit (or the one before), round the ends; at first the nearest one to a line. */
  step(by: 1 | -1, near: number): Hit | undefined {
    const n = this.hits.length;
    if (n === 0) return undefined;
    if (this.current < 0) {
      const after = firstAt(this.hits, near);
      this.current = by > 0 ? after % n : (after - 1 + n) % n;
    } else this.current = (this.current + by + n) % n;
    return this.hits[this.current];
  }

  private settle(): void {
    if (this.hits.length > mostHits) {
      this.hits.length = mostHits;
      this.isFull = true;
    }
    if (this.current >= this.hits.length) this.current = -1;
  }

  private scan(log: Searched, from: number, to: number): Hit[] {
    const hits: Hit[] = [];
    for (let line = from; line < to && hits.length <= mostHits; line++) {
      for (const m of log.text(line).matchAll(this.pattern as RegExp)) hits.push({ line, at: m.index, length: m[0].length });
    }
    return hits;
  }
}

/** The first hit in or after a line. */
export function firstAt(hits: readonly Hit[], line: number): number {
  let [low, high] = [0, hits.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((hits[middle]?.line ?? 0) < line) low = middle + 1;
    else high = middle;
  }
  return low;
}
