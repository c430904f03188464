/** Notifications of the browser, for who asked for them: a run has stopped for a person. */
import { t } from './i18n.js';
import type { LiveEvent } from './live.js';
import { memory } from './memory.js';
import { toast } from './parts.js';
import { runAt } from './router.js';

export const canNotify = (): boolean => 'Notification' in window;
export const isNotifying = (): boolean => canNotify() && memory.get('notify') === 'on' && Notification.permission === 'granted';

export async function switchNotifying(): Promise<void> {
  if (isNotifying()) {
    memory.set('notify', 'off');
    return;
  }
  const given = await Notification.requestPermission();
  if (given === 'granted') memory.set('notify', 'on');
  toast(t(given === 'granted' ? 'notify.on' : 'notify.refused'), given === 'granted' ? 'good' : 'warn');
}

const told = new Set<string>();

/** One tab tells, and nobody is told of the run that is before their eyes. */
export function notify(e: LiveEvent, isLeader: boolean, go: (to: string) => void): void {
  const state = String(e.data['state']);
  const [id, run] = [String(e.data['request_id']), String(e.data['run_id'])];
  if (e.kind !== 'stage') return;
  if ((state !== 'NEEDS_INPUT' && state !== 'FAILED') || e.data['set_aside'] === true) {
    told.delete(run);
    return;
  }
  const at = runAt(id, run);
  if (told.has(run) || !isLeader || !isNotifying() || (!document.hidden && location.pathname.startsWith(at))) return;
  told.add(run);
  const n = new Notification(t('notify.needs', { title: String(e.data['title'] || id) }), { tag: run });
  n.onclick = () => {
    window.focus();
    go(at);
  };
}
