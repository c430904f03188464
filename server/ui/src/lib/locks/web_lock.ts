import { ACQUIRE_TIMEOUT } from './limits.js';
import type { World } from './parts.js';

export interface WebLockListener {
  granted(): void;
  refused(code: 'web-lock-unsupported' | 'acquire-denied' | 'acquire-timeout', cause?: unknown): void;
  stolen(cause: unknown): void;
}

/** One request for the Web Lock, held until `drop`. It asks `ifAvailable`: waiting is done by the caller's backoff. */
export class WebLockHold {
  private state: 'asked' | 'held' | 'over' = 'asked';
  private letGo: () => void = () => undefined;
  private timer: unknown;

  constructor(
    private readonly world: World,
    private readonly listener: WebLockListener,
  ) {}

  request(): void {
    const manager = this.world.lockManager;
    if (manager === undefined) return this.refuse('web-lock-unsupported');
    this.timer = this.world.setTimeout(() => this.refuse('acquire-timeout'), ACQUIRE_TIMEOUT);
    try {
      const options = { mode: 'exclusive', ifAvailable: true } as const;
      manager.request(this.world.lockName, options, (lock) => this.answer(lock)).catch((e: unknown) => this.failed(e));
    } catch (e) {
      this.failed(e);
    }
  }

  drop(): void {
    this.world.clearTimeout(this.timer);
    this.state = 'over';
    this.letGo();
  }

  private answer(lock: Lock | null): Promise<void> | undefined {
    if (this.state !== 'asked') return undefined; // too late: return at once, which releases it
    if (lock === null) {
      this.refuse('acquire-denied');
      return undefined;
    }
    this.world.clearTimeout(this.timer);
    this.state = 'held';
    return new Promise((resolve) => {
      this.letGo = resolve;
      this.listener.granted();
    });
  }

  private refuse(code: 'web-lock-unsupported' | 'acquire-denied' | 'acquire-timeout', cause?: unknown): void {
    if (this.state !== 'asked') return;
    this.drop();
    this.listener.refused(code, cause);
  }

  private failed(cause: unknown): void {
    if (this.state === 'held') {
      this.drop();
      this.listener.stolen(cause);
      return;
    }
    const unsupported = cause instanceof Error && cause.name === 'NotSupportedError';
    this.refuse(unsupported ? 'web-lock-unsupported' : 'acquire-denied', cause);
  }
}
