/** A log as it comes in pieces: lines, each folded at its last carriage return, with colours as class names. */
export interface Span {
  readonly text: string;
  readonly cls: string;
}

const longest = 4_000;

export class LogLines {
  private rest = '';
  /** Characters of the line without an end that are not kept. */
  private over = 0;
  private readonly decoder = new TextDecoder();
  private style = noStyle;

  /** Whole lines of a piece of the file; what is not yet whole waits. */
  add(bytes: Uint8Array): Span[][] {
    const parts = this.decoder.decode(bytes, { stream: true }).split('\n');
    const lines: Span[][] = [];
    for (const [n, part] of parts.entries()) {
      this.grow(part);
      if (n === parts.length - 1) break;
      lines.push(this.line(this.rest, this.over));
      this.rest = '';
      this.over = 0;
    }
    return lines;
  }

  /** A line may be as long as the file; what is not shown of it is only counted. */
  private grow(part: string): void {
    this.rest += part;
    if (this.rest.length <= longest * 8) return;
    const turn = this.rest.endsWith('\r') ? '\r' : '';
    const whole = this.rest.slice(0, this.rest.length - turn.length);
    const turned = lastTurn(whole);
    if (turned.length < whole.length) this.over = 0;
    const kept = turned.slice(0, longest);
    this.over += turned.length - kept.length;
    this.rest = kept + turn;
  }

  /** The line that has no end yet. */
  open(): Span[] {
    const before = this.style;
    const spans = this.rest === '' ? [] : this.line(this.rest, this.over);
    this.style = before;
    return spans;
  }

  private line(raw: string, over: number): Span[] {
    const whole = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
    const turned = lastTurn(whole);
    const left = Math.max(0, turned.length - longest) + (turned.length < whole.length ? 0 : over);
    const { spans, style } = colours(turned.slice(0, longest), this.style);
    this.style = style;
    if (left > 0) spans.push({ text: ` … +${left}`, cls: 'cut' });
    return spans;
  }
}

/** What a progress bar shows in the end. */
function lastTurn(line: string): string {
  const at = line.lastIndexOf('\r');
  return at < 0 ? line : line.slice(at + 1);
}

interface Style {
  readonly fg: string;
  readonly bold: boolean;
  readonly dim: boolean;
}

const noStyle: Style = { fg: '', bold: false, dim: false };
const names = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];

// CSI sequences; OSC, DCS and the like up to their end; other escapes; all further controls but the tab.
// eslint-disable-next-line no-control-regex
const control = /\x1b\[([0-9;:?]*)[ -/]*([@-~])|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]?|[\x00-\x08\x0a-\x1f\x7f-\x9f]/g;
const hidden = /[\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

export function colours(text: string, from: Style = noStyle): { spans: Span[]; style: Style } {
  const spans: Span[] = [];
  let style = from;
  let at = 0;
  const put = (part: string) => {
    if (part !== '') spans.push({ text: visible(part), cls: classOf(style) });
  };
  for (const m of text.matchAll(control)) {
    put(text.slice(at, m.index));
    at = m.index + m[0].length;
    if (m[2] === 'm') style = restyle(style, m[1] ?? '');
  }
  put(text.slice(at));
  return { spans, style };
}

/** Characters that change the order or hide are shown as what they are. */
export function visible(text: string): string {
  return text.replace(hidden, (c) => '\\u' + (c.codePointAt(0) ?? 0).toString(16).padStart(4, '0'));
}

function restyle(style: Style, codes: string): Style {
  let next = style;
  const list = codes.split(/[;:]/).map(Number);
  for (let i = 0; i < list.length; i++) {
    const c = list[i] ?? 0;
    if (c === 38 || c === 48) i += list[i + 1] === 2 ? 4 : 2; // colours of our own choice: skipped
    else next = one(next, c);
  }
  return next;
}

function one(s: Style, c: number): Style {
  if (c === 0) return noStyle;
  if (c === 1) return { ...s, bold: true };
  if (c === 2) return { ...s, dim: true };
  if (c === 22) return { ...s, bold: false, dim: false };
  if (c === 39) return { ...s, fg: '' };
  if (c >= 30 && c <= 37) return { ...s, fg: names[c - 30] ?? '' };
  if (c >= 90 && c <= 97) return { ...s, fg: names[c - 90] ?? '' };
  return s;
}

function classOf(s: Style): string {
  return [s.fg && 'c-' + s.fg, s.bold && 'c-bold', s.dim && 'c-dim'].filter(Boolean).join(' ');
}
