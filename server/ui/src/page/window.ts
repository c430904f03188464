/** Which rows of a long list to draw. */
export interface Sight {
  /** How far the list's beginning is above the top of what is seen. */
  readonly top: number;
  readonly view: number;
  readonly row: number;
  readonly count: number;
  readonly margin: number;
}

export interface Range {
  readonly from: number;
  /** After the last one. */
  readonly to: number;
}

export function visibleRange(o: Sight): Range {
  if (o.row <= 0 || o.count <= 0) return { from: 0, to: 0 };
  const first = Math.floor(o.top / o.row) - o.margin;
  const last = Math.ceil((o.top + o.view) / o.row) + o.margin;
  const from = Math.min(Math.max(0, first), o.count);
  return { from, to: Math.max(from, Math.min(o.count, last)) };
}

/** Where to scroll so that a row is wholly seen; undefined when it is. */
export function scrollFor(o: Sight, index: number, head: number): number | undefined {
  const at = index * o.row;
  if (at < o.top + head) return at - head;
  if (at + o.row > o.top + o.view) return at + o.row - o.view;
  return undefined;
}
