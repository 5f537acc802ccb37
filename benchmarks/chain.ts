import { performance } from 'node:perf_hooks';
import { Flow, goTo, gracefulComplete, type Holdfast, Step } from '../index';
import { measure, onStore, printTable, type Round, stores, summary } from './measure';

const steps = 100;
const rounds = Number(process.env.ROUNDS ?? 9);
const warmUp = 3;

/** When each Step of the running chain was entered. */
let entered: number[] = [];

@Step({ name: 'Next' })
class NextStep {
  execute(left: number) {
    entered.push(performance.now());
    return left > 1 ? goTo(NextStep, left - 1) : gracefulComplete();
  }
}

@Flow({ name: 'chain' })
class ChainFlow {
  static readonly start = NextStep;
}

/** One Flow of 100 Steps that do nothing, one after the other: the latency of a durable step. */
async function main() {
  const rows: Record<string, string>[] = [];
  for (const store of stores) {
    for (const durability of ['SYNC', 'ASYNC'] as const) {
      const measured = await onStore(store, [ChainFlow], async (holdfast) => {
        const all: Round[] = [];
        for (let round = -warmUp; round < rounds; round++) {
          const result = await measure(holdfast, steps, () => chain(holdfast, `chain ${round}`, durability));
          if (round >= 0) all.push(result);
        }
        return all;
      });
      rows.push(summary(`${store}: ${durability}`, measured, 'step'));
    }
  }
  console.log(`chain: ${steps} no-op steps in one flow, median of ${rounds} rounds, Node ${process.version}\n`);
  printTable(rows);
}

async function chain({ client }: Holdfast, flowId: string, durability: 'SYNC' | 'ASYNC'): Promise<number[]> {
  entered = [];
  await client.start(ChainFlow, flowId, steps, { durability });
  await client.result(ChainFlow, flowId);
  const ended = [...entered.slice(1), performance.now()];
  return ended.map((end, i) => end - entered[i]!);
}

main();
