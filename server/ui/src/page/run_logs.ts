/** Which log belongs to which step. */
export interface LogPlace {
  readonly step: string;
  /** 0: of all attempts, one after the other. */
  readonly attempt: number;
  readonly kind: string;
}

export function placeOf(name: string, steps: readonly { readonly step_id: string }[]): LogPlace | undefined {
  const base = name.split('/').pop() ?? name;
  const m = /^(.+?)\.(S\d+)(?:\.attempt(\d+))?\.log$/.exec(base);
  if (m) return { step: m[2] ?? '', attempt: Number(m[3] ?? 0), kind: m[1] ?? '' };
  const n = /^step-(\d+)(?:\.attempt(\d+))?\.log$/.exec(base);
  const step = n ? steps.find((s) => Number(s.step_id.slice(1)) === Number(n[1])) : undefined;
  return step ? { step: step.step_id, attempt: Number(n?.[2] ?? 0), kind: 'step' } : undefined;
}
