/** What was typed, kept in this browser: the unsaved text of each request, and the last twenty versions. */
export interface Draft {
  readonly text: string;
  /** Of the file that it was typed on. */
  readonly etag: string;
  readonly at: number;
}

export interface Version {
  readonly text: string;
  readonly at: number;
}

export const MAX_VERSIONS = 20;

export class Drafts {
  constructor(
    private readonly store: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>,
    private readonly project: string,
  ) {}

  get(id: string): Draft | undefined {
    const d = this.read(this.key('draft', id)) as Partial<Draft> | undefined;
    return typeof d?.text === 'string' && typeof d.at === 'number' ? { text: d.text, etag: String(d.etag ?? ''), at: d.at } : undefined;
  }

  /** false: there is no room for it. */
  put(id: string, draft: Draft): boolean {
    return this.write(this.key('draft', id), draft, id);
  }

  drop(id: string): void {
    this.quietly(() => this.store.removeItem(this.key('draft', id)));
  }

  /** The newest first. */
  history(id: string): readonly Version[] {
    const list = this.read(this.key('history', id));
    return Array.isArray(list) ? list.filter((v: Partial<Version>) => typeof v?.text === 'string' && typeof v.at === 'number') : [];
  }

  /** A text that is the newest already is not kept twice. */
  keep(id: string, text: string, at: number): void {
    const before = this.history(id);
    if (text === '' || before[0]?.text === text) return;
    let list: Version[] = [{ text, at }, ...before].slice(0, MAX_VERSIONS);
    while (list.length > 0 && !this.tryWrite(this.key('history', id), list)) list = list.slice(0, -1);
  }

  private key(kind: string, id: string): string {
    return `aiflow.${kind}.${this.project}.${id}`;
  }

  private read(key: string): unknown {
    try {
      return JSON.parse(this.store.getItem(key) ?? 'null') ?? undefined;
    } catch {
      return undefined;
    }
  }

  /** Old versions make room for what is not saved. */
  private write(key: string, v: unknown, id: string): boolean {
    if (this.tryWrite(key, v)) return true;
    this.quietly(() => this.store.removeItem(this.key('history', id)));
    return this.tryWrite(key, v);
  }

  private tryWrite(key: string, v: unknown): boolean {
    try {
      this.store.setItem(key, JSON.stringify(v));
      return true;
    } catch {
      return false;
    }
  }

  private quietly(run: () => void): void {
    try {
      run();
    } catch {
      // Without storage there are no drafts; the editor says what it could not keep.
    }
  }
}
