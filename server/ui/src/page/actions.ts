import { ApiError, call, get, requestPath, runPath, type Advice, type Begun, type RestackState, type Restacked } from './api.js';
import { t } from './i18n.js';
import { confirmed, showError, toast } from './parts.js';
import { requestAt, runAt } from './router.js';

export type Go = (to: string) => void;

/** Starts a run and goes to it; a run that is in the way is gone to just the same. */
async function begin(go: Go, path: string, body: unknown): Promise<void> {
  try {
    const { data } = await call<Begun>('POST', path, body);
    if (data.request_id && data.run_id) go(runAt(data.request_id, data.run_id));
    else if (data.request_id) {
      toast(t('toast.being_made'));
      go(requestAt(data.request_id));
    } else {
      const why = data.selection?.excluded?.[0]?.detail;
      toast([t('list.nothing'), why ? ' ' + why : ''], 'warn');
    }
  } catch (e) {
    if (!toWhatIsInTheWay(go, e)) throw e;
  }
}

export function toWhatIsInTheWay(go: Go, e: unknown): boolean {
  if (!(e instanceof ApiError) || e.status !== 409) return false;
  const { request_id: id, run_id: run } = e.context;
  if (e.code === 'RUN_IN_PROGRESS' || e.code === 'QUEUE_IN_PROGRESS') {
    toast(e.code === 'RUN_IN_PROGRESS' ? t('toast.in_way') : t('toast.queue_in_way'), 'warn');
    go(id && run ? runAt(id, run) : id ? requestAt(id) : '/autorun');
    return true;
  }
  return false;
}

export const runRequest = (go: Go, id: string, fresh = false): Promise<void> =>
  begin(go, `${requestPath(id)}/run`, fresh ? { mode: 'safe', fresh } : { mode: 'safe' });

export const runNext = (go: Go): Promise<void> => begin(go, '/queue/run-next', {});

/** back names an earlier step: the run goes back to it. */
export async function resumeRun(go: Go, id: string, run: string, way: Advice, back?: string): Promise<void> {
  if (way.verb === 'restack') return restackRun(id, run);
  const { mode = '', force, step_id: here = '' } = way;
  const step = back ?? here;
  const asks = back ? t('run.go_back_warn', { step }) : mode === 'replan' ? t('run.replan_warn') : mode === 'retry_step' ? t('run.retry_warn', { step }) : force ? t('run.force_warn') : '';
  if (asks !== '' && !(await confirmed(asks, t(back ? 'run.go_back' : `run.${mode as 'resume'}`)))) return;
  await begin(go, `${runPath(id, run)}/resume`, { mode, force, ...(step !== '' ? { target_step_id: step } : {}) });
}

const oftenAsked = 1_000; // ms between two looks at a move that takes its time

/** What a person can have done from here: to go on with a run, or to move it. */
export const isWay = (a: Advice): boolean => a.kind === 'remedy' && (a.mode !== undefined || a.verb === 'restack');

/** Moves a run to where what it stands on is now, and says what came of it as `aiflow run restack` does. */
export async function restackRun(id: string, run: string): Promise<void> {
  if (!(await confirmed(t('run.restack_warn'), t('run.restack')))) return;
  const path = `${runPath(id, run)}/restack`;
  let { data, status } = await call<Restacked | undefined>('POST', path, {});
  if (status === 202) {
    toast(t('run.restacking', { id }));
    let at: RestackState;
    while ((at = await get<RestackState>(path)).running) await new Promise((r) => setTimeout(r, oftenAsked));
    if (at.error) throw new ApiError(409, at.error.reason_code, at.error.message, at.error.actions ?? [], {});
    data = at.result ?? undefined;
  }
  for (const m of data?.restacked ?? []) toast(t('land.restacked', { id: m.request_id, commit: (m.commit ?? '').slice(0, 10), branch: m.branch, ref: m.kept }), 'good');
  for (const l of data?.already ?? []) toast(t('land.restack_already', { id: l.request_id }));
  for (const l of data?.left_out ?? []) showError(new ApiError(409, l.error.reason_code, `${l.request_id}: ${l.error.message}`, l.error.actions ?? [], {}));
}

/** Merges what a run made, as `aiflow land` does; what came of it stands on the page of landings. */
export async function landRun(go: Go, id: string, into: string): Promise<void> {
  if (!(await confirmed(t('landing.ask', { into, names: id }), t('landing.one')))) return;
  await call('POST', '/land', { names: [id] });
  go('/land');
}

export const answerRun = (go: Go, id: string, run: string, questions: readonly string[], text: string): Promise<void> => begin(go, `${runPath(id, run)}/answer`, { text, questions });

export async function stopRun(id: string, run: string): Promise<void> {
  await call('POST', `${runPath(id, run)}/stop`, {});
  toast(t('run.stop_sent'));
}

export const stopQueue = async (now: boolean): Promise<void> => void (await call('POST', '/autorun/stop', { now }));
