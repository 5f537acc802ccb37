import { Worker } from 'node:worker_threads';
import type { RangeResult, SeedRange } from './seed-thread';

const rangeSize = 25;

export interface SeedRun {
  readonly thread: string;
  readonly threads: number;
  readonly first: number;
  readonly count: number;
  /** Ends after the first violation; seeds below it have been run, too. */
  readonly stopsAtViolation: boolean;
  onResult(result: RangeResult): void;
}

/** Runs seeds in several threads, range by range in order. */
export async function runSeeds({ thread, threads, first, count, stopsAtViolation, onResult }: SeedRun): Promise<void> {
  let next = first;
  let stopped = false;
  const work = async () => {
    const worker = new Worker(thread, { resourceLimits: { maxYoungGenerationSizeMb: 64 } });
    try {
      while (!stopped && next < first + count) {
        const range: SeedRange = { first: next, count: Math.min(rangeSize, first + count - next), stopsAtViolation };
        next += range.count;
        const result = await ask(worker, range);
        if (stopsAtViolation && result.violations.length > 0) stopped = true;
        onResult(result);
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: threads }, work));
}

function ask(worker: Worker, range: SeedRange): Promise<RangeResult> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number) =>
      done(() => reject(new Error(`A thread ended with ${code} at seed ${range.first}.`)));
    const onError = (error: unknown) => done(() => reject(error));
    const onMessage = (result: RangeResult) => done(() => resolve(result));
    const done = (settle: () => void) => {
      worker.off('message', onMessage).off('error', onError).off('exit', onExit);
      settle();
    };
    worker.on('message', onMessage).on('error', onError).on('exit', onExit);
    worker.postMessage(range);
  });
}
