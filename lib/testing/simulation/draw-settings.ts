import type { CastSettings } from './cast';
import type { Random } from './random';

/** How the system of a run is laid out, drawn by its seed. */
export function drawSettings(random: Random): CastSettings {
  const slowestMs = random.pick([2, 5, 20, 100]);
  return {
    layout: random.pick(['embedded', 'cluster', 'cluster', 'fenced'] as const),
    engines: random.pick([1, 1, 2]),
    shards: random.pick([1, 1, 2]),
    workers: random.between(1, 3),
    clients: random.between(1, 2),
    slots: random.pick([1, 2, 5, 100]),
    idleFlowsInMemory: random.pick([0, 1, 100]),
    writeTimeoutMs: random.pick([2_000, 10_000, 30_000]),
    speed: { fastestMs: 1, slowestMs },
  };
}
