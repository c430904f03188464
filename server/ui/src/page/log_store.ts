import { LogLines, type Span } from './logtext.js';

export type Line = readonly Span[];

/** The part of a log that is known: whole lines, and the line that has no end yet. */
export class LogStore {
  lines: Line[] = [];
  /** Where in the file the known part begins and ends. */
  from: number;
  at: number;
  /** The number that its first line has in the whole log; undefined while nobody has said it. */
  first: number | undefined;
  /** Lines of which only the beginning is kept. */
  cut = 0;
  private parser = new LogLines();
  private isMiddle: boolean;

  constructor(from: number) {
    this.from = this.at = from;
    this.isMiddle = from > 0;
    this.first = from > 0 ? undefined : 1;
  }

  /** What follows the known part; gives how many lines came. A part that begins in the middle of a line, whose number is `line`, loses it. */
  append(bytes: Uint8Array, line?: number): number {
    let rest = bytes;
    this.at += bytes.length;
    if (this.isMiddle) {
      const skipped = bytes.indexOf(10) + 1;
      rest = bytes.subarray(skipped);
      this.from += skipped;
      this.isMiddle = false;
      if (line !== undefined) this.first = line + (skipped > 0 ? 1 : 0);
    }
    const come = this.parser.add(rest);
    for (const line of come) this.lines.push(line);
    this.count(come);
    return come.length;
  }

  /** What stands before the known part, from `from` up to where it begins; gives how many lines came. */
  prepend(bytes: Uint8Array, from: number): number {
    const skipped = from > 0 ? bytes.indexOf(10) + 1 : 0;
    const parser = new LogLines();
    const come = parser.add(bytes.subarray(skipped));
    const open = parser.open();
    if (open.length > 0) come.push(open);
    // A piece without any line end tells nothing about where its line begins.
    this.from = from + skipped;
    if (this.from === 0) this.first = 1;
    else if (this.first !== undefined) this.first -= come.length;
    this.lines = come.concat(this.lines as Span[][]);
    this.count(come);
    return come.length;
  }

  /** The line that has no end yet. */
  open(): Line {
    return this.parser.open();
  }

  /** A line, or with the index after the last one the line without an end. */
  text(index: number): string {
    return textOf(index < this.lines.length ? (this.lines[index] ?? []) : this.open());
  }

  private count(lines: readonly Line[]): void {
    for (const line of lines) if (line.at(-1)?.cls === 'cut') this.cut++;
  }
}

export const textOf = (line: Line): string => (line.length === 1 ? (line[0]?.text ?? '') : line.map((s) => s.text).join(''));
