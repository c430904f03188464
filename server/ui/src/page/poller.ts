/** The parts of a page that a poller needs. */
export interface PollParts {
  isVisible(): boolean;
  /** Calls back when it changes whether the page is visible; gives what ends that. */
  onVisibility(changed: () => void): () => void;
  later(run: () => void, ms: number): number;
  cancel(id: number): void;
}

export const browserParts: PollParts = {
  isVisible: () => !document.hidden,
  onVisibility(changed) {
    document.addEventListener('visibilitychange', changed);
    return () => document.removeEventListener('visibilitychange', changed);
  },
  later: (run, ms) => window.setTimeout(run, ms),
  cancel: (id) => window.clearTimeout(id),
};

/** Looks again and again while the page is visible, never twice at a time. */
export class Poller {
  private timer: number | undefined;
  private isBusy = false;
  private isOver = false;
  private readonly unwatch: () => void;

  constructor(
    private readonly look: () => Promise<void>,
    private readonly every: number,
    private readonly parts: PollParts = browserParts,
  ) {
    this.unwatch = parts.onVisibility(() => this.turn());
    this.turn();
  }

  close(): void {
    this.isOver = true;
    this.unwatch();
    this.rest();
  }

  private turn(): void {
    this.rest();
    if (this.isOver || this.isBusy || !this.parts.isVisible()) return;
    this.isBusy = true;
    void this.look().finally(() => {
      this.isBusy = false;
      if (!this.isOver && this.parts.isVisible()) this.timer = this.parts.later(() => this.turn(), this.every);
    });
  }

  private rest(): void {
    if (this.timer !== undefined) this.parts.cancel(this.timer);
    this.timer = undefined;
  }
}
