/** Every view has an address, and every address is read here. */
export type RunTab = 'steps' | 'diff' | 'report' | 'logs' | 'timeline';

export type Route =
  | { readonly view: 'requests'; readonly filter: Filter }
  | { readonly view: 'request'; readonly id: string; readonly edit: boolean }
  | { readonly view: 'run'; readonly id: string; readonly run: string; readonly tab: RunTab }
  | { readonly view: 'graph'; readonly focus: string; readonly hops: number }
  | { readonly view: 'autorun' }
  | { readonly view: 'doctor' }
  | { readonly view: 'land' }
  | { readonly view: 'queue'; readonly namespace: string; readonly status: string }
  | { readonly view: 'missing' };

export interface Filter {
  readonly text: string;
  readonly status: readonly string[];
  readonly priority: readonly string[];
  readonly label: string;
  readonly sort: string;
}

export const noFilter: Filter = { text: '', status: [], priority: [], label: '', sort: '' };
const tabs: readonly string[] = ['steps', 'diff', 'report', 'logs', 'timeline'];

export function readAddress(path: string, search: string): Route {
  const parts = path.split('/').filter((p) => p !== '').map(decode);
  const q = new URLSearchParams(search);
  const [first, id, runs, run, tab] = parts;
  switch (first) {
    case undefined:
      return { view: 'requests', filter: filterOf(q) };
    case 'requests':
      if (id === undefined) return { view: 'requests', filter: filterOf(q) };
      if (runs === undefined) return { view: 'request', id, edit: false };
      if (runs === 'edit' && run === undefined) return { view: 'request', id, edit: true };
      if (runs === 'runs' && run !== undefined && parts.length < 6 && (tab === undefined || tabs.includes(tab))) {
        return { view: 'run', id, run, tab: (tab ?? 'steps') as RunTab };
      }
      return { view: 'missing' };
    case 'graph':
      return { view: 'graph', focus: q.get('focus') ?? '', hops: Math.min(9, Math.max(1, Number(q.get('hops')) || 1)) };
    case 'queue':
      return parts.length === 1 ? { view: 'queue', namespace: q.get('namespace') ?? '', status: q.get('status') ?? '' } : { view: 'missing' };
    case 'autorun':
    case 'land':
    case 'doctor':
      return parts.length === 1 ? { view: first } : { view: 'missing' };
    default:
      return { view: 'missing' };
  }
}

export function address(r: Route): string {
  switch (r.view) {
    case 'requests':
      return '/' + queryOf(r.filter);
    case 'request':
      return `/requests/${encodeURIComponent(r.id)}${r.edit ? '/edit' : ''}`;
    case 'run':
      return `/requests/${encodeURIComponent(r.id)}/runs/${encodeURIComponent(r.run)}${r.tab === 'steps' ? '' : '/' + r.tab}`;
    case 'graph': {
      const q = new URLSearchParams();
      if (r.focus !== '') q.set('focus', r.focus);
      if (r.hops > 1) q.set('hops', String(r.hops));
      return '/graph' + mark(q);
    }
    case 'queue': {
      const q = new URLSearchParams();
      if (r.namespace !== '') q.set('namespace', r.namespace);
      if (r.status !== '') q.set('status', r.status);
      return '/queue' + mark(q);
    }
    case 'autorun':
    case 'land':
    case 'doctor':
      return '/' + r.view;
    case 'missing':
      return '/';
  }
}

export const requestAt = (id: string): string => address({ view: 'request', id, edit: false });
export const runAt = (id: string, run: string, tab: RunTab = 'steps'): string => address({ view: 'run', id, run, tab });

function filterOf(q: URLSearchParams): Filter {
  const list = (name: string) => (q.get(name) ?? '').split(',').filter((v) => v !== '');
  return { text: q.get('q') ?? '', status: list('status'), priority: list('priority'), label: q.get('label') ?? '', sort: q.get('sort') ?? '' };
}

function queryOf(f: Filter): string {
  const q = new URLSearchParams();
  if (f.text !== '') q.set('q', f.text);
  if (f.status.length > 0) q.set('status', f.status.join(','));
  if (f.priority.length > 0) q.set('priority', f.priority.join(','));
  if (f.label !== '') q.set('label', f.label);
  if (f.sort !== '') q.set('sort', f.sort);
  return mark(q);
}

function mark(q: URLSearchParams): string {
  const text = q.toString();
  return text === '' ? '' : '?' + text;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
