/** The list as data: filtered, and held still while somebody points at it. */
import type { Item } from './api.js';
import type { Filter } from './router.js';

export function matchesFilter(i: Item, f: Filter): boolean {
  if (f.status.length > 0 && !f.status.includes(i.meta.status ?? '')) return false;
  if (f.priority.length > 0 && !f.priority.includes(i.meta.priority ?? '')) return false;
  if (f.label !== '' && !(i.meta.labels ?? []).includes(f.label)) return false;
  if (f.text === '') return true;
  const all = `${i.id}\n${i.title}\n${i.path}\n${(i.meta.labels ?? []).join('\n')}`.toLowerCase();
  return f.text
    .toLowerCase()
    .split(/\s+/)
    .every((part) => all.includes(part));
}

/**
 * What to show of a new list while the old order must stay: known rows keep their places with their new content, rows
 * that are gone stay as they were. `changed` says how many are not where they will be.
 */
export function heldStill(shown: readonly Item[], next: readonly Item[]): { items: Item[]; changed: number } {
  const fresh = new Map(next.map((i) => [i.path, i]));
  const items = shown.map((i) => fresh.get(i.path) ?? i);
  const places = new Map(shown.map((i, n) => [i.path, n]));
  let changed = 0;
  next.forEach((i, n) => {
    if (places.get(i.path) !== n) changed++;
  });
  return { items, changed: changed === 0 ? shown.length - next.length : changed };
}

export function labelsOf(items: readonly Item[]): string[] {
  return [...new Set(items.flatMap((i) => i.meta.labels ?? []))].sort();
}

export const isBroken = (i: Item): boolean => i.problems.some((p) => p.level === 'error');
