/** The vectors in testdata/locks drive this implementation and the one in Go alike. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import acquire from '../../../testdata/locks/project-acquire.json';
import page from '../../../testdata/locks/project-page.json';
import release from '../../../testdata/locks/project-release.json';
import renew from '../../../testdata/locks/project-renew.json';
import telemetry from '../../../testdata/locks/project-telemetry.json';
import verdicts from '../../../testdata/locks/project-verdicts.json';
import type { ProjectLockEvent } from '../src/lib/locks.js';
import { idle, step, type Command, type Input } from '../src/lib/locks/machine.js';
import { judge } from '../src/lib/locks/record.js';
import { toTelemetry } from '../src/lib/locks/telemetry.js';

const epoch = Date.parse('2026-01-01T00:00:00.000Z');

interface Scenario {
  name: string;
  steps: { at: number; input: unknown; state: string; emitted: unknown[]; commands: string[] }[];
}

function word(c: Command): string {
  switch (c.do) {
    case 'wait':
    case 'heartbeat':
      return `${c.do} ${c.ms}`;
    case 'tidy-record':
      return c.ms > 0 ? `${c.do} ${c.ms}` : c.do;
    case 'fail':
      return `fail ${c.code} ${c.retryable ? 'retryable' : 'final'}`;
    default:
      return c.do;
  }
}

function onEpoch(input: unknown): Input {
  const i = input as Input;
  return 'startedAt' in i ? { ...i, startedAt: i.startedAt + epoch } : i;
}

for (const scenario of [...acquire, ...renew, ...release, ...page] as Scenario[]) {
  test(scenario.name, () => {
    let state = idle;
    for (const s of scenario.steps) {
      const next = step(state, onEpoch(s.input), epoch + s.at);
      state = next.state;
      const have = { at: s.at, state: state.name, emitted: next.emitted, commands: next.commands.map(word) };
      assert.deepEqual(have, { at: s.at, state: s.state, emitted: s.emitted, commands: s.commands });
    }
  });
}

for (const v of verdicts) {
  test(`record: ${v.name}`, () => {
    const age = 'ageMs' in v ? { ageMs: v.ageMs } : {};
    const sight = { now: epoch + v.now, leaseId: 'lease-a', seenMs: v.seenMs, ...age };
    assert.equal(judge(v.text ?? undefined, sight as Parameters<typeof judge>[1]), v.verdict);
  });
}

for (const v of telemetry) {
  test(`telemetry: ${v.event.type} at ${v.at}`, () => {
    const line = toTelemetry(v.event as ProjectLockEvent, epoch + v.at);
    assert.deepEqual(JSON.parse(JSON.stringify(line ?? null)), v.line);
  });
}
