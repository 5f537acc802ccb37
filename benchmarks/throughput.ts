import { performance } from 'node:perf_hooks';
import { Flow, goTo, gracefulComplete, type Holdfast, Step } from '../index';
import { measure, onStore, printTable, type Round, stores, summary } from './measure';

const flows = 500;
const stepsPerFlow = 5;
const inFlight = 64;
const rounds = Number(process.env.ROUNDS ?? 5);
const warmUp = 2;

@Step({ name: 'Next' })
class NextStep {
  execute(left: number) {
    return left > 1 ? goTo(NextStep, left - 1) : gracefulComplete();
  }
}

@Flow({ name: 'short' })
class ShortFlow {
  static readonly start = NextStep;
}

/** Many short Flows, 64 at a time: what one process gets done, and how long each Flow takes meanwhile. */
async function main() {
  const rows: Record<string, string>[] = [];
  for (const store of stores) {
    const measured = await onStore(store, [ShortFlow], async (holdfast) => {
      const all: Round[] = [];
      for (let round = -warmUp; round < rounds; round++) {
        const result = await measure(holdfast, flows * stepsPerFlow, () => load(holdfast, round));
        if (round >= 0) all.push(result);
      }
      return all;
    });
    rows.push(summary(`${store}: SYNC`, measured, 'flow'));
  }
  const what = `${flows} flows of ${stepsPerFlow} no-op steps, ${inFlight} in flight`;
  console.log(`throughput: ${what}, median of ${rounds} rounds, Node ${process.version}\n`);
  printTable(rows);
}

async function load({ client }: Holdfast, round: number): Promise<number[]> {
  const took: number[] = [];
  let next = 0;
  const lane = async () => {
    while (next < flows) {
      const flowId = `flow ${round} ${next++}`;
      const start = performance.now();
      await client.start(ShortFlow, flowId, stepsPerFlow);
      await client.result(ShortFlow, flowId);
      took.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  return took;
}

main();
