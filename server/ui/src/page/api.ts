import type { FileDiff } from './diff.js';
import type { GraphEdge, GraphNode } from './graph.js';
import { currentLang, t } from './i18n.js';
import type { HistoryEvent } from './timeline.js';

/** The shapes of docs/openapi.yaml that the page reads. */
export interface Holder {
  readonly run_id: string;
  readonly host: string;
  readonly hostname: string;
  readonly pid: number;
  readonly since: string;
  readonly until: string;
}

export interface Problem {
  readonly level: 'error' | 'warning';
  readonly kind: string;
  readonly path: string;
  readonly line?: number;
  readonly message?: string;
}

export interface Meta {
  readonly title?: string;
  readonly priority?: string;
  readonly status?: string;
  readonly labels?: readonly string[] | null;
  readonly depends_on?: readonly string[] | null;
  readonly estimate?: string;
  readonly base?: string;
  readonly touches?: readonly string[] | null;
  readonly created_at?: string;
  readonly updated_at?: string;
  readonly steps?: readonly { readonly title: string; readonly run?: string; readonly test?: string }[] | null;
}

export interface RunItem {
  readonly request_id: string;
  readonly run_id: string;
  readonly state: string;
  readonly reason_code: string | null;
  readonly interrupted: boolean;
  readonly awaits_merge: boolean;
  /** The request on which it stands and that is no longer what it was. */
  readonly stale?: string;
  readonly land_failed?: string;
  readonly title: string;
  readonly work_branch: string;
  readonly base_branch: string;
  readonly started_at: string;
  readonly finished_at: string | null;
  readonly replaced_by: string | null;
  readonly replaces: string | null;
  readonly dropped_at: string | null;
  readonly current_step_id: string;
  readonly percent: number;
  /** How long it worked, without the time in which it waited for somebody. */
  readonly worked_ms?: number;
  readonly warnings: readonly string[];
}

export interface Item {
  readonly id: string;
  readonly path: string;
  readonly title: string;
  readonly meta: Meta;
  readonly derived: {
    readonly queue_eligible: boolean;
    readonly rank: number | null;
    readonly why: { readonly reason_code: string; readonly title: string; readonly detail: string; readonly advice?: readonly Advice[] } | null;
    readonly blocked_by: readonly string[];
    /** Not merged: a run would start on top of these. */
    readonly stacked_on?: readonly string[];
    readonly locked: Holder | null;
    readonly latest_run: RunItem | null;
    readonly last_runs?: readonly string[];
  };
  readonly problems: readonly Problem[];
}

export interface List {
  readonly items: readonly Item[];
  readonly next: string | null;
  readonly stats: { readonly total: number; readonly ready: number; readonly runnable: number };
  readonly queue: { readonly locked: boolean; readonly holder: Holder | null };
  readonly revision?: string;
  /** Only what changed since then: the items at their places now, without those of the paths that are gone. */
  readonly since?: string;
  readonly places?: readonly number[];
  readonly gone?: readonly string[];
}

export interface Detail extends Item {
  readonly can_run: boolean;
  readonly body_markdown: string;
  readonly markdown: string;
  readonly updated_at: string;
}

/** A request; without its text where that is not UTF-8. */
export type Known = Omit<Detail, 'body_markdown' | 'markdown'> & Partial<Pick<Detail, 'body_markdown' | 'markdown'>>;

export const hasText = (d: Known): d is Detail => d.body_markdown !== undefined;

export interface ErrorObject {
  readonly reason_code: string;
  readonly title: string;
  readonly message: string;
  readonly severity: string;
  readonly actions: readonly string[] | null;
  readonly related_paths?: readonly string[] | null;
}

export interface TestResult {
  readonly status: string;
  readonly command: string | null;
  readonly log_path: string | null;
  readonly duration_ms: number | null;
  readonly failed_summary: string | null;
}

export interface Step {
  readonly step_id: string;
  readonly title: string;
  readonly role: string;
  readonly status: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly attempt: number;
  readonly summary: string;
  readonly logs: readonly string[] | null;
  readonly diff_stat: { readonly files_changed: number; readonly lines_added: number; readonly lines_deleted: number; readonly too_large: boolean };
  readonly test: { readonly unit: TestResult; readonly e2e: TestResult; readonly static: TestResult };
  readonly error: ErrorObject | null;
}

export interface StageLock {
  readonly path: string;
  readonly held: boolean;
  readonly acquired_at: string | null;
}

export interface Stage {
  readonly request_id: string;
  readonly run_id: string;
  readonly title: string;
  readonly state: string;
  readonly current_step_id: string;
  readonly started_at: string;
  readonly updated_at: string;
  readonly ended_at?: string | null;
  readonly error: ErrorObject | null;
  readonly history: readonly HistoryEvent[] | null;
  readonly progress: { readonly percent: number; readonly message: string };
  readonly steps: readonly Step[] | null;
  readonly locks: { readonly request_lock: StageLock | null; readonly queue_lock: StageLock | null };
  readonly git: {
    readonly base_branch: string;
    readonly work_branch: string;
    readonly workspace: string;
    readonly stacked_on?: readonly { readonly request_id: string; readonly run_id: string }[];
    readonly commits: readonly { readonly step_id: string; readonly hash: string; readonly subject: string }[] | null;
  };
  readonly replaces?: string;
  readonly dropped_at?: string | null;
  readonly replaced_by?: string;
  readonly landed?: { readonly into: string; readonly commit: string; readonly at?: string };
  readonly seq: number;
}

export interface RunLog {
  readonly path: string;
  readonly name: string;
  readonly type: string;
  readonly size: number;
}

/** What can be done now about a run, a lock or a request, as the server works it out. */
export interface Advice {
  readonly kind: 'remedy' | 'look';
  readonly verb: string;
  readonly command: string;
  readonly mode?: string;
  readonly force: boolean;
  readonly step_id?: string;
  readonly allowed: boolean;
  readonly why_not?: string;
  readonly recommended: boolean;
}

/** What AI commands took, as they report it. */
export interface Usage {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly cost_usd?: number;
}

/** A provider that cannot be asked now. */
export interface ProviderWait {
  readonly provider: string;
  readonly reason_code: string;
  readonly said?: string;
  readonly until?: string;
}

export interface RunDetail {
  readonly usage?: Usage;
  readonly waits?: ProviderWait;
  readonly request_id: string;
  readonly run_id: string;
  readonly interrupted: boolean;
  readonly awaits_merge: boolean;
  readonly worked_ms: number;
  readonly locked: Holder | null;
  readonly compare_url: string | null;
  readonly warnings: readonly string[];
  readonly advice: readonly Advice[];
  readonly earlier_steps: readonly string[];
  readonly stage: Stage;
  readonly errors: {
    readonly evidence?: { readonly command?: string | null; readonly exit_code?: number | null; readonly stderr_snippet?: string | null; readonly log_paths?: readonly string[] | null };
    readonly suggested_next?: { readonly hint?: string };
    readonly related_paths?: readonly string[] | null;
    readonly questions?: readonly string[] | null;
  } | null;
  readonly report: { readonly path: string; readonly markdown: string };
  readonly logs: readonly RunLog[];
  readonly artifacts: readonly { readonly path: string; readonly type: string }[];
}

export interface Diff {
  readonly base: string;
  readonly head: string;
  readonly stat: { readonly files: number; readonly additions: number; readonly deletions: number };
  readonly truncated: boolean;
  readonly files: readonly FileDiff[] | null;
  readonly uncommitted?: Omit<Diff, 'parts'> & { readonly step_id: string; readonly attempt: number };
  readonly parts: readonly { readonly step_id: string; readonly attempt?: number; readonly commit: string }[];
}

export interface Excluded {
  readonly request_id: string;
  readonly reason_code: string;
  readonly detail: string;
  readonly precondition?: string;
}

export interface Selection {
  readonly next?: { readonly request_id: string } | null;
  readonly excluded: readonly Excluded[] | null;
}

export interface SessionResult {
  readonly request_id: string;
  readonly run_id: string;
  readonly title: string;
  readonly state: string;
  readonly reason_code?: string;
  readonly started_at: string;
  readonly ended_at: string;
}

export interface Session {
  readonly usage?: Usage;
  readonly provider_wait?: ProviderWait;
  readonly state: string;
  readonly current_request_id: string | null;
  readonly current_run_id: string | null;
  readonly last_result: SessionResult | null;
  readonly counters: { readonly runs: number; readonly done: number; readonly failed: number; readonly needs_input: number; readonly skips: number };
  readonly started_at: string | null;
  readonly ended_at?: string | null;
  readonly stop_reason: { readonly reason_code: string; readonly message: string; readonly actions: readonly string[] | null } | null;
  readonly results: readonly SessionResult[] | null;
  /** What its slots did; records of earlier versions have none. */
  readonly turns?: readonly Turn[] | null;
  readonly skipped: readonly Excluded[] | null;
}

export interface Turn {
  readonly slot: number;
  readonly request_id: string;
  readonly title?: string;
  readonly run_id?: string;
  readonly from: string;
  readonly until?: string;
}

export interface Check {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly hint: string;
  readonly evidence: unknown;
}

export interface DoctorReport {
  readonly ok: boolean;
  readonly mode: string;
  readonly summary: { readonly status: string; readonly fail_count: number; readonly warn_count: number };
  readonly checks: readonly Check[];
  readonly repairs: readonly { readonly id?: string; readonly message?: string }[] | null;
}

export interface LockItem {
  readonly lock_type: string;
  readonly request_id: string;
  readonly run_id: string;
  readonly pid: number;
  readonly host: string;
  readonly hostname: string;
  readonly created_at: string | null;
  readonly verdict: string;
  readonly path: string;
  readonly advice?: readonly Advice[];
}

export interface Begun {
  readonly request_id: string | null;
  readonly run_id: string | null;
  readonly selection?: Selection;
}

export interface LandItem {
  readonly request_id: string;
  readonly run_id: string;
  readonly branch: string;
  readonly commit?: string;
}

export interface LandLeft extends LandItem {
  readonly files: readonly string[];
  readonly with: string;
  readonly error: { readonly reason_code: string; readonly message: string; readonly context?: Readonly<Record<string, string>>; readonly actions?: readonly string[] | null } | null;
}

interface Refused {
  readonly reason_code: string;
  readonly message: string;
  readonly actions: readonly string[] | null;
}

export interface Restacked {
  readonly restacked: readonly (LandItem & { readonly kept: string })[];
  readonly already: readonly LandItem[];
  readonly left_out: readonly (LandItem & { readonly error: Refused })[];
}

export interface RestackState {
  readonly running: boolean;
  readonly result: Restacked | null;
  readonly error?: Refused;
}

export interface Forecast {
  readonly into: string;
  readonly lands: readonly LandItem[];
  readonly left_out: readonly LandLeft[];
  readonly collisions: readonly { readonly requests: readonly [string, string]; readonly files: readonly string[] }[];
  readonly most: readonly string[];
}

export interface Landing {
  readonly into: string;
  readonly from: string;
  readonly to: string;
  readonly test: string;
  readonly landed: readonly LandItem[];
  readonly left_out: readonly LandLeft[];
}

export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly actions: readonly string[],
    readonly context: Readonly<Record<string, string>>,
  ) {
    super(message);
  }

  get isOffline(): boolean {
    return this.status === 0;
  }
}

export interface Answer<T> {
  readonly data: T;
  readonly etag: string;
  readonly status: number;
}

export async function call<T>(method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer<T>> {
  const answer = await send(method, path, body, headers);
  const text = await answer.text();
  if (!answer.ok) throw failure(answer.status, text);
  return { data: JSON.parse(text) as T, etag: answer.headers.get('ETag') ?? '', status: answer.status };
}

export const get = async <T>(path: string): Promise<T> => (await call<T>('GET', path)).data;

async function send(method: string, path: string, body: unknown, headers: Readonly<Record<string, string>>): Promise<Response> {
  try {
    return await fetch('/api' + path, {
      method,
      credentials: 'same-origin',
      headers: {
        'Accept-Language': currentLang(),
        ...(method === 'GET' ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }),
    });
  } catch {
    throw offline();
  }
}

/** Browsers each have their own words for it. */
const offline = (): ApiError => new ApiError(0, 'OFFLINE', t('conn.offline'), [], {});

function failure(status: number, text: string): ApiError {
  try {
    const { error } = JSON.parse(text) as { error: { reason_code: string; message: string; context?: Record<string, string>; actions?: string[] | null } };
    return new ApiError(status, error.reason_code, error.message, error.actions ?? [], error.context ?? {});
  } catch {
    return new ApiError(status, 'HTTP_' + status, text.slice(0, 300), [], {});
  }
}

const enc = encodeURIComponent;
export const requestPath = (id: string): string => `/requests/${enc(id)}`;
export const runPath = (id: string, run: string): string => `/requests/${enc(id)}/runs/${enc(run)}`;
export const logPath = (id: string, run: string, name: string): string => `${runPath(id, run)}/logs/${name.split('/').map(enc).join('/')}`;

/** A part of a log, and how long the whole is. */
export interface LogPart {
  readonly bytes: Uint8Array;
  readonly size: number;
  readonly from: number;
  /** The number of the line that it begins in, where that was asked for. */
  readonly line: number | undefined;
}

export async function logPart(path: string, from: number, to: number, numbered = false): Promise<LogPart> {
  let answer: Response;
  try {
    answer = await fetch(`/api${path}${numbered ? '?numbered=1' : ''}`, { credentials: 'same-origin', headers: { Range: `bytes=${from}-${to - 1}` } });
  } catch {
    throw offline();
  }
  if (answer.status === 416) return { bytes: new Uint8Array(), size: Number(answer.headers.get('X-Log-Size') ?? 0), from, line: undefined };
  if (!answer.ok) throw failure(answer.status, await answer.text());
  const bytes = new Uint8Array(await answer.arrayBuffer());
  const size = Number(answer.headers.get('X-Log-Size') ?? bytes.length);
  return { bytes, size, from: answer.status === 206 ? from : 0, line: Number(answer.headers.get('X-Log-Line')) || undefined };
}
