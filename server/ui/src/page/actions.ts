import { ApiError, call, requestPath, runPath, type Advice, type Begun } from './api.js';
import { t } from './i18n.js';
import { confirmed, toast } from './parts.js';
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
  const { mode = '', force, step_id: here = '' } = way;
  const step = back ?? here;
  const asks = back ? t('run.go_back_warn', { step }) : mode === 'replan' ? t('run.replan_warn') : mode === 'retry_step' ? t('run.retry_warn', { step }) : force ? t('run.force_warn') : '';
  if (asks !== '' && !(await confirmed(asks, t(back ? 'run.go_back' : `run.${mode as 'resume'}`)))) return;
  await begin(go, `${runPath(id, run)}/resume`, { mode, force, ...(step !== '' ? { target_step_id: step } : {}) });
}

export const answerRun = (go: Go, id: string, run: string, text: string): Promise<void> => begin(go, `${runPath(id, run)}/answer`, { text });

export async function stopRun(id: string, run: string): Promise<void> {
  await call('POST', `${runPath(id, run)}/stop`, {});
  toast(t('run.stop_sent'));
}

export const stopQueue = async (now: boolean): Promise<void> => void (await call('POST', '/autorun/stop', { now }));
