import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { digestOf } from '../../lib/testing/simulation';
import { CompiledTree } from './compiled-tree';
import { runSeed } from './run-seed';
import type { RangeResult } from './seed-thread';
import { runSeeds } from './seed-threads';

const kept = JSON.parse(readFileSync(join(__dirname, 'seeds.json'), 'utf8')) as readonly { readonly seed: number }[];

describe('Simulation', function () {
  this.timeout(300_000);

  it('the same seed gives the same log', async () => {
    const [one, two] = [await runSeed({ seed: 7, logs: true }), await runSeed({ seed: 7, logs: true })];
    assert.ok(one.log.length > 100);
    assert.equal(digestOf(one.log), digestOf(two.log));
  });

  it('[P5] [P6] [P7] [X4] [X10] 200 seeds with crashes, pauses, lost messages and bad writes violate nothing', async () => {
    const results: RangeResult[] = [];
    await runSeeds({
      thread: new CompiledTree().thread,
      threads: availableParallelism(),
      ...{ first: 1, count: 200, stopsAtViolation: false },
      onResult: (result) => results.push(result),
    });
    const violations = results.flatMap((result) => result.violations);
    assert.deepEqual(
      violations.map(({ seed, violation }) => `${seed}: ${violation?.rule} ${violation?.what}`),
      [],
    );
    assert.equal(
      results.reduce((sum, { seeds }) => sum + seeds, 0),
      200,
    );
    const faults = results.reduce((sum, result) => sum + [...result.faults.values()].reduce((a, b) => a + b, 0), 0);
    assert.ok(faults > 500, `only ${faults} faults struck`);
  });

  for (const { seed } of kept) {
    it(`seed ${seed}, which once violated a rule, does not any more`, async () => {
      assert.equal((await runSeed({ seed })).violation, undefined);
    });
  }
});
