/** What the queue's view decides without a page. */
export interface Task {
  readonly namespace: string;
  readonly task_id: string;
  readonly task_group_id: string;
  readonly session_id: string;
  readonly status: string;
  readonly prompt: string;
  readonly prompt_cut: boolean;
  readonly created_at: string;
  readonly updated_at: string;
  readonly error_message: string;
  readonly claimed_by: string;
  readonly request_id: string;
  readonly output: string;
  readonly texts_cut: boolean;
}

export interface Runner {
  readonly runner_id: string;
  readonly last_heartbeat: string;
  readonly started_at: string;
  readonly status: string;
  readonly project_root: string;
  readonly is_alive: boolean;
  /** It never said that it stops, but its heartbeat is too old. */
  readonly silent?: boolean;
}

export interface Space {
  readonly namespace: string;
  readonly queued_count: number;
  readonly running_count: number;
  readonly runner_count: number;
  readonly active_runner_count: number;
}

export interface TaskQueue {
  readonly namespace: string;
  readonly read_at: string;
  /** Milliseconds that one reading serves; long when there are many tasks. */
  readonly fresh_for: number;
  readonly namespaces: readonly Space[];
  readonly counts: Readonly<Record<string, number>>;
  readonly total: number;
  readonly left_off: number;
  readonly groups: readonly { readonly task_group_id: string; readonly tasks: readonly Task[] }[];
  readonly runners: readonly Runner[];
}

export const taskStatuses = ['QUEUED', 'RUNNING', 'COMPLETE', 'ERROR', 'CANCELLED'] as const;

/** States of other clients are shown and never cancelled. */
export const canCancel = (task: Task): boolean => task.status === 'QUEUED' || task.status === 'RUNNING';

export function taskTone(status: string): 'good' | 'bad' | 'now' | 'quiet' | 'warn' {
  switch (status) {
    case 'QUEUED':
      return 'warn';
    case 'RUNNING':
      return 'now';
    case 'COMPLETE':
      return 'good';
    case 'ERROR':
      return 'bad';
    default:
      return 'quiet';
  }
}

export const runnerState = (r: Runner): 'stopped' | 'alive' | 'dead' => (r.is_alive ? 'alive' : r.silent === true || r.status.toLowerCase() !== 'stopped' ? 'dead' : 'stopped');

/** A running task whose runner has no heartbeat, or is not listed. */
export const isOrphan = (task: Task, runners: readonly Runner[]): boolean =>
  task.status === 'RUNNING' && !runners.some((r) => r.runner_id === task.claimed_by && runnerState(r) === 'alive');

/** What a prompt is about: its first line without a heading's marks. */
export const firstLine = (text: string): string => (text.trim().split('\n')[0] ?? '').replace(/^[# ]+/, '').slice(0, 200);

export const idsOf = (text: string): string[] => [...new Set(text.split(/[\s,、]+/).filter((id) => id !== ''))];

export const firstShown = 100;
export const mostShown = 2_000;

export function queuePath(namespace: string, status: string, limit: number, again: boolean): string {
  const q = new URLSearchParams();
  if (namespace !== '') q.set('namespace', namespace);
  if (status !== '') q.set('status', status);
  if (limit !== firstShown) q.set('limit', String(limit));
  if (again) q.set('again', 'true');
  const text = q.toString();
  return text === '' ? '/taskqueue' : '/taskqueue?' + text;
}

export const isNamespace = (name: string): boolean => /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?$/.test(name);

/** The namespaces to choose from, with the one that is shown and those that somebody named here. */
export function namespacesOf(queue: TaskQueue, named: readonly string[] = []): string[] {
  return [...new Set([queue.namespace, ...queue.namespaces.map((n) => n.namespace), ...named])].sort();
}

/** A prompt says more than its line in the list. */
export const hasMore = (task: Task): boolean => task.texts_cut || task.prompt.trim() !== firstLine(task.prompt);
