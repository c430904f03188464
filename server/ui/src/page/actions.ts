import { ApiError, call, requestPath, runPath, type Begun } from './api.js';
import { h } from './dom.js';
import { t } from './i18n.js';
import { chosen, confirmed, toast, withCode } from './parts.js';
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

export async function resumeRun(go: Go, id: string, run: string, mode: string, step: string, force: boolean): Promise<void> {
  if (mode === 'replan' && !(await confirmed(t('run.replan_warn'), t('run.replan')))) return;
  if (mode === 'retry_step' && !(await confirmed(t('run.retry_warn', { step }), t('run.retry')))) return;
  const resume = (body: Readonly<Record<string, unknown>>) => begin(go, `${runPath(id, run)}/resume`, body);
  const wish = { mode, ...(mode === 'retry_step' && step !== '' ? { target_step_id: step } : {}) };
  try {
    await resume({ ...wish, force });
  } catch (e) {
    if (!(e instanceof ApiError) || e.code !== 'REPLAN_REQUIRED' || force) throw e;
    const way = await chosen([h('p', null, withCode(e.message)), h('p', null, t('run.replan_warn'))], [['replan', t('run.replan')], ['same', t('run.all_the_same')]]);
    if (way === 'replan') await resume({ mode: 'replan' });
    if (way === 'same') await resume({ ...wish, force: true });
  }
}

export async function stopRun(id: string, run: string): Promise<void> {
  await call('POST', `${runPath(id, run)}/stop`, {});
  toast(t('run.stop_sent'));
}

export const stopQueue = async (now: boolean): Promise<void> => void (await call('POST', '/autorun/stop', { now }));
