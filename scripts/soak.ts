import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { columns, rowOf, type Trend } from '../test/soak/readings';
import { soak } from '../test/soak/soak';

// A cluster of real processes under load for ten minutes, while its machines die, stand still and Redis is emptied:
// `npm run soak -- --seconds 600 --seed 1`. Ends with counts that must add up, and with what has grown. See docs/operations.md.

const { values: flags } = parseArgs({
  options: {
    seconds: { type: 'string', default: '600' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    lanes: { type: 'string', default: '12' },
    pause: { type: 'string', default: '30' },
    retention: { type: 'string', default: '60s' },
    /** Seconds for which the store keeps files of the log that nobody needs; must be above `pause`. */
    'log-kept': { type: 'string', default: '90' },
  },
});

const widths = columns.map((column) => Math.max(8, column.length));
const line = (cells: readonly string[]) => cells.map((cell, i) => cell.padStart(widths[i]!)).join('  ');
/** SlateDB's compactor keeps what it has replaced for 15 minutes, whatever it is told. */
const tablesKeptSeconds = 16 * 60;

async function main(): Promise<void> {
  const seconds = Number(flags.seconds);
  console.log(`soak: ${seconds} s, seed ${flags.seed}, Node ${process.version}\n`);
  console.log(line(columns));
  const { totals, disturbances, trends, wrong } = await soak({
    ...{ seconds, seed: Number(flags.seed), lanes: Number(flags.lanes), pauseMs: Number(flags.pause) * 1_000 },
    ...{
      everyMs: [3_000, 8_000],
      leaseMs: 10_000,
      logKeptSeconds: Number(flags['log-kept']),
      retention: flags.retention,
      readEveryMs: 20_000,
    },
    onReading: (reading) => console.log(line(rowOf(reading))),
  });
  console.log(`\ndone: ${[...disturbances].map(([kind, count]) => `${kind} ${count}`).join(', ')}`);
  console.log(`acknowledged and found: ${JSON.stringify(totals)}\n`);
  for (const trend of trends) console.log(said(trend, seconds));
  const grown = trends.filter((trend) => !trend.isFlat && isJudged(trend, seconds));
  for (const each of wrong) console.log(`WRONG: ${each}`);
  console.log(`\n${wrong.length} wrong, ${grown.length} grown`);
  if (wrong.length + grown.length > 0) process.exitCode = 1;
}

function isJudged({ what }: Trend, seconds: number): boolean {
  return !what.startsWith('tables') || seconds / 3 >= tablesKeptSeconds;
}

function said(trend: Trend, seconds: number): string {
  const { what, before, after, allowed, isFlat } = trend;
  const verdict = !isJudged(trend, seconds) ? 'kept for 15 min: not judged' : isFlat ? 'flat' : 'GROWN';
  const numbers = `${before.toFixed(1).padStart(9)} → ${after.toFixed(1).padStart(9)}`;
  return `${what.padEnd(24)} ${numbers}   at most ${allowed.toFixed(1).padStart(9)}   ${verdict}`;
}

main();
