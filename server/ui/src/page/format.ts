/** Times and sizes as people read them. */
import { t } from './i18n.js';

export function duration(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return '';
  const s = Math.floor(ms / 1000);
  if (s < 60) return ms < 10_000 && ms % 1000 !== 0 ? `${(ms / 1000).toFixed(1)}s` : `${s}s`;
  const m = Math.floor(s / 60);
  if (m < 60) return `${m}m ${String(s % 60).padStart(2, '0')}s`;
  return `${Math.floor(m / 60)}h ${String(m % 60).padStart(2, '0')}m`;
}

export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} kB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

const two = (n: number) => String(n).padStart(2, '0');

export function clock(at: number): string {
  const d = new Date(at);
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

export function day(at: number): string {
  const d = new Date(at);
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
}

/** Today only the time, else the day too. */
export function moment(at: string | number, now = Date.now()): string {
  const when = typeof at === 'number' ? at : Date.parse(at);
  if (Number.isNaN(when)) return '';
  return day(when) === day(now) ? clock(when) : `${day(when)} ${clock(when).slice(0, 5)}`;
}

/** How long ago, in the largest unit that says something. */
export function ago(at: string, now = Date.now()): string {
  const m = Math.floor((now - Date.parse(at)) / 60_000);
  if (Number.isNaN(m)) return '';
  if (m < 1) return t('ago.now');
  if (m < 60) return t('ago.m', { n: m });
  return m < 48 * 60 ? t('ago.h', { n: Math.floor(m / 60) }) : t('ago.d', { n: Math.floor(m / 1440) });
}
