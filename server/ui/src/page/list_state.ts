/** The list as data: filtered, and held still while somebody points at it. */
import type { Item, List } from './api.js';
import type { Filter } from './router.js';

/** `inText` are the ids whose text the words were found in, as far as that is known. */
export function matchesFilter(i: Item, f: Filter, inText?: ReadonlySet<string>): boolean {
  if (f.status.length > 0 && !f.status.some((v) => v === i.meta.status || v === standing(i) || (v === 'needs' && needsAnswer(i)))) return false;
  if (f.priority.length > 0 && !f.priority.includes(i.meta.priority ?? '')) return false;
  if (f.label !== '' && !(i.meta.labels ?? []).includes(f.label)) return false;
  if (f.text === '' || inText?.has(i.id)) return true;
  const why = i.derived.why;
  const all = `${i.id}\n${i.title}\n${i.path}\n${(i.meta.labels ?? []).join('\n')}\n${why?.reason_code ?? ''}\n${why?.detail ?? ''}\n${i.derived.latest_run?.reason_code ?? ''}`.toLowerCase();
  return f.text
    .toLowerCase()
    .split(/\s+/)
    .every((part) => all.includes(part));
}

/** The whole list of now, of one of before and what changed since. Ranks follow from the order. */
export function patched(before: List, now: List): List {
  if (now.since === undefined) return now;
  const other = new Set([...(now.gone ?? []), ...now.items.map((i) => i.path)]);
  const kept = before.items.filter((i) => !other.has(i.path));
  const placed = new Map((now.places ?? []).map((place, n) => [place, now.items[n]]));
  const items: Item[] = [];
  for (let n = 0, k = 0; n < kept.length + placed.size; n++) {
    const i = placed.get(n) ?? kept[k++];
    if (i) items.push(i);
  }
  let rank = 0;
  const ranked = items.map((i) => (!i.derived.queue_eligible || ++rank === i.derived.rank ? i : { ...i, derived: { ...i.derived, rank } }));
  return { ...now, items: ranked };
}

/**
 * What to show of a new list while the old order must stay: known rows keep their places with their new content, rows
 * that are gone stay as they were. `changed` says how many came, went or moved; not how many slid because of that.
 */
export function heldStill(shown: readonly Item[], next: readonly Item[]): { items: Item[]; changed: number } {
  const fresh = new Map(next.map((i) => [i.path, i]));
  const places = new Map(shown.map((i, n) => [i.path, n]));
  const at = next.map((i) => places.get(i.path)).filter((n) => n !== undefined);
  const stay = inStep(at);
  return { items: shown.map((i) => fresh.get(i.path) ?? i), changed: shown.length - stay + next.length - at.length };
}

/** The length of the longest part that grows: what can stay where it is. */
function inStep(places: readonly number[]): number {
  const ends: number[] = []; // the least end of a growing part of each length
  for (const p of places) {
    let [from, to] = [0, ends.length];
    while (from < to) {
      const mid = (from + to) >> 1;
      if ((ends[mid] ?? 0) < p) from = mid + 1;
      else to = mid;
    }
    ends[from] = p;
  }
  return ends.length;
}

export function labelsOf(items: readonly Item[]): string[] {
  return [...new Set(items.flatMap((i) => i.meta.labels ?? []))].sort();
}

export const isBroken = (i: Item): boolean => i.problems.some((p) => p.level === 'error');

/**
 * What runs, then what can run by rank, then what waits, and what is closed at the end. Inside each the server's order
 * stays, which is that of the next ones.
 */
export function inOrder(items: readonly Item[]): Item[] {
  const group = (i: Item) => {
    if (i.derived.locked) return 0;
    if (i.derived.rank !== null) return 1;
    return i.meta.status === 'archived' ? 4 : i.meta.status === 'done' ? 3 : 2;
  };
  return items
    .map((i, n) => ({ i, n, g: group(i) }))
    .sort((a, b) => a.g - b.g || (a.i.derived.rank ?? 0) - (b.i.derived.rank ?? 0) || a.n - b.n)
    .map((x) => x.i);
}

export type Standing = 'broken' | 'running' | 'locked' | 'needs_input' | 'failed' | 'interrupted' | 'stale' | 'merge' | 'can_run' | 'waits' | 'draft' | 'blocked' | 'done' | 'archived';

/** One word for how a request stands, of its file and its latest run. */
export function standing(i: Item): Standing {
  if (isBroken(i)) return 'broken';
  if (i.derived.locked) return i.derived.locked.pid > 0 ? 'running' : 'locked'; // a lock that cannot be read names nobody
  const status = i.meta.status;
  if (status === 'done' || status === 'archived') return status;
  const run = i.derived.latest_run;
  if (run?.interrupted) return 'interrupted';
  if (run?.awaits_merge) return run.stale ? 'stale' : run.land_failed ? 'failed' : 'merge';
  if (run?.state === 'NEEDS_INPUT') return 'needs_input';
  if (run?.state === 'FAILED') return 'failed';
  if (i.derived.rank !== null) return 'can_run';
  return status === 'draft' || status === 'blocked' ? status : 'waits';
}

/** It stopped and waits for a person: a question, a failure, an end that nobody works on, ground that has changed. */
export const needsAnswer = (i: Item): boolean => ['needs_input', 'failed', 'interrupted', 'stale'].includes(standing(i));

/** The same list by another order than that in which they would run. */
export function sorted(items: readonly Item[], by: string): readonly Item[] {
  if (by === 'title') return items.toSorted((a, b) => a.title.localeCompare(b.title));
  if (by === 'run') return items.toSorted((a, b) => (b.derived.latest_run?.started_at ?? '').localeCompare(a.derived.latest_run?.started_at ?? ''));
  return items;
}
