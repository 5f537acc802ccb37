import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { digestOf, runSeed, type SimulationReport } from '../../lib/testing/simulation';
import { CompiledTree } from './compiled-tree';

import { runSeeds } from './seed-threads';

/** Seeds that broke something once; `npm run simulate` adds to them. */
const regressions = JSON.parse(readFileSync(join(__dirname, 'seeds.json'), 'utf8')) as {
  seed: number;
  found: string;
}[];
const first = 500_001;
const count = 200;

describe('The simulation', function () {
  this.timeout(240_000);

  const broken: SimulationReport[] = [];
  const struck = new Map<string, number>();
  const totals = { seeds: 0, bodies: 0 };

  before(async () => {
    const tree = new CompiledTree();
    await runSeeds({
      thread: tree.thread,
      threads: availableParallelism(),
      ...{ first, count, stopsAtViolation: false },
      onResult: (result) => {
        broken.push(...result.violations);
        totals.seeds += result.seeds;
        totals.bodies += result.bodies;
        for (const [kind, times] of result.faults) struck.set(kind, (struck.get(kind) ?? 0) + times);
      },
    });
    tree.remove();
  });

  it('gives the same log for the same seed, byte by byte', async () => {
    for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
      const [one, other] = [await runSeed({ seed, logs: true }), await runSeed({ seed, logs: true })];
      assert.equal(digestOf(one.log), digestOf(other.log), `seed ${seed}`);
      assert.deepEqual(one.log, other.log);
      assert.ok(one.log.length > 10);
    }
  });

  it('does not move a run by looking at it', async () => {
    for (const seed of [11, 12, 13]) {
      const [silent, logging] = [await runSeed({ seed }), await runSeed({ seed, logs: true })];
      assert.equal(silent.events, logging.events);
    }
  });

  it('runs handlers and injects most kinds of fault', () => {
    assert.equal(totals.seeds, count);
    assert.ok(totals.bodies > 5 * count, `${totals.bodies} handlers`);
    assert.ok(struck.size >= 20, [...struck.keys()].join());
    assert.ok([...struck.values()].reduce((sum, times) => sum + times, 0) > 500);
  });

  const rules: readonly (readonly [title: string, ...rules: string[]])[] = [
    ['[P6] what was acknowledged is there after any crash, once, and memory and store agree', 'P6', 'fold', 'F5', 'C3'],
    ['[P5] an engine that was replaced writes nothing and says nothing', 'P5', 'F3'],
    ['[P7] failing, hanging and unknown writes delay and never lose', 'P7', 'P10', 'uncaught', 'stuck', 'settle'],
    ['[P4] nobody is told anything that is not durable', 'P4'],
    [
      '[P2] [P3] a SYNC handler is entered after its start is durable, an ASYNC one after the SYNC result before it',
      'P2',
      'P3',
      'P1',
    ],
    ['[X10] attempts of living workers go on under a new owner, those of dead ones fail once', 'X10', 'X2'],
    ['[X1] attempts are numbered without gaps and come by the policy, not before their time', 'X1'],
    ['[X3] the heartbeat that is kept was given by an attempt', 'X3'],
    ['[X4] [X5] only the current token counts, and a worker runs each once', 'X4', 'X5'],
    ['[X8] [X9] a recovery Step follows a failed one, and is told the right progress', 'X8', 'X9', 'X7'],
    [
      '[S5] [S6] attempts of a call see the same, and leave a trace only when they succeed',
      'S5',
      'S6',
      'S1',
      'S2',
      'S9',
    ],
    ['[L2] [L3] [L4] locks are held by one, granted in order, and no update under one is lost', 'L2', 'L3', 'L4'],
    [
      '[C1] [W1] [W2] [W3] [W4] messages go to the wait that is due them, each once, in order',
      'C1',
      'C5',
      'W1',
      'W2',
      'W4',
    ],
    ['[W6] nothing is early, and the clock of a shard never runs backwards', 'W6', 'F6'],
    ['[D1] [D2] [D3] [D5] [D6] decisions have the effect that they say', 'D1', 'D2', 'D3', 'D5', 'D6', 'D8', 'F2'],
    [
      '[R2] [R3] [R4] [R5] [R6] RPCs take effect once, and their callers are told what is saved',
      'R1',
      'R2',
      'R3',
      'R4',
      'R5',
      'R6',
      'L5',
    ],
    [
      '[R7] [R10] nothing takes effect in the window of a call, and a start that goes with one is all or nothing',
      'R7',
      'R10',
    ],
    [
      '[U1] [U2] [U3] [U4] [U5] SubFlows begin once, end by their policies, and their parents hear how',
      'U1',
      'U2',
      'U3',
      'U4',
      'U5',
    ],
    ['[N2] senders that race with continue-as-new lose and double nothing, and keep their order', 'N2'],
    ['[N5] [F7] nothing is removed, and no Flow times out, before its time', 'N5', 'F7'],
    ['[O1] what is cancelled or closed saves nothing more', 'O1'],
    ['every invariant of a run holds after every event', 'invariant', 'model'],
  ];

  for (const [title, ...named] of rules) {
    it(title, () => {
      const found = broken.filter(({ violation }) => named.includes(violation!.rule));
      assert.deepEqual(
        found.map(({ seed, violation }) => `seed ${seed} ${violation!.rule}: ${violation!.what}`),
        [],
      );
    });
  }

  it('breaks no rule that is not named here', () => {
    const named = new Set(rules.flatMap(([, ...each]) => each));
    assert.deepEqual(
      broken.filter(({ violation }) => !named.has(violation!.rule)).map(({ seed, violation }) => [seed, violation]),
      [],
    );
  });

  for (const { seed, found } of regressions) {
    it(`does not break again what seed ${seed} broke (${found})`, async () => {
      const { violation } = await runSeed({ seed });
      assert.equal(violation, undefined);
    });
  }
});
