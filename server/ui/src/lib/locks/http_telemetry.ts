import type { PageEvents } from './parts.js';
import { toTelemetry, type ProjectLockTelemetry } from './telemetry.js';
import type { ProjectLockEvent } from './types.js';

export interface HttpTelemetryOptions {
  readonly fetch?: typeof fetch;
  readonly headers?: Readonly<Record<string, string>>;
  readonly now?: () => number;
  readonly setTimeout?: (run: () => void, ms: number) => unknown;
  readonly page?: PageEvents | null;
}

const collectFor = 1_000;
/** What a server takes at once. */
const most = 100;

/**
 * A listener that sends the lines to a server, collected for a second and, when the page goes away, at once. What
 * cannot be sent is lost: telemetry never stops an editor.
 */
export function httpTelemetry(url: string, o: HttpTelemetryOptions = {}): (event: ProjectLockEvent) => void {
  const now = o.now ?? Date.now;
  const later = o.setTimeout ?? ((run, ms) => globalThis.setTimeout(run, ms));
  const page = o.page === undefined ? (globalThis as Partial<PageEvents>) : o.page;
  let lines: ProjectLockTelemetry[] = [];
  let waiting = false;

  const send = () => {
    waiting = false;
    const batch = lines.splice(0, most);
    lines = [];
    if (batch.length === 0) return;
    (o.fetch ?? globalThis.fetch)(url, {
      method: 'POST',
      headers: { ...o.headers, 'Content-Type': 'application/json' },
      credentials: 'same-origin',
      keepalive: true,
      body: JSON.stringify(batch),
    }).catch(() => undefined);
  };
  // Later than the lock's own listener, which lets go of the lease and says so.
  page?.addEventListener?.('pagehide', () => queueMicrotask(send));

  return (event) => {
    const line = toTelemetry(event, now());
    if (line === undefined) return;
    lines.push(line);
    if (waiting) return;
    waiting = true;
    later(send, collectFor);
  };
}
