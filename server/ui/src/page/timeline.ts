/** Bars over time: of a run its steps and attempts, of an auto-run its runs and the waiting between them. */
export interface Bar {
  readonly from: number;
  readonly to: number;
  readonly kind: string;
  readonly label: string;
}

export interface Lane {
  /** Of those at a time, from 0. */
  readonly row?: number;
  readonly label: string;
  readonly id: string;
  readonly bars: readonly Bar[];
}

export interface Axis {
  readonly from: number;
  readonly to: number;
  readonly ticks: readonly number[];
}

export interface HistoryEvent {
  readonly at: string;
  readonly event: string;
  readonly step_id?: string;
  readonly reason_code?: string;
}

export interface StepLike {
  readonly step_id: string;
  readonly title: string;
  readonly status: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
}

/** Attempts end where the next thing about the step happens; between a stop and a resume the run waits for a person. */
export function runLanes(history: readonly HistoryEvent[], steps: readonly StepLike[], now: number | undefined): Lane[] {
  const waits: Bar[] = [];
  const bars = new Map<string, Bar[]>();
  let running: { id: string; from: number; n: number } | undefined;
  let stopped: { from: number; label: string } | undefined;
  const tries = new Map<string, number>();
  const end = (to: number, kind: string) => {
    if (running === undefined) return;
    const list = bars.get(running.id) ?? [];
    list.push({ from: running.from, to, kind, label: '#' + running.n });
    bars.set(running.id, list);
    running = undefined;
  };
  const begin = (id: string, from: number) => {
    const n = (tries.get(id) ?? 0) + 1;
    tries.set(id, n);
    running = { id, from, n };
  };
  let told = 0;
  for (const e of history) {
    const at = Date.parse(e.at);
    if (Number.isNaN(at)) continue;
    const last = told;
    told = at;
    if (stopped !== undefined && ['STEP_START', 'RESUMED', 'RETRY'].includes(e.event)) {
      waits.push({ from: stopped.from, to: at, kind: 'wait', label: stopped.label });
      stopped = undefined;
    }
    switch (e.event) {
      case 'STEP_START':
        end(at, 'retry');
        if (e.step_id) begin(e.step_id, at);
        break;
      case 'RETRY':
        end(at, 'bad');
        if (e.step_id) begin(e.step_id, at);
        break;
      case 'STEP_DONE':
        end(at, 'good');
        break;
      case 'RESUMED': // where nobody told of its end, it is known to have lived until what was told last
        if (running !== undefined) waits.push({ from: Math.max(running.from, last), to: at, kind: 'wait', label: 'INTERRUPTED' });
        end(Math.max(running?.from ?? 0, last), 'ask');
        if (e.step_id) begin(e.step_id, at);
        break;
      case 'NEEDS_INPUT':
      case 'FAILED':
      case 'INTERRUPTED':
        end(at, e.event === 'FAILED' ? 'bad' : 'ask');
        stopped = { from: at, label: e.event };
        break;
      case 'DONE':
        end(at, 'good');
    }
  }
  if (now !== undefined) {
    end(now, 'now');
    if (stopped !== undefined) waits.push({ from: stopped.from, to: now, kind: 'wait', label: stopped.label });
  }
  const lanes: Lane[] = steps.map((st) => ({ label: st.title, id: st.step_id, bars: bars.get(st.step_id) ?? whole(st) }));
  return waits.length > 0 ? [...lanes, { label: '', id: 'wait', bars: waits }] : lanes;
}

function whole(st: StepLike): Bar[] {
  if (st.started_at === null || st.ended_at === null) return [];
  const kind = st.status === 'DONE' ? 'good' : 'bad';
  return [{ from: Date.parse(st.started_at), to: Date.parse(st.ended_at), kind, label: '#1' }];
}

export interface ResultLike {
  readonly request_id: string;
  readonly run_id: string;
  readonly title: string;
  readonly state: string;
  /** The state in words. */
  readonly outcome: string;
  readonly started_at: string;
  readonly ended_at: string;
}

/** Each run in its slot of the session: one that was begun before, or goes on, has only the time that it took here. */
export function nightLanes(results: readonly ResultLike[], current: { id: string; title?: string | undefined; from: number; now: number } | undefined, start = 0): Lane[] {
  const kind = (state: string) => (state === 'DONE' ? 'good' : state === 'NEEDS_INPUT' ? 'ask' : 'bad');
  let free = start;
  const lanes: Lane[] = results.map((r) => {
    const to = Date.parse(r.ended_at);
    const from = Math.min(to, Math.max(free, Date.parse(r.started_at)));
    free = to;
    return { label: r.title || r.request_id, id: r.request_id + '/' + r.run_id, bars: [{ from, to, kind: kind(r.state), label: r.outcome }] };
  });
  if (current) lanes.push({ label: current.title || current.id, id: current.id, bars: [{ from: current.from, to: current.now, kind: 'now', label: '' }] });
  return lanes;
}

export interface TurnLike {
  readonly slot: number;
  readonly request_id: string;
  readonly title?: string;
  readonly run_id?: string;
  readonly from: string;
  readonly until?: string;
}

/** The turns of a session of several runs, each in the row of its slot; end is when the session was over, or now. */
export function turnLanes(turns: readonly TurnLike[], results: readonly ResultLike[], end: number, isActive: boolean): Lane[] {
  const kind = (state: string | undefined) => (state === 'DONE' ? 'good' : state === 'FAILED' ? 'bad' : 'ask');
  return turns.map((turn) => {
    const r = results.find((x) => x.run_id === turn.run_id && x.ended_at === turn.until) ?? results.find((x) => x.run_id === turn.run_id);
    const inHand = turn.until === undefined && isActive;
    const bar = { from: Date.parse(turn.from), to: turn.until === undefined ? end : Date.parse(turn.until), kind: inHand ? 'now' : kind(r?.state), label: inHand ? '' : (r?.outcome ?? '') };
    return { row: turn.slot - 1, label: r?.title || turn.title || turn.request_id, id: turn.request_id + (turn.run_id ? '/' + turn.run_id : ''), bars: [bar] };
  });
}

/** How long something was at work, however many at once. */
export function busy(lanes: readonly Lane[]): number {
  let sum = 0;
  let free = -Infinity;
  for (const b of lanes.flatMap((l) => l.bars).sort((a, b) => a.from - b.from)) {
    sum += Math.max(0, b.to - Math.max(free, b.from));
    free = Math.max(free, b.to);
  }
  return sum;
}

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800];

/** The axis fits what is shown; ticks stand on round times. */
export function axisOf(lanes: readonly Lane[], begin?: number, end?: number): Axis {
  const all = lanes.flatMap((l) => l.bars.flatMap((b) => [b.from, b.to]));
  if (begin !== undefined) all.push(begin);
  if (end !== undefined) all.push(end);
  if (all.length === 0) return { from: 0, to: 1, ticks: [] };
  const from = all.reduce((a, b) => Math.min(a, b));
  const to = Math.max(from + 1_000, all.reduce((a, b) => Math.max(a, b)));
  const step = (steps.find((s) => (to - from) / (s * 1000) <= 6) ?? 2_592_000) * 1000;
  const ticks: number[] = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) ticks.push(t);
  return { from, to, ticks };
}
