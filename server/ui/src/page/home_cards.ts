/** What the first cards of the list say of a run beyond the list: its last line or what it changed, and the one thing to do. */
import { isWay, resumeRun, stopRun, type Go } from './actions.js';
import { get, runPath, type Item, type RunDetail } from './api.js';
import { fill, h, type Child } from './dom.js';
import { t } from './i18n.js';
import { coalesced, type Coalesced } from './live.js';
import { button, link } from './parts.js';
import { runAt } from './router.js';
import { atStep, changed, errorLine, isAsking, isStopped, lastLines, tellingLog, testsChip, verbText } from './run_top.js';

const often = 500; // ms between two looks at a log that grows

interface Card {
  readonly el: HTMLElement;
  readonly line: HTMLElement;
  readonly load: Coalesced;
  readonly follow: Coalesced;
  key: string;
  run: RunDetail | undefined;
  log: { readonly name: string; readonly size: number } | undefined;
}

export class Cards {
  private readonly cards = new Map<string, Card>();

  constructor(private readonly go: Go) {}

  /** Forgets all but these runs. */
  only(runs: ReadonlySet<string>): void {
    for (const run of this.cards.keys()) if (!runs.has(run)) this.cards.delete(run);
  }

  /** It is filled when its run was read, and again when that is another state or step. */
  of(i: Item, run: string): HTMLElement {
    const card = this.cards.get(run) ?? this.make(i.id, run);
    const latest = i.derived.latest_run;
    const key = JSON.stringify([latest?.state, latest?.interrupted, latest?.current_step_id, i.derived.locked?.pid]);
    if (key !== card.key) {
      card.key = key;
      card.load();
    }
    return card.el;
  }

  grown(d: Readonly<Record<string, unknown>>): void {
    const card = this.cards.get(String(d['run_id']));
    if (!card?.run?.locked) return;
    card.log = { name: String(d['name']), size: Number(d['size']) };
    card.follow();
  }

  private make(id: string, run: string): Card {
    const card: Card = {
      el: h('div', { class: 'card-more' }),
      line: h('p', { class: 'last-line', translate: 'no' }),
      load: coalesced(async () => {
        const r = await get<RunDetail>(runPath(id, run));
        card.run = r;
        card.log = tellingLog(r);
        fill(card.el, card.line, h('div', { class: 'row wrap' }, this.actions(r)));
        await this.read(card);
      }, 0),
      follow: coalesced(() => this.read(card), often),
      key: '',
      run: undefined,
      log: undefined,
    };
    this.cards.set(run, card);
    return card;
  }

  private async read(card: Card): Promise<void> {
    const { run: r, log } = card;
    const asked = r && isAsking(r) ? r.errors?.questions?.[0] : undefined; // not the answer of a program that asks it
    const lines = r && log && asked === undefined && (r.locked || isStopped(r)) ? await lastLines(r, log) : []; // of what is done the change tells more
    const line = asked ?? lines[r && isStopped(r) ? errorLine(lines) : lines.length - 1] ?? '';
    card.line.textContent = line.trim();
    card.line.title = line;
  }

  private actions(r: RunDetail): Child {
    const [id, run] = [r.request_id, r.run_id];
    const steps = r.stage.steps ?? [];
    const n = steps.findIndex((s) => s.step_id === r.stage.current_step_id);
    if (r.locked) {
      return [
        steps[n] && r.stage.state !== 'DONE' ? h('span', { class: 'muted' }, atStep(r, n)) : null,
        r.stage.state === 'DONE' ? h('span', { class: 'muted' }, t('run.moving')) : button(t('run.stop'), () => stopRun(id, run), { class: 'btn small', 'aria-label': `${t('run.stop')}: ${r.stage.title}`, 'data-key': 'stop:' + run }),
      ];
    }
    if (r.awaits_merge && !r.advice.some(isWay)) return [changed(r), testsChip(r), link(runAt(id, run, 'diff'), t('run.see_diff'), { class: 'btn small', 'aria-label': `${t('run.see_diff')}: ${r.stage.title}`, 'data-key': 'look:' + id })];
    const best = r.advice.find((a) => a.recommended && isWay(a) && a.allowed);
    if (isAsking(r) || !best) return link(runAt(id, run), t(isAsking(r) ? 'list.answer' : 'list.queue_open'), { class: 'btn small primary', 'aria-label': `${t(isAsking(r) ? 'list.answer' : 'list.queue_open')}: ${r.stage.title}`, 'data-key': 'do:' + run });
    return button(verbText(best), () => this.way(id, run, best.verb), { class: 'btn small primary', 'aria-label': `${verbText(best)}: ${r.stage.title}`, 'data-key': 'do:' + run });
  }

  /** The workspace tells nobody that it was changed, so what can be done is asked anew. */
  private async way(id: string, run: string, verb: string): Promise<void> {
    const now = await get<RunDetail>(runPath(id, run));
    const way = now.advice.find((a) => a.verb === verb);
    if (way?.allowed) await resumeRun(this.go, id, run, way);
    else this.go(runAt(id, run));
  }
}
