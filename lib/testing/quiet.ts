import { HoldfastError } from '../errors';
import type { Activity } from './activity';

export interface QuietParts {
  readonly activity: Activity;
  /** Fires timers that are due now; true if there were any. */
  fire(): boolean;
  /** Whether an engine is being opened. */
  opening(): boolean;
  /** Handlers to wait for. */
  running(): string[];
  readonly patienceMs: number;
}

/** Turns of the event loop without any activity after which nothing more comes by itself. */
const quietTurns = 4;
/** Real time in which Flows that never wait may keep the loop busy. */
const busyMs = 60_000;

/** Resolves when everything has happened that needs no virtual time. */
export async function quiet(parts: QuietParts): Promise<void> {
  const { activity } = parts;
  const began = performance.now();
  for (let still = 0; still < quietTurns; ) {
    const before = activity.count;
    parts.fire();
    await new Promise<void>((resolve) => setImmediate(resolve));
    still = activity.count === before && !parts.opening() ? still + 1 : 0;
    if (still === quietTurns && parts.running().length > 0) {
      await activityWithin(parts);
      still = 0;
    }
    if (performance.now() - began > busyMs) {
      throw tooLate(`Flows have kept the event loop busy for ${busyMs} ms: does one go on without ever waiting?`);
    }
  }
}

/** Waits for handlers that wait for something real. */
async function activityWithin({ activity, running, patienceMs }: QuietParts): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((_, reject) => {
    timer = setTimeout(() => {
      const names = running();
      reject(
        tooLate(
          `After ${patienceMs} ms of real time still running: ${[...new Set(names)].join(', ')}. ` +
            'A handler that waits for virtual time or for the test cannot settle: let it go on first, or pass ' +
            '{ whileRunning: true } to leave it running.',
        ),
      );
    }, patienceMs);
  });
  try {
    await Promise.race([activity.next(), over]);
  } finally {
    clearTimeout(timer);
  }
}

function tooLate(message: string): HoldfastError {
  return new HoldfastError('DEADLINE_EXCEEDED', message, { where: 'TestEnvironment' });
}
