import assert from 'node:assert/strict';
import { soak } from './soak';

describe('A cluster under load and disturbances', function () {
  this.timeout(480_000);

  it('[P6][C54] everything acknowledged is there exactly once and every Flow ends; `npm run soak` goes on for longer', async () => {
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
    const { totals, disturbances, wrong } = await soak({
      ...{ seed, seconds: Number(process.env.SOAK_SECONDS ?? 60), lanes: 6, retention: '45s' },
      ...{ leaseMs: 2_000, pauseMs: 4_000, everyMs: [500, 2_000], logKeptSeconds: 600, readEveryMs: 5_000 },
    });
    const done = `SEED=${seed}, ${JSON.stringify([...disturbances])}, ${JSON.stringify(totals)}`;
    assert.deepEqual(wrong, [], done);
    assert.ok(disturbances.size >= 3, done);
  });
});
